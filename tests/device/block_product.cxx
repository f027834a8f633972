// Products of AIJCUSPARSE matrices by -pc_mcpi_block_product, beside those of the test's own blocks
#include "support/petsc.h"

using namespace mcpi::test;

namespace {

constexpr double kTolerance = 1e-14;

BlockMatrix matrix_of(PetscInt bs, double sparsity)
{
  Recipe recipe;
  recipe.sparsity = sparsity;
  return make_matrix(bs, random_pattern(60, 3, false), recipe);
}

// Checks y = A x and y = A x + z, also with y in the place of z.
PetscErrorCode check_products(const BlockMatrix &matrix, Mat mat)
{
  const Vector x = random_vector(matrix.size(), 3), z = random_vector(matrix.size(), 4);
  OwnedVec from, add, to;
  Vector expected = matrix.multiply(x), result;

  PetscFunctionBeginUser;
  PetscCall(create_vec(mat, x, &from));
  PetscCall(create_vec(mat, z, &add));
  PetscCall(VecDuplicate(from, to.out()));
  PetscCall(VecSet(to, PETSC_INFINITY));
  PetscCall(MatMult(mat, from, to));
  PetscCall(gather(to, &result));
  EXPECT_LE(difference(result, expected), kTolerance);
  for (std::size_t k = 0; k < expected.size(); ++k) expected[k] += z[k];
  PetscCall(VecSet(to, PETSC_INFINITY));
  PetscCall(MatMultAdd(mat, from, add, to));
  PetscCall(gather(to, &result));
  EXPECT_LE(difference(result, expected), kTolerance);
  PetscCall(MatMultAdd(mat, from, add, add));
  PetscCall(gather(add, &result));
  EXPECT_LE(difference(result, expected), kTolerance);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Creates a matrix and a preconditioner, which is set up.
PetscErrorCode create(const BlockMatrix &matrix, Layout layout, OwnedMat *mat, Preconditioner *pc)
{
  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, layout, MATAIJCUSPARSE, mat));
  PetscCall(create_pc(*mat, "-pc_mcpi_block_product", pc));
  PetscCall(PCSetUp(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode expect_view(PC pc, const std::string &part)
{
  std::string text;

  PetscFunctionBeginUser;
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, part);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(BlockProduct, products_are_those_of_the_blocks)
{
  PetscFunctionBeginUser;
  for (const PetscInt bs : {2, 3, 4, 5, 6, 7, 8, 9, 11, 16})
    for (const Layout layout : {Layout::uneven, Layout::empty_ranks, Layout::all_on_last}) {
      const BlockMatrix matrix = matrix_of(bs, 0.0);
      OwnedMat mat;
      Preconditioner pc;
      describe("bs " + std::to_string(bs) + " " + name_of(layout));
      PetscCall(create(matrix, layout, &mat, &pc));
      PetscCall(expect_view(pc, "read one column index for each block"));
      PetscCall(check_products(matrix, mat));
      PetscCall(PCDestroy(pc.pc.address())); // the products stay
      PetscCall(check_products(matrix, mat));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(BlockProduct, long_rows_are_summed_by_whole_warps)
{
  Recipe recipe;
  const BlockMatrix matrix = make_matrix(5, random_pattern(60, 40, false), recipe);
  OwnedMat mat;
  Preconditioner pc;

  PetscFunctionBeginUser;
  PetscCall(create(matrix, Layout::even, &mat, &pc));
  PetscCall(check_products(matrix, mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Checks that a matrix keeps PETSc's products, and that PCView() gives the reason.
static PetscErrorCode check_kept(const BlockMatrix &matrix, const std::string &reason)
{
  OwnedMat mat;
  Preconditioner pc;

  PetscFunctionBeginUser;
  PetscCall(create(matrix, Layout::uneven, &mat, &pc));
  PetscCall(expect_view(pc, reason));
  PetscCall(check_products(matrix, mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(BlockProduct, blocks_with_holes_keep_the_products_of_petsc)
{
  PetscFunctionBeginUser;
  for (const PetscInt bs : {3, 5})
    PetscCall(check_kept(matrix_of(bs, 0.3), "some blocks are not full"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(BlockProduct, block_size_one_keeps_the_products_of_petsc)
{
  PetscFunctionBeginUser;
  PetscCall(check_kept(matrix_of(1, 0.0), "the block size is 1"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(BlockProduct, new_values_count_at_once)
{
  BlockMatrix matrix = matrix_of(5, 0.0);
  OwnedMat mat;
  Preconditioner pc;

  PetscFunctionBeginUser;
  PetscCall(create(matrix, Layout::uneven, &mat, &pc));
  for (double &value : matrix.values) value *= -3.0;
  PetscCall(set_values(matrix, mat));
  PetscCall(check_products(matrix, mat));
  PetscCall(MatScale(mat, 0.5));
  for (double &value : matrix.values) value *= 0.5;
  PetscCall(check_products(matrix, mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(BlockProduct, it_is_taken_back_on_demand)
{
  const BlockMatrix matrix = matrix_of(5, 0.0);
  OwnedMat mat;
  Preconditioner pc;
  std::string text;

  PetscFunctionBeginUser;
  PetscCall(create(matrix, Layout::uneven, &mat, &pc));
  PetscCall(set_options(pc, "-pc_mcpi_block_product false"));
  PetscCall(set_values(matrix, mat)); // makes a set-up necessary
  PetscCall(PCSetUp(pc));
  PetscCall(view(pc, &text));
  EXPECT_EQ(text.find("products with the matrix"), std::string::npos);
  PetscCall(check_products(matrix, mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// PETSc gives some of these matrices the nonzero state of the old pattern.
PETSC_TEST(BlockProduct, products_follow_a_new_pattern)
{
  Recipe recipe;
  const BlockMatrix one = make_matrix(5, random_pattern(60, 3, false), recipe),
                    other = make_matrix(5, random_pattern(60, 9, false), recipe);
  const Vector x = random_vector(one.size(), 3);
  OwnedMat mat, added;
  OwnedVec from, to;
  Preconditioner pc;
  Vector result, expected = one.multiply(x), more = other.multiply(x);

  PetscFunctionBeginUser;
  PetscCall(create(one, Layout::uneven, &mat, &pc));
  PetscCall(check_products(one, mat));
  PetscCall(create_mat(PETSC_COMM_WORLD, other, Layout::uneven, MATAIJCUSPARSE, &added));
  PetscCall(MatAXPY(mat, 1.0, added, DIFFERENT_NONZERO_PATTERN));
  for (std::size_t k = 0; k < expected.size(); ++k) expected[k] += more[k];
  PetscCall(create_vec(mat, x, &from));
  PetscCall(VecDuplicate(from, to.out()));
  for (int turn = 0; turn < 2; ++turn) {
    PetscCall(MatMult(mat, from, to));
    PetscCall(gather(to, &result));
    EXPECT_LE(difference(result, expected), kTolerance);
    PetscCall(PCSetOperators(pc, mat, mat));
    PetscCall(PCSetUp(pc));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(BlockProduct, products_follow_a_transpose_in_place)
{
  const BlockMatrix matrix = matrix_of(3, 0.0);
  const Vector x = random_vector(matrix.size(), 3);
  OwnedMat mat;
  OwnedVec from, to, expected;
  PetscReal error, norm;
  Preconditioner pc;

  PetscFunctionBeginUser;
  PetscCall(create(matrix, Layout::even, &mat, &pc));
  PetscCall(create_vec(mat, x, &from));
  PetscCall(VecDuplicate(from, to.out()));
  PetscCall(VecDuplicate(from, expected.out()));
  PetscCall(MatMultTranspose(mat, from, expected));
  PetscCall(MatTranspose(mat, MAT_INPLACE_MATRIX, mat.address()));
  PetscCall(MatMult(mat, from, to));
  PetscCall(VecAXPY(to, -1.0, expected));
  PetscCall(VecNorm(to, NORM_2, &error));
  PetscCall(VecNorm(expected, NORM_2, &norm));
  EXPECT_LE(error, kTolerance * norm);
  PetscFunctionReturn(PETSC_SUCCESS);
}
