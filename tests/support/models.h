// Small block-sparse matrices that every rank knows as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "core/plan.h"

namespace mcpi::test {

using mcpi::Row;

using Vector = std::vector<double>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// Off-diagonal block columns of each block row, ascending
using Pattern = std::vector<std::vector<Row>>;

Pattern diagonal_pattern(Row rows);
Pattern chain_pattern(Row rows); // each row reads the one before and the one after
Pattern random_pattern(Row rows, int degree, bool symmetric, std::uint64_t seed = 1);
// A ring with additional random edges. The pattern is not symmetric, because these edges exist in
// one direction only.
Pattern ring_pattern(Row rows, int extra, std::uint64_t seed);
Pattern one_way_pattern(Row rows, int degree); // rows read earlier rows only
Pattern arrow_pattern(Row rows);               // the first row reads and is read by all
// The vertices of a grid of cubes cut into six
Pattern hub_pattern(Row rows);          // an arrow whose other rows form a ring
Pattern box_pattern(Row n, Row radius); // a cube of n^3 points, coupled up to this distance
Pattern tetrahedral_pattern(Row nx, Row ny, Row nz);
Pattern symmetrised(const Pattern &pattern);
std::vector<int> greedy_coloring(const Pattern &pattern);

struct BlockMatrix {
  int bs = 1;
  std::vector<Row> ptr{0}, col; // per block row: its columns, ascending, the diagonal included
  Vector values;                // column-major blocks

  Row rows() const { return static_cast<Row>(ptr.size()) - 1; } // block rows
  std::size_t size() const { return static_cast<std::size_t>(rows()) * bs; }
  Pattern pattern() const;
  double *block(Row row, Row column); // null outside the pattern
  std::span<double> diagonal(Row row) { return {block(row, row), block_size()}; }
  std::span<double> offdiag(Row row, Offset k); // the k-th one, from the end if k is negative
  std::span<const double> diagonal(Row row) const { return writable().diagonal(row); }
  std::span<const double> offdiag(Row row, Offset k) const { return writable().offdiag(row, k); }
  Vector multiply(const Vector &x) const;

private:
  std::size_t block_size() const { return static_cast<std::size_t>(bs) * bs; }
  BlockMatrix &writable() const { return const_cast<BlockMatrix &>(*this); }
};

struct Recipe {
  bool symmetric = false; // values; needs a symmetric pattern
  // Rows of a block row change places, and are scaled so that their diagonal entry is 1 or -1.
  // Diagonal blocks are then far from diagonal matrices, and elimination needs pivoting.
  bool pivots = false;
  double dominance = 1.3; // diagonal over the sum of the off-diagonals' magnitudes
  double sparsity = 0.0;  // fraction of exact zeros inside off-diagonal blocks
  std::uint64_t seed = 1;
};
BlockMatrix make_matrix(int bs, const Pattern &pattern, const Recipe &recipe = Recipe());
// Visits every off-diagonal block.
void for_offdiag(BlockMatrix &matrix, const std::function<void(std::span<double> block)> &visit);
void scale_offdiag(BlockMatrix &matrix, double factor);
// Multiplies the component (i, j) of every block by equation[i] * unknown[j].
void scale_components(BlockMatrix &matrix, const Vector &equation, const Vector &unknown);

// Sets the rows and columns of these unknowns to zero, and their diagonal entries to this value.
void empty_unknowns(BlockMatrix &matrix, const std::vector<Row> &unknowns, double diagonal = 0.0);
// Flags of these unknowns, see BlockRows::set_empty()
std::vector<std::uint8_t> flags_of(const BlockMatrix &matrix, const std::vector<Row> &unknowns);

// Numbers in [-1, 1)
Vector random_vector(std::size_t size, std::uint64_t seed);
Vector residual(const BlockMatrix &matrix, const Vector &x, const Vector &b);
double norm(const Vector &x);
double difference(const Vector &x, const Vector &y); // |x - y| / |y|, Inf if any is not finite
bool same_bits(const Vector &x, const Vector &y);

} // namespace mcpi::test
