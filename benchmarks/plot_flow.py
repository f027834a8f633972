"""Plot the benchmarks of examples/flow: plot_flow.py precisions OUT.png STATIONARY.json RUNS.json, or plot_flow.py solvers OUT.png SOLVERS.json ..."""

import json
import re
import sys

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

COLORS = {"fp64": "k", "fp32": "C0", "fp16": "C4", "bf16": "C1", "int8": "C2", "int4": "C3"}


def precision_of(text):
    found = re.search(r"fp64|fp32|fp16|bf16|int8|int4", text)
    return found[0] if found else None


def draw_precisions(image, stationary, runs):
    cfls = sorted({record["cfl"] for record in stationary["results"]})
    cases = list(dict.fromkeys(record["case"] for record in runs["results"]))
    figure, axes = pyplot.subplots(
        2, max(len(cfls), len(cases)), figsize=(5 * max(len(cfls), len(cases)), 8), squeeze=False
    )
    for axis, cfl in zip(axes[0], cfls):
        for record in (r for r in stationary["results"] if r["cfl"] == cfl):
            restart = int(re.search(r"restart (\d+)", record["options"])[1])
            precision = precision_of(record["options"])
            axis.semilogy(
                record["sweeps"],
                record["true_residuals"],
                {0: "-", 3: ":", 5: "--"}[restart],
                color=COLORS[precision],
                label=precision + (f", restart {restart}" if restart else ""),
            )
        axis.set(title=f"a step's linear system, CFL {cfl:g}", xlabel="sweeps", ylim=(1e-15, 2))
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("true residual, stationary sweeps")
    axes[0][0].legend(fontsize=7)
    for axis, case in zip(axes[1], cases):
        for record in (r for r in runs["results"] if r["case"] == case and "mcpi" in r["options"]):
            axis.semilogy(
                record["history"]["residual"],
                "--" if "stationary" in record["method"] else "-",
                color=COLORS[precision_of(record["method"])],
                label=f"{record['method']} ({record['linear_iterations']})",
                lw=1,
            )
        axis.set(title=case, xlabel="steps (in brackets: all linear iterations)")
        axis.legend(fontsize=7)
        axis.grid(alpha=0.3)
    axes[1][0].set_ylabel("residual of the flow")
    for row, used in zip(axes, (len(cfls), len(cases))):
        for axis in row[used:]:
            axis.axis("off")
    figure.tight_layout()
    figure.savefig(image, dpi=100)


def best(records, chosen):
    """The fastest of set-up and solve"""
    return min(
        (r for r in records if r["converged"] and chosen(r["options"])),
        key=lambda r: r["ms_setup"] + r["ms_solve"],
        default=None,
    )


def draw_solvers(image, documents):
    groups = [
        (document, cfl)
        for document in documents
        for cfl in sorted({r["cfl"] for r in document["results"]})
    ]
    figure, axes = pyplot.subplots(2, len(groups), figsize=(5 * len(groups), 10), squeeze=False)
    for column, (document, cfl) in enumerate(groups):
        records = [r for r in document["results"] if r["cfl"] == cfl]
        bars = [
            best(records, lambda text, o=options: text == o)
            for options in dict.fromkeys(r["options"] for r in records)
            if "mcpi" not in options
        ]
        for outer in ("fgmres", "richardson", "bcgs"):
            for precision in COLORS:
                bars.append(
                    best(
                        records,
                        lambda text, p=precision, o=outer: "mcpi" in text
                        and f"offdiag_precision {p} " in text
                        and f"-ksp_type {o} " in text,
                    )
                )
        bars = [bar for bar in bars if bar]
        labels = []
        for bar in bars:
            ksp, pc = (
                re.search(kind + r"_type (\S+)", bar["options"])[1] for kind in ("ksp", "pc")
            )
            its = re.search(r"pc_mcpi_its (\d+)", bar["options"])
            labels.append(
                f"{ksp} {pc} "
                + (f"{precision_of(bar['options'])} x{its[1]} " if its else "")
                + f"({bar['iterations']})"
            )
        sums = [bar["ms_setup"] + bar["ms_solve"] for bar in bars]
        for axis, whole, what in (
            (axes[0][column], [1.0] * len(bars), "ms: set-up and solve"),
            (axes[1][column], [ms / 100 for ms in sums], "% of set-up and solve"),
        ):
            left = [0.0] * len(bars)
            for part, color in (
                ("ms_setup", "0.6"),
                ("ms_matmult", "C0"),
                ("ms_pc", "C3"),
                ("ms_rest", "C1"),
            ):
                widths = [max(bar[part], 0.0) / one for bar, one in zip(bars, whole)]
                axis.barh(
                    range(len(bars)),
                    widths,
                    left=left,
                    color=color,
                    label=part[3:] if part != "ms_rest" else "orthogonalization and the rest",
                )
                left = [a + b for a, b in zip(left, widths)]
            for place, (total, ms) in enumerate(zip(left, sums)):
                axis.text(total, place, f" {ms:.3g}", va="center", fontsize=7)
            axis.set_yticks(range(len(bars)), labels, fontsize=7)
            axis.invert_yaxis()
            axis.set(
                title=f"{document.get('gpu', str(document['ranks']) + ' cores')}, {records[0]['vertices']} vertices, CFL {cfl:g}",
                xlabel=what,
            )
            axis.grid(alpha=0.3, axis="x")
        axes[0][column].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(image, dpi=100)


def main():
    documents = [json.load(open(path)) for path in sys.argv[3:]]
    if sys.argv[1] == "precisions":
        draw_precisions(sys.argv[2], *documents)
    else:
        draw_solvers(sys.argv[2], documents)
    print(sys.argv[2])


if __name__ == "__main__":
    main()
