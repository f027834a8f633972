"""Linear iterations of examples/flow on meshes with and without thin layers at the wall, by CFL number and preconditioner: flow_layers.py BUILD OUT.json

Needs gmsh, and BUILD/examples/flow. Prints a table for docs/flow.md. On one rank: PT-Scotch divides meshes otherwise in each run, and colorings with them.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MESHES = {"triangles": [], "layers": ["layers", "30"], "layers, 3-D": ["layers", "30", "span", "0.1"]}
CFLS = [10, 100, 1000, 10000]
MCPI = "-pc_type mcpi -pc_mcpi_its 4 -pc_mcpi_offdiag_precision "
PCS = {f"mcpi {precision}": MCPI + precision for precision in ("fp64", "fp32", "int8", "int4")} | {
    "mcpi int4, omega 0.8": MCPI + "int4 -pc_mcpi_omega 0.8",
    "mcpi fp32, 16 sweeps": MCPI + "fp32 -pc_mcpi_its 16",
    "SOR, 4 sweeps": "-pc_type sor -pc_sor_local_forward -pc_sor_its 4",
    "PBJACOBI": "-pc_type pbjacobi",
    "BJACOBI/ILU(0)": "-pc_type bjacobi",
}
STEPS, MOST = 10, 100  # steps of each case; iterations of a step at which the program goes on without the tolerance


def make_mesh(folder, name, numbers):
    mesh = f"{folder}/{len(os.listdir(folder))}.msh"
    numbers = ["size", "0.02"] + numbers
    options = [word for pair in zip(numbers[::2], numbers[1::2]) for word in ("-setnumber", *pair)]
    subprocess.run(["gmsh", "-v", "1", "-3" if "span" in numbers else "-2", *options, f"{ROOT}/examples/flow/naca0012.geo", "-o", mesh], check=True)
    return mesh


def run(command, mesh, restart, steps, options):
    """Vertices, and step, CFL number, residual, iterations of each step"""
    command = [*command, "-dm_plex_filename", mesh, "-dm_mat_type", "baij", "-flow_restart", restart, "-flow_rtol", "0", "-flow_steps", str(steps)]
    text = subprocess.run([*command, *options.split()], check=True, capture_output=True, text=True).stdout
    line = re.compile(r"\s*(\d+)\s+([-+.\de]+)\s+([-+.\de]+)\s+(\d+)\s+[\d.]+\s")
    found = [match.groups() for match in map(line.match, text.splitlines()) if match]
    return int(re.search(r"(\d+) vertices", text)[1]), [(int(s), float(cfl), float(r), int(its)) for s, cfl, r, its in found[:-1]]


def main(build, out):
    flow = f"{build}/examples/flow"
    command = [flow, "-dll_append", f"{build}/libpetscmcpi.so"]
    version = subprocess.run([flow, "-version"], capture_output=True, text=True).stdout
    commit = subprocess.run(["git", "describe", "--always", "--dirty", "--exclude", "*"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for name, numbers in MESHES.items():
            mesh = make_mesh(folder, name, numbers)
            start, here = f"{folder}/start", f"{folder}/here"
            before, steps = 0, []
            while before < 200 and (not steps or steps[-1][1] < max(CFLS)):
                before += 10
                vertices, steps = run(command, mesh, start, before, MCPI + "fp32")
            for cfl in CFLS:
                for pc, options in PCS.items():
                    shutil.copy(start, here)
                    _, steps = run(command, mesh, here, before + STEPS, f"-flow_cfl {cfl} -flow_cfl_max {cfl} {options}")
                    its = [step[3] for step in steps]
                    row = {"mesh": name, "vertices": vertices, "steps_before": before, "cfl": cfl, "pc": pc, "options": options, "iterations": its}
                    row |= {"cfl_least": min(step[1] for step in steps), "residuals": [step[2] for step in steps]}
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
        "command": "benchmarks/flow_layers.py BUILD OUT.json",
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
    main(os.path.abspath(sys.argv[1]), sys.argv[2])
