#!/usr/bin/env python3
"""Run PETSc's own tutorials and tests with their own options, and with the preconditioner or the smoothers replaced.

Each program is run three times: with -pc_type sor, pbjacobi and mcpi. Programs that choose multigrid are also run with
-mg_levels_pc_type sor, jacobi and mcpi. Where one of PETSc's two converges, mcpi must converge, too, or refuse the
matrix in a sentence. Programs are those below PETSc's examples whose outer solver takes -pc_type. Their options stand
in the comment TEST at the end of each source.

Example: tests/programs/petsc_examples.py --plugin build/host/libpetscmcpi.so
"""
import argparse
import concurrent.futures
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDERS = ["ksp/ksp/tutorials", "ksp/ksp/tests", "ksp/pc/tutorials", "ksp/pc/tests", "snes/tutorials", "snes/tests", "ts/tutorials"]
MOST_OF_A_PROGRAM = 4  # tests of one program
MOST_RANKS = 4
# What is replaced: the option and PETSc's own preconditioners
OUTER, LEVELS = ("-pc_type", ("sor", "pbjacobi")), ("-mg_levels_pc_type", ("sor", "jacobi"))
TIME_LIMIT = 150
USABLE = re.compile(r"^(double|!complex|!single|c|real|datafilespath_not|!__float128|!defined\(PETSC_USE_64BIT_INDICES\)|!hpddm|!mkl_\w+|triangle_not)$")
SOLVED = re.compile(r"^( *)(?:Linear|Nonlinear) (?:(\S+) )?solve (converged|did not converge) due to (\S+) iterations (\d+)", re.M)
REFUSED = re.compile(r"PETSC ERROR: (.*(?:PCMCPI|petsc-mcpi|-pc_mcpi_).*)")


def blocks(text):
    """The tests of a source: (suffix, ranks, options, requirements). Of loops in options the first value is taken."""
    found = re.search(r"/\*TEST(.*?)TEST\*/", text, re.S)
    if not found:
        return []
    tests, stack, name = [], [], None
    for line in found.group(1).splitlines():
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        indent = len(line) - len(line.lstrip())
        while stack and indent <= stack[-1]["indent"]:
            stack.pop()
        keyword = re.match(r"(test|testset|build)\s*:\s*$", bare)
        if keyword:
            parent = stack[-1]["values"] if stack else {}
            values = {"args": parent.get("args", ""), "requires": parent.get("requires", ""), "nsize": parent.get("nsize", "1")}
            stack.append({"indent": indent, "values": values})
            if keyword.group(1) == "test":
                tests.append(values)
            elif keyword.group(1) == "build":
                build = values
                tests.append({"build": build})
            continue
        pair = re.match(r"(\w+)\s*:\s*(.*)$", bare)
        if stack and pair and pair.group(1) in ("args", "requires", "nsize", "suffix", "output_file", "filter", "timeoutfactor", "localrunfiles", "TODO", "filter_output", "separate", "temporaries", "depends", "diff_args", "env", "command"):
            name = pair.group(1)
            values = stack[-1]["values"]
            values[name] = (values.get(name, "") + " " + pair.group(2)).strip() if name in ("args", "requires") else pair.group(2)
        elif stack and name == "args":
            stack[-1]["values"]["args"] += " " + bare
    needed = " ".join(test["build"].get("requires", "") for test in tests if "build" in test)
    result = []
    for test in tests:
        if "build" in test or "TODO" in test or "command" in test or "depends" in test:
            continue
        args = re.sub(r"\{\{\s*([^}\s]+)[^}]*\}\}(?:separate output|shared output)?", r"\1", test["args"]).replace("\\", " ")
        result.append((test.get("suffix", "1"), test["nsize"], args, (test["requires"] + " " + needed).split()))
    return result


def cases(root):
    for folder in FOLDERS:
        for source in sorted((root / folder).glob("*.c")):
            taken = 0
            for suffix, ranks, options, needs in blocks(source.read_text(errors="replace")):
                if taken == MOST_OF_A_PROGRAM or not ranks.isdigit() or int(ranks) > MOST_RANKS:
                    continue
                if not all(USABLE.match(need) for need in needs) or "${" in options or "DATAFILESPATH" in options:
                    continue
                taken += 1
                yield source.relative_to(root).with_suffix(""), suffix, int(ranks), shlex.split(options)


def has_levels(options):
    return any(first == "-pc_type" and second in ("gamg", "mg") for first, second in zip(options, options[1:]))


def without(chosen, options):
    """The options but for those that choose what is replaced, or look at what it prints."""
    own = ("-pc_bjacobi", "-pc_asm", "-pc_factor") if chosen == "-pc_type" else ("-mg_levels_pc_",)
    kept, skip = [], False
    for k, option in enumerate(options):
        if skip:
            skip = False
            continue
        has_value = k + 1 < len(options) and not re.match(r"-[A-Za-z]", options[k + 1])
        if option == chosen or option.startswith(("-ksp_view", "-snes_view", "-log_view", *own)):
            skip = has_value
            continue
        kept.append(option)
    return kept


class Programs:
    """Compiles each source once."""

    def __init__(self, root, folder, package):
        self.root, self.folder, self.built = root, folder, {}
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", package], check=True, capture_output=True, text=True).stdout
        self.flags = shlex.split(flags)

    def get(self, name):
        if name not in self.built:
            binary = self.folder / str(name).replace("/", "_")
            source = self.root / name.with_suffix(".c")
            command = ["mpicc", "-O1", "-w", str(source), "-o", str(binary), *self.flags, "-lm"]
            fresh = binary.exists() and binary.stat().st_mtime > source.stat().st_mtime
            good = fresh or subprocess.run(command, capture_output=True, check=False).returncode == 0
            self.built[name] = binary if good else None
        return self.built[name]


def run(binary, ranks, options, folder):
    command = ["mpiexec", "-n", str(ranks), str(binary), *options, "-ksp_converged_reason", "-snes_converged_reason", "-ksp_view", "-nox"]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                       OMPI_MCA_hwloc_base_binding_policy="none", OMPI_MCA_mpi_yield_when_idle="1", OMP_NUM_THREADS="1")
    with tempfile.TemporaryDirectory(dir=folder) as own:  # some programs leave files that others stumble over
        try:
            done = subprocess.run(command, cwd=own, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  errors="replace", stdin=subprocess.DEVNULL, timeout=TIME_LIMIT, check=False)
        except subprocess.TimeoutExpired:
            return "took too long", 0, "", command
    text = done.stdout
    solves = SOLVED.findall(text)
    outer = min((len(solve[0]) for solve in solves), default=0)
    solves = [solve for solve in solves if len(solve[0]) == outer]
    iterations = sum(int(solve[4]) for solve in solves)
    refused = REFUSED.search(text)
    if refused:
        outcome = "refused: " + refused.group(1)
    elif done.returncode or "PETSC ERROR" in text:
        message = re.search(r"Error Message -+\n.*?PETSC ERROR: (.*)\n.*?PETSC ERROR: (.*)", text)
        outcome = "ended with an error" + (f": {message.group(1)}: {message.group(2)}" if message else "")
    elif not solves:
        outcome = "no solve"
    else:
        bad = [solve[3] for solve in solves if solve[2] != "converged"]
        outcome = f"did not converge: {bad[0]}" if bad else "converged"
    return outcome, iterations, text, command


def compare(replaced, binary, name, suffix, ranks, options, folder, plugin):
    chosen, peers = replaced
    rest = without(chosen, options)
    theirs = {pc: run(binary, ranks, [*rest, chosen, pc], folder)[:2] for pc in peers}
    outcome, iterations, text, command = run(binary, ranks, [*rest, chosen, "mcpi", "-dll_append", str(plugin)], folder)
    object_name = r"^PC Object:.*" if replaced is OUTER else r"PC Object:.*mg_levels_.*"
    used = re.search(object_name + r"\n\s*type: mcpi", text, re.M) or outcome.startswith("refused")
    good = any(result == "converged" for result, _ in theirs.values())
    if not used and outcome in ("converged", "no solve"):
        verdict = "does not use it"
    elif not good:
        verdict = "neither" if outcome != "converged" else "converged alone"
    elif outcome == "converged":
        verdict = "converged"
    elif outcome.startswith("refused"):
        verdict = "refused"
    else:
        verdict = "FAILED"
    peers = ", ".join(f"{pc} {count if result == 'converged' else result}" for pc, (result, count) in theirs.items())
    shown = iterations if outcome == "converged" else outcome
    return verdict, f"{name} {suffix} ({ranks}) {chosen}: mcpi {shown}; {peers}", shlex.join(command)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugin", type=Path, default=Path("build/host/libpetscmcpi.so"))
    parser.add_argument("--examples", type=Path, default=Path("/usr/share/petsc/3.18/share/petsc/examples/src"))
    parser.add_argument("--package", default="PETSc", help="name of PETSc for pkg-config")
    parser.add_argument("--build", type=Path, default=Path("build/petsc-examples"))
    parser.add_argument("--only", default="", help="part of the name of the programs to run")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    arguments.build.mkdir(parents=True, exist_ok=True)
    programs = Programs(arguments.examples.resolve(), arguments.build.resolve(), arguments.package)
    todo = [case for case in cases(programs.root) if arguments.only in f"{case[0]} {case[1]}"]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        binaries = dict(zip(names := list(dict.fromkeys(case[0] for case in todo)), pool.map(programs.get, names)))
        jobs = [pool.submit(compare, replaced, binaries[name], name, suffix, ranks, options, programs.folder, arguments.plugin.resolve())
                for name, suffix, ranks, options in todo if binaries[name]
                for replaced in ((OUTER, LEVELS) if has_levels(options) else (OUTER,))]
        count = {}
        for job in jobs:
            verdict, line, command = job.result()
            count[verdict] = count.get(verdict, 0) + 1
            if verdict != "does not use it":
                print(f"{verdict:16} {line}", flush=True)
            if verdict == "FAILED":
                print(f"                 {command}", flush=True)
    compared = sum(number for verdict, number in count.items() if verdict != "does not use it")
    print(f"{compared} runs that use mcpi:")
    for verdict in ("converged", "converged alone", "refused", "neither", "FAILED"):
        print(f"  {count.get(verdict, 0):4} {verdict}")
    sys.exit(1 if count.get("FAILED") else 0)


if __name__ == "__main__":
    main()
