// Inverses of diagonal blocks by a team of threads; the steps and the verdicts are those of core/dense.cxx.
#pragma once

#include <cfloat>
#include <utility>

#include "backend/cuda/shapes.h"
#include "core/dense.h"

namespace mcpi::cuda {

constexpr double kEpsilon  = DBL_EPSILON;
constexpr double kNoDigits = 0.1; // condition times epsilon of a block that counts as singular

// 1 over the largest power of two that is not above the positive value
__device__ __forceinline__ double inverse_power_of_two(double value)
{
  constexpr long long kSum     = 2046; // of the biased exponents of a power and its inverse
  const long long     exponent = min(max(__double_as_longlong(value) >> 52, 1LL), kSum - 1);
  return __longlong_as_double((kSum - exponent) << 52);
}

constexpr unsigned kWarp = 0xffffffffU;
constexpr int      kTeam = 8; // threads that hold a small block, a column each

__device__ __forceinline__ double team_max(double value)
{
#pragma unroll
  for (int step = kTeam / 2; step > 0; step /= 2) value = fmax(value, __shfl_xor_sync(kWarp, value, step));
  return value;
}

__device__ __forceinline__ bool team_any(bool value)
{
  return (__ballot_sync(kWarp, value) >> (threadIdx.x % kWarpSize / kTeam * kTeam) & ((1U << kTeam) - 1U)) != 0;
}

template <int bs> __device__ __forceinline__ double column_norm(const double (&a)[bs])
{
  double sum = 0.0;
#pragma unroll
  for (int i = 0; i < bs; ++i) sum += fabs(a[i]);
  return team_max(sum);
}

// One step; k is a constant, so that no register is indexed at run time.
template <int bs, int k> __device__ __forceinline__ bool team_eliminate(double (&a)[bs], int (&pivot)[bs], int lane, double tolerance)
{
  double best = lane >= k && lane < bs ? fabs(a[k]) : -1.0;
  int    p    = lane;
#pragma unroll
  for (int step = kTeam / 2; step > 0; step /= 2) {
    const double value = __shfl_xor_sync(kWarp, best, step);
    const int    at    = __shfl_xor_sync(kWarp, p, step);
    if (value > best || (value == best && at < p)) {
      best = value;
      p    = at;
    }
  }
  pivot[k]       = p;
  const int from = lane == k ? p : lane == p ? k : lane;
#pragma unroll
  for (int i = 0; i < bs; ++i) a[i] = __shfl_sync(kWarp, a[i], from, kTeam);
  const double scale = 1.0 / __shfl_sync(kWarp, a[k], k, kTeam);
  if (lane == k) {
    a[k] = 1.0;
#pragma unroll
    for (int i = 0; i < bs; ++i) a[i] *= scale;
  }
  const double factor = a[k];
  if (lane != k) a[k] = 0.0;
#pragma unroll
  for (int i = 0; i < bs; ++i) {
    const double of_pivot = __shfl_sync(kWarp, a[i], k, kTeam);
    if (lane != k) a[i] -= factor * of_pivot;
  }
  return best > tolerance;
}

// Undoes the exchange of step k
template <int bs, int k> __device__ __forceinline__ void team_exchange(double (&a)[bs], const int (&pivot)[bs])
{
#pragma unroll
  for (int m = k + 1; m < bs; ++m)
    if (pivot[k] == m) {
      const double held = a[k];
      a[k]              = a[m];
      a[m]              = held;
    }
}

// Gauss-Jordan on the block's transpose, as the host has it: pivots are sought along a row, across the team. Returns whether all pivots are large
// enough.
template <int bs, int... k>
__device__ __forceinline__ bool team_gauss_jordan(double (&a)[bs], int lane, double tolerance, std::integer_sequence<int, k...>)
{
  int  pivot[bs];
  bool good = true;
  ((good = team_eliminate<bs, k>(a, pivot, lane, tolerance) && good), ...);
  (team_exchange<bs, bs - 1 - k>(a, pivot), ...);
  return good;
}

// Thread `lane` of the team holds column `lane` of the block, and zeros from bs on; all threads of the warp take part.
template <int bs> __device__ __forceinline__ Inversion team_invert(double (&a)[bs], int lane)
{
  double row[bs], largest = 0.0;
  bool   finite = true, zero = false;
#pragma unroll
  for (int i = 0; i < bs; ++i) finite = finite && fabs(a[i]) <= DBL_MAX;
  finite = !team_any(!finite);
#pragma unroll
  for (int i = 0; i < bs; ++i) {
    const double most = team_max(fabs(a[i]));
    zero              = zero || most == 0.0;
    row[i]            = inverse_power_of_two(most);
    a[i] *= row[i];
    largest = fmax(largest, fabs(a[i]));
  }
  zero                = team_any(zero || (lane < bs && largest == 0.0));
  const double column = inverse_power_of_two(largest);
#pragma unroll
  for (int i = 0; i < bs; ++i) a[i] *= column;
  const double before = column_norm(a);
  const bool   good   = team_gauss_jordan(a, lane, bs > 1 ? bs * kEpsilon : 0.0, std::make_integer_sequence<int, bs>());
  const bool   digits = before * column_norm(a) * kEpsilon < kNoDigits;
  double       my_row = 0.0; // no index at run time: rows stay in registers
#pragma unroll
  for (int i = 0; i < bs; ++i) my_row += lane == i ? row[i] : 0.0;
  bool represented = true;
#pragma unroll
  for (int i = 0; i < bs; ++i) {
    a[i] *= __shfl_sync(kWarp, column, i, kTeam) * my_row;
    represented = represented && (lane >= bs || isfinite(a[i]));
  }
  represented = !team_any(!represented);
  if (!finite) return Inversion::nonfinite;
  return !zero && good && digits && represented ? Inversion::done : Inversion::singular;
}

} // namespace mcpi::cuda
