"""Laminar flows along a plate and around NACA 0012: flow_runs.py viscous.

Friction on the plate is compared with Blasius. Forces on the airfoil are split into pressure and
friction by integrals of the file of -flow_walls.
"""

import csv
import re
from itertools import groupby, pairwise
from statistics import mean

import results as records
from flow_program import make_mesh, petsc_version, run_flow

SOLVER = "-pc_type mcpi -pc_mcpi_schedule level -pc_mcpi_method ilu0"
STEPS = "-flow_angle 0 -flow_cfl_max 1e5 -flow_rtol 1e-7"
BLASIUS = 0.664  # coefficient of friction times the root of the local Reynolds number
REYNOLDS_PLATE = 1e4  # by length 1
PLACES = (0.05, 0.1, 0.2, 0.5, 0.98)  # on the plate
# what, geometry, numbers for Gmsh, options of flow
CASES = [
    *[
        (
            "plate, Re 10,000",
            "plate",
            f"along {along} across {across} first {first} nose {nose} length 4",
            f"-flow_mach 0.3 -flow_reynolds {REYNOLDS_PLATE:g} -flow_limiter -1",
        )
        for along, across, first, nose in ((57, 48, 1e-3, 2e-3), (113, 96, 5e-4, 1e-3))
    ],
    *[
        (
            "NACA 0012, Mach 0.5, Re 5,000",
            "naca0012",
            f"size {size} layers {layers} first {first} wake {wake}",
            "-flow_mach 0.5 -flow_reynolds 5000 -flow_limiter 50",
        )
        for size, layers, first, wake in (
            (0.014, 30, 5e-4, 0.03),
            (0.01, 40, 3e-4, 0.02),
            (0.007, 50, 2e-4, 0.01),
        )
    ],
]


def read_walls(path):
    with open(path, encoding="utf-8") as file:
        rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
    return rows


def at_vertices(rows):
    """x and cf by vertex: the two wall faces of a vertex have its friction, and x beside it"""
    rows = sorted(rows, key=lambda row: row["x"])
    groups = [list(group) for _, group in groupby(rows, key=lambda row: row["cf"])]
    return [(mean(row["x"] for row in group), group[0]["cf"]) for group in groups]


def interpolate(pairs, x):
    for (x0, y0), (x1, y1) in pairwise(pairs):
        if x0 <= x <= x1:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    raise SystemExit(f"no values around x = {x}")


def friction_on_plate(rows):
    """The coefficient of friction times the root of the local Reynolds number, beside Blasius"""
    pairs = [(x, cf * (REYNOLDS_PLATE * x) ** 0.5) for x, cf in at_vertices(rows) if x > 0]
    friction = [interpolate(pairs, x) for x in PLACES]
    return {
        "x": list(PLACES),
        "friction": [round(value, 4) for value in friction],
        "deviation_percent": [round(100 * (value / BLASIUS - 1), 2) for value in friction],
    }


def forces_on_airfoil(rows):
    """Drag by pressure and by friction at no angle, and where friction changes its sign"""
    upper = sorted((row for row in rows if row["y"] > 0), key=lambda row: -row["x"])
    lower = sorted((row for row in rows if row["y"] <= 0), key=lambda row: row["x"])
    pressure = friction = 0.0
    for one, other in pairwise([*upper, *lower, upper[0]]):  # counter-clockwise
        pressure -= 0.5 * (one["cp"] + other["cp"]) * (other["y"] - one["y"])
        friction += 0.5 * (one["cf"] + other["cf"]) * abs(other["x"] - one["x"])
    along = at_vertices(upper)
    turn = next((x for (x, cf), (_, after) in pairwise(along) if cf > 0 > after), None)
    return {
        "drag_pressure": round(pressure, 5),
        "drag_friction": round(friction, 5),
        "friction_changes_sign_at": turn and round(turn, 3),
    }


def show(row):
    print(
        f"{row['case']:32} {row['vertices']:7} vertices {row['steps']:4} steps "
        f"{row['seconds']:6.1f} s  lift {row['lift']:.4f} drag {row['drag']:.4f} {row['end']}",
        {key: row[key] for key in ("friction", "drag_pressure", "drag_friction") if key in row},
        flush=True,
    )


def run_viscous(arguments, folder):
    """The runs; the file is written after each"""
    rows = []
    for case, geometry, numbers, options in CASES:
        mesh_options = "-2 " + re.sub(r"(\w+) (\S+)", r"-setnumber \1 \2", numbers)
        walls = f"{folder}/walls.csv"
        options = f"{options} {STEPS} {SOLVER}"
        mesh = make_mesh(geometry, mesh_options, folder)
        _, record, _ = run_flow(
            arguments.build, arguments.ranks, mesh, f"{options} -flow_walls {walls}"
        )
        found = read_walls(walls)
        more = friction_on_plate(found) if geometry == "plate" else forces_on_airfoil(found)
        row = {"case": case, "mesh": f"{geometry}.geo {mesh_options}", "ranks": arguments.ranks}
        rows.append(row | record | {"options": options} | more)
        show(rows[-1])
        command = f"flow_runs.py viscous --ranks {arguments.ranks}"
        version = petsc_version(arguments.build)
        document = records.new("flow viscous", rows, command, arguments.commit, version)
        records.write(arguments.json, document)
