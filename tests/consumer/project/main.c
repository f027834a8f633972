/* A program that is linked with the library and solves with it, without -dll_append. */
#include <petscksp.h>
#include <petscmcpi.h>

static PetscErrorCode Assemble(PetscInt n, PetscInt bs, Mat *A)
{
  PetscInt begin, end;

  PetscFunctionBeginUser;
  PetscCall(MatCreateBAIJ(PETSC_COMM_WORLD, bs, PETSC_DECIDE, PETSC_DECIDE, n * bs, n * bs, 3, NULL, 2, NULL, A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt row = begin; row < end; ++row) {
    PetscCall(MatSetValue(*A, row, row, 3.0, INSERT_VALUES));
    if (row >= bs) PetscCall(MatSetValue(*A, row, row - bs, -1.0, INSERT_VALUES));
    if (row < (n - 1) * bs) PetscCall(MatSetValue(*A, row, row + bs, -1.0, INSERT_VALUES));
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
  PetscInt           iterations;
  PetscReal          error;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCMCPIRegister());
  PetscCall(MatColoringRegisterJPLF()); /* for programs that color without PCMCPI; it does so, too */
  PetscCall(Assemble(50, 3, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(A, x, b));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCMCPI));
  PetscCall(PCMCPISetSweep(pc, PC_MCPI_SWEEP_SYMMETRIC));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(VecZeroEntries(x));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(VecShift(x, -1.0));
  PetscCall(VecNorm(x, NORM_INFINITY, &error));
  PetscCall(
      PetscPrintf(PETSC_COMM_WORLD, "%s after %d iterations, error %.1e\n", KSPConvergedReasons[reason], (int)iterations, (double)error));
  PetscCheck(reason > 0 && error < 1e-6, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Wrong solution");

  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
