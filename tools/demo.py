"""Linear systems of a transonic wing by mcpi and by PETSc's preconditioners, called by tools/demo.

Computes the wing and an airfoil by examples/flow. Writes tables, JSON and pictures.
"""

import argparse
import math
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from demo_runs import draw_runs, print_runs, run_ways
from flow_program import LINE, RECOMMENDED, ROOT, WING, make_mesh, run_command, run_flow

sys.path.insert(0, str(ROOT / "benchmarks"))
import results  # noqa: E402

STEPS = 25  # of the wing, from the free stream: the shocks are there, and the order is the second
CFLS = (100, 1000, 10000)
POINTS, SPAN = ROOT / "examples/flow/m6_pressure.csv", 1.1963  # measured on the wing
TUNED = "-pc_type mcpi -pc_mcpi_its 8 -pc_mcpi_offdiag_precision fp32"  # docs/notes/choice.md
OURS = {
    "mcpi": "-ksp_type gmres -pc_type mcpi",
    "flexible": "-ksp_type fgmres -pc_type mcpi",
    "tuned": f"-ksp_type fgmres {TUNED}",
}
LABELS = {
    "mcpi": "mcpi alone",
    "flexible": "mcpi, fgmres",
    "tuned": "mcpi, fgmres, tuned",
    "bjacobi": "bjacobi/ilu(0), default",
    "sor": "sor",
    "asm": "asm/ilu(0)",
    "pbjacobi": "pbjacobi",
}
OPTIONS = {name: f"-ksp_type gmres -pc_type {name}" for name in LABELS} | OURS


class Progress:
    """One moving line on a terminal; elsewhere a line at the beginning and one at the end."""

    def __init__(self, what):
        self.what, self.begin = what, time.monotonic()
        self.terminal = sys.stdout.isatty()
        self.show("")

    def show(self, text):
        line = f"{self.what}: {text}" if text else f"{self.what} ..."
        if self.terminal:
            print(f"\r\033[K{line[:78]}", end="", flush=True)
        elif not text:
            print(line, flush=True)

    def end(self, text):
        start = "\r\033[K" if self.terminal else ""
        print(f"{start}{self.what}: {text}, {time.monotonic() - self.begin:.0f} s", flush=True)


def show_step(progress, last):
    """For run_flow(): the steps of the program, of which there are last, or unknown many"""

    def on_line(line):
        found = LINE.match(line)
        if found:
            of = f" of {last}" if last else ""
            progress.show(f"step {found[1]}{of}, residual {float(found[3]):.1e}")

    return on_line


def compute_wing(arguments, folder):
    """The mesh, and the state of the flow after STEPS steps; both are kept for the next run."""
    progress = Progress("Mesh of the ONERA M6 wing")
    mesh = make_mesh("m6", f"-3 -setnumber size {arguments.wing}", folder)
    progress.end(f"edges of {arguments.wing} m on the wing")
    progress = Progress("Flow around the wing, Mach 0.84, 3.06 degrees")
    state = folder / "wing.state"
    options = f"{WING} -flow_steps {STEPS} {RECOMMENDED}"
    options += f" -flow_restart {state} -flow_walls {folder / 'wing.csv'}"
    _, record, _ = run_flow(
        arguments.build, arguments.ranks, mesh, options, on_line=show_step(progress, STEPS)
    )
    progress.end(f"{record['vertices']:,} vertices, {STEPS} steps")
    return mesh, state


def time_solvers(arguments, folder, mesh, state):
    """What benchmark_flow measures: every solver in turn, for every CFL number"""
    table = folder / "solvers.json"
    solvers = ",".join(f"{name}: {options}" for name, options in OPTIONS.items())
    command = ["mpiexec", "-n", str(arguments.ranks)]
    command += [str(arguments.build / "benchmarks/benchmark_flow"), "-dm_plex_filename", str(mesh)]
    command += ["-dm_mat_type", "baij", *WING.split(), "-flow_restart", str(state)]
    command += ["-cfl", ",".join(map(str, CFLS)), "-experiment", "turns"]
    command += ["-repeat", str(arguments.turns), "-solvers", solvers]
    command += ["-json", str(table), "-commit", results.checkout()]
    progress = Progress("Linear systems of the next step by each preconditioner in turn")
    cfl = ""

    def on_line(line):
        nonlocal cfl
        if line.startswith("CFL"):
            cfl = line.split(":")[0]
        elif line.startswith("turn"):
            progress.show(f"{cfl}, turn {line.split()[1][:-1]} of {arguments.turns}")

    run_command(command, on_line)
    progress.end(f"{arguments.turns} turns")
    document = results.read(table)
    for record in document["records"]:
        for row in record["rows"]:
            add_medians(row, arguments.clock)
    results.write(table, document)
    return document


def add_medians(row, clock):
    """Of set-up and solution together, by the clock named wall or cpu"""
    prefix = "turns_cpu_ms" if clock == "cpu" else "turns_ms"
    setups, solves = row[f"{prefix}_setup"], row[f"{prefix}_solve"]
    sums = [setup + solve for setup, solve in zip(setups, solves)]
    row |= {"clock": clock, "ms": median(sums), "ms_least": min(sums), "ms_most": max(sums)}
    row["ms_setup"] = min(median(setups), row["ms"])


def record_of(document, name, cfl):
    return results.only(results.rows(document), name=name, cfl=cfl)


def time_name(arguments):
    """What was measured, in words"""
    if arguments.clock == "cpu":
        return "CPU time" + (" of one rank" if arguments.ranks == 1 else " of the slowest rank")
    return f"wall-clock time on {arguments.ranks} rank" + ("s" if arguments.ranks > 1 else "")


def print_table(arguments, document):
    vertices = results.rows(document)[0]["vertices"]
    print(f"\nLinear systems of {5 * vertices:,} unknowns, new values and solution to 1e-2:")
    print(
        f"{time_name(arguments)} in ms, median of {arguments.turns} turns (least to most), "
        "iterations\n"
    )
    print(f"  {'preconditioner':24}" + "".join(f"{f'CFL {cfl:,}':>24}" for cfl in CFLS))
    for name, label in LABELS.items():
        cells = []
        for cfl in CFLS:
            record = record_of(document, name, cfl)
            spread = f"({record['ms_least']:.0f} to {record['ms_most']:.0f})"
            times = f"{record['ms']:.0f} {spread}" if record["converged"] else "not solved"
            cells.append(f"{times:>20}{record['iterations']:4}")
        print(f"  {label:24}" + "".join(cells))
    print()


def overlap(one, other):
    return one["ms_most"] > other["ms_least"] and other["ms_most"] > one["ms_least"]


def fastest(document, names, cfl):
    """The record of the fastest of those that converged, or None"""
    records = [record_of(document, name, cfl) for name in names]
    return min((r for r in records if r["converged"]), key=lambda r: r["ms"], default=None)


def compare(document):
    """By CFL number: the fastest of PETSc's, its time over ours, and whether the spreads overlap"""
    rows = []
    for cfl in CFLS:
        ours = fastest(document, OURS, cfl)
        best = fastest(document, [name for name in LABELS if name not in OURS], cfl)
        ratio = 0.0 if not ours else best["ms"] / ours["ms"] if best else math.inf
        doubtful = bool(ours and best) and overlap(ours, best)
        rows.append((cfl, best["name"] if best else "", ratio, doubtful))
    return rows


def between(ratios):
    low, high = f"{min(ratios):.1f}", f"{max(ratios):.1f}"
    return low if low == high else f"{low} to {high}"


def verdict(arguments, document):
    """One sentence: who is faster, by how much"""
    rows = compare(document)
    ratios = [ratio for _, _, ratio, _ in rows]
    names = " or ".join(dict.fromkeys(LABELS[name] for _, name, _, _ in rows if name))
    what = f"({time_name(arguments)})"
    if min(ratios) > 1.05:
        sentence = (
            f"mcpi solves these systems {between(ratios)} times as fast as the fastest of "
            f"PETSc's preconditioners here, {names} {what}."
        )
    elif 0.0 < max(ratios) < 0.95:
        inverse = [1 / ratio for ratio in ratios if ratio]
        sentence = (
            f"PETSc's {names} solves these systems {between(inverse)} times as fast as "
            f"mcpi here {what}."
        )
    else:
        each = ", ".join(f"{ratio:.1f} at CFL {cfl:,}" for cfl, _, ratio, _ in rows)
        sentence = (
            f"mcpi's speed over that of the fastest of PETSc's preconditioners here, "
            f"{names}, is {each} {what}."
        )
    unsure = [f"{cfl:,}" for cfl, _, _, doubtful in rows if doubtful]
    if unsure:
        sentence += f" The spreads overlap at CFL {', '.join(unsure)}: a quiet machine says more."
    return sentence


def draw_bars(axis, document, cfl):
    longest = max(record["ms"] for record in results.rows(document) if record["converged"])
    for place, (name, label) in enumerate(LABELS.items()):
        record = record_of(document, name, cfl)
        colors = ("#f4a582", "#b2182b") if name in OURS else ("#bababa", "#5f6b76")
        if not record["converged"]:
            axis.text(0, place, " not solved", va="center")
            continue
        axis.barh(place, record["ms_setup"], color=colors[0])
        solution = record["ms"] - record["ms_setup"]
        axis.barh(place, solution, left=record["ms_setup"], color=colors[1])
        weight = "bold" if name in OURS else "normal"
        end = record["ms"] + 0.02 * longest
        axis.text(end, place, f"{record['ms']:.0f}", va="center", weight=weight)
    axis.set_yticks(range(len(LABELS)), LABELS.values())
    for label in axis.get_yticklabels()[: len(OURS)]:
        label.set(weight="bold", color="#b2182b")
    axis.set(title=f"CFL {cfl:,}", xlim=(0, 1.18 * longest))
    axis.invert_yaxis()
    axis.grid(alpha=0.3, axis="x")
    axis.set_axisbelow(True)


def draw_solvers(arguments, document, folder):
    """The picture of time against preconditioners, or None without matplotlib"""
    try:
        import matplotlib
    except ImportError:
        print("No matplotlib for this Python: no pictures.")
        return None
    matplotlib.use("Agg")
    from matplotlib import patches, pyplot

    figure, axes = pyplot.subplots(1, len(CFLS), figsize=(13, 4.6), sharey=True)
    for axis, cfl in zip(axes, CFLS):
        draw_bars(axis, document, cfl)
    axes[1].set_xlabel(f"{time_name(arguments)} for set-up and solution, ms (less is better)")
    vertices = results.rows(document)[0]["vertices"]
    figure.suptitle(
        f"Linear systems of the ONERA M6 wing, Mach 0.84: {vertices:,} vertices, "
        f"5 unknowns each, tolerance 1e-2\n{document['machine']}, median of "
        f"{arguments.turns} turns",
        fontsize=11,
    )
    colors = {
        "mcpi: set-up": "#f4a582",
        "mcpi: solution": "#b2182b",
        "PETSc's: set-up": "#bababa",
        "PETSc's: solution": "#5f6b76",
    }
    handles = [patches.Patch(color=color, label=label) for label, color in colors.items()]
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    figure.legend(handles=handles, loc="lower center", ncol=4, frameon=False)
    picture = folder / "solvers.png"
    figure.savefig(picture, dpi=110)
    return picture


def plot_flow(picture, title, **options):
    """What tools/plot-flow draws with these options"""
    command = [sys.executable, str(ROOT / "tools/plot-flow"), str(picture), "--title", title]
    for option, value in options.items():
        command += [f"--{option}", str(value)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return picture


def compute_airfoil(arguments, folder):
    """A whole run around NACA 0012, and its picture"""
    progress = Progress("Flow around NACA 0012, Mach 0.8, 1.25 degrees")
    mesh = make_mesh("naca0012", f"-2 -setnumber size {arguments.airfoil}", folder)
    walls, vtu, log = folder / "airfoil.csv", folder / "airfoil.vtu", folder / "airfoil.log"
    options = f"-flow_rtol 1e-6 {RECOMMENDED} -flow_walls {walls} -flow_vtu {vtu}"
    output, record, _ = run_flow(
        arguments.build, arguments.ranks, mesh, options, on_line=show_step(progress, None)
    )
    log.write_text(output, encoding="utf-8")
    progress.end(
        f"{record['vertices']:,} vertices, {record['steps']} steps, {record['end']}, "
        f"lift {record['lift']:.4f}, drag {record['drag']:.4f}"
    )
    return log, walls, vtu


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--clock", choices=["wall", "cpu"], default="cpu")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--wing", default="0.02", help="length of edges on the wing, meters")
    parser.add_argument("--airfoil", default="0.01", help="of edges on the airfoil; 0: none")
    arguments = parser.parse_args()
    arguments.build, arguments.output = arguments.build.resolve(), arguments.output.resolve()
    return arguments


def main():
    arguments = read_arguments()
    wing = arguments.output / f"wing-{arguments.wing}"
    wing.mkdir(parents=True, exist_ok=True)
    mesh, state = compute_wing(arguments, wing)
    document = time_solvers(arguments, wing, mesh, state)
    print_table(arguments, document)
    solvers = draw_solvers(arguments, document, wing)
    pictures = {"preconditioners": solvers}
    progress = Progress("Whole runs around the wing by each preconditioner")
    rows = run_ways(arguments, wing, progress)
    progress.end(f"{len(rows)} runs")
    print_runs(rows, arguments.ranks)
    if solvers:
        pictures["convergence"] = draw_runs(rows, arguments.ranks, wing / "runs.png")
        title = f"ONERA M6, Mach 0.84, 3.06 degrees, step {STEPS}"
        files = {"walls": wing / "wing.csv", "points": POINTS, "span": SPAN}
        pictures["wing"] = plot_flow(wing / "wing.png", title, **files)
    if float(arguments.airfoil) > 0:
        airfoil = arguments.output / f"airfoil-{arguments.airfoil}"
        airfoil.mkdir(exist_ok=True)
        log, walls, vtu = compute_airfoil(arguments, airfoil)
        if solvers:
            title = "NACA 0012, Mach 0.8, 1.25 degrees"
            picture = airfoil / "airfoil.png"
            pictures["airfoil"] = plot_flow(picture, title, log=log, walls=walls, vtu=vtu)
    print()
    for name, options in OURS.items():
        print(f"Options of {name}: {options}")
    print(f"Beside:  {OPTIONS['sor']}, and so on. All times: {wing / 'solvers.json'}")
    for what, picture in pictures.items():
        if picture:
            print(f"Picture of the {what}: {picture}")
    print(f"\n{verdict(arguments, document)}")


if __name__ == "__main__":
    main()
