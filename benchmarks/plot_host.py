"""Plot the results of benchmark_host: plot_host.py OUT.png RESULT.json ..."""

import sys

import matplotlib
import results

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

PRECISIONS = ["fp64", "fp32", "fp16", "int8", "int4"]
MESHES = {
    "tet": "tetrahedral mesh",
    "mix": "tetrahedral mesh with random edges",
    "grid": "regular grid",
}


def draw(speed, share, document):
    table = results.rows(document, "sweeps")
    for precision in PRECISIONS:
        rows = results.select(table, precision=precision)
        sizes = [str(row["bs"]) for row in rows]
        speed.plot(sizes, [row["speedup_over_sor"] for row in rows], "o-", label=precision)
        shares = [100 * row["share_of_read_bandwidth"] for row in rows]
        share.plot(sizes, shares, "o-", label=precision)
    first = table[0]
    ranks = "1 MPI rank" if first["ranks"] == 1 else f"{first['ranks']} MPI ranks"
    where = f"{document['machine']}, {ranks}\n{first['rows']:,} block rows, {MESHES[first['mesh']]}"
    speed.set(title=f"Speed of a sweep relative to PCSOR\n{where}")
    speed.set(ylabel="time of PCSOR / time of mcpi")
    speed.axhline(1, color="k", lw=1, ls=":")
    share.set(title=f"Share of the read bandwidth of memory\n{where}")
    share.set(ylabel="bytes of a sweep / (time x bandwidth) [%]")
    share.axhline(100, color="k", lw=1, ls=":")
    for axis in (speed, share):
        axis.set(xlabel="block size [unknowns per block row]")
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)


def main(out, paths):
    documents = [results.read(path) for path in paths]
    figure, axes = plt.subplots(
        len(documents), 2, figsize=(12, 4.6 * len(documents) + 0.6), squeeze=False
    )
    for (speed, share), document in zip(axes, documents):
        draw(speed, share, document)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.legend(
        *axes[0][0].get_legend_handles_labels(),
        title="Storage of the off-diagonal blocks",
        loc="lower center",
        ncol=len(PRECISIONS),
    )
    figure.savefig(out, dpi=100)
    print(out)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
