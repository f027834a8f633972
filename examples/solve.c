static char help[] = "Solves a system with two coupled unknowns at each point of a square grid.\n"
                     "Build: mpicc -o solve solve.c $(pkg-config --cflags --libs petscmcpi)\n"
                     "Run:   mpiexec -n 2 ./solve -ksp_view\n";

#include <petscmcpi.h>

/* A block matrix: without a block size the method would be point relaxation. */
static PetscErrorCode Assemble(PetscInt n, Mat *A)
{
  const PetscInt    bs = 2;
  const PetscScalar diagonal[] = {4.5, -1, 1, 4.5}, coupling[] = {-1, 0, 0, -1};
  PetscInt          first, last;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, bs * n * n, bs * n * n));
  PetscCall(MatSetBlockSize(*A, bs));
  PetscCall(MatSetFromOptions(*A)); /* AIJ, unless -mat_type says another one */
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt row = first / bs; row < last / bs; ++row) {
    /* Negative columns are ignored. */
    const PetscInt across[] = {row % n > 0 ? row - 1 : -1, row % n < n - 1 ? row + 1 : -1,
                               row >= n ? row - n : -1, row < n * n - n ? row + n : -1};

    PetscCall(MatSetValuesBlocked(*A, 1, &row, 1, &row, diagonal, INSERT_VALUES));
    for (int side = 0; side < 4; ++side)
      PetscCall(MatSetValuesBlocked(*A, 1, &row, 1, &across[side], coupling, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Mat                A;
  Vec                x, b;
  KSP                ksp;
  PC                 pc;
  KSPConvergedReason reason;
  PCMCPISchedule     schedule;
  PetscInt           iterations;
  PetscReal          error;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PCMCPIRegister());
  PetscCall(Assemble(40, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(x, 1)); /* the solution */
  PetscCall(MatMult(A, x, b));
  PetscCall(VecSet(x, 0));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCMCPI));
  /* The same result on any number of ranks. Everything else is chosen by itself. */
  PetscCall(PCMCPISetSchedule(pc, PC_MCPI_SCHEDULE_COLOR));
  PetscCall(KSPSetFromOptions(ksp)); /* options change what the setters chose */
  PetscCall(KSPSolve(ksp, b, x));

  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(PCMCPIGetSchedule(pc, &schedule));
  PetscCall(VecShift(x, -1));
  PetscCall(VecNorm(x, NORM_INFINITY, &error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "schedule %s: iterations %d, largest error %.1e\n",
                        PCMCPISchedules[schedule], (int)iterations, (double)error));

  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return reason > 0 ? 0 : 1;
}
