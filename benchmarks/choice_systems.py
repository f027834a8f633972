"""Linear systems on which benchmark_choice compares settings.

Usage: choice_systems.py BUILD FOLDER [NAME ...]
Writes FOLDER/NAME.bin, a matrix and a right-hand side in PETSc's binary format, for all names or
for these. Files that are there stay. They come from PETSc's programs, from examples/flow (which
needs Gmsh) and from formulas.
"""

import random
import shutil
import sys
from array import array
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
from flow_program import WING, make_mesh, run_command, run_flow  # noqa: E402

# Program of PETSc, and its options. Its first linear system is written.
PROGRAMS = {
    "cavity4": ("snes_ex19", "-snes_max_it 1 -da_refine 4 -dm_mat_type baij"),
    "cavity5": ("snes_ex19", "-snes_max_it 1 -da_refine 5 -dm_mat_type baij"),
    "ice24": ("snes_ex48", "-snes_max_it 1 -M 24 -P 12 -thi_mat_type baij"),
    "ice40": ("snes_ex48", "-snes_max_it 1 -M 40 -P 16 -thi_mat_type baij"),
    "elast15": ("ksp_ex56", "-ne 15"),
    "elast24": ("ksp_ex56", "-ne 24"),
}
# Geometry, options of Gmsh and of flow. The system is that of the step after 30 others, at each of
# these CFL numbers.
FLOWS = {
    "wing": ("m6", "-3 -setnumber size 0.03", WING, (100, 1000, 10000)),
    "layers": ("naca0012", "-2 -setnumber layers 36 -setnumber size 0.02", "", (1000, 10000)),
    "prisms": (
        "naca0012",
        "-3 -setnumber layers 30 -setnumber quads 0 -setnumber span 0.1 -setnumber size 0.03",
        "-flow_angle 0",
        (1000, 10000),
    ),
}
STEPS = 30
SYMMETRIC = {"elast15", "elast24", "ice24", "ice40", "laplace32"}
MATRIX, VECTOR = 1211216, 1211214  # as PETSc's binary files begin


def write(path, bs, rows):
    """Writes a matrix, given by the columns and values of its rows, and a vector"""
    size, numbers = len(rows), random.Random(1)
    header = [MATRIX, size, size, sum(len(row) for row in rows)]
    parts = [
        array("i", [*header, *(len(row) for row in rows)]),
        array("i", [column for row in rows for column, _ in row]),
        array("d", [value for row in rows for _, value in row]),
        array("i", [VECTOR, size]),
        array("d", [numbers.uniform(-1.0, 1.0) for _ in rows]),
    ]
    with open(path, "wb") as file:
        for part in parts:
            if sys.byteorder == "little":
                part.byteswap()
            part.tofile(file)
    path.with_suffix(".bin.info").write_text(f"-matload_block_size {bs}\n", encoding="utf-8")


def on_grid(n, bs, coupling):
    """Scalar rows of n^3 points with bs unknowns. coupling(point, neighbor, axis, sign) is the
    block of a point and a neighbor, the sum of whose negatives is added to the block
    coupling(point, point, 0, 0)."""
    rows = []
    for point in range(n**3):
        blocks, diagonal = {}, coupling(point, point, 0, 0)
        for axis in range(3):
            place = point // n**axis % n
            for sign in (-1, 1):
                block = coupling(point, point + sign * n**axis, axis, sign)
                if 0 <= place + sign < n:
                    blocks[point + sign * n**axis] = block
                for i in range(bs):
                    for j in range(bs):
                        diagonal[i][j] -= block[i][j]
        blocks[point] = diagonal
        rows += [
            [(other * bs + j, blocks[other][i][j]) for other in sorted(blocks) for j in range(bs)]
            for i in range(bs)
        ]
    return rows


def laplace(path):
    """The Laplacian with Dirichlet conditions"""

    def coupling(point, other, *_):
        return [[0.0 if point == other else -1.0]]

    write(path, 1, on_grid(32, 1, coupling))


def convection(path):
    """Upwind convection along a direction that is no axis, ten times as strong as diffusion"""
    speed = (10.0, 6.0, 3.0)

    def coupling(point, other, axis, sign):
        return [[0.0 if point == other else -1.0 - (speed[axis] if sign < 0 else 0.0)]]

    write(path, 1, on_grid(28, 1, coupling))


def species(bs, n):
    """Species that diffuse at different rates, are convected, and react with each other"""

    def make(path):
        numbers = random.Random(bs)
        reactions = [[-10.0 * numbers.random() for _ in range(bs)] for _ in range(bs)]
        for i in range(bs):  # mass is conserved, and a time step adds 1
            reactions[i][i] = 1.0 - sum(reactions[j][i] for j in range(bs) if j != i)

        def coupling(point, other, _, sign):
            if point == other:
                return [list(row) for row in reactions]
            rate = [10.0 ** (-2.0 * i / bs) for i in range(bs)]
            return [
                [-rate[i] - (2.0 if sign < 0 else 0.0) if i == j else 0.0 for j in range(bs)]
                for i in range(bs)
            ]

        write(path, bs, on_grid(n, bs, coupling))

    return make


def reservoir(path):
    """A pressure in rock whose permeability varies by factors of 1,000, and two saturations that it
    transports"""
    n = 22
    numbers = random.Random(3)
    rock = [10.0 ** numbers.uniform(-3.0, 0.0) for _ in range(n**3)]

    def coupling(point, other, axis, sign):
        if point == other:
            return [[1e-3, 0.1, 0.05], [1e-2, 1.0, 0.1], [1e-2, 0.1, 1.0]]
        there = rock[other] if 0 <= other < n**3 else rock[point]
        flux = 2.0 * rock[point] * there / (rock[point] + there) * (10.0 if axis < 2 else 1.0)
        upwind = 5.0 * flux if sign < 0 else 0.0
        return [[-flux, 0.2 * upwind, 0.1 * upwind], [-0.3 * flux, -upwind, 0.0],
                [-0.2 * flux, 0.0, -upwind]]  # fmt: skip

    write(path, 3, on_grid(n, 3, coupling))


FORMULAS = {
    "laplace32": laplace,
    "conv1": convection,
    "species2": species(2, 20),
    "species6": species(6, 18),
    "species8": species(8, 16),
    "reservoir3": reservoir,
}


def files(path):
    return f"-ksp_view_mat binary:{path} -ksp_view_rhs binary:{path}::append"


def make_flow(build, folder, name, missing):
    geometry, gmsh, options, cfls = FLOWS[name]
    paths = {cfl: missing[f"{name}_{cfl}"] for cfl in cfls if f"{name}_{cfl}" in missing}
    if not paths:
        return
    mesh, state = make_mesh(geometry, gmsh, folder), folder / f"{name}.state"
    solver = "-flow_rtol 0 -ksp_type fgmres -pc_type mcpi"
    if not state.exists():
        run_flow(build, 1, mesh, f"{options} {solver} -flow_restart {state} -flow_steps {STEPS}")
    for cfl, path in paths.items():
        shutil.copy(state, folder / "next.state")
        step = f"-flow_restart {folder}/next.state -flow_steps {STEPS + 1}"
        number = f"-flow_cfl {cfl} -flow_cfl_max {cfl}"
        run_flow(build, 1, mesh, f"{options} {solver} {step} {number} {files(path)}")


def names():
    flows = [f"{name}_{cfl}" for name, flow in FLOWS.items() for cfl in flow[3]]
    return [*PROGRAMS, *FORMULAS, *flows]


def main(build, folder, *wanted):
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    wanted = wanted or names()
    if set(wanted) - set(names()):
        raise SystemExit(f"systems are {', '.join(names())}")
    missing = {name: folder / f"{name}.bin" for name in wanted}
    missing = {name: path for name, path in missing.items() if not path.exists()}
    for name in missing.keys() & PROGRAMS.keys():
        program, options = PROGRAMS[name]
        program = Path(build).resolve() / "tests/programs" / program
        run_command([str(program), *options.split(), *files(missing[name]).split()])
    for name in missing.keys() & FORMULAS.keys():
        FORMULAS[name](missing[name])
    for name in FLOWS:
        make_flow(Path(build).resolve(), folder, name, missing)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
