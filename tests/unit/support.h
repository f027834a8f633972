// Small block-sparse matrices, dense algebra and plans of several ranks, for tests of everything
// below the PETSc face.
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
// A ring with random one-way edges: not symmetric, some blocks only on one side.
Pattern random_pattern(Row rows, int extra, unsigned seed);
Pattern symmetrised(const Pattern &pattern);
std::vector<int> greedy_coloring(const Pattern &pattern);

struct BlockMatrix {
  int bs = 0;
  Pattern pattern;
  std::vector<Vector> diagonal;             // per row one column-major block
  std::vector<std::vector<Vector>> offdiag; // per row its blocks in the pattern's order

  Row rows() const { return static_cast<Row>(pattern.size()); }
  std::size_t size() const { return pattern.size() * bs; }
};

// Diagonally dominant by blocks with D^{-1}O of norm coupling at most, D far from diagonal.
BlockMatrix random_matrix(const Pattern &pattern, int bs, unsigned seed, double coupling = 0.7);
BlockMatrix symmetric_matrix(const Pattern &pattern, int bs, unsigned seed);
// A(i,j) *= equation[i] * unknown[j] for the components of every block
void scale_components(BlockMatrix &matrix, const Vector &equation, const Vector &unknown);

Vector random_vector(std::size_t size, unsigned seed);
Vector multiply(const BlockMatrix &matrix, const Vector &x);
Vector residual(const BlockMatrix &matrix, const Vector &x, const Vector &b);
double norm(const Vector &x);
double difference(const Vector &x, const Vector &y); // |x - y| / |y|, NaN if anything is
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

// ---- dense algebra, LAPACK

struct Dense {
  explicit Dense(std::size_t size) : n(size), a(size * size, 0.0) {}
  double &operator()(std::size_t i, std::size_t j) { return a[j * n + i]; }
  const double &operator()(std::size_t i, std::size_t j) const { return a[j * n + i]; }

  std::size_t n;
  Vector a; // column-major
};

// The blocks (i, j) of the matrix, diagonal ones included, times factor(i, j)
Dense assemble(const BlockMatrix &matrix, const std::function<double(Row, Row)> &factor);
Vector multiply(const Dense &a, const Vector &x);
Dense inverse(Dense a);
// Column-major block, by Gauss-Jordan with complete pivoting in long double
LongVector exact_inverse(int n, const Vector &block);

// ---- plans

struct GhostOwner {
  int rank;
  Row plan_row;
};
struct ReceivedBlock {
  int rank;
  Offset stored; // lower, then upper triangle of that rank's forward plan
};
// One matrix cut into ranks: start[r] is the first row of rank r. Independent of
// setup/plan_build.cxx.
struct Ranks {
  std::vector<Row> start;
  std::vector<ColorPlan> forward, transposed;
  std::vector<std::vector<GhostOwner>> ghosts; // in plan order
  std::vector<std::vector<Row>> global_ghosts;
  std::vector<std::vector<ReceivedBlock>>
      received; // what the transposed plan's sources beyond the own blocks mean

  int count() const { return static_cast<int>(forward.size()); }
};
// order: all rows, in the order in which each color takes them; natural if empty
Ranks build_ranks(const Pattern &pattern, const std::vector<int> &color, int bs,
                  const std::vector<Row> &start, const std::vector<Row> &order = {});

} // namespace mcpi::test
