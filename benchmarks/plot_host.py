"""Plot the results of benchmark_host: plot_host.py OUT.png RESULT.json ..."""

import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PRECISIONS = ["fp64", "fp32", "fp16", "bf16", "int8", "int4"]


def main(out, paths):
    runs = [json.load(open(path)) for path in paths]
    figure, axes = plt.subplots(len(runs), 2, figsize=(12, 4.2 * len(runs)), squeeze=False)
    for (speed, share), run in zip(axes, runs):
        for precision in PRECISIONS:
            rows = [r for r in run["results"] if r.get("precision") == precision]
            sizes = [str(r["bs"]) for r in rows]
            speed.plot(sizes, [r["speedup_over_sor"] for r in rows], "o-", label=precision)
            share.plot(
                sizes, [100 * r["share_of_read_bandwidth"] for r in rows], "o-", label=precision
            )
        ranks = f'{run["ranks"]} rank{"s" if run["ranks"] > 1 else ""}'
        speed.set(
            title=f'{run["processor"]}, {ranks}, {run["rows"]:,} block rows',
            xlabel="block size",
            ylabel="sweeps per PCSOR sweep",
        )
        share.set(
            title="share of the read bandwidth measured between the sweeps",
            xlabel="block size",
            ylabel="%",
        )
        for axis in (speed, share):
            axis.set_ylim(bottom=0)
            axis.grid(alpha=0.3)
            axis.legend(ncol=2, fontsize=8)
    figure.tight_layout()
    figure.savefig(out, dpi=110)
    print(out)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
