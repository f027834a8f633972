#!/usr/bin/env python3
"""Run an unmodified PETSc program twice, with the preconditioner that it chooses itself and with mcpi, and compare.

Both runs must converge to the same solution; the run with mcpi must use every mcpi option, print no PETSc error and leak nothing.
"""
import argparse
import re
import shlex
import struct
import subprocess
import sys
import tempfile
from array import array
from pathlib import Path

CONVERGED = re.compile(r"(?:Linear|Nonlinear|TS|CONVERGED_).*?(CONVERGED_\w+)(?:.*?iterations (\d+))?")
LINEAR = re.compile(r"^\s*Linear (?:\S+ )?solve converged due to \w+ iterations (\d+)", re.M)
DIVERGED = re.compile(r"did not converge|DIVERGED_\w+")
LEAK = re.compile(r"^\[ ?\d+\] ?Total space allocated.*|^\s*\[ ?\d+\] ?\d+ bytes .*", re.M)
UNUSED = re.compile(r"name:(\S*mcpi\S*)|name:(\S+) value: mcpi")
VEC_CLASSID = 1211214


def read_solution(path):
    """The last Vec of a PETSc binary file."""
    data = path.read_bytes()
    wide = struct.unpack_from(">i", data)[0] == 0  # 64-bit PetscInt: the class id's upper half
    head = ">qq" if wide else ">ii"
    offset, values = 0, None
    while offset < len(data):
        classid, n = struct.unpack_from(head, data, offset)
        if classid != VEC_CLASSID:
            sys.exit(f"{path}: no PETSc Vec")
        offset += struct.calcsize(head)
        values = array("d", data[offset : offset + 8 * n])
        if sys.byteorder == "little":
            values.byteswap()
        offset += 8 * n
    return values


def remove_mean(x, free):
    """The solution with one component of its blocks moved to mean zero."""
    bs, component = (int(n) for n in free.split(","))
    mean = sum(x[component::bs]) / len(x[component::bs])
    return [v - mean if i % bs == component else v for i, v in enumerate(x)]


def sort_components(x, bs):
    """The solution with the values of each component of its blocks in ascending order; moves no two solutions apart."""
    return [v for component in range(bs) for v in sorted(x[component::bs])]


def difference(x, y, free, any_order):
    """||x - y|| / ||y||"""
    if len(x) != len(y):
        sys.exit(f"solutions of {len(x)} and {len(y)} values")
    if free:
        x, y = remove_mean(x, free), remove_mean(y, free)
    if any_order:
        x, y = sort_components(x, any_order), sort_components(y, any_order)
    return (sum((a - b) ** 2 for a, b in zip(x, y)) / sum(b * b for b in y)) ** 0.5


def run(what, arguments, options, folder):
    solution = Path(folder) / f"{what}.bin"
    command = [*shlex.split(arguments.launch), str(arguments.program), *options, arguments.view, f"binary:{solution}"]
    print(f"{what}: {shlex.join(command)}", flush=True)
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                          stdin=subprocess.DEVNULL)
    problems = []
    if done.returncode:
        problems.append(f"exit status {done.returncode}")
    if "PETSC ERROR" in done.stdout:
        problems.append("PETSc error")
    if not CONVERGED.search(done.stdout):
        problems.append("no solve reports convergence")
    if DIVERGED.search(done.stdout):
        problems.append("a solve did not converge")
    if what == "mcpi":
        if LEAK.search(done.stdout):
            problems.append("memory leaked")
        problems += [f"option not used: {a or b}" for a, b in UNUSED.findall(done.stdout)]
    if not problems and not solution.exists():
        problems.append(f"{arguments.view} wrote no solution")
    if problems:
        print(done.stdout)
        sys.exit(f"{what}: " + "; ".join(problems))
    iterations = [int(n) for n in LINEAR.findall(done.stdout)]
    print(f"{what}: {len(iterations)} linear solves, {sum(iterations)} iterations", flush=True)
    return read_solution(solution)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launch", default="", help="what goes before the program, such as mpiexec -n 2")
    parser.add_argument("--plugin", type=Path, required=True)
    parser.add_argument("--view", default="-ksp_view_solution", help="option with which the program writes its solution")
    parser.add_argument("--tolerance", type=float, default=1e-6, help="allowed relative difference of the solutions")
    parser.add_argument("--free-constant", metavar="BS,COMPONENT", help="a component that the equations determine up to a constant")
    parser.add_argument("--any-order", type=int, metavar="BS", help="the program numbers its block rows differently from run to run")
    parser.add_argument("--common", default="", help="options of both runs")
    parser.add_argument("--default", default="", help="options of the run without mcpi")
    parser.add_argument("--mcpi", required=True, help="options of the run with mcpi")
    parser.add_argument("program", type=Path)
    arguments = parser.parse_args()
    arguments.program, arguments.plugin = arguments.program.resolve(), arguments.plugin.resolve()

    common = shlex.split(arguments.common)
    with tempfile.TemporaryDirectory() as folder:
        expected = run("default", arguments, common + shlex.split(arguments.default), folder)
        checks = ["-dll_append", str(arguments.plugin), "-malloc_dump", "-options_left"]
        solution = run("mcpi", arguments, common + shlex.split(arguments.mcpi) + checks, folder)
    found = difference(solution, expected, arguments.free_constant, arguments.any_order)
    print(f"relative difference of the solutions {found:.2e}")
    if not found <= arguments.tolerance:
        sys.exit(f"larger than {arguments.tolerance:g}")


if __name__ == "__main__":
    main()
