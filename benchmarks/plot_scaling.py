"""Plot the results of benchmark_scaling and predict larger machines: plot_scaling.py RESULT.json [OUT.png]

The model: a color takes a + b*rows on one GPU (fitted to the runs of one with packed int4 blocks), and an exchange adds what the runs of several took
more: c + d*neighbors + e*ghosts of a color (boxes of 2 GPUs have 1 neighbor, of 4 GPUs 3, of 8 GPUs 7). Between nodes nccl is taken, with the assumptions below; inner boxes of a large machine have 26 neighbors and six faces.
"""

import itertools
import json
import sys

import numpy as np

NETWORK_US = 5.0  # assumed, as is the next
NETWORK_BYTES_PER_US = 50e3  # 400 Gb/s for each GPU
NCCL_NEIGHBOR_US = 0.5  # assumed: each neighbor more in a group
MOST_ROWS = {"int4": 4e6}  # above, int4 blocks are not packed on one GPU
BYTES = {"fp32": 16, "int4": 16}  # of a ghost row with bfp16 gathers: one word
NEIGHBORS = {1: 0, 2: 1, 4: 3, 8: 7}
PRECISIONS = ["fp32", "int4"]


def default(row):
    return row["overlap"] and row["frequency"] == "color"


def fit_one_gpu(results, precision):
    runs = [
        r
        for r in results
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


def fit_exchange(results, precision, halo, one_gpu):
    a, b, _ = one_gpu
    runs = [
        r
        for r in results
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


def print_model(results):
    colors = results[0]["colors"]
    for precision in PRECISIONS:
        one = fit_one_gpu(results, precision)
        peer, nccl = (fit_exchange(results, precision, halo, one) for halo in ("peer", "nccl"))
        print(
            f"{precision}: one GPU {one[0]:.2f} us + {1e6 * one[1]:.2f} us a million rows a color (within {100 * one[2]:.0f} %)"
        )
        print(
            f"  peer: {peer[0]:.2f} us + {peer[1]:.2f} us a neighbor + {1e3 * peer[2]:.2f} us a thousand ghosts of a color; nccl: {nccl[0]:.1f}, {nccl[1]:.2f}, {1e3 * nccl[2]:.2f}"
        )
        for gpus in (8, 64, 1024):
            for each in (100e3, 1.12e6, 4.5e6):
                time = predict(precision, each * gpus, gpus, colors, 8, one, peer, nccl)
                print(
                    f"  {gpus:5d} GPUs, {each:9,.0f} rows each: {time:7.2f} us a color, {100 * (one[0] + one[1] * each) / time:5.1f} % of one GPU's speed"
                )


def plot(results, out):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (strong, weak, exchange) = plt.subplots(1, 3, figsize=(15, 4.4))
    find = lambda **keys: [r for r in results if all(r[k] == v for k, v in keys.items())]
    best = lambda ranks, rows, precision: [
        r
        for r in find(ranks=ranks, rows=rows, precision=precision)
        if default(r) and r["halo"] in ("none", "peer")
    ]
    for rows, style in ((1124864, "o-"), (4492125, "s--")):
        for precision in PRECISIONS:
            times = {
                ranks: best(ranks, rows, precision)[0]["ms_per_sweep"]
                for ranks in (1, 2, 4, 8)
                if best(ranks, rows, precision)
            }
            if 1 in times:
                strong.plot(
                    list(times),
                    [times[1] / t for t in times.values()],
                    style,
                    label=f"{precision}, {rows:,} rows",
                )
    strong.plot([1, 8], [1, 8], "k:", lw=1)
    strong.set(
        title="strong scaling", xlabel="GPUs", ylabel="times one GPU's speed", xticks=[1, 2, 4, 8]
    )
    for precision in PRECISIONS:
        one = best(1, 1124864, precision)[0]
        points = [(1, 1.0)]
        for ranks, rows in ((2, 2248091), (4, 4492125), (8, 8998912)):
            for r in best(ranks, rows, precision):
                points.append(
                    (
                        ranks,
                        one["ms_per_sweep"] / one["rows"] * r["rows"] / ranks / r["ms_per_sweep"],
                    )
                )
        weak.plot(*zip(*[(ranks, 100 * share) for ranks, share in points]), "o-", label=precision)
    weak.set(
        title="weak scaling, 1.12 M rows a GPU",
        xlabel="GPUs",
        ylabel="% of one GPU's speed",
        xticks=[1, 2, 4, 8],
        ylim=(0, 105),
    )
    bars = [
        ("peer", True, "color"),
        ("peer", False, "color"),
        ("peer", True, "sweep"),
        ("nccl", True, "color"),
        ("nccl", True, "sweep"),
        ("sf", True, "color"),
        ("sf", True, "sweep"),
    ]
    for k, precision in enumerate(PRECISIONS):
        heights = []
        for halo, overlap, frequency in bars:
            found = find(
                ranks=2,
                rows=1124864,
                precision=precision,
                halo=halo,
                overlap=overlap,
                frequency=frequency,
            )
            heights.append(found[0]["us_per_color"] if found else 0)
        exchange.bar(np.arange(len(bars)) + 0.4 * k, heights, 0.4, label=precision)
    exchange.set_xticks(
        np.arange(len(bars)) + 0.2,
        [
            f"{h}\n{'' if o else 'no'}\n{'' if o else 'overlap'}{'sweep' if f == 'sweep' else ''}"
            for h, o, f in bars
        ],
        fontsize=8,
    )
    exchange.set(title="2 GPUs, 1,124,864 rows in all", ylabel="us a color")
    for axis in (strong, weak, exchange):
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(out, dpi=110)
    print(out)


if __name__ == "__main__":
    results = json.load(open(sys.argv[1]))["results"]
    print_model(results)
    if len(sys.argv) > 2:
        plot(results, sys.argv[2])
