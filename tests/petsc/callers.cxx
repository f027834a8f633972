// Tests what the preconditioner does for the Krylov method that applies it, and after the method
// has ended.
#include <cmath>

#include "support/petsc.h"

using namespace mcpi::test;

namespace {

constexpr PetscInt bs = 4;

BlockMatrix system_of_blocks()
{
  return make_matrix(bs, tetrahedral_pattern(6, 5, 4));
}

// |P(u + v) - P(u) - P(v)| / |P(u + v)|
PetscErrorCode nonlinearity(PC pc, PetscInt rows, double *result)
{
  const Vector u = random_vector(rows, 1), v = random_vector(rows, 2);
  Vector both = u, pu, pv, sum;

  PetscFunctionBeginUser;
  for (std::size_t i = 0; i < both.size(); ++i) both[i] += v[i];
  PetscCall(apply(pc, u, &pu));
  PetscCall(apply(pc, v, &pv));
  PetscCall(apply(pc, both, &sum));
  for (std::size_t i = 0; i < pu.size(); ++i) pu[i] += pv[i];
  *result = difference(pu, sum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode check_solve(KSP ksp, const BlockMatrix &matrix)
{
  const Vector solution = random_vector(matrix.size(), 3);
  KSPConvergedReason reason;
  PetscInt its;
  Vector x;

  PetscFunctionBeginUser;
  PetscCall(solve(ksp, matrix.multiply(solution), &x, &reason, &its));
  EXPECT_LT(0, static_cast<int>(reason));
  EXPECT_LE(difference(x, solution), 1e-6);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(Callers, after_a_flexible_method_an_application_without_a_method_is_linear)
{
  const BlockMatrix matrix = system_of_blocks();
  OwnedMat mat;
  OwnedSolver ksp;
  PC pc;
  double error;
  std::string text;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(create_ksp(mat, mat, "-ksp_type fgmres -ksp_rtol 1e-9", &ksp));
  PetscCall(check_solve(ksp, matrix));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, "vectors: fp32");
  PetscCall(nonlinearity(pc, matrix.size(), &error));
  EXPECT_LE(error, 1e-14);
  PetscCall(check_solve(ksp, matrix));
  PetscCall(PCReset(pc));
  PetscCall(PCSetOperators(pc, mat, mat));
  PetscCall(PCSetUp(pc));
  PetscCall(nonlinearity(pc, matrix.size(), &error));
  EXPECT_LE(error, 1e-14);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A maximum over all ranks may lose the NaN of one rank.
PETSC_TEST(Callers, richardson_does_not_converge_to_a_nan_of_any_rank)
{
  const BlockMatrix matrix = system_of_blocks();
  PetscMPIInt ranks;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  for (PetscMPIInt rank = 0; rank < ranks; ++rank) {
    OwnedMat mat;
    OwnedSolver ksp;
    Vector x;
    KSPConvergedReason reason;
    PetscInt its, begin;
    Vector b = random_vector(matrix.size(), 1);
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
    const PetscInt *ranges;
    PetscCall(MatGetOwnershipRanges(mat, &ranges));
    begin = ranges[rank];
    b[static_cast<std::size_t>(begin)] = std::nan("");
    describe("NaN on rank " + std::to_string(rank));
    PetscCall(create_ksp(mat, mat, "-ksp_type richardson -ksp_max_it 1", &ksp));
    PetscCall(solve(ksp, b, &x, &reason, &its));
    EXPECT_LT(static_cast<int>(reason), 0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
