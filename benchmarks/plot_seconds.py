"""Pictures of whole runs over seconds: plot_flow.py seconds, and tools/demo.

The rows are those of flow_runs.py solvers. Colors can be told apart by the color-blind; lines of
one color differ by their dashes.
"""

from statistics import median

BLACK, BLUE, SKY, GREEN = "#000000", "#0072B2", "#56B4E9", "#009E73"
ORANGE, RED, PINK, GRAY = "#E69F00", "#D55E00", "#CC79A7", "#8A8A8A"
SOLID, DASHED, DOTTED, MIXED = "-", (0, (5, 2)), (0, (1, 1.3)), (0, (6, 1.5, 1, 1.5))
# how a way to solve is drawn, by its name in flow_ways.py
STORAGE_LINES = {
    "mcpi, fp64": (BLACK, SOLID),
    "mcpi, fp32": (BLUE, SOLID),
    "mcpi, fp16": (PINK, SOLID),
    "mcpi, int8": (GREEN, SOLID),
    "mcpi, int4": (RED, SOLID),
}
OTHER_LINES = {
    "mcpi alone": (PINK, DASHED),  # of tools/demo
    "mcpi, fgmres": (GREEN, DASHED),
    "mcpi, int8": (GREEN, SOLID),
    "mcpi, int8, wave": (BLUE, SOLID),
    "mcpi, int8, cluster": (SKY, SOLID),
    "mcpi, int8, level": (PINK, SOLID),
    "stationary, 15 sweeps, fp32": (ORANGE, DASHED),
    "stationary, 40 sweeps, fp32": (ORANGE, DOTTED),
    "stationary, 15 sweeps, int8, restart 5": (RED, DASHED),
    "stationary, 40 sweeps, int8, restart 5": (RED, DOTTED),
    "sor": (BLACK, MIXED),
    "pbjacobi": (GRAY, SOLID),
    "bjacobi, ilu(0)": (BLACK, DASHED),
    "asm, ilu(0)": (BLACK, DOTTED),
}
PARTS = {
    "seconds_residuals": ("residuals", SKY),
    "seconds_jacobians": ("Jacobians", BLUE),
    "seconds_setup": ("set-up of the preconditioner", ORANGE),
    "seconds_solves": ("linear solves", RED),
    "seconds_rest": ("the rest", GRAY),
}


def label_of(method):
    """The name of a way to solve, in words that explain themselves"""
    words = {
        "mcpi alone": "GMRES, mcpi",
        "mcpi, fgmres": "FGMRES, mcpi",
        "mcpi, int8, wave": "FGMRES, mcpi by waves, int8",
        "mcpi, int8, cluster": "FGMRES, mcpi by clusters, int8",
        "mcpi, int8, level": "FGMRES, mcpi by levels, int8",
    }
    if method in words:
        return words[method]
    if method.startswith("mcpi"):
        return f"FGMRES, {method}"
    if method.startswith("stationary"):
        return method.replace("stationary", "mcpi alone")
    return f"GMRES, {method}"


def fate_of(row):
    """How a run ended, in words"""
    if row["end"] == "failed":
        return "failed"
    time = f"{row['seconds']:.1f} s"
    return time if row["end"] == "converged" else f"{time}, {row['residual']:.0e}: {row['end']}"


def curve_of(row):
    """Seconds and residuals. A line of the program has the residual before its step and the seconds
    after it, so a residual belongs to the seconds of the line before"""
    seconds, residuals = row["history_seconds"], row["history_residual"]
    return [0.0, *seconds[: len(residuals) - 1]], residuals


def mark_second_order(axis, rows):
    """Steps are of first order until the residual has fallen; then it jumps"""
    if not rows:
        return
    seconds, residuals = curve_of(min(rows, key=lambda row: row["seconds"]))
    jumps = [k for k in range(1, len(residuals)) if residuals[k] > 3 * residuals[k - 1]]
    for jump in jumps[:1]:
        place = (seconds[jump], residuals[jump])
        options = {"xytext": (-4, -3), "textcoords": "offset points", "ha": "right", "fontsize": 8}
        axis.annotate("second order begins", place, **options)


def draw_curves(axis, rows, lines, title):
    """Residuals over seconds of those runs that lines names"""
    from matplotlib.ticker import LogLocator, NullFormatter

    shown = [row for row in rows if row["method"] in lines and "history_seconds" in row]
    for row in sorted(shown, key=lambda row: (row["end"] != "converged", row["seconds"])):
        color, dashes = lines[row["method"]]
        seconds, residuals = curve_of(row)
        label = f"{label_of(row['method'])}: {fate_of(row)}, {row['steps']} steps"
        axis.plot(seconds, residuals, color=color, ls=dashes, lw=1.6, label=label)
        axis.plot(
            seconds[-1], residuals[-1], "o" if row["end"] == "converged" else "x", color=color
        )
    mark_second_order(axis, shown)
    axis.set(title=title, xlabel="seconds", xscale="log", yscale="log")
    ticks = axis.xaxis
    ticks.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ticks.set_minor_formatter(NullFormatter())
    ticks.set_major_formatter("{x:,g}")
    axis.grid(alpha=0.3, which="both")
    if shown:
        options = {"bbox_to_anchor": (0.5, -0.13), "fontsize": 8, "title": "Ended after"}
        axis.legend(loc="upper center", **options)


def draw_parts(axis, rows):
    """What took how long: a stacked bar for each run. Bars that are far too long are cut"""
    axis.set(title="What took how long", xlabel="seconds")
    runs = [row for row in rows if "seconds_rest" in row]
    if not runs:
        return
    end = min(max(row["seconds"] for row in runs), 2.5 * median(row["seconds"] for row in runs))
    for place, row in enumerate(runs):
        left = 0.0
        for part, (_, color) in PARTS.items():
            width = max(row[part], 0.0)
            axis.barh(place, width, left=left, color=color)
            left += width
        at, text = min(left, end), f" {fate_of(row)}"
        axis.text(at, place, text + (" (cut)" if left > 1.1 * end else ""), va="center", fontsize=8)
    axis.set_yticks(range(len(runs)), [label_of(row["method"]) for row in runs], fontsize=8)
    axis.set(xlim=(0, 1.3 * end))
    axis.invert_yaxis()
    axis.grid(alpha=0.3, axis="x")
    axis.set_axisbelow(True)


PANELS = [
    (STORAGE_LINES, "FGMRES with mcpi, by storage of the blocks"),
    (OTHER_LINES, "By schedule, without Krylov method, PETSc's own"),
]


def first_second(rows):
    """Where curves begin: soon before the first run converged, or ended if none did; or None"""
    ends = [row["seconds"] for row in rows if row["end"] == "converged"]
    ends += [] if ends else [row["seconds"] for row in rows if "seconds" in row]
    return min((end / 12 for end in ends if end > 0), default=None)


def draw_seconds(image, rows, title, panels=PANELS):
    """Curves of those ways that the panels name, and the parts of the time of all"""
    from matplotlib import pyplot
    from matplotlib.patches import Patch

    widths = [1.2] * len(panels) + [0.9]
    figure, axes = pyplot.subplots(
        1, len(widths), figsize=(6.2 * len(widths), 8), width_ratios=widths, layout="constrained"
    )
    for axis, (lines, name) in zip(axes, panels):
        draw_curves(axis, rows, lines, name)
    first, last = first_second(rows), max(axis.get_xlim()[1] for axis in axes[:-1])
    for axis in axes[:-1]:
        axis.set(ylabel="residual of the flow / first residual")
        if first:
            axis.set(xlim=(first, last))
    draw_parts(axes[-1], rows)
    patches = [Patch(color=color, label=label) for label, color in PARTS.values()]
    options = {"loc": "upper center", "bbox_to_anchor": (0.3, -0.13), "ncol": 2, "fontsize": 8}
    axes[-1].legend(handles=patches, **options)
    figure.suptitle(title)
    figure.savefig(image, dpi=90)
    pyplot.close(figure)


def size_of(rows):
    """Words for a title, if a run read the mesh"""
    return next((f", {row['vertices']:,} vertices" for row in rows if "vertices" in row), "")


def title_of(document, rows):
    place = document["gpu"] or f"{document['machine']}, one core"
    return (
        f"Flow around the ONERA M6 wing{size_of(rows)}, {place}: whole runs "
        "from the free stream by the way in which linear systems are solved"
    )
