// Tests the method DILU against its formula, and against PETSc's ILU(0).
#include "factors.h"

using namespace mcpi::test;

namespace {

const char *const kExact = "-pc_mcpi_method dilu -pc_mcpi_offdiag_precision fp64 ";

// Diffusion with variable coefficients on a grid of nx * nx * nx points. The graph of a 7-point
// stencil has no triangles.
BlockMatrix stencil(PetscInt nx)
{
  Pattern pattern(static_cast<std::size_t>(nx * nx * nx));
  for (PetscInt i = 0; i < nx * nx * nx; ++i)
    for (const PetscInt step : {-nx * nx, -nx, PetscInt{-1}, PetscInt{1}, nx, nx * nx}) {
      const PetscInt size = std::abs(step), at = i / size % nx, to = step < 0 ? at - 1 : at + 1;
      if (to >= 0 && to < nx) pattern[i].push_back(i + step);
    }
  return make_matrix(1, pattern);
}

} // namespace

PETSC_TEST(MethodDilu, dilu_applies_the_inverse_of_its_factors)
{
  PetscFunctionBeginUser;
  for (const PetscInt bs : {1, 3, 5, 9})
    for (const bool symmetric : {false, true}) {
      BlockMatrix matrix = make_matrix(bs, random_pattern(40, 3, symmetric));
      for (const Layout layout : {Layout::even, Layout::uneven, Layout::empty_ranks})
        for (const char *form : {"prescaled", "factored"})
          PetscCall(check_method(
              "dilu", matrix, MATBAIJ, layout,
              std::string("-pc_mcpi_offdiag_precision fp64 -pc_mcpi_form ") + form, 1e-12));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MethodDilu, dilu_on_the_reference_backend_applies_the_inverse_of_its_factors)
{
  BlockMatrix matrix = make_matrix(4, random_pattern(40, 3, false));

  PetscFunctionBeginUser;
  PetscCall(check_method("dilu", matrix, MATBAIJ, Layout::uneven,
                         "-pc_mcpi_offdiag_precision fp64 -pc_mcpi_backend reference", 1e-12));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MethodDilu, dilu_follows_the_order_of_clusters)
{
  BlockMatrix matrix = make_matrix(3, random_pattern(40, 3, false));

  PetscFunctionBeginUser;
  for (const Layout layout : {Layout::even, Layout::empty_ranks})
    PetscCall(check_method("dilu", matrix, MATBAIJ, layout,
                           "-pc_mcpi_schedule cluster -pc_mcpi_cluster_rows 6 "
                           "-pc_mcpi_offdiag_precision fp64",
                           1e-12));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MethodDilu, dilu_takes_every_type_of_matrix)
{
  Recipe recipe;
  recipe.symmetric = true;
  BlockMatrix matrix = make_matrix(3, random_pattern(30, 3, true), recipe);

  PetscFunctionBeginUser;
  for (const MatType type : {MATBAIJ, MATAIJ, MATSBAIJ})
    PetscCall(
        check_method("dilu", matrix, type, Layout::even, "-pc_mcpi_offdiag_precision fp64", 1e-12));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MethodDilu, dilu_with_rounded_blocks_is_close_to_its_factors)
{
  BlockMatrix matrix = make_matrix(4, random_pattern(40, 3, true));
  const std::pair<const char *, double> storages[] = {
      {"fp32", 1e-6}, {"fp16", 4e-3}, {"int8", 4e-2}, {"int4", 0.5}};

  PetscFunctionBeginUser;
  for (const auto &[storage, tolerance] : storages)
    PetscCall(check_method("dilu", matrix, MATBAIJ, Layout::even,
                           std::string("-pc_mcpi_offdiag_precision ") + storage, tolerance));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MethodDilu, dilu_on_a_stencil_is_the_ilu_of_petsc)
{
  BlockMatrix matrix = stencil(6);
  const Vector b = random_vector(matrix.size(), 1);
  std::vector<int> color;
  OwnedMat mat, permuted;
  Preconditioner pc, ilu;
  Vector x, by_ilu;
  IS rows;

  PetscFunctionBeginUser;
  if (world_size() > 1) PetscFunctionReturn(PETSC_SUCCESS); // PCILU works on one rank
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATAIJ, &mat));
  PetscCall(create_pc(mat, kExact, &pc));
  PetscCall(apply(pc, b, &x));
  PetscCall(gather_colors(pc, &color));
  std::vector<PetscInt> order(color.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](PetscInt i, PetscInt j) { return color[i] < color[j]; });
  PetscCall(
      ISCreateGeneral(PETSC_COMM_SELF, matrix.rows(), order.data(), PETSC_COPY_VALUES, &rows));
  PetscCall(ISSetPermutation(rows));
  PetscCall(MatPermute(mat, rows, rows, permuted.out()));
  PetscCall(create_pc(permuted, "-pc_type ilu", &ilu));
  Vector in_order;
  for (const PetscInt row : order) in_order.push_back(b[row]);
  PetscCall(apply(ilu, in_order, &by_ilu));
  Vector expected(b.size());
  for (std::size_t k = 0; k < order.size(); ++k) expected[order[k]] = by_ilu[k];
  EXPECT_LE(difference(x, expected), 1e-13);
  PetscCall(ISDestroy(&rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MethodDilu, more_sweeps_of_dilu_are_applied_to_the_residual)
{
  PetscFunctionBeginUser;
  PetscCall(check_more_sweeps(kExact));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MethodDilu, dilu_follows_new_values_and_a_new_choice_of_the_method)
{
  BlockMatrix matrix = make_matrix(3, random_pattern(40, 3, false));
  const Vector b = random_vector(matrix.size(), 1);
  OwnedMat mat;
  Preconditioner pc, point;
  Vector x, expected;
  PCMCPIMethod method;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, kExact, &pc));
  PetscCall(create_pc(mat, "-pc_mcpi_offdiag_precision fp64", &point));
  PetscCall(check_application(pc, matrix, false, 1e-12));
  Recipe recipe;
  recipe.seed = 7;
  matrix = make_matrix(3, random_pattern(40, 3, false), recipe);
  PetscCall(set_values(matrix, mat));
  PetscCall(PCSetUp(pc));
  PetscCall(check_application(pc, matrix, false, 1e-12));
  PetscCall(PCMCPISetMethod(pc, PC_MCPI_METHOD_POINT));
  PetscCall(PCMCPIGetMethod(pc, &method));
  EXPECT_EQ(method, PC_MCPI_METHOD_POINT);
  PetscCall(apply(pc, b, &x));
  PetscCall(apply(point, b, &expected));
  EXPECT_TRUE(x == expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MethodDilu, columns_of_a_dense_matrix_are_those_of_single_applications_of_dilu)
{
  BlockMatrix matrix = make_matrix(2, random_pattern(40, 3, false));
  OwnedMat mat, in, out;
  Preconditioner pc;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, kExact, &pc));
  PetscInt rows;
  PetscCall(MatGetLocalSize(mat, &rows, nullptr));
  PetscCall(
      MatCreateDense(PETSC_COMM_WORLD, rows, PETSC_DECIDE, PETSC_DETERMINE, 3, nullptr, in.out()));
  PetscCall(MatSetRandom(in, nullptr));
  PetscCall(MatDuplicate(in, MAT_DO_NOT_COPY_VALUES, out.out()));
  PetscCall(PCMatApply(pc, in, out));
  for (PetscInt c = 0; c < 3; ++c) {
    Vec column;
    Vector b, x, expected;
    PetscCall(MatDenseGetColumnVecRead(in, c, &column));
    PetscCall(gather(column, &b));
    PetscCall(MatDenseRestoreColumnVecRead(in, c, &column));
    PetscCall(MatDenseGetColumnVecRead(out, c, &column));
    PetscCall(gather(column, &x));
    PetscCall(MatDenseRestoreColumnVecRead(out, c, &column));
    PetscCall(apply(pc, b, &expected));
    EXPECT_LE(difference(x, expected), 1e-14);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MethodDilu, a_block_that_dilu_makes_singular_is_named)
{
  Pattern pattern{{1}, {0}};
  BlockMatrix matrix = make_matrix(1, pattern);
  OwnedMat mat;
  Preconditioner pc;
  PCFailedReason reason;
  PetscInt row;
  std::string text;

  PetscFunctionBeginUser;
  std::fill(matrix.values.begin(), matrix.values.end(), 1.0); // the second pivot is 1 - 1
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, kExact, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCGetFailedReason(pc, &reason));
  EXPECT_EQ(reason, PC_FACTOR_NUMERIC_ZEROPIVOT);
  PetscCall(PCMCPIGetFailedBlock(pc, &row));
  std::vector<int> color;
  PetscCall(gather_colors(pc, &color));
  EXPECT_EQ(row, color[0] > color[1] ? 0 : 1);
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, "Use -pc_mcpi_method point");
  PetscCall(PCMCPISetMethod(pc, PC_MCPI_METHOD_POINT));
  PetscCall(PCSetUp(pc));
  PetscCall(PCGetFailedReason(pc, &reason));
  EXPECT_EQ(reason, PC_NOERROR);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MethodDilu, dilu_refuses_sweeps_that_do_not_apply_its_factors)
{
  BlockMatrix matrix = make_matrix(2, random_pattern(20, 3, false));
  const Vector b = random_vector(matrix.size(), 1);
  OwnedMat mat;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  for (const char *option :
       {"-pc_mcpi_sweep forward", "-pc_mcpi_omega 1.2", "-pc_mcpi_halo_frequency sweep"}) {
    Preconditioner pc;
    PetscCall(create_pc(mat, std::string(kExact) + option, &pc));
    EXPECT_PETSC_ERROR(PETSC_ERR_ARG_INCOMP, "-pc_mcpi_method dilu needs", PCSetUp(pc));
  }
  Preconditioner pc;
  Vector x;
  PetscCall(create_pc(mat, kExact, &pc));
  PetscCall(apply(pc, b, &x));
  PetscCall(PCMCPISetOmega(pc, 0.5));
  EXPECT_PETSC_ERROR(PETSC_ERR_ARG_INCOMP, "-pc_mcpi_omega 1", apply(pc, b, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}
