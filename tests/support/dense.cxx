#include "support/dense.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

extern "C" {
void dgesv_(const int *n, const int *nrhs, double *a, const int *lda, int *ipiv, double *b,
            const int *ldb, int *info);
}

namespace mcpi::test {
namespace {

// The matrix as a dense matrix, with each block (i, j) multiplied by factor(i, j)
Dense assemble(const BlockMatrix &matrix, const std::function<double(Row, Row)> &factor)
{
  const int bs = matrix.bs;
  Dense dense(matrix.size());
  for (Row i = 0; i < matrix.rows(); ++i)
    for (Row k = matrix.ptr[i]; k < matrix.ptr[i + 1]; ++k)
      if (const double f = factor(i, matrix.col[k]); f != 0.0)
        for (int q = 0; q < bs; ++q)
          for (int p = 0; p < bs; ++p)
            dense(i * bs + p, matrix.col[k] * bs + q) =
                f * matrix.values[(static_cast<std::size_t>(k) * bs + q) * bs + p];
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
  if (n > 0) dgesv_(&n, &n, a.a.data(), &n, pivot.data(), b.a.data(), &n, &info);
  if (info != 0) throw std::runtime_error("singular test matrix");
  return b;
}

} // namespace

LongVector exact_inverse(int n, std::span<const double> block)
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

Vector DenseIteration::run(const Sweeps &sweeps, const Vector &b, Vector x)
{
  if (sweeps.restart == 0) return sweep(sweeps, sweeps.its, b, x);
  for (int done = 0; done < sweeps.its; done += sweeps.restart) {
    const Vector correction = sweep(sweeps, std::min(sweeps.restart, sweeps.its - done),
                                    residual(matrix_, x, b), Vector(x.size(), 0.0));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += correction[i];
  }
  return x;
}

Vector DenseIteration::transposed(const Sweeps &sweeps, const Vector &b)
{
  Vector x(b.size(), 0.0), unit(b.size(), 0.0);
  for (std::size_t j = 0; j < b.size(); ++j) {
    unit[j] = 1.0;
    const Vector column = run(sweeps, unit);
    unit[j] = 0.0;
    for (std::size_t i = 0; i < b.size(); ++i) x[j] += column[i] * b[i];
  }
  return x;
}

Vector DenseIteration::sweep(const Sweeps &sweeps, int its, const Vector &b, Vector x)
{
  for (int it = 0; it < its; ++it) {
    if (sweeps.type != PC_MCPI_SWEEP_BACKWARD) pass(sweeps.omega, true, b, x);
    if (sweeps.type != PC_MCPI_SWEEP_FORWARD) pass(sweeps.omega, false, b, x);
  }
  return x;
}

void DenseIteration::pass(double omega, bool forward, const Vector &b, Vector &x)
{
  const auto key = std::make_tuple(omega, forward);
  if (!solvers_.count(key))
    solvers_.emplace(key, inverse(assemble(matrix_, [&](Row i, Row j) {
                       const bool visited =
                           (forward ? color_[j] < color_[i] : color_[j] > color_[i]) &&
                           (owner_.empty() || owner_[i] == owner_[j]);
                       return i == j ? 1.0 / omega : visited ? 1.0 : 0.0;
                     })));
  const Vector update = multiply(solvers_.at(key), residual(matrix_, x, b));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += update[i];
}

} // namespace mcpi::test
