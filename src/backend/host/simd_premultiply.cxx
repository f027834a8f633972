// Multiplies off-diagonal blocks in the numeric set-up by SIMD instructions:
// CpuKernels::premultiply.
#include "backend/host/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/host/simd_premultiply.cxx"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "backend/host/blas.h"
#include "backend/host/simd_stored-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mcpi {
namespace HWY_NAMESPACE {
#if MCPI_PLAIN_ONLY
bool premultiply(int bs, const double *left, const double *right, const double *const *in,
                 int count, double *out, double *max_abs)
{
  return plain_kernels().premultiply(bs, left, right, in, count, out, max_abs);
}
#else

// Lanes that hold finite numbers
template <class D> HWY_INLINE hn::MFromD<D> finite(D d, hn::VFromD<D> v)
{
  return hn::Le(hn::Abs(v), hn::Set(d, std::numeric_limits<double>::max()));
}

// max_abs[k] = max(max_abs[k], |numbers[k]|). Returns false if some number is not finite.
HWY_NOINLINE bool raise_maxima(const double *numbers, std::size_t n, double *max_abs)
{
  const hn::ScalableTag<double> d;
  auto good = hn::Eq(hn::Zero(d), hn::Zero(d));
  std::size_t k = 0;
  for (; k + HWY_LANES(double) <= n; k += HWY_LANES(double)) {
    const auto v = hn::LoadU(d, numbers + k);
    good = hn::And(good, finite(d, v));
    hn::StoreU(hn::Max(hn::Abs(v), hn::LoadU(d, max_abs + k)), d, max_abs + k);
  }
  bool rest = true;
  for (; k < n; ++k) {
    rest = rest && std::isfinite(numbers[k]);
    max_abs[k] = std::max(max_abs[k], std::abs(numbers[k]));
  }
  return hn::AllTrue(d, good) && rest;
}

// Small blocks: the columns of left and the running maxima stay in registers.
template <int bs>
bool premultiply_flat(const double *left, const double *right, const double *const *in, int count,
                      double *out, double *max_abs)
{
  constexpr int lanes =
      static_cast<int>(std::min<std::size_t>(std::bit_ceil(unsigned(bs)), HWY_LANES(double)));
  constexpr int vectors = (bs + lanes - 1) / lanes, padded = vectors * lanes;
  using D = hn::FixedTag<double, lanes>;
  using V = hn::VFromD<D>;
  const D d;
  // The padding repeats a row, so it is finite wherever that row is.
  double columns[bs * padded];
  for (int l = 0; l < bs; ++l)
    for (int p = 0; p < padded; ++p) columns[l * padded + p] = left[l * bs + std::min(p, bs - 1)];
  V column[bs * vectors], largest[bs * vectors];
  unroll<bs * vectors>([&](auto i) HWY_ATTR {
    column[i()] = hn::LoadU(d, columns + i() * lanes);
    largest[i()] = hn::Zero(d);
  });
  auto good = hn::Eq(hn::Zero(d), hn::Zero(d));
  for (int k = 0; k < count; ++k, out += bs * bs) {
    const double *block = in[k];
    unroll<bs>([&](auto q) HWY_ATTR {
      unroll<vectors>([&](auto v) HWY_ATTR {
        V sum = hn::Mul(column[v()], hn::Set(d, block[q() * bs]));
        unroll<bs - 1>([&](auto l) HWY_ATTR {
          sum = hn::MulAdd(column[(l() + 1) * vectors + v()], hn::Set(d, block[q() * bs + l() + 1]),
                           sum);
        });
        sum = hn::Mul(sum, hn::Set(d, right[q()]));
        good = hn::And(good, finite(d, sum));
        largest[q() * vectors + v()] = hn::Max(hn::Abs(sum), largest[q() * vectors + v()]);
        constexpr int run_over = q() * bs + (v() + 1) * lanes - bs * bs;
        // The vector runs into the next column or block, which is written later.
        if (run_over <= 0 || k + 1 < count) {
          hn::StoreU(sum, d, out + q() * bs + v() * lanes);
        } else {
          double rest[lanes];
          hn::StoreU(sum, d, rest);
          std::copy_n(rest, std::max(lanes - run_over, 0), out + q() * bs + v() * lanes);
        }
      });
    });
  }
  double maxima[bs * bs + padded];
  unroll<bs>([&](auto q) HWY_ATTR {
    unroll<vectors>([&](auto v) HWY_ATTR {
      hn::StoreU(largest[q() * vectors + v()], d, maxima + q() * bs + v() * lanes);
    });
  });
  raise_maxima(maxima, bs * bs, max_abs);
  return hn::AllTrue(d, good);
}

// Largest block size for which BLAS is not called
constexpr int kMaxTiled = 64;

// Computes a tile of left * block * diag(right): the rows of two vectors by some columns, with sums
// in registers. left is padded to whole vectors. rows: rows of the tile that exist.
template <int columns>
HWY_INLINE void premultiply_tile(int bs, const double *left, int ld, const double *right,
                                 const double *block, int rows, double *out)
{
  const hn::ScalableTag<double> d;
  using V = hn::VFromD<hn::ScalableTag<double>>;
  constexpr std::size_t L = HWY_LANES(double);
  V sum[columns][2];
  unroll<columns>([&](auto q) HWY_ATTR { sum[q()][0] = sum[q()][1] = hn::Zero(d); });
  for (int l = 0; l < bs; ++l, left += ld) {
    const V upper = hn::LoadU(d, left), lower = hn::LoadU(d, left + L);
    unroll<columns>([&](auto q) HWY_ATTR {
      const V b = hn::Set(d, block[q() * bs + l]);
      sum[q()][0] = hn::MulAdd(upper, b, sum[q()][0]);
      sum[q()][1] = hn::MulAdd(lower, b, sum[q()][1]);
    });
  }
  unroll<columns>([&](auto q) HWY_ATTR {
    const V scale = hn::Set(d, right[q()]);
    double column[2 * L];
    double *target = rows >= static_cast<int>(2 * L) ? out + q() * bs : column;
    hn::StoreU(hn::Mul(sum[q()][0], scale), d, target);
    hn::StoreU(hn::Mul(sum[q()][1], scale), d, target + L);
    if (target == column) std::copy_n(column, rows, out + q() * bs);
  });
}

void premultiply_tiled(int bs, const double *left, const double *right, const double *const *in,
                       int count, double *out)
{
  constexpr int step = static_cast<int>(2 * HWY_LANES(double));
  const int ld = (bs + step - 1) / step * step;
  double padded[kMaxTiled * kMaxTiled];
  for (int l = 0; l < bs; ++l)
    std::fill(std::copy_n(left + l * bs, bs, padded + l * ld), padded + (l + 1) * ld, 0.0);
  for (int k = 0; k < count; ++k, out += bs * bs) {
    int q = 0;
    for (; q + 4 <= bs; q += 4)
      for (int p = 0; p < bs; p += step)
        premultiply_tile<4>(bs, padded + p, ld, right + q, in[k] + q * bs, bs - p,
                            out + q * bs + p);
    for (; q < bs; ++q)
      for (int p = 0; p < bs; p += step)
        premultiply_tile<1>(bs, padded + p, ld, right + q, in[k] + q * bs, bs - p,
                            out + q * bs + p);
  }
}

void premultiply_library(int bs, const double *left, const double *right, const double *const *in,
                         int count, double *out)
{
  for (int k = 0; k < count; ++k, out += static_cast<std::size_t>(bs) * bs) {
    blas_multiply(bs, left, in[k], out);
    for (int q = 0; q < bs; ++q)
      for (int p = 0; p < bs; ++p) out[static_cast<std::size_t>(q) * bs + p] *= right[q];
  }
}

bool premultiply(int bs, const double *left, const double *right, const double *const *in,
                 int count, double *out, double *max_abs)
{
  using Flat =
      bool (*)(const double *, const double *, const double *const *, int, double *, double *);
  static constexpr Flat kFlat[kMaxFlatBlock + 1] = {nullptr,
                                                    premultiply_flat<1>,
                                                    premultiply_flat<2>,
                                                    premultiply_flat<3>,
                                                    premultiply_flat<4>,
                                                    premultiply_flat<5>,
                                                    premultiply_flat<6>,
                                                    premultiply_flat<7>,
                                                    premultiply_flat<8>};
  if (bs <= kMaxFlatBlock) return kFlat[bs](left, right, in, count, out, max_abs);
  (bs <= kMaxTiled ? premultiply_tiled : premultiply_library)(bs, left, right, in, count, out);
  bool good = true;
  const std::size_t n = static_cast<std::size_t>(bs) * bs;
  for (int k = 0; k < count; ++k) good &= raise_maxima(out + k * n, n, max_abs);
  return good;
}

#endif
} // namespace HWY_NAMESPACE
} // namespace mcpi
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mcpi {
HWY_EXPORT(premultiply);

bool simd_premultiply(int bs, const double *left, const double *right, const double *const *in,
                      int count, double *out, double *max_abs)
{
  return HWY_DYNAMIC_DISPATCH(premultiply)(bs, left, right, in, count, out, max_abs);
}
} // namespace mcpi
#endif
