#include "support.h"

#include <algorithm>
#include <cmath>

namespace test {
namespace {

// x = m^{-1} r for a column-major block, by elimination with partial pivoting
Values solve_block(PetscInt bs, const double *m, Values r)
{
  Values a(m, m + bs * bs);
  for (PetscInt k = 0; k < bs; ++k) {
    PetscInt pivot = k;
    for (PetscInt i = k + 1; i < bs; ++i)
      if (std::abs(a[k * bs + i]) > std::abs(a[k * bs + pivot])) pivot = i;
    for (PetscInt j = 0; j < bs; ++j) std::swap(a[j * bs + k], a[j * bs + pivot]);
    std::swap(r[k], r[pivot]);
    for (PetscInt i = k + 1; i < bs; ++i) {
      const double factor = a[k * bs + i] / a[k * bs + k];
      for (PetscInt j = k; j < bs; ++j) a[j * bs + i] -= factor * a[j * bs + k];
      r[i] -= factor * r[k];
    }
  }
  for (PetscInt i = bs - 1; i >= 0; --i) {
    for (PetscInt j = i + 1; j < bs; ++j) r[i] -= a[j * bs + i] * r[j];
    r[i] /= a[i * bs + i];
  }
  return r;
}

// Makes one pass over the colors. If owners are given, rows of other ranks are read as they were
// before the pass.
void pass(const BlockMatrix &m, const std::vector<int> &color, const Sweeps &sweeps, bool forward,
          const Values &b, Values &x)
{
  const Values before = x;
  const int colors = color.empty() ? 0 : 1 + *std::max_element(color.begin(), color.end());
  const auto stale = [&](PetscInt i, PetscInt j) {
    return sweeps.owner_of && (*sweeps.owner_of)[i] != (*sweeps.owner_of)[j];
  };
  for (int step = 0; step < colors; ++step)
    for (PetscInt i = 0; i < m.n; ++i) {
      if (color[i] != (forward ? step : colors - 1 - step)) continue;
      Values r(b.begin() + i * m.bs, b.begin() + (i + 1) * m.bs);
      const double *diagonal = nullptr;
      for (PetscInt k = m.ptr[i]; k < m.ptr[i + 1]; ++k) {
        const double *block = m.values.data() + k * m.bs * m.bs;
        const double *xj = (stale(i, m.col[k]) ? before : x).data() + m.col[k] * m.bs;
        if (m.col[k] == i) {
          diagonal = block;
          continue;
        }
        for (PetscInt q = 0; q < m.bs; ++q)
          for (PetscInt p = 0; p < m.bs; ++p) r[p] -= block[q * m.bs + p] * xj[q];
      }
      r = solve_block(m.bs, diagonal, r);
      for (PetscInt p = 0; p < m.bs; ++p)
        x[i * m.bs + p] = (1.0 - sweeps.omega) * x[i * m.bs + p] + sweeps.omega * r[p];
    }
}

} // namespace

Values sweep_by_formula(const BlockMatrix &m, const std::vector<int> &color, const Sweeps &sweeps,
                        const Values &b, const Values &start)
{
  Values x = start;
  const int chunk = sweeps.restart > 0 ? sweeps.restart : sweeps.its;
  for (int done = 0; done < sweeps.its; done += chunk) {
    const int its = std::min(chunk, sweeps.its - done);
    Values rhs = b, y = x;
    if (sweeps.restart > 0) { // The following sweeps compute a correction.
      const Values product = m.multiply(x);
      for (std::size_t i = 0; i < rhs.size(); ++i) rhs[i] -= product[i];
      y.assign(x.size(), 0.0);
    }
    for (int k = 0; k < its; ++k) {
      if (sweeps.type != PC_MCPI_SWEEP_BACKWARD) pass(m, color, sweeps, true, rhs, y);
      if (sweeps.type != PC_MCPI_SWEEP_FORWARD) pass(m, color, sweeps, false, rhs, y);
    }
    if (sweeps.restart > 0)
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
    else
      x = y;
  }
  return x;
}

// Computes the transposed sweep from the columns of the operator, one unit vector after the other,
// so that no code of transposed sweeps is used.
Values transposed_sweep_by_formula(const BlockMatrix &m, const std::vector<int> &color,
                                   const Sweeps &sweeps, const Values &b)
{
  const auto rows = static_cast<std::size_t>(m.rows());
  Values x(rows), unit(rows, 0.0);
  for (std::size_t j = 0; j < rows; ++j) {
    unit[j] = 1.0;
    const Values column = sweep_by_formula(m, color, sweeps, unit, Values(rows, 0.0));
    unit[j] = 0.0;
    x[j] = 0.0;
    for (std::size_t i = 0; i < rows; ++i) x[j] += column[i] * b[i];
  }
  return x;
}

} // namespace test
