"""Linear iterations of examples/flow by schedule: one symmetric sweep with each, beside PETSc's own.

Usage: flow_schedules.py BUILD OUT.json [MESH [SCHEDULE [CFL ...]]]
MESH and SCHEDULE: parts of names; only these are run. An empty MESH runs all. The SCHEDULE `few`
runs those of FEW. CFL: 1,000 if none is given.
Needs Gmsh and BUILD/examples/flow. Runs on one rank, because PT-Scotch partitions a mesh
differently in each run.
"""

import itertools
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
import results as records  # noqa: E402
from flow_program import WING, make_mesh, petsc_version, run_flow  # noqa: E402

# geometry, options of Gmsh, options of flow, tolerance
MESHES = {
    "wing": ("m6", "-3 -setnumber size 0.04", WING, 1e-4),
    "wing, 42,450 vertices": ("m6", "-3 -setnumber size 0.02", WING, 1e-4),
    "triangles": ("naca0012", "-2 -setnumber size 0.02", "", 1e-4),
    "layers": ("naca0012", "-2 -setnumber size 0.02 -setnumber layers 30", "", 1e-2),
    "layers, coarse": ("naca0012", "-2 -setnumber size 0.04 -setnumber layers 20", "", 1e-2),
    "prisms": (
        "naca0012",
        "-3 -setnumber size 0.02 -setnumber layers 30 -setnumber quads 0 -setnumber span 0.1",
        "",
        1e-2,
    ),
}
SWEEP = "-pc_type mcpi -pc_mcpi_sweep symmetric -pc_mcpi_offdiag_precision int8"
COLORING = "-pc_mcpi_mat_coloring"
ORDERS = ("front", "natural", "rcm")
COLORINGS = {"jplf": f"{COLORING}_type jplf"}
for colors in (16, 32, 64):
    for order in ORDERS:
        COLORINGS[f"wave {colors}, {order}"] = (
            f"{COLORING}_type wave {COLORING}_wave_colors {colors} {COLORING}_wave_order {order}"
        )
for order in ORDERS:
    COLORINGS[f"levels, {order}"] = f"{COLORING}_type levels {COLORING}_levels_order {order}"
COLORINGS |= {
    f"cluster {rows}": f"-pc_mcpi_schedule cluster -pc_mcpi_cluster_rows {rows}"
    for rows in (8, 16, 32, 64, 512, 1024)
}
COLORINGS["cluster 512, rcm"] = f"{COLORINGS['cluster 512']} -pc_mcpi_ordering rcm"
COLORINGS["cluster 32, dilu"] = f"{COLORINGS['cluster 32']} -pc_mcpi_method dilu"
for label in ("jplf", "wave 32, natural", "levels, natural", "cluster 32"):
    COLORINGS[f"{label}, ilu0"] = f"{COLORINGS[label]} -pc_mcpi_method ilu0"
CASES = {label: f"{coloring} {SWEEP}" for label, coloring in COLORINGS.items()}
for label in ("jplf", "levels, natural", "cluster 512"):
    CASES[f"{label}, fp32"] = CASES[label].replace("int8", "fp32")
OTHERS = {"SOR": "-pc_type sor", "ILU(0)": "-pc_type ilu"}
FEW = {"jplf", "wave 32, natural", "levels, natural", "cluster 32", "cluster 512", *OTHERS}
FEW |= {"jplf, fp32", "levels, natural, fp32", "cluster 512, fp32"}
CFL = 1000  # of the flow at which the cases begin
STEPS = 3  # of each case


def run(build, mesh, restart, steps, options):
    """What flow printed, its row, and the linear iterations of each step"""
    output, row, history = run_flow(
        build, 1, mesh, f"-flow_restart {restart} -flow_rtol 0 -flow_steps {steps} {options}"
    )
    return output, row, history["history_linear_iterations"][:-1], history["history_cfl"]


def main(build, out, only="", schedule="", *cfls):
    rows = []
    cases = {
        label: options
        for label, options in (CASES | OTHERS).items()
        if (label in FEW if schedule == "few" else schedule in label)
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, (geometry, gmsh, flow, tolerance) in MESHES.items():
            if only not in name:
                continue
            mesh = make_mesh(geometry, gmsh, folder)
            start, here = f"{folder}/start", f"{folder}/here"
            before, cfl = 0, [0]
            while before < 200 and cfl[-1] < CFL:
                before += 10
                cfl = run(build, mesh, start, before, f"{flow} -flow_cfl_max {CFL}")[3]
            for at, (label, options) in itertools.product(cfls or (CFL,), cases.items()):
                shutil.copy(start, here)
                options = f"{flow} -flow_cfl {at} -flow_cfl_max {at} {options} "
                options += f"-ksp_rtol {tolerance} "
                options += "-ksp_gmres_restart 200 -ksp_max_it 200 -ksp_view"
                output, row, its, _ = run(build, mesh, here, before + STEPS, options.strip())
                colors = re.search(r"colors: (\d+) by", output)
                rows.append(
                    {
                        "ranks": 1,
                        "mesh": name,
                        "vertices": row["vertices"],
                        "steps_before": before,
                        "cfl": int(at),
                        "rtol": tolerance,
                        "schedule": label,
                        "colors": int(colors[1]) if colors else None,
                        "precision": "fp32" if "fp32" in label else "int8",
                        "iterations": its,
                        "mean": round(sum(its) / len(its), 1),
                        "options": options.strip(),
                    }
                )
                print(name, at, label, rows[-1]["colors"], its, file=sys.stderr)
                os.remove(here)
            os.remove(start)
    notes = f"linear iterations (FGMRES, one symmetric sweep) of {STEPS} steps at this CFL number"
    chosen = [only or "''", schedule, *cfls] if schedule else [only]
    command = " ".join(["benchmarks/flow_schedules.py BUILD OUT.json", *chosen]).strip()
    records.write(
        out, records.new("flow_schedules", rows, command, petsc=petsc_version(build), notes=notes)
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), *sys.argv[2:])
