// Tests values on one rank that no set-up can use. Every Krylov method ends with
// KSP_DIVERGED_PC_FAILED on every rank, and works again with the next good values.
#include <cmath>
#include <limits>

#include "support/petsc.h"

using namespace mcpi::test;

namespace {

constexpr PetscInt bs = 3, n = 30, bad_row = 25; // on the last rank, or near it

struct Damage {
  const char *name;
  const char *options;
  PCFailedReason reason;
  const char *says;
  void (*apply)(BlockMatrix &);
};

double *neighbor_block(BlockMatrix &matrix, PetscInt row)
{
  for (PetscInt k = matrix.ptr[row]; k < matrix.ptr[row + 1]; ++k)
    if (matrix.col[k] != row) return matrix.values.data() + k * bs * bs;
  return nullptr;
}

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN(),
                 infinity = std::numeric_limits<double>::infinity();

const Damage damages[] = {
    {"zero diagonal block", "", PC_FACTOR_NUMERIC_ZEROPIVOT, "diagonal block is singular",
     [](BlockMatrix &m) { std::fill_n(m.block(bad_row, bad_row), bs * bs, 0.0); }},
    {"singular diagonal block", "", PC_FACTOR_NUMERIC_ZEROPIVOT, "diagonal block is singular",
     [](BlockMatrix &m) {
       double *block = m.block(bad_row, bad_row);
       for (PetscInt p = 0; p < bs; ++p) block[2 * bs + p] = block[p] + block[bs + p];
     }},
    {"NaN in a diagonal block", "", PC_SUBPC_ERROR, "its diagonal block holds",
     [](BlockMatrix &m) { m.block(bad_row, bad_row)[4] = not_a_number; }},
    {"Inf in a diagonal block", "", PC_SUBPC_ERROR, "its diagonal block holds",
     [](BlockMatrix &m) { m.block(bad_row, bad_row)[0] = infinity; }},
    {"NaN in an off-diagonal block", "", PC_SUBPC_ERROR, "off-diagonal block holds",
     [](BlockMatrix &m) { neighbor_block(m, bad_row)[4] = not_a_number; }},
    {"Inf in an off-diagonal block", "", PC_SUBPC_ERROR, "off-diagonal block holds",
     [](BlockMatrix &m) { neighbor_block(m, bad_row)[4] = infinity; }},
    // Equilibration brings any value of the factored form into range.
    {"too large for fp32", "-pc_mcpi_form prescaled", PC_SUBPC_ERROR,
     "far too large, or use a wider -pc_mcpi_offdiag_precision",
     [](BlockMatrix &m) { neighbor_block(m, bad_row)[4] = 1e60; }},
};

BlockMatrix good_matrix()
{
  Recipe recipe;
  recipe.symmetric = true;
  return make_matrix(bs, random_pattern(n, 2, true), recipe);
}

BlockMatrix damaged(const Damage &damage)
{
  BlockMatrix matrix = good_matrix();
  damage.apply(matrix);
  return matrix;
}

PetscErrorCode check_failed(KSP ksp, const Damage &damage)
{
  KSPConvergedReason ended;
  PCFailedReason reason;
  PetscInt row;
  PC pc;
  std::string text;

  PetscFunctionBeginUser;
  PetscCall(solve(ksp, random_vector(n * bs, 1), nullptr, &ended, nullptr));
  EXPECT_EQ(static_cast<int>(ended), static_cast<int>(KSP_DIVERGED_PC_FAILED));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCGetFailedReason(pc, &reason));
  EXPECT_EQ(static_cast<int>(reason), static_cast<int>(damage.reason));
  PetscCall(PCMCPIGetFailedBlock(pc, &row));
  EXPECT_EQ(row, bad_row);
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, "FAILED at block row " + std::to_string(bad_row) + ": ");
  EXPECT_CONTAINS(text, damage.says);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode check_solved(KSP ksp)
{
  const Vector solution = random_vector(n * bs, 2);
  KSPConvergedReason ended;
  PCFailedReason reason;
  PetscInt row;
  PC pc;
  Vector x;

  PetscFunctionBeginUser;
  PetscCall(solve(ksp, good_matrix().multiply(solution), &x, &ended, nullptr));
  EXPECT_LT(0, static_cast<int>(ended));
  EXPECT_LE(difference(x, solution), 1e-3);
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCGetFailedReason(pc, &reason));
  EXPECT_EQ(static_cast<int>(reason), static_cast<int>(PC_NOERROR));
  PetscCall(PCMCPIGetFailedBlock(pc, &row));
  EXPECT_EQ(row, -1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode put_values(KSP ksp, const BlockMatrix &matrix, Mat mat)
{
  PetscFunctionBeginUser;
  PetscCall(set_values(matrix, mat));
  PetscCall(KSPSetOperators(ksp, mat, mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

constexpr const char *methods[] = {"-ksp_type gmres",
                                   "-ksp_type fgmres",
                                   "-ksp_type cg -pc_mcpi_sweep symmetric",
                                   "-ksp_type bcgs",
                                   "-ksp_type preonly -pc_mcpi_its 20",
                                   "-ksp_type richardson -ksp_max_it 200",
                                   "-ksp_type richardson -ksp_norm_type none -ksp_max_it 20",
                                   "-ksp_type chebyshev -pc_mcpi_sweep symmetric -ksp_max_it 100 "
                                   "-ksp_chebyshev_eigenvalues 0.3,1.1",
                                   "-ksp_type gmres -ksp_pc_side right",
                                   "-ksp_type tfqmr",
                                   "-ksp_type minres -pc_mcpi_sweep symmetric"};

} // namespace

PETSC_TEST(Failure, every_krylov_method_ends_with_pc_failed_and_works_again)
{
  bool bad_first = false; // in turns: methods and damages are odd in number

  PetscFunctionBeginUser;
  for (const Damage &damage : damages)
    for (const char *method : methods) {
      OwnedMat mat;
      OwnedSolver ksp;
      bad_first = !bad_first;
      describe(std::string(damage.name) + ", " + method +
               (bad_first ? ", at the first set-up" : ""));
      PetscCall(create_mat(PETSC_COMM_WORLD, bad_first ? damaged(damage) : good_matrix(),
                           Layout::even, MATBAIJ, &mat));
      PetscCall(create_ksp(mat, mat, std::string(method) + " " + damage.options, &ksp));
      if (!bad_first) PetscCall(check_solved(ksp));
      PetscCall(put_values(ksp, damaged(damage), mat));
      PetscCall(check_failed(ksp, damage));
      PetscCall(check_failed(ksp, damage)); // A second solve fails, too.
      PetscCall(put_values(ksp, good_matrix(), mat));
      PetscCall(check_solved(ksp));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The values change in the matrix, without a call of KSP or PC.
PETSC_TEST(Failure, values_repaired_in_place_work_again_at_the_next_solve)
{
  PetscFunctionBeginUser;
  for (const Damage &damage : damages)
    for (const char *method : methods) {
      OwnedMat mat;
      OwnedSolver ksp;
      describe(std::string(damage.name) + ", " + method);
      PetscCall(create_mat(PETSC_COMM_WORLD, damaged(damage), Layout::even, MATBAIJ, &mat));
      PetscCall(create_ksp(mat, mat, std::string(method) + " " + damage.options, &ksp));
      PetscCall(check_failed(ksp, damage));
      PetscCall(set_values(good_matrix(), mat));
      PetscCall(check_solved(ksp));
      PetscCall(set_values(damaged(damage), mat));
      PetscCall(check_failed(ksp, damage));
      PetscCall(set_values(good_matrix(), mat));
      PetscCall(check_solved(ksp));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Failure, reset_forgets_the_failure)
{
  PetscFunctionBeginUser;
  for (const Damage &damage : damages) {
    OwnedMat mat;
    OwnedSolver ksp;
    PC pc;
    PetscInt row;
    PCFailedReason reason;
    describe(damage.name);
    PetscCall(create_mat(PETSC_COMM_WORLD, damaged(damage), Layout::even, MATBAIJ, &mat));
    PetscCall(create_ksp(mat, mat, std::string("-ksp_type fgmres ") + damage.options, &ksp));
    PetscCall(check_failed(ksp, damage));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCReset(pc));
    PetscCall(PCMCPIGetFailedBlock(pc, &row));
    EXPECT_EQ(row, -1);
    PetscCall(PCGetFailedReason(pc, &reason));
    EXPECT_EQ(static_cast<int>(reason), static_cast<int>(PC_NOERROR));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// KSPCHEBYSHEV estimates the eigenvalues by a separate solve, which must fail, too.
PETSC_TEST(Failure, chebyshev_with_estimated_eigenvalues_ends_with_pc_failed)
{
  PetscFunctionBeginUser;
  for (const Damage &damage : damages)
    for (const bool bad_first : {false, true}) {
      OwnedMat mat;
      OwnedSolver ksp;
      describe(std::string(damage.name) + (bad_first ? ", at the first set-up" : ""));
      PetscCall(create_mat(PETSC_COMM_WORLD, bad_first ? damaged(damage) : good_matrix(),
                           Layout::even, MATBAIJ, &mat));
      PetscCall(
          create_ksp(mat, mat,
                     std::string("-ksp_type chebyshev -pc_mcpi_sweep symmetric -ksp_max_it 100 ") +
                         damage.options,
                     &ksp));
      if (!bad_first) PetscCall(check_solved(ksp));
      PetscCall(put_values(ksp, damaged(damage), mat));
      PetscCall(check_failed(ksp, damage));
      PetscCall(put_values(ksp, good_matrix(), mat));
      PetscCall(check_solved(ksp));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Failure, every_precision_and_form_finds_bad_values)
{
  PetscFunctionBeginUser;
  for (const char *precision : {"fp64", "fp32", "fp16", "int8", "int4"})
    for (const char *form : {"prescaled", "factored", "entries"})
      for (const Damage &damage : damages) {
        if (*damage.options) continue; // This damage needs one combination of options.
        if (!takes_form(form, precision)) continue;
        OwnedMat mat;
        Preconditioner pc;
        PCFailedReason reason;
        PetscInt row;
        describe(std::string(damage.name) + ", " + precision + ", " + form);
        PetscCall(create_mat(PETSC_COMM_WORLD, damaged(damage), Layout::even, MATBAIJ, &mat));
        PetscCall(create_pc(
            mat, std::string("-pc_mcpi_offdiag_precision ") + precision + " -pc_mcpi_form " + form,
            &pc));
        for (int attempt = 0; attempt < 2;
             ++attempt) { // The first set-up computes the scales, and the second one has them.
          PetscCall(PCSetUp(pc));
          PetscCall(PCGetFailedReason(pc, &reason));
          EXPECT_EQ(static_cast<int>(reason), static_cast<int>(damage.reason));
          PetscCall(PCMCPIGetFailedBlock(pc, &row));
          EXPECT_EQ(row, bad_row);
          PetscCall(set_values(good_matrix(), mat));
          PetscCall(PCSetUp(pc));
          PetscCall(PCMCPIGetFailedBlock(pc, &row));
          EXPECT_EQ(row, -1);
          PetscCall(set_values(damaged(damage), mat));
        }
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// With scalar blocks, no operation turns the Inf into a NaN, so it must be found itself.
PETSC_TEST(Failure, inf_in_a_scalar_matrix_is_found)
{
  const PetscInt rows = 40;

  PetscFunctionBeginUser;
  for (const char *precision : {"fp64", "fp32", "fp16", "int8", "int4"}) {
    BlockMatrix matrix = make_matrix(1, random_pattern(rows, 3, false));
    OwnedMat mat;
    Preconditioner pc;
    PCFailedReason reason;
    PetscInt row;
    describe(precision);
    for (PetscInt k = matrix.ptr[30]; k < matrix.ptr[31]; ++k)
      if (matrix.col[k] != 30) matrix.values[k] = infinity;
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATAIJ, &mat));
    PetscCall(create_pc(mat, std::string("-pc_mcpi_offdiag_precision ") + precision, &pc));
    PetscCall(PCSetUp(pc));
    PetscCall(PCGetFailedReason(pc, &reason));
    EXPECT_EQ(static_cast<int>(reason), static_cast<int>(PC_SUBPC_ERROR));
    PetscCall(PCMCPIGetFailedBlock(pc, &row));
    EXPECT_EQ(row, 30);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Failure, the_first_of_several_bad_rows_is_named)
{
  OwnedMat mat;
  Preconditioner pc;
  PetscInt row;
  PCFailedReason reason;
  BlockMatrix matrix = good_matrix();

  PetscFunctionBeginUser;
  for (const PetscInt i : {28, 17, 4, 9}) matrix.block(i, i)[0] = not_a_number;
  std::fill_n(matrix.block(4, 4), bs * bs, 0.0);
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, "", &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCMCPIGetFailedBlock(pc, &row));
  EXPECT_EQ(row, 4);
  PetscCall(PCGetFailedReason(pc, &reason));
  EXPECT_EQ(static_cast<int>(reason), static_cast<int>(PC_FACTOR_NUMERIC_ZEROPIVOT));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Failure, error_if_failure_is_an_error_on_every_rank_that_names_the_row)
{
  PetscFunctionBeginUser;
  for (const Damage &damage : damages) {
    OwnedMat mat;
    Preconditioner pc;
    Vector x;
    describe(damage.name);
    PetscCall(create_mat(PETSC_COMM_WORLD, damaged(damage), Layout::even, MATBAIJ, &mat));
    PetscCall(create_pc(mat, damage.options, &pc));
    PetscCall(PCSetErrorIfFailure(pc, PETSC_TRUE));
    EXPECT_PETSC_ERROR(damage.reason == PC_SUBPC_ERROR ? PETSC_ERR_FP : PETSC_ERR_MAT_LU_ZRPVT,
                       "block row 25", PCSetUp(pc));
    PetscCall(set_values(good_matrix(), mat));
    PetscCall(apply(pc, random_vector(n * bs, 1), &x));
    EXPECT_TRUE(std::isfinite(norm(x)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Failure, a_singular_block_of_a_multigrid_level_is_given_to_jacobi)
{
  PetscFunctionBeginUser;
  for (const std::string prefix : {"", "a_", "mg_levels_2_", "a_mg_coarse_"}) {
    const bool level = prefix.find("mg_") != std::string::npos;
    OwnedMat mat;
    OwnedPC pc;
    std::string text;
    describe(prefix);
    PetscCall(create_mat(PETSC_COMM_WORLD, damaged(damages[0]), Layout::even, MATBAIJ, &mat));
    PetscCall(PCCreate(PETSC_COMM_WORLD, pc.out()));
    PetscCall(PCSetType(pc, PCMCPI));
    PetscCall(PCSetOptionsPrefix(pc, prefix.c_str()));
    PetscCall(PCSetOperators(pc, mat, mat));
    PetscCall(PCSetUp(pc));
    PetscCall(view(pc, &text));
    EXPECT_CONTAINS(text, level ? "singular. Use -" + prefix + "pc_type jacobi on this level"
                                : "singular. PCFIELDSPLIT can split off");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Failure, no_application_of_a_failed_set_up_looks_like_a_result)
{
  OwnedMat mat;
  Preconditioner pc;
  OwnedVec b, x;
  PetscReal length;
  PetscInt its;
  PCRichardsonConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, damaged(damages[0]), Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, "", &pc));
  PetscCall(create_vec(mat, random_vector(n * bs, 1), &b));
  PetscCall(VecDuplicate(b, x.out()));
  PetscCall(PCApply(pc, b, x));
  PetscCall(VecNorm(x, NORM_2, &length));
  EXPECT_FALSE(std::isfinite(length));
  PetscCall(VecSet(x, 0.0));
  PetscCall(PCApplyTranspose(pc, b, x));
  PetscCall(VecNorm(x, NORM_2, &length));
  EXPECT_FALSE(std::isfinite(length));
  PetscCall(VecSet(x, 0.0));
  PetscCall(PCApplyRichardson(pc, b, x, nullptr, 0.0, 0.0, 0.0, 3, PETSC_FALSE, &its, &reason));
  EXPECT_EQ(static_cast<int>(reason), static_cast<int>(KSP_DIVERGED_PC_FAILED));
  PetscCall(VecNorm(x, NORM_2, &length));
  EXPECT_FALSE(std::isfinite(length));

  OwnedMat columns, results;
  PetscInt m;
  PetscCall(MatGetLocalSize(mat, &m, nullptr));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, m, PETSC_DECIDE, PETSC_DETERMINE, 3, nullptr,
                           columns.out()));
  PetscCall(MatDuplicate(columns, MAT_DO_NOT_COPY_VALUES, results.out()));
  for (Mat dense : {(Mat)columns, (Mat)results}) {
    PetscCall(MatZeroEntries(dense));
    PetscCall(MatAssemblyBegin(dense, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(dense, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(PCMatApply(pc, columns, results));
  for (PetscInt c = 0; c < 3; ++c) {
    Vec column;
    PetscCall(MatDenseGetColumnVecRead(results, c, &column));
    PetscCall(VecNorm(column, NORM_2, &length));
    EXPECT_FALSE(std::isfinite(length));
    PetscCall(MatDenseRestoreColumnVecRead(results, c, &column));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
