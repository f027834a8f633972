"""Plot the benchmarks of examples/flow.

Usage: plot_flow.py precisions OUT.png STATIONARY.json RUNS.json
       plot_flow.py solvers OUT.png SOLVERS.json ...
       plot_flow.py seconds OUT.png RUNS.json ...
"""

import re
import sys

import matplotlib
import plot_seconds
import results

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402

# Records have bf16 blocks, too, which are removed.
COLORS = {"fp64": "k", "fp32": "C0", "fp16": "C4", "bf16": "C1", "int8": "C2", "int4": "C3"}
# columns of the records of benchmark_flow, with their names in the picture
PARTS = {
    "ms_setup": ("set-up of the preconditioner", "0.6"),
    "ms_matmult": ("MatMult", "C0"),
    "ms_pc": ("PCApply", "C3"),
    "ms_rest": ("orthogonalization and the rest", "C1"),
}
OURS, THEIRS = "C2", "0.6"


def precision_of(text):
    found = re.search(r"fp64|fp32|fp16|bf16|int8|int4", text)
    return found[0] if found else None


def legend_below(axis, **options):
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), fontsize=8, **options)


def draw_stationary(axis, table, cfl):
    """True residuals of one linear system by the number of sweeps"""
    order = list(COLORS)
    rows = results.select(table, cfl=cfl)
    for row in sorted(rows, key=lambda row: order.index(precision_of(row["options"]))):
        restart = int(re.search(r"restart (\d+)", row["options"])[1])
        precision = precision_of(row["options"])
        label = f"{precision} blocks"
        if restart:
            label += f", residual recomputed every {restart} sweeps"
        style = {0: "-", 3: ":", 5: "--"}[restart]
        values = row["sweeps"], row["true_residuals"]
        axis.semilogy(*values, style, color=COLORS[precision], label=label)
    axis.set(title=f"One linear system of the wing, CFL {cfl:g}", xlabel="sweeps", ylim=(1e-15, 2))
    axis.grid(alpha=0.3)


def draw_runs(axis, table, case):
    """Residuals of the flow by time step"""
    order = list(COLORS)
    rows = [row for row in results.select(table, case=case) if "mcpi" in row["options"]]
    for row in sorted(
        rows,
        key=lambda row: ("stationary" in row["method"], order.index(precision_of(row["method"]))),
    ):
        method = row["method"]
        style = "--" if "stationary" in method else ":" if "restart" in method else "-"
        method = re.sub(r"stationary, 15 sweeps", "15 sweeps, no Krylov method", method)
        method = re.sub(r"mcpi, ", "FGMRES, ", method)
        method = re.sub(r"restart (\d)", r"residual recomputed every \1 sweeps", method)
        color = COLORS[precision_of(row["method"])]
        label = f"{method}: {row['linear_iterations']:,}"
        axis.semilogy(row["history_residual"], style, color=color, label=label, lw=1.2)
    axis.set(title=f"Whole run, {case}", xlabel="time step")
    legend_below(axis, title="Method and storage: linear iterations in all")
    axis.grid(alpha=0.3)


def draw_precisions(image, stationary, runs):
    systems, table = results.rows(stationary, "stationary"), results.rows(runs)
    cfls = sorted({row["cfl"] for row in systems})
    cases = list(dict.fromkeys(row["case"] for row in table))
    columns = max(len(cfls) + 1, len(cases))
    figure, axes = pyplot.subplots(2, columns, figsize=(5 * columns, 11), squeeze=False)
    for axis, cfl in zip(axes[0], cfls):
        draw_stationary(axis, systems, cfl)
    axes[0][0].set_ylabel("true residual / right-hand side")
    axes[0][len(cfls)].legend(
        *axes[0][0].get_legend_handles_labels(),
        loc="center left",
        title="Storage of the blocks (left pictures)",
    )
    for axis, case in zip(axes[1], cases):
        draw_runs(axis, table, case)
    axes[1][0].set_ylabel("residual of the flow / first residual")
    for row, used in zip(axes, (len(cfls), len(cases))):
        for axis in row[used:]:
            axis.axis("off")
    figure.suptitle("mcpi with rounded off-diagonal blocks: transonic flow, examples/flow")
    figure.tight_layout(rect=(0, 0, 1, 0.99))
    figure.savefig(image, dpi=90)


def total(row):
    return row["ms_setup"] + row["ms_solve"]


def fastest(rows, *texts):
    """The fastest converged solver with all these texts in its options"""
    found = (row for row in rows if row["converged"] and all(t in row["options"] for t in texts))
    return min(found, key=total, default=None)


def fastest_solvers(rows):
    """Of each solver of PETSc, and of mcpi by Krylov method and storage"""
    theirs = dict.fromkeys(row["options"] for row in rows if "mcpi" not in row["options"])
    bars = [fastest(rows, options) for options in theirs]
    for outer in ("fgmres", "richardson", "bcgs"):
        for precision in COLORS:
            storage = f"offdiag_precision {precision} "
            bars.append(fastest(rows, f"-ksp_type {outer} ", "mcpi", storage))
    return [bar for bar in bars if bar]


def name_of(row):
    ksp, pc = (re.search(kind + r"_type (\S+)", row["options"])[1] for kind in ("ksp", "pc"))
    name = f"{ksp.upper()}, {'mcpi' if pc == 'mcpi' else pc.upper()}"
    sweeps = re.search(r"pc_mcpi_its (\d+)", row["options"])
    if sweeps:
        count = "1 sweep" if sweeps[1] == "1" else f"{sweeps[1]} sweeps"
        name += f" {precision_of(row['options'])}, {count}"
    return f"{name} ({row['iterations']})"


def draw_totals(axis, bars):
    times = [total(bar) for bar in bars]
    colors = [OURS if "mcpi" in bar["options"] else THEIRS for bar in bars]
    axis.barh(range(len(bars)), times, color=colors)
    axis.set_xscale("log")
    axis.set_xlim(min(times) / 3, max(times) * 4)
    for place, time in enumerate(times):
        digits = 1 if time < 20 else 0
        axis.text(time, place, f" {time:,.{digits}f} ms", va="center", fontsize=8)
    axis.xaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    axis.xaxis.set_major_formatter(matplotlib.ticker.StrMethodFormatter("{x:,g}"))
    axis.set(xlabel="set-up and solution [ms], logarithmic")


def draw_shares(axis, bars):
    left = [0.0] * len(bars)
    sums = [sum(max(bar[part], 0.0) for part in PARTS) for bar in bars]
    for part, (_, color) in PARTS.items():
        widths = [100 * max(bar[part], 0.0) / whole for bar, whole in zip(bars, sums)]
        axis.barh(range(len(bars)), widths, left=left, color=color)
        left = [a + b for a, b in zip(left, widths)]
    axis.set(xlabel="share of the time [%]", xlim=(0, 100))


def draw_solvers(image, documents):
    groups = [
        (document, cfl, results.select(results.rows(document), cfl=cfl))
        for document in documents
        for cfl in sorted({row["cfl"] for row in results.rows(document)})
    ]
    figure, axes = pyplot.subplots(2, len(groups), figsize=(6 * len(groups), 10.8), squeeze=False)
    for (above, below), (document, cfl, rows) in zip(axes.T, groups):
        bars = fastest_solvers(rows)
        draw_totals(above, bars)
        draw_shares(below, bars)
        where = document["gpu"] or f"{document['machine']}, {rows[0]['ranks']} ranks"
        above.set(title=f"{where}, {rows[0]['vertices']:,} vertices, CFL {cfl:,g}")
        below.set(title=f"Parts of the time, CFL {cfl:,g}")
        for axis in (above, below):
            axis.set_yticks(range(len(bars)), [name_of(bar) for bar in bars], fontsize=8)
            axis.invert_yaxis()
            axis.grid(alpha=0.3, axis="x")
            axis.set_axisbelow(True)
    patches = [Patch(color=OURS, label="with mcpi"), Patch(color=THEIRS, label="PETSc's own")]
    parts = [Patch(color=color, label=label) for label, color in PARTS.values()]
    figure.suptitle(
        "Linear system of one time step around the ONERA M6 wing. Labels: Krylov method, "
        "preconditioner (iterations);\nfp64 to int4: storage of the off-diagonal blocks in mcpi"
    )
    figure.tight_layout(rect=(0, 0.04, 1, 0.985), h_pad=3)
    box = axes[0][0].get_position()
    figure.legend(handles=patches, loc="center", ncol=2, bbox_to_anchor=(0.5, box.y0 - 0.065))
    figure.legend(handles=parts, loc="lower center", ncol=len(parts))
    figure.savefig(image, dpi=90)


def main():
    documents = [results.read(path) for path in sys.argv[3:]]
    if sys.argv[1] == "precisions":
        draw_precisions(sys.argv[2], *documents)
    elif sys.argv[1] == "seconds":
        rows = [row for document in documents for row in results.rows(document)]
        title = plot_seconds.title_of(documents[0], rows)
        plot_seconds.draw_seconds(sys.argv[2], rows, title)
    else:
        draw_solvers(sys.argv[2], documents)
    print(sys.argv[2])


if __name__ == "__main__":
    main()
