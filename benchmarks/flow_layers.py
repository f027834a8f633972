"""Linear iterations of examples/flow by mesh, CFL number and preconditioner.

Usage: flow_layers.py BUILD OUT.json [MESH]
The meshes have thin layers at the wall or not. Needs Gmsh and BUILD/examples/flow. Runs on one
rank, because PT-Scotch partitions a mesh differently in each run.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
import results as records  # noqa: E402
from flow_program import MCPI, make_mesh, petsc_version, run_flow  # noqa: E402

MESHES = {
    "triangles": "-2",
    "layers": "-2 -setnumber layers 30",
    "layers, 3-D": "-3 -setnumber layers 30 -setnumber span 0.1",
    "prisms": "-3 -setnumber layers 30 -setnumber quads 0 -setnumber span 0.1",
}
CFLS = [10, 100, 1000, 10000]
PCS = {
    f"mcpi {precision}": f"{MCPI} -pc_mcpi_offdiag_precision {precision}"
    for precision in ("fp64", "fp32", "int8", "int4")
} | {
    "mcpi int4, omega 0.8": f"{MCPI} -pc_mcpi_offdiag_precision int4 -pc_mcpi_omega 0.8",
    "mcpi fp32, 16 sweeps": "-pc_type mcpi -pc_mcpi_sweep forward -pc_mcpi_its 16",
    "SOR, 4 sweeps": "-pc_type sor -pc_sor_local_forward -pc_sor_its 4",
    "PBJACOBI": "-pc_type pbjacobi",
    "BJACOBI/ILU(0)": "-pc_type bjacobi",
}
STEPS = 10  # of each case
MOST = 100  # iterations of a step at which the program goes on without the tolerance


def run(build, mesh, restart, steps, options):
    """Vertices, and step by step what it printed, without the line of the end"""
    _, record, history = run_flow(
        build, 1, mesh, f"-flow_restart {restart} -flow_rtol 0 -flow_steps {steps} {options}"
    )
    return record["vertices"], {
        name.removeprefix("history_"): values[:-1] for name, values in history.items()
    }


def main(build, out, only=""):
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for name, options in MESHES.items():
            if only not in name:
                continue
            mesh = make_mesh("naca0012", options + " -setnumber size 0.02", folder)
            start, here = f"{folder}/start", f"{folder}/here"
            before, steps = 0, {}
            while before < 200 and (not steps or steps["cfl"][-1] < max(CFLS)):
                before += 10
                vertices, steps = run(build, mesh, start, before, MCPI)
            for cfl in CFLS:
                for pc, options in PCS.items():
                    shutil.copy(start, here)
                    _, steps = run(
                        build,
                        mesh,
                        here,
                        before + STEPS,
                        f"-flow_cfl {cfl} -flow_cfl_max {cfl} {options}",
                    )
                    its = steps["linear_iterations"]
                    row = {
                        "ranks": 1,
                        "mesh": name,
                        "vertices": vertices,
                        "steps_before": before,
                        "cfl": cfl,
                        "pc": pc,
                        "options": options,
                        "iterations": its,
                    }
                    row |= {"cfl_least": min(steps["cfl"]), "residuals": steps["residual"]}
                    results.append(
                        row
                        | {
                            "mean": sum(its) / len(its),
                            "not_converged": sum(i >= MOST for i in its),
                        }
                    )
                    print(name, cfl, pc, its, row["cfl_least"], file=sys.stderr, flush=True)
                os.remove(here)
            os.remove(start)
    notes = (
        f"linear iterations (FGMRES, tolerance 1e-2, at most {MOST}) of each of {STEPS} steps "
        f"from where the CFL number reaches {max(CFLS)}, NACA 0012 at Mach 0.8 and 1.25 degrees"
    )
    command = f"benchmarks/flow_layers.py BUILD OUT.json {only}".strip()
    records.write(
        out, records.new("flow_layers", results, command, petsc=petsc_version(build), notes=notes)
    )
    print_table(results)


def print_table(results):
    columns = list(dict.fromkeys((row["mesh"], row["cfl"]) for row in results))
    print("| preconditioner |" + "".join(f" {mesh}, CFL {cfl:,} |" for mesh, cfl in columns))
    print("|---|" + "---|" * len(columns))
    for pc in PCS:
        cells = {
            (row["mesh"], row["cfl"]): f'{row["mean"]:.0f}'
            + (f' ({row["not_converged"]})' if row["not_converged"] else "")
            for row in results
            if row["pc"] == pc
        }
        print(f"| {pc} |" + "".join(f" {cells[column]} |" for column in columns))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), *sys.argv[2:])
