"""Linear iterations of three tutorials of PETSc by schedule, beside PETSc's own preconditioners.

Usage: example_schedules.py BUILD OUT.json [PART-OF-A-PROGRAM]
Needs BUILD/libpetscmcpi.so and the sources of PETSc's examples, as in libpetsc-dev-examples of
Debian. The programs are compiled once, into BUILD/petsc-examples.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/programs")]
import results as records  # noqa: E402
from flow_program import run_command  # noqa: E402
from petsc_examples import Programs  # noqa: E402

EXAMPLES = Path("/usr/share/petsc/3.18/share/petsc/examples/src")
# what it solves, source, its options, numbers of ranks. ex56 takes cubes only.
PROGRAMS = {
    "elasticity": ("ksp/ksp/tutorials/ex56", "-ne 15", (1, 8)),
    "ice": ("snes/tutorials/ex48", "-M 16 -P 8 -thi_mat_type baij", (1, 2, 4, 8)),
    "cavity": ("snes/tutorials/ex19", "-da_refine 4", (1, 2, 4, 8)),
}
KRYLOV = "-ksp_type fgmres -ksp_gmres_restart 300 -ksp_max_it 3000"
CASES = {
    schedule: f"-pc_type mcpi -pc_mcpi_schedule {schedule}"
    for schedule in ("color", "wave", "cluster", "level")
}
CASES["cluster, rcm"] = f"{CASES['cluster']} -pc_mcpi_ordering rcm"
CASES |= {"SOR": "-pc_type sor", "BJACOBI": "-pc_type bjacobi", "ASM": "-pc_type asm"}
SHOW = "-ksp_converged_reason -snes_converged_reason -ksp_view"
# Linear solves of a nonlinear one are indented.
SOLVE = re.compile(r"^ *Linear solve (\w+).* due to (\w+) iterations (\d+)", re.MULTILINE)
NONLINEAR = re.compile(r"^ *Nonlinear solve (\w+).* due to (\w+) iterations (\d+)", re.MULTILINE)


def run(program, ranks, options):
    """What the program prints"""
    os.environ["OMPI_MCA_hwloc_base_binding_policy"] = "none"  # ranks share cores
    os.environ["OMPI_MCA_mpi_yield_when_idle"] = "1"
    return run_command(["mpiexec", "-n", str(ranks), str(program), *shlex.split(options)])


def measure(output):
    """The numbers of a run"""
    solves, steps = SOLVE.findall(output), NONLINEAR.findall(output)
    colors = re.search(r"colors: (\d+) by", output)
    # The largest matrix: PCBJACOBI and PCASM show parts of it, too.
    rows, block = max(
        (int(rows), int(block))
        for rows, block in re.findall(r"rows=(\d+), cols=\d+, bs=(\d+)", output)
    )
    return {
        "rows": rows // block,
        "bs": block,
        "colors": int(colors[1]) if colors else None,
        "precision": "fp32" if colors else None,
        "iterations": sum(int(its) for _, _, its in solves),
        "solves": len(solves),
        "nonlinear_iterations": int(steps[0][2]) if steps else None,
        "converged": bool(solves) and all(s[0] == "converged" for s in solves + steps),
    }


def petsc_version(program):
    output = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r"Release Version (\d+\.\d+\.\d+)", output.stdout)
    return f"PETSc {found[1]}" if found else None


def main(build, out, only=""):
    folder = build / "petsc-examples"
    folder.mkdir(exist_ok=True)
    programs, rows = Programs(EXAMPLES, folder, "PETSc"), []
    for name, (source, own, all_ranks) in PROGRAMS.items():
        if only not in name:
            continue
        program = programs.get(Path(source))
        for ranks in all_ranks:
            for label, options in CASES.items():
                options = f"{own} {KRYLOV} {options}"
                loaded = f"-dll_append {build}/libpetscmcpi.so {options} {SHOW}"
                case = {"program": name, "source": f"{source}.c", "ranks": ranks, "schedule": label}
                rows.append(case | measure(run(program, ranks, loaded)) | {"options": options})
                print({k: v for k, v in rows[-1].items() if k != "options"}, file=sys.stderr)
    notes = "sums of the linear iterations of all solves; one symmetric sweep with each"
    command = f"benchmarks/example_schedules.py BUILD OUT.json {only}".strip()
    petsc = petsc_version(program)
    records.write(out, records.new("example_schedules", rows, command, petsc=petsc, notes=notes))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), *sys.argv[2:])
