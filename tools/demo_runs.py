"""Whole runs around the wing by mcpi and by PETSc's preconditioners, for tools/demo."""

import sys

from flow_program import RECOMMENDED, ROOT, THEIRS, WING, Failure
from flow_program import error_of, history_of, make_mesh, record_of, run_flow, steps_of

sys.path.insert(0, str(ROOT / "benchmarks"))
import plot_seconds  # noqa: E402
import results  # noqa: E402

SIZE = 0.08  # of edges on the wing, at least: 10,966 vertices, a few seconds a run
RTOL = 1e-4
LIMIT = 300  # seconds of a run
WAYS = {
    "mcpi alone": "-ksp_type gmres -pc_type mcpi",
    "mcpi, fgmres": RECOMMENDED,
    **THEIRS,
}


def run_way(arguments, mesh, options):
    """A row for benchmarks/results. Of a run that fails or takes too long it has what is known"""
    try:
        _, record, history = run_flow(arguments.build, arguments.ranks, mesh, options, limit=LIMIT)
        return record | history
    except Failure as failure:
        steps = steps_of(failure.output)
        row = record_of(failure.output, steps, options) | history_of(steps) if steps else {}
        row |= {"options": options, "end": failure.end}
        return row | ({"error": error_of(failure.output)} if failure.end == "failed" else {})


def run_ways(arguments, folder, progress):
    """A row for every way to solve. All start from the free stream"""
    size = max(SIZE, float(arguments.wing))
    mesh = make_mesh("m6", f"-3 -setnumber size {size}", folder)
    rows = []
    for number, (name, options) in enumerate(WAYS.items(), 1):
        progress.show(f"{name}, run {number} of {len(WAYS)}")
        options = f"{WING} -flow_rtol {RTOL:g} {options}"
        case = {"case": "ONERA M6", "mesh": f"m6.geo -3 -setnumber size {size}", "method": name}
        rows.append(case | {"ranks": arguments.ranks} | run_way(arguments, mesh, options))
        document = results.new("flow solvers", rows, "tools/demo")
        results.write(folder / "runs.json", document)
    return rows


def print_runs(rows, ranks):
    size = plot_seconds.size_of(rows)
    print(f"\nWhole runs to {RTOL:g} of the residual{size}, {ranks} rank(s):")
    print("wall-clock seconds, steps, linear iterations\n")
    for row in rows:
        name = plot_seconds.label_of(row["method"])
        if "seconds_rest" not in row:
            print(f"  {name:34}{row['end']} {row.get('error', '')}".rstrip())
            continue
        end = "" if row["end"] == "converged" else f"  {row['end']} at {row['residual']:.0e}"
        print(
            f"  {name:34}{row['seconds']:7.1f} s, of it set-up and linear solves "
            f"{row['seconds_setup'] + row['seconds_solves']:5.1f} s"
            f"{row['steps']:5} {row['linear_iterations']:7,}{end}"
        )
    print()


def draw_runs(rows, ranks, picture):
    title = f"Flow around the ONERA M6 wing{plot_seconds.size_of(rows)}, {ranks} rank(s): "
    title += "residual over wall-clock seconds by preconditioner"
    panels = [(plot_seconds.OTHER_LINES, "Convergence")]
    plot_seconds.draw_seconds(picture, rows, title, panels)
    return picture
