// Tests storage in few bits: with SI units, inside Krylov methods, and with restarts.
#include <cfenv>
#include <cmath>

#include "support/petsc.h"

using namespace mcpi::test;

namespace {

constexpr PetscInt bs = 5;

constexpr double kSlow = 0.2; // dominance at which sweeps converge slowly

// As of density, three momenta and energy: D^{-1} O spans 12 decades.
const Vector row_units = {1.0, 1e2, 1e2, 1e2, 1e5}, column_units = {1e6, 1e5, 1e5, 1e5, 1e-6};

Vector in_row_units(Vector v)
{
  for (std::size_t i = 0; i < v.size(); ++i) v[i] *= row_units[i % bs];
  return v;
}

BlockMatrix plain_matrix(double dominance)
{
  return make_matrix(bs, tetrahedral_pattern(7, 6, 5), {.dominance = dominance});
}

BlockMatrix si_matrix(double dominance)
{
  BlockMatrix matrix = plain_matrix(dominance);
  scale_components(matrix, row_units, column_units);
  return matrix;
}

PetscErrorCode fgmres_iterations(Mat mat, const Vector &b, const std::string &options,
                                 PetscInt *its)
{
  OwnedSolver ksp;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(create_ksp(
      mat, mat,
      "-ksp_type fgmres -ksp_rtol 1e-8 -ksp_max_it 300 -ksp_gmres_restart 100 -pc_mcpi_its 2 " +
          options,
      &ksp));
  PetscCall(solve(ksp, b, nullptr, &reason, its));
  if (reason <= 0) *its = 10000; // It did not converge.
  PetscFunctionReturn(PETSC_SUCCESS);
}

// |b - A x| / |b|
double relative_residual(const BlockMatrix &matrix, const Vector &b, const Vector &x)
{
  Vector r = matrix.multiply(x);
  for (std::size_t i = 0; i < r.size(); ++i) r[i] = b[i] - r[i];
  return norm(r) / norm(b);
}

// True relative residual of a solver in one cycle; a reason that is not positive counts as 1
PetscErrorCode solve_to_1e_10(Mat mat, const BlockMatrix &matrix, const Vector &b,
                              const std::string &options, double *residual, PetscInt *its)
{
  OwnedSolver ksp;
  KSPConvergedReason reason;
  Vector x;

  PetscFunctionBeginUser;
  PetscCall(create_ksp(mat, mat,
                       "-ksp_gmres_restart 100 -ksp_max_it 100 -ksp_rtol 1e-10 " + options, &ksp));
  PetscCall(solve(ksp, b, &x, &reason, its));
  *residual = reason > 0 ? relative_residual(matrix, b, x) : 1.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Relative residuals after 1, 2, ... applications of PCApplyRichardson with so many sweeps
PetscErrorCode residual_history(Mat mat, const BlockMatrix &matrix, const Vector &b,
                                const std::string &options, int applications,
                                std::vector<double> *history)
{
  Preconditioner pc;
  Vector x(b.size(), 0.0);

  PetscFunctionBeginUser;
  history->clear();
  PetscCall(create_pc(mat, options, &pc));
  for (int k = 0; k < applications; ++k) {
    PetscCall(apply_richardson(pc, b, k == 0, 1, &x));
    history->push_back(relative_residual(matrix, b, x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Checks that residuals stay within a factor of those of fp64, as long as these are above the
// floor.
void check_follows(const std::vector<double> &history, const std::vector<double> &fp64,
                   double factor)
{
  for (std::size_t k = 0; k < history.size(); ++k) EXPECT_LE(history[k], factor * fp64[k] + 1e-12);
}

} // namespace

PETSC_TEST(LowPrecision, few_bits_cost_few_iterations)
{
  const BlockMatrix matrix = plain_matrix(kSlow);
  const Vector b = random_vector(matrix.size(), 1);
  OwnedMat mat;
  PetscInt reference, its;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(fgmres_iterations(mat, b, "-pc_mcpi_offdiag_precision fp64", &reference));
  EXPECT_LE(reference, 100);
  for (const char *precision : {"fp32", "fp16", "int8", "int4"})
    for (const char *form : {"prescaled", "factored"}) {
      describe(std::string(precision) + " " + form);
      PetscCall(fgmres_iterations(
          mat, b, std::string("-pc_mcpi_offdiag_precision ") + precision + " -pc_mcpi_form " + form,
          &its));
      EXPECT_LE(its, reference + (precision == std::string("int4") ? 4 : 2));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(LowPrecision, balancing_makes_si_units_harmless)
{
  const BlockMatrix matrix = si_matrix(kSlow);
  const Vector b = in_row_units(random_vector(matrix.size(), 1));
  OwnedMat mat;
  PetscInt reference, its;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(fgmres_iterations(mat, b, "-pc_mcpi_offdiag_precision fp64", &reference));
  EXPECT_LE(reference, 100);
  for (const char *precision : {"fp32", "fp16", "int8", "int4"}) {
    describe(precision);
    PetscCall(
        fgmres_iterations(mat, b, std::string("-pc_mcpi_offdiag_precision ") + precision, &its));
    EXPECT_LE(its, reference + 4);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(LowPrecision, iterate_in_si_units_is_that_in_others_times_the_units)
{
  const BlockMatrix plain = plain_matrix(1.2), si = si_matrix(1.2);
  const Vector b = random_vector(plain.size(), 1), scaled = in_row_units(b);
  Vector x, y;
  OwnedMat mat, si_mat;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, plain, Layout::even, MATBAIJ, &mat));
  PetscCall(create_mat(PETSC_COMM_WORLD, si, Layout::even, MATBAIJ, &si_mat));
  for (const char *precision : {"fp32", "fp16", "int8", "int4"}) {
    Preconditioner pc, si_pc;
    const std::string options =
        std::string("-pc_mcpi_its 3 -pc_mcpi_offdiag_precision ") + precision;
    describe(precision);
    PetscCall(create_pc(mat, options, &pc));
    PetscCall(create_pc(si_mat, options, &si_pc));
    PetscCall(apply(pc, b, &x));
    PetscCall(apply(si_pc, scaled, &y));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] *= column_units[i % bs];
    EXPECT_LE(difference(y, x), precision == std::string("int4")   ? 0.3
                                : precision == std::string("int8") ? 0.03
                                                                   : 1e-2);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(LowPrecision, restarts_let_few_bits_follow_fp64)
{
  struct Case {
    const char *precision;
    int restart;
  };

  PetscFunctionBeginUser;
  for (const bool si : {false, true}) {
    const BlockMatrix matrix = si ? si_matrix(kSlow) : plain_matrix(kSlow);
    const Vector b = matrix.multiply(random_vector(matrix.size(), 1));
    OwnedMat mat;
    std::vector<double> fp64, history;
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
    for (const Case &c : {Case{"int8", 5}, Case{"int4", 3}, Case{"fp16", 5}, Case{"fp32", 5}}) {
      const std::string its = "-pc_mcpi_its " + std::to_string(c.restart);
      describe(std::string(c.precision) + (si ? " in SI units" : ""));
      PetscCall(
          residual_history(mat, matrix, b, its + " -pc_mcpi_offdiag_precision fp64", 6, &fp64));
      PetscCall(residual_history(mat, matrix, b, its + " -pc_mcpi_offdiag_precision " + c.precision,
                                 6, &history));
      check_follows(history, fp64, 10.0);
      // Restarts inside one application give the same result.
      Preconditioner pc;
      Vector x;
      PetscCall(create_pc(mat,
                          "-pc_mcpi_its " + std::to_string(6 * c.restart) + " -pc_mcpi_restart " +
                              std::to_string(c.restart) + " -pc_mcpi_offdiag_precision " +
                              c.precision,
                          &pc));
      PetscCall(apply(pc, b, &x));
      EXPECT_LE(relative_residual(matrix, b, x), 1.01 * history.back() + 1e-12);
    }
    // Without restarts, residuals stop at a floor.
    PetscCall(residual_history(mat, matrix, b, "-pc_mcpi_its 45 -pc_mcpi_offdiag_precision fp64", 1,
                               &fp64));
    PetscCall(residual_history(mat, matrix, b,
                               "-pc_mcpi_its 45 -pc_mcpi_restart 0 -pc_mcpi_offdiag_precision int4",
                               1, &history));
    EXPECT_LE(1e3 * fp64[0], history[0]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Products read x in 16 bits. FGMRES needs at most one iteration more. Only methods that need a
// linear preconditioner, such as GMRES, converge worse.
PETSC_TEST(LowPrecision, rounded_gather_converges_with_fgmres_and_with_restarts)
{
  PetscFunctionBeginUser;
  for (const bool si : {false, true}) {
    const BlockMatrix matrix = si ? si_matrix(kSlow) : plain_matrix(kSlow);
    const Vector b = matrix.multiply(random_vector(matrix.size(), 1));
    OwnedMat mat;
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
    for (const char *precision : {"fp16", "int8"}) {
      const std::string
          blocks = std::string("-pc_mcpi_offdiag_precision ") + precision + " ",
          rounded = "-pc_mcpi_gather_precision bfp16 ", forced = "-pc_mcpi_vector_precision fp32 ",
          gmres = "-pc_mcpi_its 2 -ksp_pc_side right -ksp_type gmres ",
          fgmres = "-pc_mcpi_its 2 -ksp_type fgmres ",
          richardson = "-ksp_type richardson -ksp_max_it 30 -pc_mcpi_its 5 -pc_mcpi_restart 5 ";
      Preconditioner with, without;
      Vector x, y;
      double residual;
      PetscInt its, expected;
      describe(std::string(precision) + (si ? " in SI units" : ""));
      PetscCall(solve_to_1e_10(mat, matrix, b, fgmres + blocks, &residual, &expected));
      PetscCall(solve_to_1e_10(mat, matrix, b, fgmres + blocks + rounded, &residual, &its));
      EXPECT_LE(residual, 1.1e-10);
      EXPECT_LE(its, expected + 1);
      PetscCall(solve_to_1e_10(mat, matrix, b, richardson + blocks + rounded, &residual, &its));
      EXPECT_LE(residual, 1e-12);
      // This run shows that the option has an effect.
      PetscCall(solve_to_1e_10(mat, matrix, b, gmres + blocks, &residual, &its));
      EXPECT_LE(residual, 1.1e-10);
      PetscCall(solve_to_1e_10(mat, matrix, b, gmres + blocks + rounded + forced, &residual, &its));
      EXPECT_LE(1e-6, residual);
      EXPECT_LE(residual, 2e-4);
      PetscCall(create_pc(mat, blocks + forced, &without));
      PetscCall(create_pc(mat, blocks + rounded + forced, &with));
      PetscCall(apply(without, b, &x));
      PetscCall(apply(with, b, &y));
      EXPECT_LE(1e-6, difference(y, x));
      EXPECT_LE(difference(y, x), 1e-4);
      PetscCall(apply_transpose(without, b, &x));
      PetscCall(apply_transpose(with, b, &y));
      EXPECT_LE(1e-6, difference(y, x));
      EXPECT_LE(difference(y, x), 1e-4);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Users run programs with -fp_trap, which stops at such exceptions.
PETSC_TEST(LowPrecision, storing_large_values_raises_no_floating_point_exception)
{
  constexpr int trapped = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW;
  OwnedMat mat;
  PCFailedReason reason;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, plain_matrix(1e-4), Layout::even, MATBAIJ, &mat));
  for (const char *precision : {"fp64", "fp32", "fp16", "int8", "int4"})
    for (const char *form : {"prescaled", "factored"}) {
      Preconditioner pc;
      describe(std::string(precision) + ", " + form);
      PetscCall(create_pc(
          mat, std::string("-pc_mcpi_offdiag_precision ") + precision + " -pc_mcpi_form " + form,
          &pc));
      std::feclearexcept(FE_ALL_EXCEPT);
      PetscCall(PCSetUp(pc));
      EXPECT_EQ(std::fetestexcept(trapped), 0);
      PetscCall(PCGetFailedReason(pc, &reason));
      EXPECT_EQ(static_cast<int>(reason), static_cast<int>(PC_NOERROR));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}
