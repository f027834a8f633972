"""Run PETSc's snes/ex19 with several preconditioners; a table, its JSON and a plot of the convergence. Called by tools/demo."""
import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

PRECONDITIONERS = [
    ("pbjacobi", "-pc_type pbjacobi"),
    ("sor", "-pc_type sor"),
    ("sor, 3 sweeps", "-pc_type sor -pc_sor_its 3"),
    ("mcpi", "-pc_type mcpi"),
    ("mcpi, 3 sweeps", "-pc_type mcpi -pc_mcpi_its 3"),
    ("mcpi, 3 sweeps, fp16", "-pc_type mcpi -pc_mcpi_its 3 -pc_mcpi_offdiag_precision fp16"),
    ("mcpi, 3 sweeps, int8", "-pc_type mcpi -pc_mcpi_its 3 -pc_mcpi_offdiag_precision int8"),
]
# On the right the residuals are the true ones, so every preconditioner stops at the same accuracy
COMMON = "-lidvelocity 10 -grashof 100 -dm_mat_type baij -ksp_type gmres -ksp_pc_side right -ksp_rtol 1e-3"
REPORT = "-snes_converged_reason -ksp_converged_reason -ksp_monitor -log_view -memory_view"
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PETSC_OPTIONS": "",
    "OMP_NUM_THREADS": "1",
}


def event_seconds(output, event):
    """Time of an event in -log_view: its third number."""
    found = re.search(rf"^{event} +\d+ +\S+ +(\S+)", output, re.M)
    return float(found[1]) if found else 0.0


def run(arguments, ranks, name, options):
    grid = arguments.grid
    command = ["mpiexec", "-n", str(ranks), str(arguments.program), "-dll_append", str(arguments.plugin)]
    command += f"-da_grid_x {grid} -da_grid_y {grid} {COMMON} {options} {REPORT}".split()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                          stdin=subprocess.DEVNULL, env={**os.environ, **ENVIRONMENT})
    output = done.stdout
    nonlinear = re.search(r"Nonlinear solve converged due to \w+ iterations (\d+)", output)
    if done.returncode or not nonlinear:
        sys.exit(f"{output}\n{' '.join(command)}\nfailed")
    memory = re.search(r"Maximum \(over computational time\) process memory: +total (\S+)", output)
    return {
        "preconditioner": name,
        "options": options,
        "ranks": ranks,
        "snes_iterations": int(nonlinear[1]),
        "ksp_iterations": sum(int(n) for n in re.findall(r"Linear solve converged due to \w+ iterations (\d+)", output)),
        "solve_seconds": event_seconds(output, "KSPSolve"),
        "apply_seconds": event_seconds(output, "PCApply"),
        "setup_seconds": event_seconds(output, "PCSetUp"),
        "memory_mb": float(memory[1]) / 1e6 if memory else None,
        "residuals": [float(r) for r in re.findall(r"^ *\d+ KSP Residual norm (\S+)", output, re.M)],
    }


def print_row(*cells):
    print("{:>5}  {:<22}{:>10}{:>9}{:>11}{:>13}{:>12}".format(*cells), flush=True)


def plot(results, ranks, path, title):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(len(ranks), 2, figsize=(12, 4.2 * len(ranks)), squeeze=False, sharey=True)
    for row, count in zip(axes, ranks):
        for result in (r for r in results if r["ranks"] == count):
            residuals = result["residuals"]
            step = result["solve_seconds"] / max(len(residuals) - 1, 1)
            style = "-" if result["preconditioner"].startswith("mcpi") else "--"
            row[0].semilogy(range(len(residuals)), residuals, style, label=result["preconditioner"], linewidth=1.2)
            row[1].semilogy([i * step for i in range(len(residuals))], residuals, style, linewidth=1.2)
        row[0].set_xlabel("GMRES iterations, all Newton steps")
        row[1].set_xlabel("time in KSPSolve, spread evenly over its iterations [s]")
        row[0].set_ylabel(f"residual norm, {count} rank{'s' if count > 1 else ''}")
        for axis in row:
            axis.grid(alpha=0.3)
    axes[0][0].legend(fontsize="small")
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--plugin", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--grid", type=int, default=161)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    arguments.program, arguments.plugin = arguments.program.resolve(), arguments.plugin.resolve()
    arguments.output.mkdir(parents=True, exist_ok=True)

    grid = arguments.grid
    title = f"Driven cavity (PETSc's snes/ex19), {grid} x {grid} points, {4 * grid * grid} unknowns, BAIJ with 4 x 4 blocks"
    print(f"{title}\nmpiexec -n RANKS snes_ex19 -dll_append {arguments.plugin} -da_grid_x {grid} -da_grid_y {grid} {COMMON} -pc_type ...\n")
    print_row("ranks", "preconditioner", "SNES its", "KSP its", "solve [s]", "of it PC [s]", "memory [MB]")
    results = []
    for ranks in arguments.ranks:
        for name, options in PRECONDITIONERS:
            result = run(arguments, ranks, name, options)
            results.append(result)
            print_row(ranks, name, result["snes_iterations"], result["ksp_iterations"], f"{result['solve_seconds']:.2f}",
                      f"{result['apply_seconds'] + result['setup_seconds']:.2f}", f"{result['memory_mb']:.0f}")
        print()

    table, image = arguments.output / "demo.json", arguments.output / "convergence.png"
    table.write_text(json.dumps({"title": title, "common_options": COMMON, "grid": grid, "runs": results}, indent=1) + "\n", encoding="utf-8")
    plot(results, arguments.ranks, image, title)
    print(f"Solve: all KSPSolve; PC: setting up and applying the preconditioner; memory: all ranks, the whole program.\nWrote {table} and {image}.")


if __name__ == "__main__":
    main()
