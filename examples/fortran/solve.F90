! Solves a system with two coupled unknowns at each point of a square grid.
!
! Build and run:
!   mpifort -ffree-line-length-none -o solve examples/fortran/solve.F90 \
!     $(pkg-config --cflags --libs PETSc)
!   mpiexec -n 2 ./solve -dll_append $PWD/build/host/libpetscmcpi.so -pc_mcpi_its 4
program solve
#include <petsc/finclude/petscksp.h>
  use petscksp
  implicit none

  PetscInt, parameter :: n = 40, bs = 2, one = 1
  PetscInt :: first, last, row, side, iterations
  PetscInt :: here(1), column(1), across(4)
  PetscScalar :: diagonal(bs*bs), coupling(bs*bs)
  PetscReal :: error
  PetscErrorCode :: ierr
  PetscMPIInt :: rank
  character(len=80) :: line
  Mat :: A
  Vec :: x, b
  KSP :: ksp
  PC :: pc

  PetscCallA(PetscInitialize(ierr))
  PetscCallMPIA(MPI_Comm_rank(PETSC_COMM_WORLD, rank, ierr))

  ! A block matrix: without a block size the method would be point relaxation
  PetscCallA(MatCreate(PETSC_COMM_WORLD, A, ierr))
  PetscCallA(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, bs*n*n, bs*n*n, ierr))
  PetscCallA(MatSetBlockSize(A, bs, ierr))
  PetscCallA(MatSetType(A, MATBAIJ, ierr))
  PetscCallA(MatSetUp(A, ierr))
  diagonal = [4.5d0, 1.0d0, -1.0d0, 4.5d0]
  coupling = [-1.0d0, 0.0d0, 0.0d0, -1.0d0]
  PetscCallA(MatGetOwnershipRange(A, first, last, ierr))
  do row = first/bs, last/bs - 1
    here = row
    PetscCallA(MatSetValuesBlocked(A, one, here, one, here, diagonal, INSERT_VALUES, ierr))
    across = -1
    if (mod(row, n) > 0) across(1) = row - 1
    if (mod(row, n) < n - 1) across(2) = row + 1
    if (row >= n) across(3) = row - n
    if (row < n*n - n) across(4) = row + n
    do side = 1, 4
      if (across(side) < 0) cycle
      column = across(side)
      PetscCallA(MatSetValuesBlocked(A, one, here, one, column, coupling, INSERT_VALUES, ierr))
    end do
  end do
  PetscCallA(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY, ierr))
  PetscCallA(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY, ierr))

  ! The solution is one everywhere
  PetscCallA(MatCreateVecs(A, x, b, ierr))
  PetscCallA(VecSet(x, 1.0d0, ierr))
  PetscCallA(MatMult(A, x, b, ierr))
  PetscCallA(VecSet(x, 0.0d0, ierr))

  PetscCallA(KSPCreate(PETSC_COMM_WORLD, ksp, ierr))
  PetscCallA(KSPSetOperators(ksp, A, A, ierr))
  PetscCallA(KSPSetType(ksp, KSPFGMRES, ierr))
  PetscCallA(KSPGetPC(ksp, pc, ierr))
  PetscCallA(PCSetType(pc, 'mcpi', ierr))
  PetscCallA(KSPSetFromOptions(ksp, ierr))
  PetscCallA(KSPSolve(ksp, b, x, ierr))

  PetscCallA(KSPGetIterationNumber(ksp, iterations, ierr))
  PetscCallA(VecShift(x, -1.0d0, ierr))
  PetscCallA(VecNorm(x, NORM_INFINITY, error, ierr))
  write (line, '(a,i0,a,es8.1)') 'iterations ', iterations, ', largest error ', error
  if (rank == 0) print '(a)', trim(line)

  PetscCallA(KSPDestroy(ksp, ierr))
  PetscCallA(VecDestroy(x, ierr))
  PetscCallA(VecDestroy(b, ierr))
  PetscCallA(MatDestroy(A, ierr))
  PetscCallA(PetscFinalize(ierr))
end program solve
