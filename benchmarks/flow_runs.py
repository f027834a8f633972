"""Runs of examples/flow: flow_runs.py WHAT --build BUILD --json OUT [...]

physics: lift and drag of NACA 0012 and of the ONERA M6 wing on several meshes.
precisions: one run with every preconditioner and storage of blocks, step by step.
device: whole runs on a GPU and on the host.
solvers: whole runs of the wing by mcpi and by PETSc's preconditioners, on cores or on a GPU.
viscous: laminar flows along a plate and around NACA 0012.
Where Gmsh is missing, --meshes names a folder with the meshes, named as make_mesh() names them.
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
import results as records  # noqa: E402
from flow_program import DEVICE, MCPI, THEIRS, WING  # noqa: E402
from flow_program import make_mesh, petsc_version, run_flow  # noqa: E402
from flow_viscous import run_viscous  # noqa: E402
from flow_ways import gpu_name, run_solvers  # noqa: E402

SUBSONIC = "-flow_mach 0.5 -flow_angle 0 -flow_limiter -1"

# what, geometry, options of Gmsh, options of flow
PHYSICS = [
    *[
        ("Mach 0.8, 1.25 degrees", "naca0012", f"-2 -setnumber size {size}", "")
        for size in (0.04, 0.02, 0.01, 0.005)
    ],
    ("Mach 0.8, 1.25 degrees, SI units", "naca0012", "-2 -setnumber size 0.02", "-flow_units si"),
    (
        "Mach 0.8, 1.25 degrees, one layer of prisms",
        "naca0012",
        "-3 -setnumber size 0.02 -setnumber span 0.1",
        "-flow_area 0.1",
    ),
    ("Mach 0.8, 1.25 degrees, first order", "naca0012", "-2 -setnumber size 0.02", "-flow_order 1"),
    *[
        ("Mach 0.5, 0 degrees, no limiter", "naca0012", f"-2 -setnumber size {size}", SUBSONIC)
        for size in (0.04, 0.02, 0.01)
    ],
    *[
        (
            "Mach 0.5, 0 degrees, no limiter, symmetric mesh",
            "naca0012",
            f"-2 -setnumber size {size} -setnumber symmetric 1",
            SUBSONIC,
        )
        for size in (0.02, 0.015, 0.01)
    ],
    *[
        ("ONERA M6, Mach 0.84, 3.06 degrees", "m6", f"-3 -setnumber size {size}", WING)
        for size in (0.06, 0.04, 0.02)
    ],
    (
        "ONERA M6, Mach 0.84, 3.06 degrees, SI units",
        "m6",
        "-3 -setnumber size 0.04",
        WING + " -flow_units si",
    ),
]
SWEEPS_15 = "-pc_type mcpi -pc_mcpi_sweep forward -pc_mcpi_vector_precision fp32 -pc_mcpi_its 15"
STATIONARY = {
    name: f"-ksp_type preonly {SWEEPS_15}{options}"
    for name, options in (
        ("stationary, 15 sweeps, fp32", ""),
        (
            "stationary, 15 sweeps, int8, restart 5",
            " -pc_mcpi_offdiag_precision int8 -pc_mcpi_restart 5",
        ),
        (
            "stationary, 15 sweeps, int4, restart 3",
            " -pc_mcpi_offdiag_precision int4 -pc_mcpi_restart 3",
        ),
    )
}
PRECISIONS = [
    *[
        (f"mcpi, {precision}", f"{MCPI} -pc_mcpi_offdiag_precision {precision}")
        for precision in ("fp64", "fp32", "fp16", "int8", "int4")
    ],
    ("mcpi, int4, restart 2", f"{MCPI} -pc_mcpi_offdiag_precision int4 -pc_mcpi_restart 2"),
    *STATIONARY.items(),
    *THEIRS.items(),
]
CASES = [
    ("NACA 0012", "naca0012", "-2 -setnumber size 0.01", ""),
    ("NACA 0012, SI units", "naca0012", "-2 -setnumber size 0.01", "-flow_units si"),
    ("ONERA M6", "m6", "-3 -setnumber size 0.04", WING),
    ("ONERA M6, SI units", "m6", "-3 -setnumber size 0.04", WING + " -flow_units si"),
]
LARGE = f"{WING} -dm_refine 1 -flow_rtol 1e-4"
# what, geometry, options of Gmsh, options of flow, ranks (0: --ranks), on a device
ON_DEVICE = [
    *[
        ("NACA 0012", "naca0012", "-2 -setnumber size 0.01", f"-flow_rtol 1e-6 {MCPI}", 1, device)
        for device in (True, False)
    ],
    *[
        (
            "ONERA M6",
            "m6",
            "-3 -setnumber size 0.04",
            f"{WING} -flow_rtol 1e-4 {MCPI}",
            ranks,
            device,
        )
        for ranks, device in ((1, True), (8, True), (1, False), (8, False))
    ],
    (
        "ONERA M6, 16 threads",
        "m6",
        "-3 -setnumber size 0.04",
        f"{WING} -flow_rtol 1e-4 {MCPI} -flow_threads 16",
        1,
        True,
    ),
    (
        "ONERA M6, refined, 16 threads",
        "m6",
        "-3 -setnumber size 0.0138",
        f"{LARGE} {SWEEPS_15} -pc_mcpi_offdiag_precision int8 -flow_threads 16",
        1,
        True,
    ),
    ("ONERA M6, refined", "m6", "-3 -setnumber size 0.0138", f"{LARGE} {MCPI}", 0, False),
    *[
        (
            f"ONERA M6, 16 threads, {name}",
            "m6",
            "-3 -setnumber size 0.04",
            f"{WING} -flow_rtol 1e-4 {options} -flow_threads 16",
            1,
            True,
        )
        for name, options in STATIONARY.items()
    ],
    *[
        (
            f"ONERA M6, refined, 16 threads, {name}",
            "m6",
            "-3 -setnumber size 0.0138",
            f"{LARGE} {options} -flow_threads 16",
            1,
            True,
        )
        for name, options in STATIONARY.items()
    ],
]


def print_record(record):
    print(
        f"{record['case']:46} {record['method']:40} {record['vertices']:7} vertices "
        f"{record['steps']:4} steps {record['linear_iterations']:6} iterations "
        f"{record['seconds']:7.1f} s  lift {record['lift']:.4f} drag {record['drag']:.4f}  "
        f"{record['end']} {record['residual']:.0e}",
        flush=True,
    )


def run_on_device(arguments, folder):
    gpu = gpu_name()
    results = []
    for name, geometry, mesh_options, options, ranks, device in ON_DEVICE:
        ranks = ranks or arguments.ranks
        method = f"{gpu if device else 'host'}, {ranks} rank{'s' if ranks > 1 else ''}"
        if not re.search(arguments.only, f"{name}; {method}"):
            continue
        _, record, history = run_flow(
            arguments.build,
            ranks,
            make_mesh(geometry, mesh_options, folder),
            f"{options} {arguments.more}".strip(),
            *([DEVICE] if device else []),
        )
        results.append(
            {
                "case": name,
                "mesh": f"{geometry}.geo {mesh_options}",
                "method": method,
                "ranks": ranks,
                **record,
                **history,
            }
        )
        print_record(results[-1])
        print(f"    {record['seconds_with_mesh']} s with the mesh", flush=True)
        command = f"flow_runs.py device --only '{arguments.only}'"
        records.write(
            arguments.json,
            records.new(
                "flow device",
                results,
                command,
                arguments.commit,
                petsc_version(arguments.build),
                gpu or None,
            ),
        )


def run_on_cores(arguments, folder):
    """physics or precisions"""
    physics = arguments.what == "physics"
    results = []
    for name, geometry, mesh_options, options in PHYSICS if physics else CASES:
        if not re.search(arguments.only, name):
            continue
        mesh = make_mesh(geometry, mesh_options, folder)
        for method, chosen in [("", MCPI)] if physics else PRECISIONS:
            if arguments.methods not in method:
                continue
            options_here = f"-flow_rtol {arguments.rtol} {options} {chosen}".strip()
            _, record, history = run_flow(arguments.build, arguments.ranks, mesh, options_here)
            record = {
                "case": name,
                "mesh": f"{geometry}.geo {mesh_options}",
                "method": method,
                "ranks": arguments.ranks,
                **record,
            }
            results.append(record | history if method else record)
            print_record(results[-1])
    command = f"flow_runs.py {arguments.what} --ranks {arguments.ranks} --rtol {arguments.rtol}"
    version = petsc_version(arguments.build)
    document = records.new(f"flow {arguments.what}", results, command, arguments.commit, version)
    records.write(arguments.json, document)


RUNS = {
    "physics": run_on_cores,
    "precisions": run_on_cores,
    "device": run_on_device,
    "solvers": run_solvers,
    "viscous": run_viscous,
}


def read_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=RUNS)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rtol", default="1e-6")
    parser.add_argument("--commit", default="")
    parser.add_argument(
        "--only",
        default="",
        help="cases that match this regular expression (device: name and method; solvers: name)",
    )
    parser.add_argument(
        "--methods", default="", help="precisions: methods whose name has this in it"
    )
    parser.add_argument("--more", default="", help="options of flow, for device and solvers")
    parser.add_argument("--meshes", type=Path)
    solvers = parser.add_argument_group("solvers, on one rank")
    solvers.add_argument("--device", action="store_true", help="on a GPU")
    solvers.add_argument("--mesh", type=Path, help="of the wing; without it Gmsh makes one")
    solvers.add_argument("--size", default="0.04", help="length of edges of that mesh")
    solvers.add_argument("--together", type=int, default=1, help="programs that read at once")
    solvers.add_argument("--turns", type=int, default=1, help="runs of each, fastest is kept")
    solvers.add_argument("--limit", type=float, default=120, help="seconds of a run")
    return parser.parse_args()


def main():
    arguments = read_arguments()
    with tempfile.TemporaryDirectory() as folder:
        RUNS[arguments.what](arguments, arguments.meshes or folder)


if __name__ == "__main__":
    main()
