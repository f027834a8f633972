// Tests PCMCPI as a smoother of PCMG and PCGAMG, and inside PCASM, PCBJACOBI, PCFIELDSPLIT, PCKSP
// and PCCOMPOSITE. Each solver converges, and a bad block on one rank is never taken for
// convergence. Good values end the failure, except where an inner method tests residuals: PETSc's
// preconditioners never forget that an inner method has failed.
#include <petscsnes.h>

#include <cmath>
#include <numeric>

#include "support/petsc.h"

using namespace mcpi::test;

namespace {

constexpr PetscInt bs = 4, n = 48, bad_row = 44;

BlockMatrix good_matrix()
{
  Recipe recipe;
  recipe.symmetric = true;
  return make_matrix(bs, random_pattern(n, 2, true), recipe);
}

// Both halves of a block are zero, so that the pieces of PCFIELDSPLIT are singular, too.
BlockMatrix damaged_matrix()
{
  BlockMatrix matrix = good_matrix();
  std::fill_n(matrix.block(bad_row, bad_row), bs * bs, 0.0);
  return matrix;
}

BlockMatrix matrix_with_nan()
{
  BlockMatrix matrix = good_matrix();
  matrix.block(bad_row, bad_row)[0] = matrix.block(bad_row, bad_row)[3 * bs + 3] = std::nan("");
  return matrix;
}

// interpolates: PCMG has two levels. baij: the nest takes a BAIJ matrix, too. tests: an inner
// method tests residuals
struct Nest {
  const char *options;
  bool interpolates = false, baij = true, tests = false;
};

constexpr Nest nests[] = {
    {"-ksp_type fgmres -pc_type asm -sub_pc_type mcpi"},
    {"-ksp_type fgmres -pc_type asm -pc_asm_overlap 2 -sub_ksp_type gmres -sub_ksp_max_it 3 "
     "-sub_pc_type mcpi "
     "-sub_pc_mcpi_offdiag_precision int8",
     false, true, true},
    {"-ksp_type gmres -pc_type bjacobi -sub_pc_type mcpi -sub_pc_mcpi_its 2"},
    {"-ksp_type fgmres -pc_type fieldsplit -pc_fieldsplit_block_size 4 -pc_fieldsplit_0_fields 0,1 "
     "-pc_fieldsplit_1_fields 2,3 "
     "-fieldsplit_pc_type mcpi -fieldsplit_ksp_type preonly",
     false, false},
    // PETSc makes the second block with a block size of rows that is not that of columns.
    {"-ksp_type fgmres -pc_type fieldsplit -pc_fieldsplit_type schur "
     "-pc_fieldsplit_schur_precondition selfp -pc_fieldsplit_block_size 4 "
     "-pc_fieldsplit_0_fields 0,1 -pc_fieldsplit_1_fields 2,3 -fieldsplit_pc_type mcpi "
     "-fieldsplit_ksp_type preonly",
     false, false},
    {"-ksp_type gmres -pc_type gasm -sub_pc_type mcpi", false, false},
    {"-ksp_type gmres -pc_type redundant -redundant_pc_type mcpi", false, false},
    {"-ksp_type gmres -pc_type telescope -pc_telescope_reduction_factor 1 -telescope_pc_type mcpi",
     false, false},
    {"-ksp_type gmres -pc_type redistribute -redistribute_ksp_type preonly "
     "-redistribute_pc_type mcpi",
     false, false},
    {"-ksp_type fgmres -pc_type fieldsplit -pc_fieldsplit_type schur -pc_fieldsplit_block_size 4 "
     "-pc_fieldsplit_0_fields 0,1 -pc_fieldsplit_1_fields 2,3 -fieldsplit_pc_type mcpi "
     "-fieldsplit_ksp_type preonly -pc_fieldsplit_schur_precondition a11",
     false, false},
    {"-ksp_type fgmres -pc_type ksp -ksp_ksp_type preonly -ksp_pc_type mcpi"},
    {"-ksp_type gmres -pc_type gamg -pc_gamg_coarse_eq_limit 20 -mg_levels_pc_type mcpi", false,
     false},
    {"-ksp_type fgmres -pc_type ksp -ksp_ksp_type gmres -ksp_ksp_max_it 3 -ksp_pc_type mcpi", false,
     true, true},
    {"-ksp_type fgmres -pc_type composite -pc_composite_pcs mcpi,jacobi"},
    {"-ksp_type fgmres -pc_type mg -pc_mg_galerkin both -mg_levels_ksp_type richardson "
     "-mg_levels_pc_type mcpi -mg_coarse_pc_type mcpi "
     "-mg_coarse_ksp_type preonly -mg_coarse_pc_mcpi_its 10",
     true, false},
    {"-ksp_type cg -pc_type mg -pc_mg_galerkin both -mg_levels_ksp_type chebyshev "
     "-mg_levels_pc_type mcpi -mg_levels_pc_mcpi_sweep "
     "symmetric "
     "-mg_levels_pc_mcpi_offdiag_precision fp16 -mg_coarse_pc_type redundant",
     true, false},
};

PetscErrorCode create_nested(Mat mat, const Nest &nest, OwnedSolver *solver)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsCreate(solver->options.out()));
  PetscCall(PetscOptionsInsertString(solver->options, nest.options));
  PetscCall(PetscOptionsPush(
      solver->options)); // inner solvers look into the default database when they are made
  PetscCall(KSPCreate(PETSC_COMM_WORLD, solver->ksp.out()));
  PetscCall(KSPSetOperators(*solver, mat, mat));
  if (nest.interpolates) {
    OwnedMat interpolation;
    PetscCall(KSPGetPC(*solver, &pc));
    PetscCall(PCSetType(pc, PCMG));
    PetscCall(PCMGSetLevels(pc, 2, nullptr));
    PetscCall(create_interpolation(mat, bs, &interpolation));
    PetscCall(PCMGSetInterpolation(pc, 1, interpolation));
  }
  PetscCall(KSPSetFromOptions(*solver));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// in_place: the program does not call KSPSetOperators() for the new values.
PetscErrorCode solve_nested(KSP ksp, const BlockMatrix &matrix, Mat mat, bool in_place,
                            KSPConvergedReason *reason, PetscInt *its, double *error)
{
  const Vector solution = random_vector(matrix.size(), 2);
  Vector x;

  PetscFunctionBeginUser;
  PetscCall(set_values(matrix, mat));
  if (!in_place) PetscCall(KSPSetOperators(ksp, mat, mat));
  PetscCall(solve(ksp, matrix.multiply(solution), &x, reason, its));
  *error = difference(x, solution);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode check_solves(KSP ksp, Mat mat, bool in_place)
{
  KSPConvergedReason reason;
  PetscInt its;
  double error;

  PetscFunctionBeginUser;
  PetscCall(solve_nested(ksp, good_matrix(), mat, in_place, &reason, &its, &error));
  EXPECT_LT(0, static_cast<int>(reason));
  EXPECT_LE(its, 16);
  EXPECT_LE(error, 1e-3);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode check_fails(KSP ksp, const BlockMatrix &matrix, Mat mat, bool in_place)
{
  KSPConvergedReason reason;
  PetscInt its;
  double error;

  PetscFunctionBeginUser;
  PetscCall(solve_nested(ksp, matrix, mat, in_place, &reason, &its, &error));
  EXPECT_LT(static_cast<int>(reason), 0);
  EXPECT_EQ(its, 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(Nested, inner_preconditioner_solves_and_then_fails_and_then_solves_again)
{
  PetscFunctionBeginUser;
  for (const Nest &nest : nests)
    for (const MatType type : {MATAIJ, MATBAIJ})
      for (const bool in_place : {false, true}) {
        if (!nest.baij && std::string(type) == MATBAIJ)
          continue; // Galerkin products and splits of blocks want AIJ
        OwnedMat mat;
        OwnedSolver solver;
        describe(std::string(type) + " " + nest.options + (in_place ? ", in place" : ""));
        PetscCall(create_mat(PETSC_COMM_WORLD, good_matrix(), Layout::even, type, &mat));
        PetscCall(create_nested(mat, nest, &solver));
        PetscCall(check_solves(solver, mat, in_place));
        for (const BlockMatrix &matrix : {damaged_matrix(), matrix_with_nan()}) {
          PetscCall(check_fails(solver, matrix, mat, in_place));
          if (nest.tests) break;
          PetscCall(check_solves(solver, mat, in_place));
        }
        PetscCall(PetscOptionsPop());
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Nested, inner_preconditioner_fails_at_the_first_set_up)
{
  PetscFunctionBeginUser;
  for (const Nest &nest : nests) {
    OwnedMat mat;
    OwnedSolver solver;
    describe(nest.options);
    PetscCall(create_mat(PETSC_COMM_WORLD, good_matrix(), Layout::even, MATAIJ, &mat));
    PetscCall(create_nested(mat, nest, &solver));
    PetscCall(check_fails(solver, damaged_matrix(), mat, false));
    if (!nest.tests) PetscCall(check_solves(solver, mat, false));
    PetscCall(PetscOptionsPop());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Newton's method is no preconditioner: its KSP tells the reason.
PETSC_TEST(Nested, the_solver_of_snes_ends_with_pc_failed)
{
  PetscFunctionBeginUser;
  for (const bool composite : {false, true}) {
    OwnedMat mat;
    OwnedOptions options;
    OwnedVec x, r;
    Owner<SNES, SNESDestroy> snes;
    KSP ksp;
    KSPConvergedReason reason;
    BlockMatrix matrix = damaged_matrix();
    describe(composite ? "composite" : "alone");
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATAIJ, &mat));
    PetscCall(PetscOptionsCreate(options.out()));
    PetscCall(PetscOptionsInsertString(
        options, composite ? "-pc_type composite -pc_composite_pcs mcpi,none" : "-pc_type mcpi"));
    PetscCall(PetscOptionsPush(options));
    PetscCall(SNESCreate(PETSC_COMM_WORLD, snes.out()));
    PetscCall(MatCreateVecs(mat, x.out(), r.out()));
    PetscCall(SNESSetFunction(
        snes, r,
        [](SNES, Vec at, Vec value, void *context) -> PetscErrorCode {
          PetscFunctionBeginUser;
          PetscCall(MatMult(static_cast<Mat>(context), at, value));
          PetscCall(VecShift(value, -1.0));
          PetscFunctionReturn(PETSC_SUCCESS);
        },
        mat));
    PetscCall(SNESSetJacobian(
        snes, mat, mat, [](SNES, Vec, Mat, Mat, void *) -> PetscErrorCode { return PETSC_SUCCESS; },
        nullptr));
    PetscCall(SNESSetFromOptions(snes));
    PetscCall(VecSet(x, 0.0));
    PetscCall(SNESSolve(snes, nullptr, x));
    PetscCall(SNESGetKSP(snes, &ksp));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    EXPECT_EQ(static_cast<int>(reason),
              static_cast<int>(composite ? KSP_DIVERGED_NANORINF : KSP_DIVERGED_PC_FAILED));
    PetscCall(PetscOptionsPop());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Nested, coarse_levels_of_gamg_are_smoothed)
{
  const BlockMatrix matrix = make_matrix(3, tetrahedral_pattern(7, 7, 7), [] {
    Recipe recipe;
    recipe.symmetric = true;
    recipe.dominance = 1.0;
    return recipe;
  }());
  OwnedMat mat;
  OwnedSolver solver;
  KSPConvergedReason reason;
  PetscInt its;
  double error;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATAIJ, &mat));
  PetscCall(create_nested(mat,
                          {"-ksp_type cg -pc_type gamg -mg_levels_ksp_type richardson "
                           "-mg_levels_ksp_max_it 1 -mg_levels_pc_type mcpi "
                           "-mg_levels_pc_mcpi_sweep symmetric -pc_gamg_coarse_eq_limit 30"},
                          &solver));
  PetscCall(solve_nested(solver, matrix, mat, false, &reason, &its, &error));
  EXPECT_LT(0, static_cast<int>(reason));
  EXPECT_LE(its, 40);
  EXPECT_LE(error, 1e-3);
  PetscCall(PetscOptionsPop());
  PetscFunctionReturn(PETSC_SUCCESS);
}
