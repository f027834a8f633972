// Rounds blocks to storage precision by SIMD instructions: CpuKernels::encode.
#include "backend/host/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/host/simd_encode.cxx"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include <algorithm>
#include <limits>

#include "backend/host/simd_stored-inl.h"
#include "core/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace mcpi {
namespace HWY_NAMESPACE {
#if MCPI_PLAIN_ONLY
int encode(PCMCPIPrecision storage, int bs, const double *blocks, int count, std::byte *records)
{
  return plain_kernels().encode(storage, bs, blocks, count, records);
}
#else

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

template <class D>
HWY_INLINE hn::VFromD<hn::Rebind<std::uint16_t, D>> round_bf16(D, hn::VFromD<D> v)
{
  const hn::RebindToUnsigned<D> words;
  const auto bits = hn::BitCast(words, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1u));
  const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, odd), hn::Set(words, 0x7fffu)));
  return hn::DemoteTo(hn::Rebind<std::uint16_t, D>(),
                      hn::BitCast(hn::RebindToSigned<D>(), rounded));
}

// Converts one vector of doubles and writes it to out. Lanes of the result are true where the
// number fits.
template <PCMCPIPrecision storage> HWY_INLINE auto convert(hn::VFromD<Doubles> v, std::byte *out)
{
  const Doubles d;
  if constexpr (storage == PC_MCPI_PRECISION_FP64) {
    hn::StoreU(v, d, reinterpret_cast<double *>(out));
    return hn::Lt(hn::Abs(v), hn::Set(d, std::numeric_limits<double>::infinity()));
  } else {
    const hn::Rebind<float, Doubles> floats;
    const hn::Rebind<std::uint16_t, Doubles> halves;
    const auto f = hn::DemoteTo(floats, v);
    if constexpr (storage == PC_MCPI_PRECISION_FP32) {
      hn::StoreU(f, floats, reinterpret_cast<float *>(out));
      return hn::Lt(hn::Abs(f), hn::Set(floats, std::numeric_limits<float>::infinity()));
    } else if constexpr (storage == PC_MCPI_PRECISION_FP16) {
      hn::StoreU(round_fp16(floats, f), halves, reinterpret_cast<std::uint16_t *>(out));
      // Numbers from here on are rounded to infinity.
      return hn::Lt(hn::Abs(f), hn::Set(floats, 65520.0f));
    } else {
      hn::StoreU(round_bf16(floats, f), halves, reinterpret_cast<std::uint16_t *>(out));
      return hn::Lt(hn::Abs(f), hn::Set(floats, 0x1.ffp127f));
    }
  }
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
  const hn::Rebind<std::conditional_t<storage == PC_MCPI_PRECISION_FP64, double, float>, Doubles> d;
  return hn::AllTrue(d, good);
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

constexpr std::size_t kNibbleChunk = 64;

// Packs the nibbles of at most kNibbleChunk numbers, from number begin of a run of n numbers on.
// May write up to kNibbleChunk/2 bytes, but nothing from records_end on.
template <class D>
HWY_INLINE void pack_nibbles(D d, const double *numbers, std::size_t n, std::size_t begin,
                             double scale, std::byte *out, const std::byte *records_end)
{
  alignas(64) std::int8_t nibbles[kLanes + kNibbleChunk + 2];
  const std::size_t lanes = hn::MaxLanes(d), m = std::min(n - begin, kNibbleChunk);
  // Only whole vectors are read, so a short run begins earlier.
  const std::size_t back = m < lanes ? lanes - m : 0;
  std::int8_t *first = nibbles + kLanes;
  quantize(d, numbers + begin - back, m + back, scale, 8, first - back);
  first[m] = 0;
  const hn::Repartition<std::uint16_t, hn::FixedTag<std::uint8_t, 16>> pairs;
  const hn::Rebind<std::uint8_t, decltype(pairs)> bytes;
  std::uint8_t packed[kNibbleChunk / 2];
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
  constexpr int limit = storage == PC_MCPI_PRECISION_INT8 ? 127 : 7;
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
        for (std::size_t k = 0; k < run; k += kNibbleChunk)
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
HWY_EXPORT(encode);

int simd_encode(PCMCPIPrecision storage, int bs, const double *blocks, int count,
                std::byte *records)
{
  return HWY_DYNAMIC_DISPATCH(encode)(storage, bs, blocks, count, records);
}
} // namespace mcpi
#endif
