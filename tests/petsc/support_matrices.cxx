#include "support.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace test {
namespace {

std::uint64_t mix(std::uint64_t x)
{
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// A number in [-1, 1) that depends on the position
double noise_at(std::uint64_t seed, std::uint64_t i, std::uint64_t j)
{
  return static_cast<double>(mix(mix(mix(seed) + i) + j) >> 11) * 0x1p-52 - 1.0;
}

void sort_rows(Pattern &pattern)
{
  for (auto &row : pattern) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
  }
}

} // namespace

Pattern diagonal_pattern(PetscInt n)
{
  return Pattern(static_cast<std::size_t>(n));
}

Pattern random_pattern(PetscInt n, int degree, bool symmetric, std::uint64_t seed)
{
  Pattern pattern(static_cast<std::size_t>(n));
  for (PetscInt i = 0; i < n; ++i)
    for (int k = 0; k < degree; ++k) {
      const auto j = static_cast<PetscInt>(
          mix(mix(seed + static_cast<std::uint64_t>(i)) + static_cast<std::uint64_t>(k)) %
          static_cast<std::uint64_t>(n));
      if (j == i) continue;
      pattern[i].push_back(j);
      if (symmetric) pattern[j].push_back(i);
    }
  sort_rows(pattern);
  return pattern;
}

Pattern one_way_pattern(PetscInt n, int degree)
{
  Pattern pattern = random_pattern(n, degree, false);
  for (PetscInt i = 0; i < n; ++i) std::erase_if(pattern[i], [i](PetscInt j) { return j > i; });
  return pattern;
}

Pattern arrow_pattern(PetscInt n)
{
  Pattern pattern(static_cast<std::size_t>(n));
  for (PetscInt i = 1; i < n; ++i) {
    pattern[0].push_back(i);
    pattern[i].push_back(0);
  }
  return pattern;
}

Pattern tetrahedral_pattern(PetscInt nx, PetscInt ny, PetscInt nz)
{
  constexpr int edges[][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0},
                              {1, 0, 1}, {0, 1, 1}, {1, 1, 1}};
  Pattern pattern(static_cast<std::size_t>(nx * ny * nz));
  const auto vertex = [&](PetscInt x, PetscInt y, PetscInt z) { return x + nx * (y + ny * z); };
  for (PetscInt z = 0; z < nz; ++z)
    for (PetscInt y = 0; y < ny; ++y)
      for (PetscInt x = 0; x < nx; ++x)
        for (const auto &edge : edges) {
          if (x + edge[0] >= nx || y + edge[1] >= ny || z + edge[2] >= nz) continue;
          const PetscInt a = vertex(x, y, z), b = vertex(x + edge[0], y + edge[1], z + edge[2]);
          pattern[a].push_back(b);
          pattern[b].push_back(a);
        }
  sort_rows(pattern);
  return pattern;
}

double *BlockMatrix::block(PetscInt row, PetscInt column)
{
  const auto first = col.begin() + ptr[row], last = col.begin() + ptr[row + 1],
             found = std::lower_bound(first, last, column);
  return found == last || *found != column ? nullptr
                                           : values.data() + (found - col.begin()) * bs * bs;
}

Values BlockMatrix::multiply(const Values &x) const
{
  Values y(static_cast<std::size_t>(rows()), 0.0);
  for (PetscInt i = 0; i < n; ++i)
    for (PetscInt k = ptr[i]; k < ptr[i + 1]; ++k)
      for (PetscInt q = 0; q < bs; ++q)
        for (PetscInt p = 0; p < bs; ++p)
          y[i * bs + p] += values[(k * bs + q) * bs + p] * x[col[k] * bs + q];
  return y;
}

BlockMatrix make_matrix(PetscInt bs, const Pattern &pattern, const Recipe &recipe)
{
  BlockMatrix m;
  m.bs = bs;
  m.n = static_cast<PetscInt>(pattern.size());
  m.ptr = {0};
  for (PetscInt i = 0; i < m.n; ++i) {
    std::vector<PetscInt> row = pattern[i];
    row.insert(std::lower_bound(row.begin(), row.end(), i), i);
    m.col.insert(m.col.end(), row.begin(), row.end());
    m.ptr.push_back(static_cast<PetscInt>(m.col.size()));
  }
  m.values.resize(m.col.size() * static_cast<std::size_t>(bs * bs));
  const auto raw = [&](PetscInt r, PetscInt c) {
    const auto row = static_cast<std::uint64_t>(recipe.symmetric ? std::min(r, c) : r),
               column = static_cast<std::uint64_t>(recipe.symmetric ? std::max(r, c) : c);
    return r / bs != c / bs && noise_at(recipe.seed + 7, row, column) < 2.0 * recipe.sparsity - 1.0
               ? 0.0
               : noise_at(recipe.seed, row, column);
  };
  for (PetscInt i = 0; i < m.n; ++i)
    for (PetscInt p = 0; p < bs; ++p) {
      const PetscInt r = i * bs + p;
      double sum = 0.0;
      for (PetscInt k = m.ptr[i]; k < m.ptr[i + 1]; ++k)
        for (PetscInt q = 0; q < bs; ++q) sum += std::abs(raw(r, m.col[k] * bs + q));
      for (PetscInt k = m.ptr[i]; k < m.ptr[i + 1]; ++k)
        for (PetscInt q = 0; q < bs; ++q) {
          const PetscInt c = m.col[k] * bs + q;
          const double units = (recipe.row_units.empty() ? 1.0 : recipe.row_units[p]) *
                               (recipe.column_units.empty() ? 1.0 : recipe.column_units[q]);
          m.values[(k * bs + q) * bs + p] =
              units * (r == c ? recipe.dominance * sum + 0.1 : raw(r, c));
        }
    }
  return m;
}

Values noise(PetscInt count, std::uint64_t seed)
{
  Values v(static_cast<std::size_t>(count));
  for (PetscInt i = 0; i < count; ++i) v[i] = noise_at(seed, static_cast<std::uint64_t>(i), 0);
  return v;
}

double norm(const Values &v)
{
  return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
}

double difference(const Values &a, const Values &b)
{
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double d = 0.0, s = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i]))
      return std::numeric_limits<double>::infinity();
    d += (a[i] - b[i]) * (a[i] - b[i]);
    s += b[i] * b[i];
  }
  return d == 0.0 ? 0.0 : std::sqrt(d / s);
}

} // namespace test
