// Tests that every supported matrix type gives the iterate of the formula, also for very small and
// unusual matrices.
#include "support/petsc.h"

using namespace mcpi::test;

namespace {

const MatType types[] = {
    MATBAIJ,      MATMPIBAIJ, MATAIJ, MATMPIAIJ, MATSBAIJ, MATMPISBAIJ, MATAIJPERM,
#if defined(PETSC_HAVE_KOKKOS_KERNELS)
    MATAIJKOKKOS,
#endif
};

// The iterate of the formula with the coloring in use
PetscErrorCode check_formula(PC pc, const BlockMatrix &matrix, PCMCPISweepType type, int its,
                             const Vector &b, const Vector &x)
{
  std::vector<int> color;
  Sweeps sweeps;

  PetscFunctionBeginUser;
  PetscCall(gather_colors(pc, &color));
  sweeps.type = type;
  sweeps.its = its;
  EXPECT_LE(difference(x, DenseIteration(matrix, color).run(sweeps, b)), 1e-12);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode check_all_operations(const BlockMatrix &matrix, MatType type, Layout layout)
{
  OwnedMat mat;
  Preconditioner pc;
  const Vector b = random_vector(matrix.size(), 1);
  Vector x;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, layout, type, &mat));
  PetscCall(create_pc(
      mat, "-pc_mcpi_sweep symmetric -pc_mcpi_its 2 -pc_mcpi_offdiag_precision fp64", &pc));
  PetscCall(apply(pc, b, &x));
  PetscCall(check_formula(pc, matrix, PC_MCPI_SWEEP_SYMMETRIC, 2, b, x));
  PetscCall(apply_transpose(pc, b, &x));
  EXPECT_EQ(x.size(), b.size());
  const Vector guess = random_vector(matrix.size(), 2);
  Vector exact = guess;
  PetscCall(apply_richardson(pc, b, false, 2, &exact));
  PetscCall(PCMCPISetOffdiagPrecision(pc, PC_MCPI_PRECISION_FP32));
  for (const PetscInt restart :
       {0, 1}) { // sweeps on residuals: products of the matrix and its own kind of vectors
    PetscCall(PCMCPISetRestart(pc, restart));
    x = guess;
    PetscCall(apply_richardson(pc, b, false, 2, &x));
    EXPECT_LE(difference(x, exact), 1e-5);
  }
  PetscCall(PCMCPISetRestart(pc, 0));
  for (const PCMCPIPrecision precision :
       {PC_MCPI_PRECISION_FP16, PC_MCPI_PRECISION_INT8, PC_MCPI_PRECISION_INT4}) {
    Vector low;
    PetscCall(PCMCPISetOffdiagPrecision(pc, precision));
    PetscCall(apply(pc, b, &x));
    PetscCall(PCMCPISetForm(pc, PC_MCPI_FORM_FACTORED));
    PetscCall(apply(pc, b, &low));
    EXPECT_LE(difference(low, x), precision == PC_MCPI_PRECISION_INT4 ? 0.2 : 0.05);
    PetscCall(PCMCPISetForm(pc, PC_MCPI_FORM_PRESCALED));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(MatrixTypes, types_of_one_symmetric_matrix_give_the_same_bits)
{
  Recipe recipe;
  recipe.symmetric = true;

  PetscFunctionBeginUser;
  for (const PetscInt bs : {1, 2, 5, 8, 9}) {
    const BlockMatrix matrix = make_matrix(bs, random_pattern(30, 2, true), recipe);
    const Vector b = random_vector(matrix.size(), 1);
    Vector first;
    for (const MatType type : types) {
      if (world_size() > 1 && std::string(type) == MATMPISBAIJ) continue; // what MATSBAIJ is there
      OwnedMat mat;
      Preconditioner pc;
      Vector x;
      describe(std::string(type) + " bs " + std::to_string(bs));
      PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, type, &mat));
      PetscCall(create_pc(
          mat, "-pc_mcpi_its 2 -pc_mcpi_sweep forward -pc_mcpi_offdiag_precision fp64", &pc));
      PetscCall(apply(pc, b, &x));
      if (first.empty()) {
        PetscCall(check_formula(pc, matrix, PC_MCPI_SWEEP_FORWARD, 2, b, x));
        first = x;
      }
      EXPECT_TRUE(x == first);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// PETSc makes such matrices itself, for example for PCFIELDSPLIT.
PETSC_TEST(MatrixTypes, blocks_that_are_not_square_are_taken_as_smaller_square_blocks)
{
  constexpr struct {
    PetscInt rows, columns, square;
  } cases[] = {{2, 1, 1}, {1, 2, 1}, {4, 2, 2}, {2, 6, 2}, {3, 2, 1}, {6, 4, 2}, {3, 12, 3}};
  const BlockMatrix matrix = make_matrix(12, random_pattern(9, 2, false), {.sparsity = 0.4});
  const Vector b = random_vector(matrix.size(), 1);

  PetscFunctionBeginUser;
  for (const auto &of : cases)
    for (const Layout layout : {Layout::uneven, Layout::empty_ranks})
      for (const std::string options :
           {"", "-pc_mcpi_method ilu0 -pc_mcpi_its 2",
            "-pc_mcpi_schedule cluster -pc_mcpi_form factored",
            "-pc_mcpi_mat_coloring_type greedy -pc_mcpi_ordering rcm"}) {
        OwnedMat mat, square;
        Preconditioner pc, of_square;
        Vector x, y, guess = b;
        std::string text;
        describe(std::to_string(of.rows) + " x " + std::to_string(of.columns) + " " + options);
        for (OwnedMat *one : {&mat, &square})
          PetscCall(create_mat(PETSC_COMM_WORLD, matrix, layout, MATAIJ, one));
        PetscCall(MatSetBlockSizes(mat, of.rows, of.columns));
        PetscCall(MatSetBlockSize(square, of.square));
        PetscCall(create_pc(mat, options, &pc));
        PetscCall(create_pc(square, options, &of_square));
        PetscCall(apply(pc, b, &x));
        PetscCall(apply(of_square, b, &y));
        EXPECT_TRUE(same_bits(x, y));
        PetscCall(apply_transpose(pc, b, &x));
        PetscCall(apply_transpose(of_square, b, &y));
        EXPECT_TRUE(same_bits(x, y));
        x = y = guess;
        PetscCall(apply_richardson(pc, b, false, 2, &x));
        PetscCall(apply_richardson(of_square, b, false, 2, &y));
        EXPECT_TRUE(same_bits(x, y));
        PetscCall(view(pc, &text));
        EXPECT_CONTAINS(text, "block size " + std::to_string(of.square) +
                                  ": the greatest common divisor of Pmat's block sizes of rows (" +
                                  std::to_string(of.rows) + ") and columns (" +
                                  std::to_string(of.columns) + ")");
        PetscCall(view(of_square, &text));
        EXPECT_EQ(text.find("common divisor"), std::string::npos);
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MatrixTypes, columns_of_a_users_arrays_come_in_any_order)
{
  const BlockMatrix matrix = make_matrix(1, random_pattern(60, 3, false));
  const Vector b = random_vector(matrix.size(), 1);
  std::vector<PetscInt> i(matrix.ptr.begin(), matrix.ptr.end()),
      j(matrix.col.begin(), matrix.col.end());
  Vector a = matrix.values;
  OwnedMat sorted, shuffled;

  PetscFunctionBeginUser;
  if (world_size() > 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt row = 0; row < matrix.rows(); ++row) {
    std::reverse(j.begin() + i[row], j.begin() + i[row + 1]);
    std::reverse(a.begin() + i[row], a.begin() + i[row + 1]);
  }
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &sorted));
  PetscCall(MatCreateSeqBAIJWithArrays(PETSC_COMM_SELF, 1, matrix.rows(), matrix.rows(), i.data(),
                                       j.data(), a.data(), shuffled.out()));
  for (const char *type : {"jplf", "jp", "greedy", "sl"}) {
    const std::string options = std::string("-pc_mcpi_its 2 -pc_mcpi_mat_coloring_type ") + type;
    Preconditioner of_sorted, of_shuffled;
    std::vector<int> color, same;
    Vector x, y;
    PetscCall(create_pc(sorted, options, &of_sorted));
    PetscCall(create_pc(shuffled, options, &of_shuffled));
    PetscCall(apply(of_sorted, b, &x));
    PetscCall(apply(of_shuffled, b, &y));
    PetscCall(gather_colors(of_sorted, &color));
    PetscCall(gather_colors(of_shuffled, &same));
    EXPECT_TRUE(color == same);
    EXPECT_TRUE(x == y);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The test is skipped where PETSc checks such arrays and refuses them.
PETSC_TEST(MatrixTypes, entries_of_a_users_aij_arrays_come_in_any_order)
{
  PetscFunctionBeginUser;
  if (world_size() > 1 || PetscDefined(USE_DEBUG)) PetscFunctionReturn(PETSC_SUCCESS);
  for (const PetscInt bs : {1, 3}) {
    const BlockMatrix matrix = make_matrix(bs, random_pattern(60, 3, false));
    const Vector b = random_vector(matrix.size(), 1);
    const PetscInt *from_i, *from_j;
    const PetscScalar *from_a;
    OwnedMat sorted, shuffled;
    PetscBool done;
    Preconditioner of_sorted, of_shuffled;
    Vector x, y;
    PetscInt n;
    describe("bs " + std::to_string(bs));
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATAIJ, &sorted));
    Mat local = sorted;
    PetscCall(MatGetRowIJ(local, 0, PETSC_FALSE, PETSC_FALSE, &n, &from_i, &from_j, &done));
    PetscCall(MatSeqAIJGetArrayRead(local, &from_a));
    std::vector<PetscInt> i(from_i, from_i + n + 1), j(from_j, from_j + from_i[n]);
    Vector a(from_a, from_a + from_i[n]);
    PetscCall(MatSeqAIJRestoreArrayRead(local, &from_a));
    PetscCall(MatRestoreRowIJ(local, 0, PETSC_FALSE, PETSC_FALSE, &n, &from_i, &from_j, &done));
    for (std::size_t row = 0; row + 1 < i.size();
         ++row) { // another order in each scalar row of a block
      const auto turn =
          static_cast<std::ptrdiff_t>(row) % std::max<PetscInt>(1, i[row + 1] - i[row]);
      std::rotate(j.begin() + i[row], j.begin() + i[row] + turn, j.begin() + i[row + 1]);
      std::rotate(a.begin() + i[row], a.begin() + i[row] + turn, a.begin() + i[row + 1]);
    }
    const auto rows = static_cast<PetscInt>(i.size()) - 1;
    PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, rows, rows, i.data(), j.data(), a.data(),
                                        shuffled.out()));
    PetscCall(MatSetBlockSize(shuffled, bs));
    PetscCall(create_pc(sorted, "-pc_mcpi_its 2", &of_sorted));
    PetscCall(create_pc(shuffled, "-pc_mcpi_its 2", &of_shuffled));
    PetscCall(apply(of_sorted, b, &x));
    PetscCall(apply(of_shuffled, b, &y));
    EXPECT_TRUE(x == y);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MatrixTypes, entries_missing_inside_blocks_of_aij_are_zeros)
{
  Recipe recipe;
  recipe.sparsity = 0.7;

  PetscFunctionBeginUser;
  for (const PetscInt bs : {2, 3, 6}) {
    const BlockMatrix matrix = make_matrix(bs, random_pattern(40, 3, false), recipe);
    describe("bs " + std::to_string(bs));
    PetscCall(check_all_operations(matrix, MATAIJ, Layout::even));
    PetscCall(check_all_operations(matrix, MATBAIJ, Layout::even));
    PetscCall(check_all_operations(matrix, MATAIJ, Layout::empty_ranks));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MatrixTypes, aij_without_a_block_size_is_relaxed_by_rows)
{
  PetscFunctionBeginUser;
  PetscCall(
      check_all_operations(make_matrix(1, random_pattern(70, 4, false)), MATAIJ, Layout::uneven));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MatrixTypes, large_blocks_work)
{
  PetscFunctionBeginUser;
  for (const PetscInt bs : {16, 33, 65}) {
    describe("bs " + std::to_string(bs));
    PetscCall(
        check_all_operations(make_matrix(bs, random_pattern(9, 2, false)), MATBAIJ, Layout::even));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MatrixTypes, matrices_without_rows_work)
{
  PetscFunctionBeginUser;
  for (const MatType type : {MATBAIJ, MATAIJ, MATSBAIJ}) {
    const BlockMatrix matrix = make_matrix(3, diagonal_pattern(0));
    OwnedMat mat;
    OwnedSolver ksp;
    KSPConvergedReason reason;
    Vector x;
    describe(type);
    PetscCall(check_all_operations(matrix, type, Layout::even));
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, type, &mat));
    PetscCall(create_ksp(mat, mat, "", &ksp));
    PetscCall(solve(ksp, {}, &x, &reason, nullptr));
    EXPECT_LT(0, static_cast<int>(reason));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MatrixTypes, matrices_of_diagonal_blocks_are_solved_at_once)
{
  PetscFunctionBeginUser;
  for (const MatType type : {MATBAIJ, MATAIJ, MATSBAIJ}) {
    Recipe recipe;
    recipe.symmetric = true;
    const BlockMatrix matrix = make_matrix(3, diagonal_pattern(11), recipe);
    const Vector x = random_vector(33, 1);
    OwnedMat mat;
    Preconditioner pc;
    Vector solved;
    describe(type);
    PetscCall(check_all_operations(matrix, type, Layout::empty_ranks));
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, type, &mat));
    PetscCall(create_pc(mat, "-pc_mcpi_offdiag_precision fp64", &pc));
    PetscCall(apply(pc, matrix.multiply(x), &solved));
    EXPECT_LE(difference(solved, x), 1e-13);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MatrixTypes, one_block_row_works)
{
  PetscFunctionBeginUser;
  for (const MatType type : {MATBAIJ, MATAIJ, MATSBAIJ})
    for (const Layout layout : {Layout::even, Layout::all_on_last}) {
      Recipe recipe;
      recipe.symmetric = true;
      describe(std::string(type) + ", " + name_of(layout));
      PetscCall(check_all_operations(make_matrix(4, diagonal_pattern(1), recipe), type, layout));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MatrixTypes, row_that_reads_all_others_works)
{
  PetscFunctionBeginUser;
  for (const Layout layout : {Layout::even, Layout::uneven, Layout::empty_ranks}) {
    describe(name_of(layout));
    PetscCall(check_all_operations(make_matrix(3, arrow_pattern(60)), MATBAIJ, layout));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(MatrixTypes, complete_graph_takes_a_color_for_every_row)
{
  const PetscInt n = 13;
  Pattern pattern(n);
  OwnedMat mat;
  Preconditioner pc;
  std::vector<int> color;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; ++i)
    for (PetscInt j = 0; j < n; ++j)
      if (i != j) pattern[i].push_back(j);
  const BlockMatrix matrix = make_matrix(2, pattern);
  PetscCall(check_all_operations(matrix, MATBAIJ, Layout::even));
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, "", &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(gather_colors(pc, &color));
  std::vector<bool> used(n, false);
  for (const int c : color) used[static_cast<std::size_t>(c)] = true;
  for (const bool u : used) EXPECT_TRUE(u);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// PCSOR multiplies with the entries alone. The view and -info say so where that is faster.
PETSC_TEST(MatrixTypes, large_blocks_of_few_entries_are_named)
{
  PetscFunctionBeginUser;
  for (const PetscInt bs : {32, 33})
    for (const int apart : {2, 5}) { // one entry in so many is not zero
      BlockMatrix matrix = make_matrix(bs, ring_pattern(6, 2, 1));
      for (std::size_t n = 0; n < matrix.values.size(); ++n) {
        const std::size_t in_block = n % static_cast<std::size_t>(bs * bs);
        if (in_block % (bs + 1) != 0 && n % apart != 0) matrix.values[n] = 0.0;
      }
      for (const MatType type : {MATAIJ, MATBAIJ}) {
        OwnedMat mat;
        Preconditioner pc;
        std::string text;
        describe(std::to_string(bs) + " unknowns, one entry in " + std::to_string(apart));
        PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, type, &mat));
        PetscCall(create_pc(mat, "", &pc));
        PetscCall(PCSetUp(pc));
        PetscCall(view(pc, &text));
        const bool named = text.find("% of their numbers") != std::string::npos;
        EXPECT_EQ(named, bs == 33 && apart == 5 && std::string(type) == MATAIJ);
      }
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}
