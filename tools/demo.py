"""Transonic flow around an airfoil and a wing by examples/flow, called by tools/demo.

Runs mcpi and PETSc's preconditioners. Writes tables, JSON and pictures.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from flow_program import MCPI, ROOT, THEIRS, WING, make_mesh, petsc_version, run_flow

sys.path.insert(0, str(ROOT / "benchmarks"))
import results  # noqa: E402

METHODS = [
    ("mcpi, 4 sweeps", MCPI),
    ("mcpi, 4 sweeps, int8", f"{MCPI} -pc_mcpi_offdiag_precision int8"),
    ("mcpi, 4 sweeps, int4", f"{MCPI} -pc_mcpi_offdiag_precision int4"),
    *((name, THEIRS[name]) for name in ("sor", "pbjacobi", "bjacobi, ilu(0)")),
]
AIRFOIL_TITLE = "Airfoil NACA 0012, Mach 0.8, angle of attack 1.25 degrees"
WING_TITLE = "Wing ONERA M6, Mach 0.84, angle of attack 3.06 degrees"
ROW = "  {:<22}{:>7}{:>12}{:>20}{:>10}{:>10}"


def compare(arguments, name, mesh, options, first=None):
    """All methods, the first of which may have run"""
    print(
        ROW.format(name, "steps", "iterations", "linear systems [s]", "all [s]", "residual"),
        flush=True,
    )
    records = []
    for method, chosen in METHODS:
        record = (
            first
            if first and not records
            else run_flow(arguments.build, arguments.ranks, mesh, f"{options} {chosen}")[1]
        )
        print(
            ROW.format(
                method,
                record["steps"],
                record["linear_iterations"],
                round(record["seconds_setup"] + record["seconds_solves"], 1),
                record["seconds"],
                f"{record['residual']:.0e}",
            ),
            flush=True,
        )
        records.append({"case": name, "method": method, **record})
    print(flush=True)
    return records


def picture(arguments, name, mesh, options, title, mach):
    """A whole run, and what plot-flow makes of it"""
    folder = arguments.output
    output, record, _ = run_flow(
        arguments.build,
        arguments.ranks,
        mesh,
        f"{options} {METHODS[0][1]} -flow_walls {folder / name}.csv -flow_vtu {folder / name}.vtu",
    )
    log = folder / f"{name}.log"
    log.write_text(output, encoding="utf-8")
    command = [
        "/usr/bin/python3",
        str(ROOT / "tools/plot-flow"),
        str(folder / f"{name}.png"),
        "--log",
        str(log),
        "--walls",
        str(folder / f"{name}.csv"),
        "--title",
        title,
    ]
    subprocess.run(
        command + (["--vtu", str(folder / f"{name}.vtu")] if mach else []),
        check=True,
        stdout=subprocess.DEVNULL,
    )
    print(
        f"{name}: {record['vertices']} vertices, {record['steps']} steps, "
        f"{record['seconds']:.0f} s, {record['end']}: "
        f"lift {record['lift']:.4f}, drag {record['drag']:.4f}; "
        f"{folder / name}.png, and .vtu for ParaView\n",
        flush=True,
    )
    return {"case": name, **record}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--airfoil", default="0.01", help="length of edges on the airfoil, chord 1")
    parser.add_argument(
        "--wing", default="0.02", help="length of edges on the wing, root chord 0.8; 0: no wing"
    )
    arguments = parser.parse_args()
    arguments.build, arguments.output = arguments.build.resolve(), arguments.output.resolve()
    arguments.output.mkdir(parents=True, exist_ok=True)

    print(
        f"{arguments.ranks} ranks; the flow around NACA 0012 at Mach 0.8 and 1.25 degrees\n",
        flush=True,
    )
    mesh = make_mesh("naca0012", f"-2 -setnumber size {arguments.airfoil}", arguments.output)
    records = [picture(arguments, "airfoil", mesh, "-flow_rtol 1e-6", AIRFOIL_TITLE, mach=True)]
    records += compare(arguments, "the whole run", mesh, "-flow_rtol 1e-6", records[0])
    if float(arguments.wing) > 0:
        print("and around the ONERA M6 wing at Mach 0.84 and 3.06 degrees\n", flush=True)
        mesh = make_mesh("m6", f"-3 -setnumber size {arguments.wing}", arguments.output)
        records.append(
            picture(arguments, "wing", mesh, f"{WING} -flow_rtol 1e-4", WING_TITLE, mach=False)
        )
        records += compare(arguments, "the first 25 steps", mesh, f"{WING} -flow_steps 25")
    table = arguments.output / "demo.json"
    rows = [{"ranks": arguments.ranks, **record} for record in records]
    results.write(
        table, results.new("demo", rows, "tools/demo", petsc=petsc_version(arguments.build))
    )
    print(
        "iterations: of GMRES, all steps together; linear systems: setting up preconditioners "
        f"and solving. Wrote {table}."
    )


if __name__ == "__main__":
    main()
