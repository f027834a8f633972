// Tests the strengths of couplings, from which clusters grow: |D_i^{-1} A_ij| + |D_j^{-1} A_ji|
// after the components have been balanced.
#include <cmath>

#include "core/dense.h"
#include "graph_of.h"
#include "setup/clusters.h"

using namespace mcpi::test;
using mcpi::BlockGraph;
using mcpi::MatrixPortions;
using mcpi::StrengthGraph;

namespace {

PetscErrorCode strengths_of(const MatrixPortions &portions, const BlockGraph &graph, int threads,
                            StrengthGraph *strengths)
{
  const auto values = mcpi::make_matrix_values(portions, graph, {});
  BlockGraph by_threads = graph;

  PetscFunctionBeginUser;
  by_threads.threads = threads;
  PetscCall(values->open(portions, 1, nullptr));
  *strengths = mcpi::make_strengths(by_threads, *values);
  PetscCall(values->close());
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Replaces each off-diagonal block by D_i C_ij, with numbers of a size from 0.6 to 1 in C_ij. So
// all components of D_i^{-1} A_ij have one factor. Returns the matrix of the C_ij.
BlockMatrix scale_by_diagonal(BlockMatrix *matrix)
{
  const Pattern pattern = matrix->pattern();
  BlockMatrix result = *matrix;
  std::uint64_t seed = 1;
  for (Row i = 0; i < matrix->rows(); ++i)
    for (const Row j : pattern[static_cast<std::size_t>(i)]) {
      const std::size_t size = matrix->diagonal(i).size();
      const std::span<double> c(result.block(i, j), size);
      const Vector numbers = random_vector(size, ++seed);
      for (std::size_t k = 0; k < size; ++k)
        c[k] = std::copysign(0.8 + 0.19 * numbers[k], numbers[k]);
      double *block = matrix->block(i, j);
      std::fill_n(block, size, 0.0);
      mcpi::add_product(matrix->bs, matrix->diagonal(i).data(), c.data(), block);
    }
  return result;
}

double norm_of_block(BlockMatrix &matrix, Row i, Row j)
{
  const double *block = matrix.block(i, j);
  return block ? norm(Vector(block, block + matrix.diagonal(i).size())) : 0.0;
}

// Compares strengths with norms of these blocks, and the pattern with that of both directions. The
// balance multiplies all strengths by one power of two.
PetscErrorCode compare(const StrengthGraph &found, const BlockGraph &graph, BlockMatrix &scaled)
{
  const Pattern pattern = symmetrised(scaled.pattern());
  double factor = 0.0;

  PetscFunctionBeginUser;
  EXPECT_EQ(found.ptr.size(), static_cast<std::size_t>(graph.rows) + 1);
  for (Row row = 0; row < graph.rows; ++row) {
    const Row i = static_cast<Row>(graph.row_start) + row;
    mcpi::Offset k = found.ptr[row];
    for (const Row j : pattern[static_cast<std::size_t>(i)]) {
      const Row column = j - static_cast<Row>(graph.row_start);
      if (column < 0 || column >= graph.rows) continue;
      const double expected = norm_of_block(scaled, i, j) + norm_of_block(scaled, j, i);
      EXPECT_LT(k, found.ptr[row + 1]);
      EXPECT_EQ(found.col[k], column);
      if (factor == 0.0) factor = std::exp2(std::round(std::log2(found.strength[k] / expected)));
      EXPECT_NEAR(found.strength[k] / factor, expected, 1e-12 * expected);
      ++k;
    }
    EXPECT_EQ(k, found.ptr[row + 1]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode check(const BlockMatrix &matrix, BlockMatrix &scaled, Layout layout, MatType type)
{
  OwnedMat mat;

  PetscFunctionBeginUser;
  describe("bs " + std::to_string(matrix.bs) + " " + type + " " + name_of(layout));
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, layout, type, &mat));
  PetscCall(with_graph(mat, [&](const MatrixPortions &portions, const BlockGraph &graph) {
    StrengthGraph found;
    PetscFunctionBeginUser;
    PetscCall(strengths_of(portions, graph, 1, &found));
    PetscCall(compare(found, graph, scaled));
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(Strengths, are_norms_of_scaled_blocks_in_both_directions)
{
  PetscFunctionBeginUser;
  for (const int bs : {1, 3, 9}) {
    BlockMatrix matrix = make_matrix(bs, random_pattern(50, 3, false), {.pivots = true});
    BlockMatrix scaled = scale_by_diagonal(&matrix);
    for (const char *type : {MATBAIJ, MATAIJ})
      for (const Layout layout : {Layout::uneven, Layout::empty_ranks})
        PetscCall(check(matrix, scaled, layout, type));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Strengths, do_not_depend_on_units)
{
  BlockMatrix matrix = make_matrix(3, random_pattern(50, 3, false));
  BlockMatrix scaled = scale_by_diagonal(&matrix);

  PetscFunctionBeginUser;
  scale_components(matrix, {1.0, 0x1p40, 0x1p-20}, {0x1p-60, 1.0, 0x1p30});
  PetscCall(check(matrix, scaled, Layout::uneven, MATBAIJ));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Strengths, have_the_same_bits_by_several_threads)
{
  constexpr Row kRows = 250000; // so that each of three ranks has rows for several threads
  BlockMatrix matrix = make_matrix(2, ring_pattern(kRows, 0, 1));

  PetscFunctionBeginUser;
  // One component is large in the first half of the rows, another one in the second half. So the
  // balance needs the maxima of all threads.
  for (Row row = 0; row < kRows; row += 8) {
    matrix.offdiag(row, 0)[1] *= row < kRows / 2 ? 0x1p20 : 1.0;
    matrix.offdiag(row, 0)[2] *= row < kRows / 2 ? 1.0 : 0x1p10;
  }
  for (const char *type : {MATBAIJ, MATAIJ}) {
    OwnedMat mat;
    describe(type);
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, type, &mat));
    PetscCall(with_graph(mat, [&](const MatrixPortions &portions, const BlockGraph &graph) {
      StrengthGraph one, three;
      PetscFunctionBeginUser;
      PetscCall(strengths_of(portions, graph, 1, &one));
      PetscCall(strengths_of(portions, graph, 3, &three));
      EXPECT_EQ(one.ptr, three.ptr);
      EXPECT_EQ(one.col, three.col);
      EXPECT_TRUE(same_bits(one.strength, three.strength));
      PetscFunctionReturn(PETSC_SUCCESS);
    }));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
