"""Solves a system with two coupled unknowns at each point of a square grid.

Run:
  mpiexec -n 2 python3 examples/python/solve.py build/host/libpetscmcpi.so -pc_mcpi_its 4
"""
import os
import sys

import petsc4py

if len(sys.argv) < 2:
    sys.exit(__doc__)
# PETSc loads the library while it starts: before "from petsc4py import PETSc"
petsc4py.init([sys.argv[0], "-dll_append", os.path.abspath(sys.argv[1])] + sys.argv[2:])
from petsc4py import PETSc

N, BLOCK_SIZE = 40, 2
DIAGONAL = [4.5, -1.0, 1.0, 4.5]
COUPLING = [-1.0, 0.0, 0.0, -1.0]


def neighbors(point):
    """The points left, right, below and above."""
    if point % N > 0:
        yield point - 1
    if point % N < N - 1:
        yield point + 1
    if point >= N:
        yield point - N
    if point < N * N - N:
        yield point + N


def assemble():
    """A block matrix: without a block size the method would be point relaxation."""
    size = BLOCK_SIZE * N * N
    matrix = PETSc.Mat().createBAIJ((size, size), BLOCK_SIZE, nnz=5)
    first, last = matrix.getOwnershipRange()
    for row in range(first // BLOCK_SIZE, last // BLOCK_SIZE):
        matrix.setValuesBlocked(row, row, DIAGONAL)
        for column in neighbors(row):
            matrix.setValuesBlocked(row, column, COUPLING)
    matrix.assemble()
    return matrix


def main():
    matrix = assemble()
    x, b = matrix.createVecs()
    x.set(1.0)  # the solution
    matrix.mult(x, b)
    x.set(0.0)

    ksp = PETSc.KSP().create()
    ksp.setOperators(matrix)
    ksp.setType("fgmres")
    ksp.getPC().setType("mcpi")
    ksp.setFromOptions()
    ksp.solve(b, x)

    x.shift(-1.0)
    error = x.norm(PETSc.NormType.NORM_INFINITY)
    PETSc.Sys.Print(f"iterations {ksp.getIterationNumber()}, largest error {error:.1e}")
    return 0 if ksp.getConvergedReason() > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
