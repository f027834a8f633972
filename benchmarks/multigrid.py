"""Iterations and CPU seconds of PETSc's elasticity program by the smoother of PCGAMG.

Usage: multigrid.py BUILD OUT.json [TURNS]
Needs BUILD/libpetscmcpi.so and the sources of PETSc's examples, as in libpetsc-dev-examples of
Debian. The cases run in turns, so that other work on the machine meets them alike.
"""

import itertools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests/programs")]
import results as records  # noqa: E402
from example_schedules import EXAMPLES, SOLVE, petsc_version  # noqa: E402
from petsc_examples import Programs  # noqa: E402

SOURCE = "ksp/ksp/tutorials/ex56"
COMMON = "-ksp_type cg -ksp_rtol 1e-8 -ksp_converged_reason -ksp_view -pc_type gamg"
SIZES = (15, 20, 24)
SMOOTHERS = {
    "jacobi": "-mg_levels_pc_type jacobi",
    "sor": "-mg_levels_pc_type sor",
    "mcpi": "-mg_levels_pc_type mcpi",
    "mcpi, int8": "-mg_levels_pc_type mcpi -mg_levels_pc_mcpi_offdiag_precision int8",
}
METHODS = ("chebyshev", "richardson")
FINEST = re.compile(r"rows=(\d+), cols=\d+, bs=(\d+)")  # the last one: the matrix of KSPCG
STORAGE = re.compile(r"off-diagonal blocks: (\w+),")


def run(program, options):
    """What the program prints, and its CPU seconds"""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [program, *shlex.split(options)], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{options}: exit status {process.returncode}")
    return output, usage.ru_utime + usage.ru_stime


def measure(output):
    """The numbers of a run. Only mcpi counts the empty unknowns of its levels."""
    how, _, iterations = SOLVE.findall(output)[0]
    unknowns, block = (int(n) for n in FINEST.findall(output)[-1])
    storage, empty = STORAGE.search(output), re.findall(r"empty unknowns: (\d+)", output)
    return {
        "ranks": 1,
        "rows": unknowns // block,
        "bs": block,
        "precision": storage[1] if storage else None,
        "iterations": int(iterations),
        "converged": how == "converged",
        "empty_unknowns": sum(map(int, empty)) if storage else None,
    }


def main(build, out, turns="5"):
    folder = build / "petsc-examples"
    folder.mkdir(exist_ok=True)
    program = Programs(EXAMPLES, folder, "PETSc").get(Path(SOURCE))
    seconds, rows = {}, {}
    for _ in range(int(turns)):
        for key in itertools.product(SIZES, SMOOTHERS, METHODS):
            size, name, method = key
            options = f"-ne {size} {COMMON} -mg_levels_ksp_type {method} {SMOOTHERS[name]}"
            output, used = run(program, f"-dll_append {build}/libpetscmcpi.so {options}")
            seconds.setdefault(key, []).append(used)
            rows[key] = {"ne": size, "smoother": name, "method": method, **measure(output)}
            print(*key, rows[key]["iterations"], f"{used:.2f}", file=sys.stderr)
    table = [row | {"cpu_seconds": round(min(seconds[key]), 3)} for key, row in rows.items()]
    notes = "cpu_seconds: the least of all turns, of the whole program, with assembly and set-up"
    command = f"benchmarks/multigrid.py BUILD OUT.json {turns}"
    document = records.new("multigrid", table, command, petsc=petsc_version(program), notes=notes)
    records.write(out, document)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), *sys.argv[2:])
