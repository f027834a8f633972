"""Plot the results of benchmark_scaling and predict larger machines.

Usage: plot_scaling.py RESULT.json [OUT.png]

The model: a color takes a + b * rows on one GPU, fitted to the runs of one GPU with packed int4
blocks. An exchange adds c + d * neighbors + e * ghosts of a color, fitted to the runs of several.
Boxes of 2, 4 and 8 GPUs have 1, 3 and 7 neighbors. Between nodes the exchange is nccl, with the
assumptions below. An inner box of a large machine has 26 neighbors and six faces.
"""

import itertools
import sys

import numpy as np
import results

NETWORK_US = 5.0  # assumed, as is the next
NETWORK_BYTES_PER_US = 50e3  # 400 Gb/s for each GPU
NCCL_NEIGHBOR_US = 0.5  # assumed: each neighbor more in a group
MOST_ROWS = {"int4": 4e6}  # above, int4 blocks are not packed on one GPU
BYTES = {"fp32": 16, "int4": 16}  # of a ghost row with bfp16 gathers: one word
NEIGHBORS = {1: 0, 2: 1, 4: 3, 8: 7}
PRECISIONS = ["fp32", "int4"]
GPUS = [1, 2, 4, 8]


def default(row):
    return row["frequency"] == "color"


def best_of(table, **wanted):
    """The first row that has these values, or None"""
    return next(iter(results.select(table, **wanted)), None)


def best(table, ranks, rows, precision):
    """The row of the default exchange: after every color, by peers"""
    wanted = {"ranks": ranks, "rows": rows, "precision": precision, "frequency": "color"}
    return best_of(table, halo="none" if ranks == 1 else "peer", **wanted)


def fit_one_gpu(table, precision):
    runs = [
        r
        for r in table
        if r["ranks"] == 1
        and r["precision"] == precision
        and r["rows"] < MOST_ROWS.get(precision, 1e9)
    ]
    rows = np.array([r["rows"] for r in runs], float)
    time = np.array([r["us_per_color"] for r in runs])
    (a, b), *_ = np.linalg.lstsq(
        np.stack([1 / time, rows / time], 1), np.ones(len(runs)), rcond=None
    )  # relative errors count
    return a, b, max(abs((a + b * rows) / time - 1))


def nonnegative_fit(terms, values):
    """Least squares with coefficients of at least 0: the best of all subsets of the terms"""
    best = (np.inf, np.zeros(terms.shape[1]))
    for chosen in itertools.product([False, True], repeat=terms.shape[1]):
        if not any(chosen):
            continue
        found, *_ = np.linalg.lstsq(terms[:, list(chosen)], values, rcond=None)
        if (found >= 0).all():
            full = np.zeros(terms.shape[1])
            full[list(chosen)] = found
            best = min(best, (np.sum((terms @ full - values) ** 2), full), key=lambda one: one[0])
    return best[1]


def fit_exchange(table, precision, halo, one_gpu):
    a, b, _ = one_gpu
    runs = [
        r
        for r in table
        if r["ranks"] > 1 and r["precision"] == precision and r["halo"] == halo and default(r)
    ]
    terms = [[1, NEIGHBORS[r["ranks"]], r["ghosts_of_a_rank"] / r["colors"]] for r in runs]
    more = [r["us_per_color"] - a - b * r["rows"] / r["ranks"] for r in runs]
    return nonnegative_fit(np.array(terms, float), np.array(more))


def predict(precision, rows, gpus, colors, node, one_gpu, peer, nccl):
    """Microseconds of a color; boxes of six faces"""
    a, b, _ = one_gpu
    mine = rows / gpus
    ghosts = 6 * mine ** (2 / 3) / colors
    work = a + b * mine
    if gpus <= node:
        return work + peer @ [1, 7, ghosts]
    return (
        work
        + nccl @ [1, 7, ghosts]
        + 19 * NCCL_NEIGHBOR_US
        + NETWORK_US
        + BYTES[precision] * ghosts / NETWORK_BYTES_PER_US
    )


def print_model(table):
    colors = table[0]["colors"]
    for precision in PRECISIONS:
        one = fit_one_gpu(table, precision)
        peer, nccl = (fit_exchange(table, precision, halo, one) for halo in ("peer", "nccl"))
        print(
            f"{precision}: one GPU {one[0]:.2f} us + {1e6 * one[1]:.2f} us a million rows a color "
            f"(within {100 * one[2]:.0f} %)"
        )
        print(
            f"  peer: {peer[0]:.2f} us + {peer[1]:.2f} us a neighbor + {1e3 * peer[2]:.2f} us "
            f"a thousand ghosts of a color; "
            f"nccl: {nccl[0]:.1f}, {nccl[1]:.2f}, {1e3 * nccl[2]:.2f}"
        )
        for gpus in (8, 64, 1024):
            for each in (100e3, 1.12e6, 4.5e6):
                time = predict(precision, each * gpus, gpus, colors, 8, one, peer, nccl)
                print(
                    f"  {gpus:5d} GPUs, {each:9,.0f} rows each: {time:7.2f} us a color, "
                    f"{100 * (one[0] + one[1] * each) / time:5.1f} % of one GPU's speed"
                )


def strong_scaling(axis, table):
    for rows, style in ((1124864, "o-"), (4492125, "s--")):
        for precision in PRECISIONS:
            times = {gpus: best(table, gpus, rows, precision) for gpus in GPUS}
            times = {gpus: row["ms_per_sweep"] for gpus, row in times.items() if row}
            if 1 in times:
                speeds = [times[1] / time for time in times.values()]
                label = f"{precision} blocks, {rows:,} block rows"
                axis.plot(list(times), speeds, style, label=label)
    axis.plot([1, 8], [1, 8], "k:", lw=1, label="ideal")
    axis.set(title="Strong scaling\nthe same matrix on more GPUs", xlabel="number of GPUs")
    axis.set(ylabel="speed relative to one GPU", xticks=GPUS)


def weak_scaling(axis, table):
    rows_of = dict(zip(GPUS, (1124864, 2248091, 4492125, 8998912)))
    for precision in PRECISIONS:
        found = {gpus: best(table, gpus, rows, precision) for gpus, rows in rows_of.items()}
        costs = {
            gpus: row["ms_per_sweep"] / row["rows"] * gpus for gpus, row in found.items() if row
        }
        shares = [100 * costs[1] / cost for cost in costs.values()]
        axis.plot(list(costs), shares, "o-", label=f"{precision} blocks")
    axis.set(title="Weak scaling\n1,124,864 block rows on each GPU", xlabel="number of GPUs")
    axis.set(ylabel="speed per GPU relative to one GPU [%]", xticks=GPUS, ylim=(0, 105))


def exchanges(axis, table):
    bars = {
        ("peer", "color"): "GPUs write to each other (peer),\nevery color",
        ("peer", "sweep"): "peer, once per pass",
        ("nccl", "color"): "NCCL, every color",
        ("nccl", "sweep"): "NCCL, once per pass",
        ("sf", "color"): "PetscSF through the host,\nevery color",
        ("sf", "sweep"): "PetscSF, once per pass",
    }
    for k, precision in enumerate(PRECISIONS):
        for place, (halo, frequency) in enumerate(bars):
            wanted = {"halo": halo, "frequency": frequency}
            row = best_of(table, ranks=2, rows=1124864, precision=precision, **wanted)
            time, color = row["us_per_color"] if row else 0.0, f"C{k}"
            label = f"{precision} blocks" if place == 0 else None
            axis.barh(place + 0.4 * k - 0.2, time, 0.4, color=color, label=label)
            axis.text(time, place + 0.4 * k - 0.2, f" {time:.1f}", va="center", fontsize=8)
    axis.set_yticks(range(len(bars)), list(bars.values()), fontsize=8)
    axis.invert_yaxis()
    axis.margins(x=0.12)
    axis.set(title="Exchange of ghost values\n2 GPUs, 1,124,864 block rows")
    axis.set(xlabel="time of one color [microseconds]")


def plot(document, table, out):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(17, 5.6))
    for axis, draw in zip(axes, (strong_scaling, weak_scaling, exchanges)):
        draw(axis, table)
        axis.grid(alpha=0.3)
        axis.set_axisbelow(True)
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncol=2, fontsize=8)
    figure.suptitle(
        f"Sweeps on several {document['gpu']} of one host: tetrahedral mesh, block size 5, "
        "bfp16 gathers; left and middle: exchange after every color by peer"
    )
    figure.tight_layout()
    figure.savefig(out, dpi=90)
    print(out)


if __name__ == "__main__":
    scaling = results.read(sys.argv[1])
    # Records of 0.1.0 also have runs without overlap.
    measured = [row for row in results.rows(scaling) if row.get("overlap", True)]
    print_model(measured)
    if len(sys.argv) > 2:
        plot(scaling, measured, sys.argv[2])
