"""Meshes and runs of examples/flow, for tools/demo and the benchmarks."""

import os
import re
import subprocess
import threading
import time
from pathlib import Path

LINE = re.compile(r"\s*(\d+)\s+(\S+)\s+(\S+)\s+(\d+)\s+(\S+)\s+(\S+)\s+(\S+)(?:\s\s(.*))?$")
PARTS = re.compile(
    r"seconds: residuals (\S+), Jacobians (\S+), set-up (\S+), linear solves (\S+), the rest (\S+)"
)
PART_NAMES = ("residuals", "jacobians", "setup", "solves", "rest")
WING = "-flow_mach 0.84 -flow_angle 3.06 -flow_area 0.7532"
DEVICE = "-dm_mat_type aijcusparse -dm_vec_type cuda -use_gpu_aware_mpi 0"
MCPI = "-pc_type mcpi -pc_mcpi_sweep forward -pc_mcpi_its 4"
RECOMMENDED = "-ksp_type fgmres -pc_type mcpi"  # README.md
THEIRS = {
    name: f"-ksp_type gmres -ksp_pc_side right -pc_type {pc}"
    for name, pc in (
        ("sor", "sor"),
        ("pbjacobi", "pbjacobi"),
        ("bjacobi, ilu(0)", "bjacobi"),
        ("asm, ilu(0)", "asm"),
    )
}
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMP_NUM_THREADS": "1",
    "PETSC_OPTIONS": "",
}
ROOT = Path(__file__).resolve().parent.parent


def make_mesh(geometry, options, folder):
    """The mesh of a .geo file of examples/flow, made unless it is there"""
    name = re.sub(r"[^\w.]+", "_", geometry + options)
    mesh, unfinished = Path(folder) / f"{name}.msh", Path(folder) / f"{name}.unfinished.msh"
    if not mesh.exists():
        source = ROOT / "examples/flow" / f"{geometry}.geo"
        run_command(["gmsh", *options.split(), str(source), "-o", str(unfinished)])
        unfinished.rename(mesh)
    return mesh


def petsc_version(build):
    output = subprocess.run(
        [build / "examples/flow", "-version"], capture_output=True, text=True, check=False
    ).stdout
    found = re.search(r"Release Version (\d+\.\d+\.\d+)", output)
    return f"PETSc {found[1]}" if found else None


class Failure(SystemExit):
    """What a command printed before it failed, or ran for too long. Ends this program unless it is
    caught"""

    def __init__(self, command, output, end="failed"):
        super().__init__(f"{output}\n{' '.join(command)}\n{end}")
        self.output, self.end = output, end


def run_command(command, on_line=None, limit=None):
    """All that a command prints; on_line() gets every line. Raises a Failure if it fails, or has not
    ended after limit seconds"""
    options = {"stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL, "text": True}
    options |= {"errors": "replace", "env": {**os.environ, **ENVIRONMENT}}
    lines, late = [], threading.Event()
    with subprocess.Popen(command, stdout=subprocess.PIPE, **options) as process:

        def stop():
            late.set()
            process.terminate()

        timer = threading.Timer(limit or 0, stop)
        timer.daemon = True
        if limit:
            timer.start()
        for line in process.stdout:
            lines.append(line)
            if on_line:
                on_line(line)
        process.wait()
        timer.cancel()
    output = "".join(lines)
    if process.returncode:
        raise Failure(command, output, "time limit" if late.is_set() else "failed")
    return output


def error_of(output):
    """The first message of PETSc, or the last words of a program that failed"""
    words = [line.strip() for line in output.splitlines() if line.strip(" -")]
    errors = [word for word in words if "ERROR: " in word and "-----" not in word]
    return (errors or words[-1:] or ["no output"])[0][:200]


def steps_of(output):
    """The columns of every step as text"""
    return [match.groups() for match in map(LINE.match, output.splitlines()) if match]


def record_of(output, steps, options):
    """A row for benchmarks/results. Without a last line, parts of the time are missing"""
    last = steps[-1]
    record = {
        "vertices": int(re.search(r"(\d+) vertices", output)[1]),
        "steps": int(last[0]),
        "residual": float(last[2]),
        "linear_iterations": sum(int(step[3]) for step in steps),
        "lift": float(last[5]),
        "drag": float(last[6]),
        "seconds": float(last[4]),
        "end": (last[7] or "").strip(),
        "options": options,
    }
    parts = PARTS.search(output)
    if parts:
        for name, part in zip(PART_NAMES, parts.groups()):
            record[f"seconds_{name}"] = float(part)
    return record


def history_of(steps):
    """Lists with a value for each step. A residual is that before the step, seconds are after it"""
    return {
        "history_residual": [float(step[2]) for step in steps],
        "history_linear_iterations": [int(step[3]) for step in steps],
        "history_cfl": [float(step[1]) for step in steps],
        "history_seconds": [float(step[4]) for step in steps],
    }


def flow_command(build, mesh, options, types="-dm_mat_type baij"):
    """The program with its arguments, to be started by mpiexec, or alone on one rank"""
    command = [str(build / "examples/flow"), "-dm_plex_filename", str(mesh), *types.split()]
    return [*command, "-dll_append", str(build / "libpetscmcpi.so"), *options.split()]


def run_flow(build, ranks, mesh, options, types="-dm_mat_type baij", on_line=None, limit=None):
    """The output, a row for benchmarks/results, and its columns of the values of each step"""
    places = ["--bind-to", "none"] if "-flow_threads" in options else []
    command = ["mpiexec", *places, "-n", str(ranks), *flow_command(build, mesh, options, types)]
    begin = time.monotonic()
    output = run_command(command, on_line, limit)
    steps = steps_of(output)
    if not PARTS.search(output) or not steps:
        raise Failure(command, output)
    record = record_of(output, steps, options)
    record["seconds_with_mesh"] = round(time.monotonic() - begin, 1)
    return output, record, history_of(steps)
