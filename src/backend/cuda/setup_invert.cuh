// Inverts small diagonal blocks, one for each thread. All indices are compile-time constants, so
// that a block stays in registers. Steps and verdicts are those of core/dense.cxx.
#pragma once

#include <cfloat>

#include "backend/device/shapes.h"
#include "core/dense.h"

namespace mcpi::cuda {
using namespace device;

constexpr double kEpsilon = DBL_EPSILON;
// A block counts as singular if its condition number times epsilon is not below this.
constexpr double kNoDigits = 0.1;

// Returns 1 over the largest power of two that is not above the value, which is positive.
__device__ __forceinline__ double inverse_power_of_two(double value)
{
  constexpr long long kSum = 2046; // sum of the biased exponents of a power of two and its inverse
  const long long exponent = min(max(__double_as_longlong(value) >> 52, 1LL), kSum - 1);
  return __longlong_as_double((kSum - exponent) << 52);
}

// Exchanges a and b if `other`, without a branch.
__device__ __forceinline__ void exchange_if(bool other, double &a, double &b)
{
  const double first = a, second = b;
  a = other ? second : first;
  b = other ? first : second;
}

// Returns the largest column sum of magnitudes.
template <int bs> __device__ __forceinline__ double column_norm(const double (&a)[bs][bs])
{
  double largest = 0.0;
#pragma unroll
  for (int j = 0; j < bs; ++j) {
    double sum = 0.0;
#pragma unroll
    for (int i = 0; i < bs; ++i) sum += fabs(a[j][i]);
    largest = fmax(largest, sum);
  }
  return largest;
}

// Gauss-Jordan elimination in place on the transpose of the block, as on the host: a[j] is column
// j, and pivots are sought along a row. Returns whether all pivots are large enough.
template <int bs>
__device__ __forceinline__ bool gauss_jordan(double (&a)[bs][bs], double tolerance)
{
  int pivot[bs];
  bool good = true;
#pragma unroll
  for (int k = 0; k < bs; ++k) {
    double best = fabs(a[k][k]);
    pivot[k] = k;
#pragma unroll
    for (int j = k + 1; j < bs; ++j)
      if (const double value = fabs(a[j][k]); value > best) {
        best = value;
        pivot[k] = j;
      }
    good = good && best > tolerance;
#pragma unroll
    for (int j = k + 1; j < bs; ++j)
#pragma unroll
      for (int i = 0; i < bs; ++i) exchange_if(pivot[k] == j, a[k][i], a[j][i]);
    const double scale = 1.0 / a[k][k];
    a[k][k] = 1.0;
#pragma unroll
    for (int i = 0; i < bs; ++i) a[k][i] *= scale;
#pragma unroll
    for (int j = 0; j < bs; ++j) {
      if (j == k) continue;
      const double factor = a[j][k];
      a[j][k] = 0.0;
#pragma unroll
      for (int i = 0; i < bs; ++i) a[j][i] -= factor * a[k][i];
    }
  }
#pragma unroll
  for (int k = bs - 1; k >= 0; --k)
#pragma unroll
    for (int m = k + 1; m < bs; ++m)
#pragma unroll
      for (int j = 0; j < bs; ++j) exchange_if(pivot[k] == m, a[j][k], a[j][m]);
  return good;
}

// Inverts a block in place; a[j] is column j. One thread inverts the whole block, because several
// threads would spend most of their instructions on shuffles.
template <int bs> __device__ __forceinline__ Inversion invert(double (&a)[bs][bs])
{
  double row[bs], column[bs];
  bool finite = true, zero = false;
#pragma unroll
  for (int i = 0; i < bs; ++i) {
    double most = 0.0;
#pragma unroll
    for (int j = 0; j < bs; ++j) {
      finite = finite && fabs(a[j][i]) <= DBL_MAX;
      most = fmax(most, fabs(a[j][i]));
    }
    zero = zero || most == 0.0;
    row[i] = inverse_power_of_two(most);
  }
#pragma unroll
  for (int j = 0; j < bs; ++j) {
    double most = 0.0;
#pragma unroll
    for (int i = 0; i < bs; ++i) {
      a[j][i] *= row[i];
      most = fmax(most, fabs(a[j][i]));
    }
    zero = zero || most == 0.0;
    column[j] = inverse_power_of_two(most);
#pragma unroll
    for (int i = 0; i < bs; ++i) a[j][i] *= column[j];
  }
  const double before = column_norm(a);
  const bool good = gauss_jordan(a, bs > 1 ? bs * kEpsilon : 0.0);
  const bool digits = before * column_norm(a) * kEpsilon < kNoDigits;
  bool represented = true;
#pragma unroll
  for (int j = 0; j < bs; ++j)
#pragma unroll
    for (int i = 0; i < bs; ++i) {
      a[j][i] *= column[i] * row[j];
      represented = represented && isfinite(a[j][i]);
    }
  if (!finite) return Inversion::nonfinite;
  return !zero && good && digits && represented ? Inversion::done : Inversion::singular;
}

} // namespace mcpi::cuda
