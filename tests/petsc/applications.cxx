// Compares PCApplyTranspose(), PCMatApply() and PCApplyRichardson() with PCApply() and with their
// definitions.
#include <algorithm>
#include <limits>
#include <numeric>

#include "support/petsc.h"

using namespace mcpi::test;

namespace {

constexpr const char *precisions[] = {"fp64", "fp32", "fp16", "int8", "int4"};
constexpr const char *sweeps[] = {"forward", "backward", "symmetric"};

double dot(const Vector &a, const Vector &b)
{
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

BlockMatrix sample(PetscInt bs)
{
  return make_matrix(bs, random_pattern(45, 3, false, static_cast<std::uint64_t>(bs)));
}

PetscErrorCode check_adjoint(PC pc, PetscInt rows, double tolerance)
{
  const Vector x = random_vector(rows, 11), y = random_vector(rows, 12);
  Vector mx, mty;

  PetscFunctionBeginUser;
  PetscCall(apply(pc, x, &mx));
  PetscCall(apply_transpose(pc, y, &mty));
  EXPECT_LE(std::abs(dot(mx, y) - dot(x, mty)), tolerance * norm(mx) * norm(y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

using MatOperation = PetscErrorCode (*)(PC, Mat, Mat);

// A dense Mat whose leading dimension differs from its number of rows
struct Columns {
  OwnedMat mat;
  std::vector<Vector> whole;
  static constexpr PetscInt kPadding = 3;

  PetscErrorCode create(Mat like, PetscInt count, bool padded, const std::vector<Vector> &values)
  {
    PetscInt m, M, begin, lda;
    PetscScalar *array;

    PetscFunctionBeginUser;
    PetscCall(MatGetLocalSize(like, &m, nullptr));
    PetscCall(MatGetSize(like, &M, nullptr));
    PetscCall(MatGetOwnershipRange(like, &begin, nullptr));
    PetscCall(MatCreate(PetscObjectComm((PetscObject)like), mat.out()));
    PetscCall(MatSetSizes(mat, m, PETSC_DECIDE, M, count));
    PetscCall(MatSetType(mat, MATDENSE));
    if (padded) PetscCall(MatDenseSetLDA(mat, m + kPadding));
    PetscCall(MatSetUp(mat));
    PetscCall(MatDenseGetLDA(mat, &lda));
    PetscCall(MatDenseGetArrayWrite(mat, &array));
    for (PetscInt c = 0; c < count; ++c)
      for (PetscInt i = 0; i < m; ++i)
        array[c * lda + i] =
            values.empty() ? std::numeric_limits<double>::quiet_NaN() : values[c][begin + i];
    PetscCall(MatDenseRestoreArrayWrite(mat, &array));
    PetscCall(MatAssemblyBegin(mat, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(mat, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode column(PetscInt c, Vector *values)
  {
    Vec vec;

    PetscFunctionBeginUser;
    PetscCall(MatDenseGetColumnVecRead(mat, c, &vec));
    PetscCall(gather(vec, values));
    PetscCall(MatDenseRestoreColumnVecRead(mat, c, &vec));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

PetscErrorCode check_columns(Mat mat, PC pc, MatOperation operation,
                             PetscErrorCode (*one)(PC, const Vector &, Vector *), PetscInt count,
                             bool padded, double tolerance)
{
  Columns in, out;
  std::vector<Vector> b;
  PetscInt rows;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(mat, &rows, nullptr));
  for (PetscInt c = 0; c < count; ++c)
    b.push_back(random_vector(rows, static_cast<std::uint64_t>(20 + c)));
  PetscCall(in.create(mat, count, padded, b));
  PetscCall(out.create(mat, count, padded, {}));
  PetscCall(operation(pc, in.mat, out.mat));
  for (PetscInt c = 0; c < count; ++c) {
    Vector together, alone;
    PetscCall(out.column(c, &together));
    PetscCall(one(pc, b[c], &alone));
    EXPECT_LE(difference(together, alone), tolerance);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(Applications, transpose_is_the_adjoint)
{
  PetscFunctionBeginUser;
  for (const PetscInt bs : {1, 3, 5})
    for (const char *precision : precisions)
      for (const char *form : {"prescaled", "factored", "entries"}) {
        if (!takes_form(form, precision)) continue;
        const BlockMatrix matrix = sample(bs);
        OwnedMat mat;
        Preconditioner pc;
        PetscCall(
            create_mat(PETSC_COMM_WORLD, matrix, Layout::uneven, bs == 3 ? MATAIJ : MATBAIJ, &mat));
        PetscCall(create_pc(
            mat, std::string("-pc_mcpi_offdiag_precision ") + precision + " -pc_mcpi_form " + form,
            &pc));
        for (const PCMCPISweepType sweep :
             {PC_MCPI_SWEEP_FORWARD, PC_MCPI_SWEEP_BACKWARD, PC_MCPI_SWEEP_SYMMETRIC})
          for (const double omega : {1.0, 0.8})
            for (const PetscInt its : {1, 2}) {
              describe(std::string(precision) + " " + form + " bs " + std::to_string(bs) +
                       " sweep " + std::to_string(sweep));
              PetscCall(PCMCPISetSweep(pc, sweep));
              PetscCall(PCMCPISetOmega(pc, omega));
              PetscCall(PCMCPISetIts(pc, its));
              PetscCall(
                  check_adjoint(pc, matrix.size(), precision == precisions[0] ? 1e-14 : 1e-6));
            }
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Applications, transpose_with_restarts_is_the_adjoint)
{
  const BlockMatrix matrix = sample(3);

  PetscFunctionBeginUser;
  for (const char *precision : precisions)
    // The sweeps after the last restart are as many as after the others, or fewer.
    for (const PetscInt its : {4, 5}) {
      OwnedMat mat;
      Preconditioner pc;
      describe(std::string(precision) + " its " + std::to_string(its) + " restart 2");
      PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
      PetscCall(create_pc(
          mat, std::string("-pc_mcpi_restart 2 -pc_mcpi_offdiag_precision ") + precision, &pc));
      PetscCall(PCMCPISetIts(pc, its));
      PetscCall(check_adjoint(pc, matrix.size(), precision == precisions[0] ? 1e-14 : 1e-6));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Applications, transpose_follows_new_values)
{
  const Pattern pattern = random_pattern(40, 3, false);
  OwnedMat mat;
  Recipe recipe;
  Preconditioner pc;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, make_matrix(3, pattern), Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, "-pc_mcpi_offdiag_precision fp64", &pc));
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    recipe.seed = seed;
    PetscCall(set_values(make_matrix(3, pattern, recipe), mat));
    PetscCall(check_adjoint(pc, 120, 1e-14));
    PetscCall(PCMCPISetOffdiagPrecision(pc, PC_MCPI_PRECISION_INT8));
    PetscCall(check_adjoint(pc, 120, 1e-6));
    PetscCall(PCMCPISetOffdiagPrecision(pc, PC_MCPI_PRECISION_FP64));
    PetscCall(check_adjoint(pc, 120, 1e-14));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Applications, symmetric_sweep_of_a_symmetric_matrix_is_symmetric)
{
  Recipe recipe;
  recipe.symmetric = true;
  const BlockMatrix matrix = make_matrix(4, random_pattern(40, 2, true), recipe);
  OwnedMat mat;
  Preconditioner pc;
  const Vector x = random_vector(160, 1), y = random_vector(160, 2);
  Vector mx, my;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(
      mat,
      "-pc_mcpi_sweep symmetric -pc_mcpi_its 2 -pc_mcpi_offdiag_precision fp64 -pc_mcpi_omega 1.2",
      &pc));
  PetscCall(apply(pc, x, &mx));
  PetscCall(apply(pc, y, &my));
  EXPECT_LE(std::abs(dot(mx, y) - dot(x, my)), 1e-14 * norm(mx) * norm(y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Applications, mat_apply_is_apply_on_every_column)
{
  PetscFunctionBeginUser;
  for (const PetscInt bs : {1, 4, 5})
    for (const char *precision : precisions) {
      BlockMatrix matrix = sample(bs);
      if (bs == 4) empty_unknowns(matrix, {0, 1, 2, 3, 9, 30});
      OwnedMat mat;
      Preconditioner pc;
      PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::empty_ranks, MATBAIJ, &mat));
      for (const char *sweep : sweeps) {
        const double tolerance = precision == precisions[0] ? 1e-14 : 1e-6;
        PetscCall(create_pc(mat,
                            std::string("-pc_mcpi_its 2 -pc_mcpi_offdiag_precision ") + precision +
                                " -pc_mcpi_sweep " + sweep,
                            &pc));
        PetscCall(PCSetUp(pc));
        for (const PetscInt count : {1, 3, 8, 11}) {
          describe(std::string(precision) + " " + sweep + " columns " + std::to_string(count));
          PetscCall(check_columns(mat, pc, PCMatApply, apply, count, count % 2, tolerance));
#if defined(COMPAT_HAVE_MATAPPLY_VARIANTS)
          PetscCall(check_columns(mat, pc, PCMatApplyTranspose, apply_transpose, count, count % 2,
                                  tolerance));
#endif
        }
      }
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Applications, mat_apply_with_restarts_is_apply_on_every_column)
{
  const BlockMatrix matrix = sample(3);
  OwnedMat mat;
  Preconditioner pc;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::uneven, MATBAIJ, &mat));
  PetscCall(
      create_pc(mat, "-pc_mcpi_its 5 -pc_mcpi_restart 2 -pc_mcpi_offdiag_precision int8", &pc));
  PetscCall(PCSetUp(pc));
  for (const PetscInt count : {1, 3, 11})
    PetscCall(check_columns(mat, pc, PCMatApply, apply, count, true, 1e-6));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(COMPAT_HAVE_MATAPPLYRICHARDSON)
PETSC_TEST(Applications, mat_apply_richardson_is_apply_richardson_on_every_column)
{
  const BlockMatrix matrix = sample(3);
  const PetscInt count = 11;
  OwnedMat mat;
  Columns in, out, work;
  std::vector<Vector> b, x;
  PetscInt its;
  PCRichardsonConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  for (PetscInt c = 0; c < count; ++c) {
    b.push_back(random_vector(matrix.size(), static_cast<std::uint64_t>(c)));
    x.push_back(random_vector(matrix.size(), static_cast<std::uint64_t>(c + 100)));
  }
  for (const char *precision : {"fp64", "fp16"})
    for (const PetscBool guess_zero : {PETSC_TRUE, PETSC_FALSE}) {
      Preconditioner pc;
      describe(std::string(precision) + (guess_zero ? " from zero" : " from a guess"));
      PetscCall(in.create(mat, count, true, b));
      PetscCall(out.create(mat, count, true, x));
      PetscCall(work.create(mat, count, true, {}));
      PetscCall(create_pc(
          mat, std::string("-pc_mcpi_its 2 -pc_mcpi_offdiag_precision ") + precision, &pc));
      PetscCall(PCSetUp(pc));
      PetscCall(PCMatApplyRichardson(pc, in.mat, out.mat, work.mat, 0.0, 0.0, 1e9, 3, guess_zero,
                                     &its, &reason));
      EXPECT_EQ(its, 3);
      for (PetscInt c = 0; c < count; ++c) {
        Vector together, alone = x[c];
        PetscCall(out.column(c, &together));
        PetscCall(apply_richardson(pc, b[c], guess_zero, 3, &alone));
        EXPECT_LE(difference(together, alone), precision[2] == '6' ? 1e-14 : 1e-6);
      }
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PETSC_TEST(Applications, vectors_and_columns_take_turns)
{
  const BlockMatrix matrix = sample(4);
  OwnedMat mat;
  Preconditioner pc;
  const Vector b = random_vector(matrix.size(), 1);
  Vector first, again;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, "-pc_mcpi_its 2", &pc));
  PetscCall(apply(pc, b, &first));
  for (int turn = 0; turn < 3; ++turn) {
    PetscCall(check_columns(mat, pc, PCMatApply, apply, 5, false, 1e-6));
    PetscCall(check_adjoint(pc, matrix.size(), 1e-6));
    PetscCall(apply(pc, b, &again));
    EXPECT_TRUE(again == first);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Applications, richardson_from_zero_is_an_application_with_as_many_sweeps)
{
  const BlockMatrix matrix = sample(3);
  const Vector b = random_vector(matrix.size(), 1);

  PetscFunctionBeginUser;
  for (const char *precision : precisions)
    for (const PetscInt restart : {0, 3}) {
      OwnedMat mat;
      Preconditioner pc;
      Vector richardson, once;
      describe(std::string(precision) + " restart " + std::to_string(restart));
      PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
      PetscCall(create_pc(
          mat,
          std::string("-pc_mcpi_its 2 -pc_mcpi_sweep symmetric -pc_mcpi_offdiag_precision ") +
              precision,
          &pc));
      PetscCall(PCMCPISetRestart(pc, restart));
      PetscCall(apply_richardson(pc, b, true, 4, &richardson));
      PetscCall(PCMCPISetIts(pc, 8));
      PetscCall(apply(pc, b, &once));
      EXPECT_TRUE(richardson == once);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Applications, richardson_from_a_guess_below_fp64_adds_a_correction_of_the_exact_residual)
{
  const BlockMatrix matrix = sample(3);
  const Vector b = random_vector(matrix.size(), 1), guess = random_vector(matrix.size(), 2);

  PetscFunctionBeginUser;
  for (const char *precision : precisions) {
    if (precision == precisions[0]) continue;
    OwnedMat mat;
    Preconditioner pc;
    Vector x = guess, correction, residual = b;
    const Vector product = matrix.multiply(guess);
    describe(precision);
    for (std::size_t i = 0; i < b.size(); ++i) residual[i] -= product[i];
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
    PetscCall(create_pc(
        mat,
        std::string("-pc_mcpi_its 6 -pc_mcpi_restart 0 -pc_mcpi_offdiag_precision ") + precision,
        &pc));
    PetscCall(apply(pc, residual, &correction));
    PetscCall(PCMCPISetIts(pc, 3));
    PetscCall(apply_richardson(pc, b, false, 2, &x));
    for (std::size_t i = 0; i < b.size(); ++i) correction[i] += guess[i];
    EXPECT_LE(difference(x, correction), 1e-6);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// In all precisions, rounding must not spoil a good guess.
PETSC_TEST(Applications, richardson_keeps_a_good_guess_good)
{
  const BlockMatrix matrix = sample(5);
  const Vector solution = random_vector(matrix.size(), 1), b = matrix.multiply(solution);

  PetscFunctionBeginUser;
  for (const char *precision : precisions)
    for (const char *vector : {"fp64", "fp32"}) {
      if (precision == precisions[0] && std::string(vector) == "fp32")
        continue; // refused: see options.cxx
      OwnedMat mat;
      Preconditioner pc;
      Vector x = solution;
      describe(std::string(precision) + " blocks, " + vector + " vectors");
      PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
      PetscCall(create_pc(mat,
                          std::string("-pc_mcpi_offdiag_precision ") + precision +
                              " -pc_mcpi_vector_precision " + vector,
                          &pc));
      PetscCall(apply_richardson(pc, b, false, 1, &x));
      EXPECT_LE(difference(x, solution), 1e-14);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Applications, ksp_richardson_uses_the_sweeps_and_converges)
{
  const BlockMatrix matrix = make_matrix(3, random_pattern(45, 2, false));
  const Vector solution = random_vector(matrix.size(), 1), b = matrix.multiply(solution);

  PetscFunctionBeginUser;
  for (const char *monitored : {"",
                                // With a norm, PETSc would apply the PC to residuals.
                                " -ksp_norm_type none -ksp_max_it 40"}) {
    OwnedMat mat;
    OwnedSolver ksp;
    KSPConvergedReason reason;
    Vector x;
    describe(monitored);
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
    PetscCall(create_ksp(mat, mat,
                         std::string("-ksp_type richardson -ksp_rtol 1e-9 "
                                     "-pc_mcpi_offdiag_precision fp16 -pc_mcpi_restart 4") +
                             monitored,
                         &ksp));
    PetscCall(solve(ksp, b, &x, &reason, nullptr));
    EXPECT_LT(0, static_cast<int>(reason));
    EXPECT_LE(difference(x, solution), 1e-6);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
