#include "support/models.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "core/hash.h"

namespace mcpi::test {
namespace {

// A number in [-1, 1) that depends on the position
double noise_at(std::uint64_t seed, std::uint64_t i, std::uint64_t j)
{
  return static_cast<double>(mix(mix(mix(seed) + i) + j) >> 11) * 0x1p-52 - 1.0;
}

Row random_row(std::uint64_t seed, Row i, int k, Row rows)
{
  return static_cast<Row>(
      mix(mix(seed + static_cast<std::uint64_t>(i)) + static_cast<std::uint64_t>(k)) %
      static_cast<std::uint64_t>(rows));
}

// Sorts the columns of each row, and removes the diagonal and what occurs twice.
Pattern sorted(Pattern pattern)
{
  for (Row i = 0; auto &row : pattern) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    std::erase(row, i++);
  }
  return pattern;
}

} // namespace

Pattern diagonal_pattern(Row rows)
{
  return Pattern(static_cast<std::size_t>(rows));
}

Pattern chain_pattern(Row rows)
{
  Pattern pattern = diagonal_pattern(rows);
  for (Row i = 1; i < rows; ++i) pattern[i].push_back(i - 1);
  return symmetrised(pattern);
}

Pattern random_pattern(Row rows, int degree, bool symmetric, std::uint64_t seed)
{
  Pattern pattern = diagonal_pattern(rows);
  for (Row i = 0; i < rows; ++i)
    for (int k = 0; k < degree; ++k) pattern[i].push_back(random_row(seed, i, k, rows));
  return symmetric ? symmetrised(pattern) : sorted(pattern);
}

Pattern ring_pattern(Row rows, int extra, std::uint64_t seed)
{
  Pattern pattern = random_pattern(rows, extra, false, mix(seed));
  for (Row i = 0; i < rows; ++i) {
    pattern[i].push_back((i + 1) % rows);
    if (i % 3 != 0) pattern[i].push_back((i + rows - 1) % rows);
  }
  return sorted(pattern);
}

Pattern one_way_pattern(Row rows, int degree)
{
  Pattern pattern = random_pattern(rows, degree, false);
  for (Row i = 0; i < rows; ++i) std::erase_if(pattern[i], [i](Row j) { return j > i; });
  return pattern;
}

Pattern arrow_pattern(Row rows)
{
  Pattern pattern = diagonal_pattern(rows);
  for (Row i = 1; i < rows; ++i) pattern[0].push_back(i);
  return symmetrised(pattern);
}

Pattern hub_pattern(Row rows)
{
  Pattern pattern = ring_pattern(rows, 0, 1);
  for (Row i = 1; i < rows; ++i) pattern[0].push_back(i);
  return symmetrised(pattern);
}

Pattern box_pattern(Row n, Row radius)
{
  Pattern pattern = diagonal_pattern(n * n * n);
  const auto near = [&](Row a, Row b) { return std::abs(a - b) <= radius; };
  for (Row i = 0; i < n * n * n; ++i)
    for (Row j = 0; j < n * n * n; ++j)
      if (j != i && near(i % n, j % n) && near(i / n % n, j / n % n) &&
          near(i / (n * n), j / (n * n)))
        pattern[i].push_back(j);
  return pattern;
}

Pattern tetrahedral_pattern(Row nx, Row ny, Row nz)
{
  constexpr int edges[][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0},
                              {1, 0, 1}, {0, 1, 1}, {1, 1, 1}};
  Pattern pattern = diagonal_pattern(nx * ny * nz);
  const auto vertex = [&](Row x, Row y, Row z) { return x + nx * (y + ny * z); };
  for (Row z = 0; z < nz; ++z)
    for (Row y = 0; y < ny; ++y)
      for (Row x = 0; x < nx; ++x)
        for (const auto &[dx, dy, dz] : edges)
          if (x + dx < nx && y + dy < ny && z + dz < nz)
            pattern[vertex(x, y, z)].push_back(vertex(x + dx, y + dy, z + dz));
  return symmetrised(pattern);
}

Pattern symmetrised(const Pattern &pattern)
{
  Pattern result = pattern;
  for (Row i = 0; i < static_cast<Row>(pattern.size()); ++i)
    for (const Row j : pattern[i]) result[j].push_back(i);
  return sorted(result);
}

std::vector<int> greedy_coloring(const Pattern &pattern)
{
  const Pattern neighbors = symmetrised(pattern);
  std::vector<int> color(pattern.size(), -1);
  for (std::size_t i = 0; i < pattern.size(); ++i)
    while (std::any_of(neighbors[i].begin(), neighbors[i].end(),
                       [&, next = ++color[i]](Row j) { return color[j] == next; })) {
    }
  return color;
}

Pattern BlockMatrix::pattern() const
{
  Pattern result;
  for (Row i = 0; i < rows(); ++i)
    result.emplace_back(col.begin() + ptr[i], col.begin() + ptr[i + 1]);
  return sorted(result);
}

double *BlockMatrix::block(Row row, Row column)
{
  const auto first = col.begin() + ptr[row], last = col.begin() + ptr[row + 1],
             found = std::lower_bound(first, last, column);
  return found == last || *found != column ? nullptr
                                           : values.data() + (found - col.begin()) * bs * bs;
}

std::span<double> BlockMatrix::offdiag(Row row, Offset k)
{
  const Offset at = ptr[row] + (k < 0 ? ptr[row + 1] - ptr[row] - 1 + k : k);
  return {block(row, col[at] < row ? col[at] : col[at + 1]), block_size()};
}

Vector BlockMatrix::multiply(const Vector &x) const
{
  Vector y(size(), 0.0);
  for (Row i = 0; i < rows(); ++i)
    for (Row k = ptr[i]; k < ptr[i + 1]; ++k)
      for (int q = 0; q < bs; ++q)
        for (int p = 0; p < bs; ++p)
          y[i * bs + p] +=
              values[(static_cast<std::size_t>(k) * bs + q) * bs + p] * x[col[k] * bs + q];
  return y;
}

BlockMatrix make_matrix(int bs, const Pattern &pattern, const Recipe &recipe)
{
  BlockMatrix m;
  m.bs = bs;
  for (Row i = 0; i < static_cast<Row>(pattern.size()); ++i) {
    std::vector<Row> row = pattern[i];
    row.insert(std::lower_bound(row.begin(), row.end(), i), i);
    m.col.insert(m.col.end(), row.begin(), row.end());
    m.ptr.push_back(static_cast<Row>(m.col.size()));
  }
  m.values.resize(m.col.size() * static_cast<std::size_t>(bs * bs));
  const auto raw = [&](Row r, Row c) {
    const auto row = static_cast<std::uint64_t>(recipe.symmetric ? std::min(r, c) : r),
               column = static_cast<std::uint64_t>(recipe.symmetric ? std::max(r, c) : c);
    return r / bs != c / bs && noise_at(recipe.seed + 7, row, column) < 2.0 * recipe.sparsity - 1.0
               ? 0.0
               : noise_at(recipe.seed, row, column);
  };
  for (Row i = 0; i < m.rows(); ++i)
    for (int p = 0; p < bs; ++p) {
      const Row r = i * bs + p;
      const int place = recipe.pivots ? (p + random_row(recipe.seed, i, 0, bs)) % bs : p;
      double sum = 0.0;
      for (Row k = m.ptr[i]; k < m.ptr[i + 1]; ++k)
        for (int q = 0; q < bs; ++q) sum += std::fabs(raw(r, m.col[k] * bs + q));
      const double diagonal = recipe.dominance * sum + 0.1,
                   factor = recipe.pivots ? (p % 2 ? -1.0 : 1.0) / diagonal : 1.0;
      for (Row k = m.ptr[i]; k < m.ptr[i + 1]; ++k)
        for (int q = 0; q < bs; ++q) {
          const Row c = m.col[k] * bs + q;
          m.values[(static_cast<std::size_t>(k) * bs + q) * bs + place] =
              factor * (r == c ? diagonal : raw(r, c));
        }
    }
  return m;
}

void for_offdiag(BlockMatrix &matrix, const std::function<void(std::span<double> block)> &visit)
{
  for (Row i = 0; i < matrix.rows(); ++i)
    for (Row k = 0; k < matrix.ptr[i + 1] - matrix.ptr[i] - 1; ++k) visit(matrix.offdiag(i, k));
}

void scale_offdiag(BlockMatrix &matrix, double factor)
{
  for_offdiag(matrix, [&](std::span<double> block) {
    for (double &value : block) value *= factor;
  });
}

void scale_components(BlockMatrix &matrix, const Vector &equation, const Vector &unknown)
{
  const std::size_t bs = equation.size();
  for (std::size_t k = 0; k < matrix.values.size(); ++k)
    matrix.values[k] *= equation[k % bs] * unknown[k / bs % bs];
}

void empty_unknowns(BlockMatrix &matrix, const std::vector<Row> &unknowns, double diagonal)
{
  const std::vector<std::uint8_t> flags = flags_of(matrix, unknowns);
  double *value = matrix.values.data();
  for (Row row = 0; row < matrix.rows(); ++row)
    for (Row e = matrix.ptr[row]; e < matrix.ptr[row + 1]; ++e)
      for (Row j = matrix.col[e] * matrix.bs; j < (matrix.col[e] + 1) * matrix.bs; ++j)
        for (Row i = row * matrix.bs; i < (row + 1) * matrix.bs; ++i, ++value)
          if (flags[i] || flags[j]) *value = i == j ? diagonal : 0.0;
}

std::vector<std::uint8_t> flags_of(const BlockMatrix &matrix, const std::vector<Row> &unknowns)
{
  std::vector<std::uint8_t> flags(matrix.size(), 0);
  for (const Row i : unknowns) flags[i] = 1;
  return flags;
}

Vector random_vector(std::size_t size, std::uint64_t seed)
{
  Vector x(size);
  for (std::size_t i = 0; i < size; ++i) x[i] = noise_at(seed, i, 0);
  return x;
}

Vector residual(const BlockMatrix &matrix, const Vector &x, const Vector &b)
{
  Vector r = matrix.multiply(x);
  for (std::size_t i = 0; i < r.size(); ++i) r[i] = b[i] - r[i];
  return r;
}

double norm(const Vector &x)
{
  return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

double difference(const Vector &x, const Vector &y)
{
  const auto finite = [](double value) { return std::isfinite(value); };
  if (x.size() != y.size() || !std::all_of(x.begin(), x.end(), finite) ||
      !std::all_of(y.begin(), y.end(), finite))
    return kInf;
  Vector d = x;
  for (std::size_t i = 0; i < d.size(); ++i) d[i] -= y[i];
  return norm(d) == 0.0 ? 0.0 : norm(d) / norm(y);
}

bool same_bits(const Vector &x, const Vector &y)
{
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  });
}

} // namespace mcpi::test
