// The kernels of the numeric set-up by SIMD instructions, and the table of the SIMD kernels.
#include "backend/host/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/host/simd_setup.cxx"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "backend/host/blas.h"
#include "backend/host/host_backend.h"
#include "backend/host/simd_stored-inl.h"
#include "backend/host/tuning.h"
#include "core/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace mcpi {
namespace HWY_NAMESPACE {
#if MCPI_PLAIN_ONLY
bool premultiply(int bs, const double *left, const double *right, const double *const *in,
                 int count, double *out, double *max_abs)
{
  return plain_kernels().premultiply(bs, left, right, in, count, out, max_abs);
}

int encode(PCMCPIPrecision storage, int bs, const double *blocks, int count, std::byte *records)
{
  return plain_kernels().encode(storage, bs, blocks, count, records);
}
#else
// CpuKernels::premultiply

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

constexpr int kMaxTiled = HostTuning::kMaxTiledBlock;

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

// Computes left * block * diag(right) entry by entry, if the block has few of them.
bool premultiply_entries(int bs, const double *left, const double *right, const double *block,
                         double *out)
{
  const std::ptrdiff_t size = bs, all = size * size;
  if (HostTuning::kEntriesShare * (all - std::count(block, block + all, 0.0)) > all) return false;
  std::fill_n(out, all, 0.0);
  for (int q = 0; q < bs; ++q, block += bs, out += bs)
    for (int l = 0; l < bs; ++l) {
      const double value = block[l] * right[q], *column = left + l * size;
      if (value == 0.0) continue;
      for (int p = 0; p < bs; ++p) out[p] += column[p] * value;
    }
  return true;
}

bool premultiply(int bs, const double *left, const double *right, const double *const *in,
                 int count, double *out, double *max_abs)
{
  static constexpr auto kFlat = []<int... n>(std::integer_sequence<int, n...>)
  {
    return std::array{premultiply_flat<n + 1>...};
  }
  (std::make_integer_sequence<int, kMaxFlatBlock>());
  if (bs <= kMaxFlatBlock) return kFlat[bs - 1](left, right, in, count, out, max_abs);
  const auto multiply = bs <= kMaxTiled ? premultiply_tiled : premultiply_library;
  bool good = true;
  const std::size_t n = static_cast<std::size_t>(bs) * bs;
  if (bs < HostTuning::kEntriesFrom) multiply(bs, left, right, in, count, out);
  for (int k = 0; k < count; ++k, out += n) {
    if (bs >= HostTuning::kEntriesFrom && !premultiply_entries(bs, left, right, in[k], out))
      multiply(bs, left, right, in + k, 1, out);
    good &= raise_maxima(out, n, max_abs);
  }
  return good;
}

// CpuKernels::encode

using Doubles = hn::ScalableTag<double>;
constexpr std::size_t kLanes = HWY_LANES(double);

// Rounds floats to fp16 as to_fp16() does.
template <class D>
HWY_INLINE hn::VFromD<hn::Rebind<std::uint16_t, D>> round_fp16(D floats, hn::VFromD<D> v)
{
  const hn::RebindToUnsigned<D> words;
  const hn::RebindToSigned<D> ints;
  const hn::Rebind<std::uint16_t, D> halves;
  const auto bits = hn::BitCast(words, v);
  const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 0x8000u));
  const auto magnitude = hn::And(bits, hn::Set(words, 0x7fffffffu));
  const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(words, 1u));
  const auto rounded =
      hn::Add(hn::Add(magnitude, odd), hn::Set(words, 0xfffu - ((127u - 15u) << 23)));
  // 2^-14. For larger numbers NearestInt() could raise a floating-point exception.
  const auto least = hn::Set(words, 0x38800000u);
  const auto quanta = hn::NearestInt(
      hn::Mul(hn::BitCast(floats, hn::Min(magnitude, least)), hn::Set(floats, 0x1p24f)));
  const auto denormal = hn::Lt(hn::BitCast(ints, magnitude), hn::BitCast(ints, least));
  const auto half =
      hn::IfThenElse(denormal, quanta, hn::BitCast(ints, hn::ShiftRight<13>(rounded)));
  return hn::DemoteTo(halves, hn::Or(half, hn::BitCast(ints, sign)));
}

// Magnitudes from here on, and these alone, round to infinity in floats or in the format.
template <PCMCPIPrecision storage> constexpr double overflow_from()
{
  return storage == PC_MCPI_PRECISION_FP64   ? std::numeric_limits<double>::infinity()
         : storage == PC_MCPI_PRECISION_FP32 ? 0x1.ffffffp127
                                             : 0x1.ffdfffp15;
}

// Converts one vector of doubles and writes it to out. Lanes of the result are true where the
// number fits. Others are not converted, which would raise a floating-point exception.
template <PCMCPIPrecision storage>
HWY_INLINE hn::MFromD<Doubles> convert(hn::VFromD<Doubles> v, std::byte *out)
{
  const Doubles d;
  const auto fits = hn::Lt(hn::Abs(v), hn::Set(d, overflow_from<storage>()));
  if constexpr (storage == PC_MCPI_PRECISION_FP64) {
    hn::StoreU(v, d, reinterpret_cast<double *>(out));
  } else {
    const hn::Rebind<float, Doubles> floats;
    const hn::Rebind<std::uint16_t, Doubles> halves;
    const auto f = hn::DemoteTo(floats, hn::IfThenElseZero(fits, v));
    if constexpr (storage == PC_MCPI_PRECISION_FP32)
      hn::StoreU(f, floats, reinterpret_cast<float *>(out));
    else
      hn::StoreU(round_fp16(floats, f), halves, reinterpret_cast<std::uint16_t *>(out));
  }
  return fits;
}

// Formats without exponent: all blocks are one run of numbers, for any block size. Returns whether
// all numbers fit.
template <PCMCPIPrecision storage>
bool encode_numbers(const double *numbers, std::size_t n, std::byte *records)
{
  auto good = convert<storage>(hn::Zero(Doubles()),
                               std::array<std::byte, sizeof(double) * kLanes>().data());
  std::size_t k = 0;
  for (; k + kLanes <= n; k += kLanes)
    good = hn::And(good, convert<storage>(hn::LoadU(Doubles(), numbers + k),
                                          records + byte_offset<storage>(k)));
  if (k < n) {
    double rest[kLanes] = {};
    std::byte out[sizeof(rest)];
    std::copy(numbers + k, numbers + n, rest);
    good = hn::And(good, convert<storage>(hn::LoadU(Doubles(), rest), out));
    std::copy_n(out, byte_offset<storage>(n - k), records + byte_offset<storage>(k));
  }
  return hn::AllTrue(Doubles(), good);
}

// Returns the largest magnitude, or a negative number if some number is not finite. n must be at
// least the number of lanes.
template <class D> HWY_INLINE double max_magnitude(D d, const double *numbers, std::size_t n)
{
  const std::size_t lanes = hn::MaxLanes(d);
  const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  auto largest = hn::Abs(hn::LoadU(d, numbers + n - lanes));
  auto finite = hn::Lt(largest, infinity);
  for (std::size_t k = 0; k + lanes < n; k += lanes) {
    const auto magnitude = hn::Abs(hn::LoadU(d, numbers + k));
    finite = hn::And(finite, hn::Lt(magnitude, infinity));
    largest = hn::Max(largest, magnitude);
  }
  return hn::AllTrue(d, finite) ? hn::GetLane(hn::MaxOfLanes(d, largest)) : -1.0;
}

// out[k] = numbers[k] * scale + offset, rounded. The last vector overlaps the one before.
template <class D>
HWY_INLINE void quantize(D d, const double *numbers, std::size_t n, double scale, int offset,
                         std::int8_t *out)
{
  const hn::Rebind<std::int32_t, D> ints;
  const hn::Rebind<std::int8_t, D> bytes;
  const std::size_t lanes = hn::MaxLanes(d);
  const auto quantum = hn::Set(d, scale);
  for (std::size_t k = 0;; k = std::min(k + lanes, n - lanes)) {
    const auto q = hn::DemoteTo(ints, hn::Round(hn::Mul(hn::LoadU(d, numbers + k), quantum)));
    hn::StoreU(hn::DemoteTo(bytes, hn::Add(q, hn::Set(ints, offset))), bytes, out + k);
    if (k + lanes == n) return;
  }
}

constexpr std::size_t kNibbles = HostTuning::kNibblesTogether;

// Packs the nibbles of at most kNibbles numbers, from number begin of a run of n numbers on.
// May write up to kNibbles/2 bytes, but nothing from records_end on.
template <class D>
HWY_INLINE void pack_nibbles(D d, const double *numbers, std::size_t n, std::size_t begin,
                             double scale, std::byte *out, const std::byte *records_end)
{
  alignas(64) std::int8_t nibbles[kLanes + kNibbles + 2];
  const std::size_t lanes = hn::MaxLanes(d), m = std::min(n - begin, kNibbles);
  // Only whole vectors are read, so a short run begins earlier.
  const std::size_t back = m < lanes ? lanes - m : 0;
  std::int8_t *first = nibbles + kLanes;
  quantize(d, numbers + begin - back, m + back, scale, 8, first - back);
  first[m] = 0;
  const hn::Repartition<std::uint16_t, hn::FixedTag<std::uint8_t, 16>> pairs;
  const hn::Rebind<std::uint8_t, decltype(pairs)> bytes;
  std::uint8_t packed[kNibbles / 2];
  const bool room = records_end - out >= static_cast<std::ptrdiff_t>(sizeof(packed));
  std::uint8_t *target = room ? reinterpret_cast<std::uint8_t *>(out) : packed;
  for (std::size_t k = 0; k < m; k += 16) {
    const auto pair = hn::LoadU(pairs, reinterpret_cast<const std::uint16_t *>(first + k));
    const auto byte = hn::And(hn::Or(pair, hn::ShiftRight<4>(pair)), hn::Set(pairs, 0xff));
    hn::StoreU(hn::DemoteTo(bytes, hn::BitCast(hn::RebindToSigned<decltype(pairs)>(), byte)), bytes,
               target + k / 2);
  }
  if (!room) std::copy_n(reinterpret_cast<const std::byte *>(packed), (m + 1) / 2, out);
}

// Returns the first block that does not fit, or -1.
template <PCMCPIPrecision storage, class D>
int encode_integers(D d, int bs, const double *blocks, int count, std::byte *records)
{
  constexpr int limit = integer_limit(storage);
  const std::size_t n = static_cast<std::size_t>(bs) * bs;
  const std::size_t record = record_bytes(storage, bs);
  const std::size_t run = bs > kMaxFlatBlock ? bs : n; // nibbles of a run are packed without gaps
  const std::byte *end = records + count * record;
  int bad = -1;
  for (int b = 0; b < count; ++b, blocks += n, records += record) {
    const double max_abs = max_magnitude(d, blocks, n);
    const int e = shared_exponent(std::max(max_abs, 0.0), limit);
    if (max_abs < 0 || max_abs > limit * kPowersOfTwo<double>[static_cast<std::uint8_t>(e)]) {
      if (bad < 0) bad = b;
      continue;
    }
    records[0] = static_cast<std::byte>(e);
    const double scale = kPowersOfTwo<double>[static_cast<std::uint8_t>(-e)];
    if constexpr (storage == PC_MCPI_PRECISION_INT8) {
      quantize(d, blocks, n, scale, 0, reinterpret_cast<std::int8_t *>(records + 1));
    } else {
      std::byte *out = records + 1;
      for (std::size_t first = 0; first < n; first += run, out += (run + 1) / 2)
        for (std::size_t k = 0; k < run; k += kNibbles)
          pack_nibbles(d, blocks + first, run, k, scale, out + k / 2, end);
    }
  }
  return bad;
}

template <PCMCPIPrecision storage>
int encode_integers(int bs, const double *blocks, int count, std::byte *records)
{
  if (bs == 1) return plain_kernels().encode(storage, bs, blocks, count, records);
  if (bs == 2)
    return encode_integers<storage>(hn::CappedTag<double, 4>(), bs, blocks, count, records);
  return encode_integers<storage>(Doubles(), bs, blocks, count, records);
}

int encode(PCMCPIPrecision storage, int bs, const double *blocks, int count, std::byte *records)
{
  return with_precision(storage, [&]<PCMCPIPrecision of> {
    if constexpr (of == PC_MCPI_PRECISION_INT8 || of == PC_MCPI_PRECISION_INT4)
      return encode_integers<of>(bs, blocks, count, records);
    else // The plain kernel finds the block.
      return encode_numbers<of>(blocks, static_cast<std::size_t>(bs) * bs * count, records)
                 ? -1
                 : plain_kernels().encode(storage, bs, blocks, count, records);
  });
}

#endif
} // namespace HWY_NAMESPACE
} // namespace mcpi
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mcpi {
namespace {

HWY_EXPORT(premultiply);
HWY_EXPORT(encode);

// The kernels of the table choose the instruction set at each call.
bool best_premultiply(int bs, const double *left, const double *right, const double *const *in,
                      int count, double *out, double *max_abs)
{
  return HWY_DYNAMIC_DISPATCH(premultiply)(bs, left, right, in, count, out, max_abs);
}

int best_encode(PCMCPIPrecision storage, int bs, const double *blocks, int count,
                std::byte *records)
{
  return HWY_DYNAMIC_DISPATCH(encode)(storage, bs, blocks, count, records);
}

ProductKernel best_product(PCMCPIPrecision storage, bool x_is_double, int bs)
{
  return with_precision(storage,
                        [&]<PCMCPIPrecision of> { return simd_product<of>(x_is_double, bs); });
}

} // namespace

const CpuKernels &simd_kernels()
{
  static constexpr CpuKernels kernels = {"simd", best_product, best_premultiply, best_encode};
  return kernels;
}

} // namespace mcpi
#endif
