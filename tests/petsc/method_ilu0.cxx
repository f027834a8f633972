// Tests the method ILU(0) against its formula, and against PETSc's ILU(0) on one rank.
#include "factors.h"
#include "support/allocations.h"

using namespace mcpi::test;

namespace {

const char *const kExact = "-pc_mcpi_method ilu0 -pc_mcpi_offdiag_precision fp64 ";

constexpr const char *kSchedules[] = {
    "-pc_mcpi_schedule color", "-pc_mcpi_schedule cluster -pc_mcpi_cluster_rows 6 ",
    "-pc_mcpi_mat_coloring_type wave -pc_mcpi_mat_coloring_wave_colors 8",
    "-pc_mcpi_mat_coloring_type levels"};

// The matrix with its rows and columns in another order
BlockMatrix reordered(BlockMatrix matrix, const std::vector<Row> &rows)
{
  const auto square = static_cast<std::size_t>(matrix.bs) * matrix.bs;
  BlockMatrix result;
  result.bs = matrix.bs;
  for (const Row i : rows) {
    for (std::size_t j = 0; j < rows.size(); ++j)
      if (const double *block = matrix.block(i, rows[j])) {
        result.col.push_back(static_cast<Row>(j));
        result.values.insert(result.values.end(), block, block + square);
      }
    result.ptr.push_back(static_cast<Row>(result.col.size()));
  }
  return result;
}

Vector reordered(const Vector &x, PetscInt bs, const std::vector<Row> &rows, bool back)
{
  Vector y(x.size());
  for (std::size_t k = 0; k < rows.size(); ++k)
    for (PetscInt i = 0; i < bs; ++i) {
      const auto here = static_cast<std::size_t>(bs) * k + i,
                 there = static_cast<std::size_t>(bs) * rows[k] + i;
      y[back ? there : here] = x[back ? here : there];
    }
  return y;
}

// Compares with PCILU, for the matrix in the order of the plan.
PetscErrorCode check_with_petsc(const BlockMatrix &matrix, const std::string &options)
{
  const Vector b = random_vector(matrix.size(), 1);
  std::vector<int> place;
  OwnedMat mat, ordered_mat;
  Preconditioner pc, ilu;
  Vector x, by_ilu;

  PetscFunctionBeginUser;
  describe("bs " + std::to_string(matrix.bs) + " " + options);
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, kExact + options, &pc));
  PetscCall(apply(pc, b, &x));
  PetscCall(gather_places(pc, mat, &place));
  const std::vector<Row> rows = Factors::in_order(place);
  PetscCall(
      create_mat(PETSC_COMM_WORLD, reordered(matrix, rows), Layout::even, MATBAIJ, &ordered_mat));
  PetscCall(create_pc(ordered_mat, "-pc_type ilu", &ilu));
  PetscCall(apply(ilu, reordered(b, matrix.bs, rows, false), &by_ilu));
  EXPECT_LE(difference(x, reordered(by_ilu, matrix.bs, rows, true)), 1e-12);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Iterations of GMRES
PetscErrorCode count_iterations(Mat mat, const std::string &options, const Vector &b, PetscInt *its)
{
  OwnedSolver solver;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(
      create_ksp(mat, mat, "-ksp_type gmres -ksp_rtol 1e-8 -pc_type mcpi " + options, &solver));
  PetscCall(solve(solver, b, nullptr, &reason, its));
  EXPECT_GT(reason, 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(MethodIlu0, ilu0_applies_the_inverse_of_its_factors)
{
  PetscFunctionBeginUser;
  for (const PetscInt bs : {1, 3, 5, 9})
    for (const bool symmetric : {false, true}) {
      const BlockMatrix matrix = make_matrix(bs, random_pattern(40, 3, symmetric));
      for (const Layout layout : {Layout::even, Layout::uneven, Layout::empty_ranks})
        for (const char *form : {"prescaled", "factored"})
          PetscCall(check_method(
              "ilu0", matrix, MATBAIJ, layout,
              std::string("-pc_mcpi_offdiag_precision fp64 -pc_mcpi_form ") + form, 1e-12));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MethodIlu0, ilu0_on_a_mesh_applies_the_inverse_of_its_factors_in_every_schedule)
{
  PetscFunctionBeginUser;
  for (const BlockMatrix &matrix :
       {make_matrix(4, tetrahedral_pattern(5, 4, 3)), make_matrix(2, ring_pattern(60, 60, 3))})
    for (const char *schedule : kSchedules)
      for (const Layout layout : {Layout::even, Layout::uneven})
        PetscCall(check_method("ilu0", matrix, MATBAIJ, layout,
                               std::string("-pc_mcpi_offdiag_precision fp64 ") + schedule, 1e-12));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MethodIlu0, ilu0_takes_couplings_of_one_direction_only)
{
  PetscFunctionBeginUser;
  for (const Pattern &pattern : {one_way_pattern(40, 4), arrow_pattern(30), diagonal_pattern(20)})
    for (const char *schedule : kSchedules)
      PetscCall(check_method("ilu0", make_matrix(3, pattern), MATBAIJ, Layout::even,
                             std::string("-pc_mcpi_offdiag_precision fp64 ") + schedule, 1e-12));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Rows with few blocks are then sought in a row with many, see IncompleteLU.
PETSC_TEST(MethodIlu0, ilu0_takes_rows_that_are_coupled_to_all_others)
{
  PetscFunctionBeginUser;
  for (const Pattern &pattern : {hub_pattern(150), box_pattern(4, 3)})
    for (const Layout layout : {Layout::even, Layout::uneven})
      for (const char *schedule : kSchedules)
        PetscCall(check_method("ilu0", make_matrix(2, pattern), MATBAIJ, layout,
                               std::string("-pc_mcpi_offdiag_precision fp64 ") + schedule, 1e-12));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Measures how far the peak of a set-up with a new method is above what was held before.
PetscErrorCode peak_with(PC pc, PCMCPIMethod method, std::size_t *peak)
{
  PetscFunctionBeginUser;
  const std::size_t before = allocations().held;
  count_peak();
  PetscCall(PCMCPISetMethod(pc, method));
  PetscCall(PCSetUp(pc));
  *peak = allocations().peak - before;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A backend that is made again needs memory, too, with Kokkos more than small factors.
PETSC_TEST(MethodIlu0, a_factorization_takes_at_most_twice_the_memory_of_its_factors)
{
  constexpr std::size_t kOther = 1024; // bytes of what does not grow with the matrix
  PetscFunctionBeginUser;
  if (world_size() > 1) PetscFunctionReturn(PETSC_SUCCESS); // tests/petsc/elimination.cxx
  for (const PetscInt bs : {1, 2, 5})
    for (const PCMCPIMethod method : {PC_MCPI_METHOD_DILU, PC_MCPI_METHOD_ILU0}) {
      const BlockMatrix matrix = make_matrix(bs, box_pattern(8, 2));
      OwnedMat mat;
      Preconditioner pc;
      describe("bs " + std::to_string(bs) + " method " + std::to_string(method));
      PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
      std::size_t with_factors, without;
      PetscCall(create_pc(mat, "-pc_mcpi_offdiag_precision fp64", &pc));
      PetscCall(PCSetUp(pc));
      PetscCall(peak_with(pc, method, &with_factors));
      PetscCall(peak_with(pc, PC_MCPI_METHOD_POINT, &without));
      EXPECT_LE(with_factors,
                std::max(without + kOther, 2 * matrix.values.size() * sizeof(double)));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MethodIlu0, ilu0_takes_every_type_of_matrix_and_the_reference_backend)
{
  Recipe recipe;
  recipe.symmetric = true;
  const BlockMatrix matrix = make_matrix(3, random_pattern(30, 3, true), recipe);

  PetscFunctionBeginUser;
  for (const MatType type : {MATBAIJ, MATAIJ, MATSBAIJ})
    PetscCall(
        check_method("ilu0", matrix, type, Layout::even, "-pc_mcpi_offdiag_precision fp64", 1e-12));
  PetscCall(check_method("ilu0", matrix, MATBAIJ, Layout::uneven,
                         "-pc_mcpi_offdiag_precision fp64 -pc_mcpi_backend reference", 1e-12));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MethodIlu0, ilu0_with_rounded_blocks_is_close_to_its_factors)
{
  const BlockMatrix matrix = make_matrix(4, tetrahedral_pattern(4, 3, 3));
  const std::pair<const char *, double> storages[] = {
      {"fp32", 1e-6}, {"fp16", 4e-3}, {"int8", 4e-2}, {"int4", 0.5}};

  PetscFunctionBeginUser;
  for (const auto &[storage, tolerance] : storages)
    for (const char *schedule : kSchedules)
      PetscCall(check_method("ilu0", matrix, MATBAIJ, Layout::even,
                             std::string("-pc_mcpi_offdiag_precision ") + storage + " " + schedule,
                             tolerance));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MethodIlu0, ilu0_is_the_ilu_of_petsc_in_the_order_of_the_plan)
{
  PetscFunctionBeginUser;
  if (world_size() > 1) PetscFunctionReturn(PETSC_SUCCESS); // PCILU works on one rank
  for (const PetscInt bs : {1, 4, 5})
    for (const char *schedule : kSchedules) {
      PetscCall(check_with_petsc(make_matrix(bs, tetrahedral_pattern(4, 4, 3)), schedule));
      PetscCall(check_with_petsc(make_matrix(bs, random_pattern(40, 3, false)), schedule));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MethodIlu0, ilu0_by_levels_is_the_ilu_of_petsc_in_the_order_of_the_matrix)
{
  const BlockMatrix matrix = make_matrix(3, tetrahedral_pattern(4, 4, 3));
  const Vector b = random_vector(matrix.size(), 1);
  OwnedMat mat;
  Preconditioner pc, ilu;
  Vector x, expected;

  PetscFunctionBeginUser;
  if (world_size() > 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat,
                      std::string(kExact) + "-pc_mcpi_mat_coloring_type levels "
                                            "-pc_mcpi_mat_coloring_levels_order natural",
                      &pc));
  PetscCall(create_pc(mat, "-pc_type ilu", &ilu));
  PetscCall(apply(pc, b, &x));
  PetscCall(apply(ilu, b, &expected));
  EXPECT_LE(difference(x, expected), 1e-12);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MethodIlu0, factorizations_have_the_same_bits_on_any_number_of_ranks)
{
  PetscFunctionBeginUser;
  for (const BlockMatrix &matrix :
       {make_matrix(5, tetrahedral_pattern(4, 3, 3)), make_matrix(3, random_pattern(40, 3, false)),
        make_matrix(2, hub_pattern(90))})
    for (const char *method : {"dilu", "ilu0"})
      for (const char *coloring : {"jplf", "wave", "levels"})
        for (const Layout layout : {Layout::even, Layout::empty_ranks}) {
          const std::string options = std::string("-pc_mcpi_offdiag_precision fp64 ") +
                                      "-pc_mcpi_method " + method + " -pc_mcpi_mat_coloring_type " +
                                      coloring;
          const Vector b = random_vector(matrix.size(), 3);
          OwnedMat shared_mat, alone_mat;
          Preconditioner shared, alone;
          Vector x, expected;
          describe(options + " " + name_of(layout));
          PetscCall(create_mat(PETSC_COMM_WORLD, matrix, layout, MATBAIJ, &shared_mat));
          PetscCall(create_mat(PETSC_COMM_SELF, matrix, Layout::even, MATBAIJ, &alone_mat));
          PetscCall(create_pc(shared_mat, options, &shared));
          PetscCall(create_pc(alone_mat, options, &alone));
          PetscCall(apply(shared, b, &x));
          PetscCall(apply(alone, b, &expected));
          EXPECT_TRUE(x == expected);
          PetscCall(apply_transpose(shared, b, &x));
          PetscCall(apply_transpose(alone, b, &expected));
          EXPECT_TRUE(x == expected);
        }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MethodIlu0, ilu0_takes_no_more_iterations_than_dilu)
{
  const BlockMatrix matrix = make_matrix(4, tetrahedral_pattern(6, 6, 6));
  const Vector b = random_vector(matrix.size(), 1);
  OwnedMat mat;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  for (const char *schedule : kSchedules) {
    PetscInt ilu0, dilu;
    describe(schedule);
    PetscCall(count_iterations(mat, std::string("-pc_mcpi_method ilu0 ") + schedule, b, &ilu0));
    PetscCall(count_iterations(mat, std::string("-pc_mcpi_method dilu ") + schedule, b, &dilu));
    EXPECT_LE(ilu0, dilu);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MethodIlu0, more_sweeps_of_ilu0_are_applied_to_the_residual)
{
  PetscFunctionBeginUser;
  PetscCall(check_more_sweeps(kExact));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MethodIlu0, ilu0_follows_new_values_and_a_new_choice_of_the_method)
{
  BlockMatrix matrix = make_matrix(3, random_pattern(40, 3, false));
  OwnedMat mat;
  Preconditioner pc;
  Recipe recipe;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, kExact, &pc));
  PetscCall(check_application(pc, matrix, true, 1e-12));
  recipe.seed = 7;
  matrix = make_matrix(3, random_pattern(40, 3, false), recipe);
  PetscCall(set_values(matrix, mat));
  PetscCall(PCSetUp(pc));
  PetscCall(check_application(pc, matrix, true, 1e-12));
  PetscCall(PCMCPISetMethod(pc, PC_MCPI_METHOD_DILU));
  PetscCall(check_application(pc, matrix, false, 1e-12));
  PetscCall(PCMCPISetMethod(pc, PC_MCPI_METHOD_ILU0));
  PetscCall(check_application(pc, matrix, true, 1e-12));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MethodIlu0, a_block_that_ilu0_makes_singular_is_named)
{
  BlockMatrix matrix = make_matrix(1, Pattern{{1, 2}, {0, 2}, {0, 1}});
  OwnedMat mat;
  Preconditioner pc;
  PCFailedReason reason;
  PetscInt row;
  std::string text;
  std::vector<int> color;

  PetscFunctionBeginUser;
  std::fill(matrix.values.begin(), matrix.values.end(), 1.0); // the second pivot is 1 - 1
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, kExact, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCGetFailedReason(pc, &reason));
  EXPECT_EQ(reason, PC_FACTOR_NUMERIC_ZEROPIVOT);
  PetscCall(PCMCPIGetFailedBlock(pc, &row));
  PetscCall(gather_colors(pc, &color));
  PetscInt first = 0; // the first row that is not eliminated first
  while (color[first] == 0) ++first;
  EXPECT_EQ(row, first);
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, "Use -pc_mcpi_method point");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MethodIlu0, a_factorization_that_overflows_says_so)
{
  BlockMatrix matrix = make_matrix(1, Pattern{{1}, {0}});
  OwnedMat mat;
  Preconditioner pc;
  PCFailedReason reason;
  std::string text;

  PetscFunctionBeginUser;
  for (Row i = 0; i < 2; ++i) {
    matrix.diagonal(i)[0] = 1e-300;
    matrix.offdiag(i, 0)[0] = 1e5; // the second pivot is 1e-300 - 1e310
  }
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, kExact, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCGetFailedReason(pc, &reason));
  EXPECT_NE(reason, PC_NOERROR);
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, "in the matrix or in its factors");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MethodIlu0, a_block_that_is_not_finite_is_named_and_no_other_row)
{
  PetscFunctionBeginUser;
  for (const double bad : {kNaN, kInf})
    for (const char *method : {"dilu", "ilu0"})
      for (const PetscInt where : {11, 30}) {
        BlockMatrix matrix = make_matrix(2, tetrahedral_pattern(4, 4, 3));
        OwnedMat mat;
        Preconditioner pc;
        PetscInt row;
        describe(std::string(method) + " row " + std::to_string(where));
        PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
        PetscCall(create_pc(mat, std::string("-pc_mcpi_method ") + method, &pc));
        PetscCall(PCSetUp(pc));
        matrix.offdiag(static_cast<Row>(where), -1)[1] = bad;
        PetscCall(set_values(matrix, mat));
        PetscCall(PCSetUp(pc));
        PetscCall(PCMCPIGetFailedBlock(pc, &row));
        EXPECT_EQ(row, where);
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}
