#!/usr/bin/env python3
"""Eigenvalues by SLEPc's shift-and-invert, whose inner GMRES is preconditioned by mcpi, beside those with sor.

Usage: shift_and_invert.py LIBRARY
"""
import sys

try:
    import slepc4py

    slepc4py.init([sys.argv[0], "-dll_append", sys.argv[1]])
    from petsc4py import PETSc
    from slepc4py import SLEPc
except ImportError as problem:
    print(f"Skipped: {problem}; on Debian: apt-get install python3-slepc4py")
    sys.exit()

EDGE = 30
ACCURACY = 1e-9


def laplacian():
    mat = PETSc.Mat().createAIJ([EDGE * EDGE] * 2, nnz=5)
    for row in range(EDGE * EDGE):
        x, y = row % EDGE, row // EDGE
        mat[row, row] = 4.0
        for column, inside in ((row - 1, x > 0), (row + 1, x < EDGE - 1), (row - EDGE, y > 0), (row + EDGE, y < EDGE - 1)):
            if inside:
                mat[row, column] = -1.0
    mat.assemble()
    return mat


def smallest(mat, preconditioner):
    """The eigenvalue next to zero, and its relative error."""
    solver = SLEPc.EPS().create()
    solver.setOperators(mat)
    solver.setProblemType(SLEPc.EPS.ProblemType.HEP)
    solver.getST().setType("sinvert")
    solver.setTarget(-0.1)
    solver.setWhichEigenpairs(SLEPc.EPS.Which.TARGET_MAGNITUDE)
    solver.setTolerances(1e-10, 200)
    ksp = solver.getST().getKSP()
    ksp.setType("gmres")
    ksp.setTolerances(rtol=1e-12)
    ksp.getPC().setType(preconditioner)
    solver.solve()
    if solver.getConverged() == 0:
        sys.exit(f"{preconditioner}: no eigenvalue converged")
    return solver.getEigenvalue(0).real, solver.computeError(0, SLEPc.EPS.ErrorType.RELATIVE)


matrix = laplacian()
values = {name: smallest(matrix, name) for name in ("sor", "mcpi")}
for name, (value, error) in values.items():
    print(f"{name}: {value:.14g}, relative error {error:.1e}")
    if error > ACCURACY:
        sys.exit(f"{name}: not accurate")
if abs(values["mcpi"][0] - values["sor"][0]) > ACCURACY * abs(values["sor"][0]):
    sys.exit("another eigenvalue")
