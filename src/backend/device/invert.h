// Inverts diagonal blocks on devices: small blocks by one thread each, blocks of any size by a team
// of threads. Steps and verdicts are those of core/dense.cxx.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "backend/device/numbers.h"
#include "core/dense.h"
#include "core/powers_of_two.h"

namespace mcpi::device {

// Whether code returns as soon as a block turns out to have no inverse. Threads of a device that
// each invert a block do not: they would wait for each other.
MCPI_HD constexpr bool returns_early()
{
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  return false;
#else
  return true;
#endif
}

MCPI_HD double larger(double a, double b)
{
#if defined(__CUDA_ARCH__)
  return fmax(a, b);
#else
  return a < b ? b : a;
#endif
}

// Whether an inverse has correct digits. before, after: norms of the equilibrated block and of its
// inverse.
MCPI_HD bool has_digits(double before, double after)
{
  return before * after * DBL_EPSILON < kNoDigits;
}

// The size below which a pivot counts as zero
MCPI_HD double pivot_tolerance(int bs)
{
  return bs > 1 ? bs * DBL_EPSILON : 0.0;
}

// An entry of the inverse of a block whose equilibrated inverse has this entry. row, column: the
// factors of the equilibration. In this order only a result that is out of range overflows.
MCPI_HD double unequilibrated(double entry, double row, double column)
{
  return row < 1.0 ? entry * (column * row) : entry * row * column;
}

// One thread

// Exchanges a and b if `other`, without a branch.
MCPI_HD void exchange_if(bool other, double &a, double &b)
{
  const double first = a, second = b;
  a = other ? second : first;
  b = other ? first : second;
}

// Returns the largest column sum of magnitudes.
template <int bs> MCPI_HD double column_norm(const double (&a)[bs][bs])
{
  double largest = 0.0;
  MCPI_UNROLL
  for (int j = 0; j < bs; ++j) {
    double sum = 0.0;
    MCPI_UNROLL
    for (int i = 0; i < bs; ++i) sum += fabs(a[j][i]);
    largest = larger(largest, sum);
  }
  return largest;
}

// Gauss-Jordan elimination in place on the transpose of the block, as on the host: a[j] is column
// j, and pivots are sought along a row. Returns whether all pivots are large enough.
template <int bs> MCPI_HD bool gauss_jordan(double (&a)[bs][bs], double tolerance)
{
  int pivot[bs];
  bool good = true;
  MCPI_UNROLL
  for (int k = 0; k < bs; ++k) {
    double best = fabs(a[k][k]);
    pivot[k] = k;
    MCPI_UNROLL
    for (int j = k + 1; j < bs; ++j)
      if (const double value = fabs(a[j][k]); value > best) {
        best = value;
        pivot[k] = j;
      }
    good = good && best > tolerance;
    if (returns_early() && !good) return false;
    MCPI_UNROLL
    for (int j = k + 1; j < bs; ++j) {
      MCPI_UNROLL
      for (int i = 0; i < bs; ++i) exchange_if(pivot[k] == j, a[k][i], a[j][i]);
    }
    const double scale = 1.0 / a[k][k];
    a[k][k] = 1.0;
    MCPI_UNROLL
    for (int i = 0; i < bs; ++i) a[k][i] *= scale;
    MCPI_UNROLL
    for (int j = 0; j < bs; ++j) {
      if (j == k) continue;
      const double factor = a[j][k];
      a[j][k] = 0.0;
      MCPI_UNROLL
      for (int i = 0; i < bs; ++i) a[j][i] -= factor * a[k][i];
    }
  }
  MCPI_UNROLL
  for (int k = bs - 1; k >= 0; --k) {
    MCPI_UNROLL
    for (int m = k + 1; m < bs; ++m) {
      MCPI_UNROLL
      for (int j = 0; j < bs; ++j) exchange_if(pivot[k] == m, a[j][k], a[j][m]);
    }
  }
  return good;
}

// Inverts a block in place; a[j] is column j. All indices are compile-time constants, so that the
// block stays in registers. Several threads for a block would spend most of their instructions on
// exchanges. condition: becomes the condition number of the equilibrated block, if that has an
// inverse
template <int bs> MCPI_HD Inversion invert(double (&a)[bs][bs], double *condition)
{
  double row[bs], column[bs];
  bool finite = true, zero = false;
  MCPI_UNROLL
  for (int i = 0; i < bs; ++i) {
    double most = 0.0;
    MCPI_UNROLL
    for (int j = 0; j < bs; ++j) {
      finite = finite && fabs(a[j][i]) <= DBL_MAX;
      most = larger(most, fabs(a[j][i]));
    }
    zero = zero || most == 0.0;
    row[i] = inverse_power_of_two(most);
  }
  if (returns_early() && !finite) return Inversion::nonfinite;
  MCPI_UNROLL
  for (int j = 0; j < bs; ++j) {
    double most = 0.0;
    MCPI_UNROLL
    for (int i = 0; i < bs; ++i) {
      a[j][i] *= row[i];
      most = larger(most, fabs(a[j][i]));
    }
    zero = zero || most == 0.0;
    column[j] = inverse_power_of_two(most);
    MCPI_UNROLL
    for (int i = 0; i < bs; ++i) a[j][i] *= column[j];
  }
  const double before = column_norm(a);
  const bool good = gauss_jordan(a, pivot_tolerance(bs));
  const double after = column_norm(a);
  const bool digits = has_digits(before, after);
  bool represented = true;
  MCPI_UNROLL
  for (int j = 0; j < bs; ++j) {
    MCPI_UNROLL
    for (int i = 0; i < bs; ++i) {
      a[j][i] = unequilibrated(a[j][i], row[j], column[i]);
      represented = represented && is_finite(a[j][i]);
    }
  }
  if (!finite) return Inversion::nonfinite;
  if (zero || !good || !digits || !represented) return Inversion::singular;
  if (condition) *condition = before * after;
  return Inversion::done;
}

// As invert(), for the unknowns that are not empty, see invert_rest() in core/dense.h.
template <int bs>
MCPI_HD Inversion invert_rest(double (&a)[bs][bs], const std::uint8_t *empty,
                              double *condition = nullptr)
{
  MCPI_UNROLL
  for (int i = 0; i < bs; ++i)
    if (empty && empty[i]) a[i][i] = 1.0;
  const Inversion verdict = invert(a, condition);
  MCPI_UNROLL
  for (int i = 0; i < bs; ++i)
    if (empty && empty[i]) a[i][i] = 0.0;
  return verdict;
}

// A team of threads. Team is a type with
// - rank, size: the number of this thread in the team, and the number of threads;
// - lane, lanes: the same for a group of threads in the team. Each group scans whole blocks, so
//   that all threads know the result;
// - sync(): waits for all threads of the team;
// - max(value), all(value), any(value), best(value, at): combine what the lanes of a group found.
//   best() finds the largest value, and the least of its places.

// Calls visit(i, j) for the entries k = i + j*bs of a block that are this thread's share. The loop
// avoids divisions, which are slow.
MCPI_HD_FOR_ALL template <class Team, class Visit>
MCPI_HD void for_entries(const Team &team, int bs, const Visit &visit)
{
  int j = team.rank / bs, i = team.rank - j * bs;
  const int columns = team.size / bs, rest = team.size - columns * bs;
  while (j < bs) {
    visit(i, j);
    j += columns;
    i += rest;
    if (i >= bs) {
      i -= bs;
      ++j;
    }
  }
}

// Returns the largest column sum of magnitudes.
MCPI_HD_FOR_ALL template <class Team>
MCPI_HD double team_norm(const Team &team, const double *a, int bs)
{
  double largest = 0.0;
  for (int j = team.lane; j < bs; j += team.lanes) {
    double sum = 0.0;
    for (int i = 0; i < bs; ++i) sum += fabs(a[j * bs + i]);
    largest = larger(largest, sum);
  }
  return team.max(largest);
}

// Gauss-Jordan elimination in place on the transpose, as above.
MCPI_HD_FOR_ALL template <class Team>
MCPI_HD bool team_gauss_jordan(const Team &team, double *a, int bs, int *pivot)
{
  for (int k = 0; k < bs; ++k) {
    double best = -1.0;
    int p = k;
    for (int i = k + team.lane; i < bs; i += team.lanes)
      if (const double value = fabs(a[i * bs + k]); value > best) {
        best = value;
        p = i;
      }
    team.best(best, p);
    if (!(best > pivot_tolerance(bs))) return false;
    const double scale = 1.0 / a[p * bs + k];
    team.sync(); // all threads have read the pivot
    if (team.rank == 0) pivot[k] = p;
    for (int j = team.rank; j < bs; j += team.size) {
      const double of_pivot = (j == k ? 1.0 : a[p * bs + j]) * scale;
      if (p != k) a[p * bs + j] = a[k * bs + j];
      a[k * bs + j] = of_pivot;
    }
    team.sync();
    for_entries(team, bs, [&](int j, int i) {
      if (i != k && j != k) a[i * bs + j] -= a[i * bs + k] * a[k * bs + j];
    });
    team.sync();
    for (int i = team.rank; i < bs; i += team.size)
      if (i != k) a[i * bs + k] *= -a[k * bs + k];
    team.sync();
  }
  for (int k = bs - 1; k >= 0; --k) {
    if (const int p = pivot[k]; p != k)
      for (int i = team.rank; i < bs; i += team.size) {
        const double held = a[i * bs + k];
        a[i * bs + k] = a[i * bs + p];
        a[i * bs + p] = held;
      }
    team.sync();
  }
  return true;
}

// As invert(). But a thread may return while others still read the block.
MCPI_HD_FOR_ALL template <class Team>
MCPI_HD Inversion invert_unsynced(const Team &team, double *a, int bs, double *row, double *column,
                                  int *pivot, double *condition)
{
  bool finite = true, zero = false;
  for (int i = team.lane; i < bs; i += team.lanes) {
    double most = 0.0;
    for (int j = 0; j < bs; ++j) {
      const double value = fabs(a[j * bs + i]);
      finite = finite && value <= DBL_MAX;
      most = larger(most, value);
    }
    zero = zero || most == 0.0;
    if (team.rank < team.lanes) row[i] = inverse_power_of_two(most);
  }
  if (!team.all(finite)) return Inversion::nonfinite;
  team.sync();
  for (int j = team.lane; j < bs; j += team.lanes) {
    double most = 0.0;
    for (int i = 0; i < bs; ++i) most = larger(most, fabs(row[i] * a[j * bs + i]));
    zero = zero || most == 0.0;
    if (team.rank < team.lanes) column[j] = inverse_power_of_two(most);
  }
  if (team.any(zero)) return Inversion::singular;
  team.sync();
  for_entries(team, bs, [&](int i, int j) { a[j * bs + i] = row[i] * a[j * bs + i] * column[j]; });
  team.sync();
  const double before = team_norm(team, a, bs);
  team.sync();
  if (!team_gauss_jordan(team, a, bs, pivot)) return Inversion::singular;
  const double after = team_norm(team, a, bs);
  team.sync();
  for_entries(team, bs, [&](int i, int j) {
    a[j * bs + i] = unequilibrated(a[j * bs + i], row[j], column[i]);
  });
  team.sync();
  bool represented = true;
  for (int n = team.lane; n < bs * bs; n += team.lanes)
    represented = represented && is_finite(a[n]);
  if (condition) *condition = before * after;
  return has_digits(before, after) && team.all(represented) ? Inversion::done : Inversion::singular;
}

// Replaces block a by its inverse. row, column: working memory of bs numbers each. All threads of
// the team get the same verdict and condition number, and are done with the block.
MCPI_HD_FOR_ALL template <class Team>
MCPI_HD Inversion invert(const Team &team, double *a, int bs, double *row, double *column,
                         int *pivot, double *condition)
{
  const Inversion verdict = invert_unsynced(team, a, bs, row, column, pivot, condition);
  team.sync();
  return verdict;
}

// The same for the unknowns that are not empty, see invert_rest() in core/dense.h.
MCPI_HD_FOR_ALL template <class Team>
MCPI_HD Inversion invert_rest(const Team &team, double *a, int bs, const std::uint8_t *empty,
                              double *row, double *column, int *pivot, double *condition = nullptr)
{
  const auto set_diagonal = [&](double value) {
    if (!empty) return;
    for (int i = team.rank; i < bs; i += team.size)
      if (empty[i]) a[i * bs + i] = value;
    team.sync();
  };
  set_diagonal(1.0);
  const Inversion verdict = invert(team, a, bs, row, column, pivot, condition);
  set_diagonal(0.0);
  return verdict;
}

} // namespace mcpi::device
