// Small block-sparse matrices, dense algebra and plans of several ranks, for tests of the code that
// does not use PETSc objects.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

#include "core/stored_matrix.h"

namespace mcpi::test {

using Vector = std::vector<double>;
using LongVector = std::vector<long double>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// ---- matrices

// Off-diagonal block columns of each block row, ascending.
using Pattern = std::vector<std::vector<Row>>;
// A ring with additional random edges. The pattern is not symmetric, because these edges exist in
// one direction only.
Pattern random_pattern(Row rows, int extra, unsigned seed);
Pattern symmetrised(const Pattern &pattern);
std::vector<int> greedy_coloring(const Pattern &pattern);

struct BlockMatrix {
  int bs = 0;
  Pattern pattern;
  std::vector<Vector> diagonal;             // per row: one column-major block
  std::vector<std::vector<Vector>> offdiag; // per row: its blocks in the pattern's order

  Row rows() const { return static_cast<Row>(pattern.size()); }
  std::size_t size() const { return pattern.size() * bs; }
};

// A block diagonally dominant matrix: the norm of D^{-1}O is at most coupling. The diagonal blocks
// are far from diagonal matrices.
BlockMatrix random_matrix(const Pattern &pattern, int bs, unsigned seed, double coupling = 0.7);
BlockMatrix symmetric_matrix(const Pattern &pattern, int bs, unsigned seed);
// Multiplies the component (i, j) of every block by equation[i] * unknown[j].
void scale_components(BlockMatrix &matrix, const Vector &equation, const Vector &unknown);

Vector random_vector(std::size_t size, unsigned seed);
Vector multiply(const BlockMatrix &matrix, const Vector &x);
Vector residual(const BlockMatrix &matrix, const Vector &x, const Vector &b);
double norm(const Vector &x);
double difference(const Vector &x, const Vector &y); // |x - y| / |y|; NaN if any number is NaN
bool same_bits(const Vector &x, const Vector &y);

class MatrixRows final : public BlockRows {
public:
  explicit MatrixRows(const BlockMatrix &matrix, Row first = 0) : matrix_(matrix), first_(first) {}
  void row(Row local_row, const double *&diagonal, const double *const *&offdiag) override;
  int reads = 0; // calls of row()

private:
  const BlockMatrix &matrix_;
  const Row first_;
  std::vector<const double *> blocks_;
};

// ---- dense algebra, by LAPACK

struct Dense {
  explicit Dense(std::size_t size) : n(size), a(size * size, 0.0) {}
  double &operator()(std::size_t i, std::size_t j) { return a[j * n + i]; }
  const double &operator()(std::size_t i, std::size_t j) const { return a[j * n + i]; }

  std::size_t n;
  Vector a; // column-major
};

// The matrix as a dense matrix, with each block (i, j) multiplied by factor(i, j)
Dense assemble(const BlockMatrix &matrix, const std::function<double(Row, Row)> &factor);
Vector multiply(const Dense &a, const Vector &x);
Dense inverse(Dense a);
// The inverse of a column-major block, by Gauss-Jordan elimination with complete pivoting in long
// double
LongVector exact_inverse(int n, const Vector &block);

// ---- plans

struct GhostOwner {
  int rank;
  Row plan_row;
};
struct ReceivedBlock {
  int rank;
  Offset stored; // its number in that rank's forward plan: lower triangle, then upper triangle
};
// The plans of one matrix that is distributed to ranks: start[r] is the first row of rank r. The
// code does not use setup/plan_build.cxx, so it can test it.
struct Ranks {
  std::vector<Row> start;
  std::vector<ColorPlan> forward, transposed;
  std::vector<std::vector<GhostOwner>> ghosts; // per rank, in the plan's order
  std::vector<std::vector<Row>> global_ghosts;
  // per rank: the blocks that come from other ranks, to which the transposed plan's sources beyond
  // the own blocks refer
  std::vector<std::vector<ReceivedBlock>> received;

  int count() const { return static_cast<int>(forward.size()); }
};
// order: all rows; the rows of a color come in the order in which the color takes them. An empty
// order means the natural one.
Ranks build_ranks(const Pattern &pattern, const std::vector<int> &color, int bs,
                  const std::vector<Row> &start, const std::vector<Row> &order = {});

} // namespace mcpi::test
