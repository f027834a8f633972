"""Linear iterations of examples/flow on meshes with and without thin layers at the wall, by CFL number and preconditioner: flow_layers.py BUILD OUT.json [MESH]

Needs gmsh, and BUILD/examples/flow. Prints a table for docs/flow.md. On one rank: PT-Scotch divides meshes otherwise in each run, and colorings with them.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
from flow_program import MCPI, ROOT, make_mesh, run_flow  # noqa: E402

MESHES = {"triangles": "-2", "layers": "-2 -setnumber layers 30", "layers, 3-D": "-3 -setnumber layers 30 -setnumber span 0.1",
          "prisms": "-3 -setnumber layers 30 -setnumber quads 0 -setnumber span 0.1"}
CFLS = [10, 100, 1000, 10000]
PCS = {f"mcpi {precision}": f"{MCPI} -pc_mcpi_offdiag_precision {precision}" for precision in ("fp64", "fp32", "int8", "int4")} | {
    "mcpi int4, omega 0.8": f"{MCPI} -pc_mcpi_offdiag_precision int4 -pc_mcpi_omega 0.8",
    "mcpi fp32, 16 sweeps": "-pc_type mcpi -pc_mcpi_sweep forward -pc_mcpi_its 16",
    "SOR, 4 sweeps": "-pc_type sor -pc_sor_local_forward -pc_sor_its 4",
    "PBJACOBI": "-pc_type pbjacobi",
    "BJACOBI/ILU(0)": "-pc_type bjacobi",
}
STEPS, MOST = 10, 100  # steps of each case; iterations of a step at which the program goes on without the tolerance


def run(build, mesh, restart, steps, options):
    """Vertices, and step by step what it printed, without the line of the end"""
    _, record, history = run_flow(build, 1, mesh, f"-flow_restart {restart} -flow_rtol 0 -flow_steps {steps} {options}")
    return record["vertices"], {name: values[:-1] for name, values in history.items()}


def main(build, out, only=""):
    version = subprocess.run([build / "examples/flow", "-version"], capture_output=True, text=True).stdout
    commit = subprocess.run(["git", "describe", "--always", "--dirty", "--exclude", "*"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
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
                    _, steps = run(build, mesh, here, before + STEPS, f"-flow_cfl {cfl} -flow_cfl_max {cfl} {options}")
                    its = steps["linear_iterations"]
                    row = {"mesh": name, "vertices": vertices, "steps_before": before, "cfl": cfl, "pc": pc, "options": options, "iterations": its}
                    row |= {"cfl_least": min(steps["cfl"]), "residuals": steps["residual"]}
                    results.append(row | {"mean": sum(its) / len(its), "not_converged": sum(i >= MOST for i in its)})
                    print(name, cfl, pc, its, row["cfl_least"], file=sys.stderr, flush=True)
                os.remove(here)
            os.remove(start)
    report = {
        "benchmark": "flow_layers",
        "commit": commit,
        "petsc": re.search(r"Petsc Release Version [\d.]*", version)[0],
        "processor": next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
        "what": f"linear iterations (FGMRES, tolerance 1e-2, at most {MOST}) of each of {STEPS} steps from where the CFL number reaches {max(CFLS)}, NACA 0012 at Mach 0.8 and 1.25 degrees",
        "command": f"benchmarks/flow_layers.py BUILD OUT.json {only}".strip(),
        "ranks": 1,
        "results": results,
    }
    with open(out, "w") as file:
        file.write(re.sub(r"\[[-\d.e,\s]+\]", lambda numbers: " ".join(numbers[0].split()), json.dumps(report, indent=1)))
    print_table(results)


def print_table(results):
    columns = list(dict.fromkeys((row["mesh"], row["cfl"]) for row in results))
    print("| preconditioner |" + "".join(f" {mesh}, CFL {cfl:,} |" for mesh, cfl in columns))
    print("|---|" + "---|" * len(columns))
    for pc in PCS:
        cells = {(row["mesh"], row["cfl"]): f'{row["mean"]:.0f}' + (f' ({row["not_converged"]})' if row["not_converged"] else "") for row in results if row["pc"] == pc}
        print(f"| {pc} |" + "".join(f" {cells[column]} |" for column in columns))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), *sys.argv[2:])
