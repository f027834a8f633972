#include "support.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <utility>

extern "C" {
void dgesv_(const int *n, const int *nrhs, double *a, const int *lda, int *ipiv, double *b,
            const int *ldb, int *info);
}

namespace mcpi::test {
namespace {

// Row-sum norm of a block
double block_norm(const Vector &block, int bs)
{
  double largest = 0.0;
  for (int i = 0; i < bs; ++i) {
    double sum = 0.0;
    for (int j = 0; j < bs; ++j) sum += std::fabs(block[j * bs + i]);
    largest = std::max(largest, sum);
  }
  return largest;
}

Vector transposed_block(const Vector &block, int bs)
{
  Vector result(block.size());
  for (int j = 0; j < bs; ++j)
    for (int i = 0; i < bs; ++i) result[i * bs + j] = block[j * bs + i];
  return result;
}

void add_product(const Vector &block, int bs, const double *x, double *y)
{
  for (int j = 0; j < bs; ++j)
    for (int i = 0; i < bs; ++i) y[i] += block[j * bs + i] * x[j];
}

} // namespace

Pattern random_pattern(Row rows, int extra, unsigned seed)
{
  std::mt19937 random(seed);
  std::vector<std::set<Row>> columns(rows);
  for (Row i = 0; i < rows; ++i) {
    if (rows > 1) columns[i].insert((i + 1) % rows);
    if (i % 3 != 0) columns[i].insert((i + rows - 1) % rows);
    for (int k = 0; k < extra; ++k) columns[i].insert(static_cast<Row>(random() % rows));
    columns[i].erase(i);
  }
  Pattern pattern;
  for (const auto &row : columns) pattern.emplace_back(row.begin(), row.end());
  return pattern;
}

Pattern symmetrised(const Pattern &pattern)
{
  std::vector<std::set<Row>> columns(pattern.size());
  for (std::size_t i = 0; i < pattern.size(); ++i)
    for (const Row j : pattern[i]) {
      columns[i].insert(j);
      columns[j].insert(static_cast<Row>(i));
    }
  Pattern result;
  for (const auto &row : columns) result.emplace_back(row.begin(), row.end());
  return result;
}

std::vector<int> greedy_coloring(const Pattern &pattern)
{
  const Pattern neighbors = symmetrised(pattern);
  std::vector<int> color(pattern.size(), -1);
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    std::set<int> taken;
    for (const Row j : neighbors[i]) taken.insert(color[j]);
    while (taken.count(++color[i])) {
    }
  }
  return color;
}

BlockMatrix random_matrix(const Pattern &pattern, int bs, unsigned seed, double coupling)
{
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> entry(-1.0, 1.0);
  const auto random_block = [&] {
    Vector block(static_cast<std::size_t>(bs) * bs);
    for (double &value : block) value = entry(random);
    return block;
  };
  BlockMatrix matrix{bs, pattern, {}, {}};
  for (const auto &columns : pattern) {
    // D = M (I + small). M is like a permutation, so |D^{-1}| is near 1 and elimination needs
    // pivoting.
    const int shift = static_cast<int>(random() % bs);
    Vector diagonal = random_block();
    for (double &value : diagonal) value *= 0.3 / bs;
    for (int i = 0; i < bs; ++i) diagonal[i * bs + (i + shift) % bs] += i % 2 ? -1.0 : 1.0;
    matrix.diagonal.push_back(diagonal);
    matrix.offdiag.emplace_back();
    for (std::size_t k = 0; k < columns.size(); ++k) {
      Vector block = random_block();
      const double factor =
          0.7 * coupling / (static_cast<double>(columns.size()) * block_norm(block, bs));
      for (double &value : block) value *= factor;
      matrix.offdiag.back().push_back(block);
    }
  }
  return matrix;
}

BlockMatrix symmetric_matrix(const Pattern &pattern, int bs, unsigned seed)
{
  BlockMatrix matrix = random_matrix(symmetrised(pattern), bs, seed);
  for (Row i = 0; i < matrix.rows(); ++i) {
    Vector &d = matrix.diagonal[i];
    for (int q = 0; q < bs; ++q)
      for (int p = 0; p < bs; ++p)
        d[q * bs + p] =
            p == q ? 2.0 + p : 0.3 / bs * std::cos(i + 7 * std::min(p, q) + 3 * std::max(p, q));
    for (std::size_t k = 0; k < matrix.pattern[i].size(); ++k) {
      const Row j = matrix.pattern[i][k];
      if (j < i) continue;
      const auto &back = matrix.pattern[j];
      matrix.offdiag[j][std::lower_bound(back.begin(), back.end(), i) - back.begin()] =
          transposed_block(matrix.offdiag[i][k], bs);
    }
  }
  return matrix;
}

void scale_components(BlockMatrix &matrix, const Vector &equation, const Vector &unknown)
{
  const auto scale = [&](Vector &block) {
    for (int j = 0; j < matrix.bs; ++j)
      for (int i = 0; i < matrix.bs; ++i) block[j * matrix.bs + i] *= equation[i] * unknown[j];
  };
  for (Vector &block : matrix.diagonal) scale(block);
  for (auto &row : matrix.offdiag)
    for (Vector &block : row) scale(block);
}

Vector random_vector(std::size_t size, unsigned seed)
{
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> entry(-1.0, 1.0);
  Vector x(size);
  for (double &value : x) value = entry(random);
  return x;
}

Vector multiply(const BlockMatrix &matrix, const Vector &x)
{
  Vector y(matrix.size(), 0.0);
  for (Row i = 0; i < matrix.rows(); ++i) {
    double *yi = y.data() + static_cast<std::size_t>(i) * matrix.bs;
    add_product(matrix.diagonal[i], matrix.bs, x.data() + static_cast<std::size_t>(i) * matrix.bs,
                yi);
    for (std::size_t k = 0; k < matrix.pattern[i].size(); ++k)
      add_product(matrix.offdiag[i][k], matrix.bs,
                  x.data() + static_cast<std::size_t>(matrix.pattern[i][k]) * matrix.bs, yi);
  }
  return y;
}

Vector residual(const BlockMatrix &matrix, const Vector &x, const Vector &b)
{
  Vector r = multiply(matrix, x);
  for (std::size_t i = 0; i < r.size(); ++i) r[i] = b[i] - r[i];
  return r;
}

double norm(const Vector &x)
{
  return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

double difference(const Vector &x, const Vector &y)
{
  Vector d(x);
  for (std::size_t i = 0; i < d.size(); ++i) d[i] -= y.at(i);
  const double scale = norm(y);
  return scale > 0.0 ? norm(d) / scale : norm(d);
}

bool same_bits(const Vector &x, const Vector &y)
{
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  });
}

void MatrixRows::row(Row local_row, const double *&diagonal, const double *const *&offdiag)
{
  const Row i = first_ + local_row;
  blocks_.clear();
  blocks_.reserve(matrix_.pattern.size());
  for (const Vector &block : matrix_.offdiag.at(i)) blocks_.push_back(block.data());
  diagonal = matrix_.diagonal[i].data();
  offdiag = blocks_.data();
  ++reads;
}

Dense assemble(const BlockMatrix &matrix, const std::function<double(Row, Row)> &factor)
{
  Dense dense(matrix.size());
  const int bs = matrix.bs;
  const auto add = [&](Row i, Row j, const Vector &block) {
    const double f = factor(i, j);
    for (int q = 0; q < bs; ++q)
      for (int p = 0; p < bs; ++p)
        dense(static_cast<std::size_t>(i) * bs + p, static_cast<std::size_t>(j) * bs + q) =
            f == 0.0 ? 0.0 : f * block[q * bs + p];
  };
  for (Row i = 0; i < matrix.rows(); ++i) {
    add(i, i, matrix.diagonal[i]);
    for (std::size_t k = 0; k < matrix.pattern[i].size(); ++k)
      add(i, matrix.pattern[i][k], matrix.offdiag[i][k]);
  }
  return dense;
}

Vector multiply(const Dense &a, const Vector &x)
{
  Vector y(a.n, 0.0);
  for (std::size_t j = 0; j < a.n; ++j)
    for (std::size_t i = 0; i < a.n; ++i) y[i] += a(i, j) * x[j];
  return y;
}

Dense inverse(Dense a)
{
  Dense b(a.n);
  for (std::size_t i = 0; i < a.n; ++i) b(i, i) = 1.0;
  const int n = static_cast<int>(a.n);
  std::vector<int> pivot(a.n);
  int info = 0;
  dgesv_(&n, &n, a.a.data(), &n, pivot.data(), b.a.data(), &n, &info);
  if (info != 0) throw std::runtime_error("singular test matrix");
  return b;
}

LongVector exact_inverse(int n, const Vector &block)
{
  LongVector a(block.begin(), block.end());
  std::vector<int> rows(n), columns(n);
  const auto at = [&](int i, int j) -> long double & {
    return a[static_cast<std::size_t>(j) * n + i];
  };
  for (int k = 0; k < n; ++k) {
    int p = k, q = k;
    for (int j = k; j < n; ++j)
      for (int i = k; i < n; ++i)
        if (std::fabs(at(i, j)) > std::fabs(at(p, q))) p = i, q = j;
    rows[k] = p, columns[k] = q;
    for (int j = 0; j < n; ++j) std::swap(at(k, j), at(p, j));
    for (int i = 0; i < n; ++i) std::swap(at(i, k), at(i, q));
    const long double scale = 1.0L / at(k, k);
    at(k, k) = 1.0L;
    for (int j = 0; j < n; ++j) at(k, j) *= scale;
    for (int i = 0; i < n; ++i) {
      if (i == k) continue;
      const long double factor = std::exchange(at(i, k), 0.0L);
      for (int j = 0; j < n; ++j) at(i, j) -= factor * at(k, j);
    }
  }
  for (int k = n - 1; k >= 0; --k) {
    for (int j = 0; j < n; ++j) std::swap(at(k, j), at(columns[k], j));
    for (int i = 0; i < n; ++i) std::swap(at(i, k), at(i, rows[k]));
  }
  return a;
}

Ranks build_ranks(const Pattern &pattern, const std::vector<int> &color, int bs,
                  const std::vector<Row> &start, const std::vector<Row> &order)
{
  const int ranks = static_cast<int>(start.size()) - 1,
            colors = 1 + *std::max_element(color.begin(), color.end());
  const Pattern neighbors = symmetrised(pattern);
  Ranks result{start,
               std::vector<ColorPlan>(ranks),
               {},
               std::vector<std::vector<GhostOwner>>(ranks),
               std::vector<std::vector<Row>>(ranks),
               std::vector<std::vector<ReceivedBlock>>(ranks)};

  // place: a row's plan row on its owner
  std::vector<Row> natural(pattern.size()), owner(pattern.size()), place(pattern.size());
  std::iota(natural.begin(), natural.end(), 0);
  const std::vector<Row> &visit = order.empty() ? natural : order;
  for (int r = 0; r < ranks; ++r)
    std::fill(owner.begin() + start[r], owner.begin() + start[r + 1], r);
  const auto is_boundary = [&](Row i) {
    return std::any_of(neighbors[i].begin(), neighbors[i].end(),
                       [&](Row j) { return owner[j] != owner[i]; });
  };

  // In each window, the rows of a color are ordered by the number of their blocks in the lower
  // triangle, then in both triangles.
  constexpr std::size_t kWindow = 256;
  const auto lengths = [&](Row i) {
    return std::pair(std::count_if(pattern[i].begin(), pattern[i].end(),
                                   [&](Row j) { return color[j] < color[i]; }),
                     pattern[i].size());
  };
  const auto shorter = [&](Row i, Row j) { return lengths(i) < lengths(j); };

  for (int r = 0; r < ranks; ++r) {
    ColorPlan &plan = result.forward[r];
    plan.bs = bs;
    plan.rows = start[r + 1] - start[r];
    plan.colors = colors;
    for (int c = 0; c < colors; ++c) {
      plan.color_begin.push_back(static_cast<Row>(plan.row_of.size()));
      for (const bool boundary : {true, false}) {
        std::vector<Row> part;
        for (const Row i : visit)
          if (owner[i] == r && color[i] == c && is_boundary(i) == boundary) part.push_back(i);
        for (std::size_t first = 0; first < part.size(); first += kWindow)
          std::stable_sort(part.begin() + static_cast<std::ptrdiff_t>(first),
                           part.begin() +
                               static_cast<std::ptrdiff_t>(std::min(first + kWindow, part.size())),
                           shorter);
        for (const Row i : part) {
          place[i] = static_cast<Row>(plan.row_of.size());
          plan.row_of.push_back(i - start[r]);
        }
        if (boundary) plan.boundary_end.push_back(static_cast<Row>(plan.row_of.size()));
      }
    }
    plan.color_begin.push_back(plan.rows);
    std::set<Row> ghosts;
    for (Row i = start[r]; i < start[r + 1]; ++i)
      for (const Row j : neighbors[i])
        if (owner[j] != r) ghosts.insert(j);
    for (int c = 0; c < colors; ++c) {
      plan.ghost_begin.push_back(static_cast<Row>(result.global_ghosts[r].size()));
      for (const Row j : ghosts)
        if (color[j] == c) result.global_ghosts[r].push_back(j);
    }
    plan.ghosts = static_cast<Row>(ghosts.size());
    plan.ghost_begin.push_back(plan.ghosts);
  }

  // Adds the triangles of the rows of rank r. columns(i) returns the pairs (global column, source)
  // of row i, ascending.
  using Columns = std::vector<std::pair<Row, Offset>>;
  const auto add_triangles = [&](ColorPlan &plan, int r,
                                 const std::function<Columns(Row)> &columns) {
    plan.lower = plan.upper = {{0}, {}, {}};
    for (Row p = 0; p < plan.rows; ++p) {
      const Row i = start[r] + plan.row_of[p];
      for (const auto &[j, source] : columns(i)) {
        const auto &ghosts = result.global_ghosts[r];
        Triangle &triangle = color[j] < color[i] ? plan.lower : plan.upper;
        triangle.col.push_back(
            owner[j] == r
                ? place[j]
                : plan.rows + static_cast<Row>(std::find(ghosts.begin(), ghosts.end(), j) -
                                               ghosts.begin()));
        triangle.source.push_back(source);
      }
      plan.lower.ptr.push_back(static_cast<Offset>(plan.lower.col.size()));
      plan.upper.ptr.push_back(static_cast<Offset>(plan.upper.col.size()));
    }
  };
  // block of a row, in the pattern's order -> stored block of the row's owner
  std::vector<std::vector<Offset>> stored(pattern.size());
  for (int r = 0; r < ranks; ++r) {
    for (const Row j : result.global_ghosts[r]) result.ghosts[r].push_back({owner[j], place[j]});
    ColorPlan &plan = result.forward[r];
    // The order of BlockRows is the pattern's here. With PETSc, local columns come first.
    add_triangles(plan, r, [&](Row i) {
      Columns columns;
      for (std::size_t k = 0; k < pattern[i].size(); ++k)
        columns.emplace_back(pattern[i][k], static_cast<Offset>(k));
      return columns;
    });
    for (Row p = 0; p < plan.rows; ++p) {
      auto &row = stored[start[r] + plan.row_of[p]];
      row.resize(plan.lower.ptr[p + 1] - plan.lower.ptr[p] + plan.upper.ptr[p + 1] -
                 plan.upper.ptr[p]);
      for (Offset k = plan.lower.ptr[p]; k < plan.lower.ptr[p + 1]; ++k)
        row[plan.lower.source[k]] = k;
      for (Offset k = plan.upper.ptr[p]; k < plan.upper.ptr[p + 1]; ++k)
        row[plan.upper.source[k]] = static_cast<Offset>(plan.lower.col.size()) + k;
    }
  }
  std::vector<std::vector<Row>> readers(pattern.size());
  for (Row i = 0; i < static_cast<Row>(pattern.size()); ++i)
    for (const Row j : pattern[i]) readers[j].push_back(i);
  result.transposed = result.forward;
  for (int r = 0; r < ranks; ++r)
    add_triangles(result.transposed[r], r, [&](Row j) {
      Columns columns;
      for (const Row i : readers[j]) {
        const Offset block = stored[i][std::lower_bound(pattern[i].begin(), pattern[i].end(), j) -
                                       pattern[i].begin()];
        if (owner[i] == r) {
          columns.emplace_back(i, block);
        } else {
          columns.emplace_back(i, result.forward[r].blocks() +
                                      static_cast<Offset>(result.received[r].size()));
          result.received[r].push_back({static_cast<int>(owner[i]), block});
        }
      }
      return columns;
    });
  return result;
}

} // namespace mcpi::test
