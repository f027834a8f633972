// Loads stored numbers to SIMD vectors. Included once for each instruction set.
#if defined(MCPI_SIMD_STORED_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MCPI_SIMD_STORED_INL_H
#undef MCPI_SIMD_STORED_INL_H
#else
#define MCPI_SIMD_STORED_INL_H
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "backend/host/simd.h"
#include "core/codec.h"
#include "hwy/highway.h"

#undef MCPI_PLAIN_ONLY
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || !HWY_HAVE_FLOAT64
#define MCPI_PLAIN_ONLY 1
#else
#define MCPI_PLAIN_ONLY 0

HWY_BEFORE_NAMESPACE();
namespace mcpi {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls f(0), ..., f(count - 1), with indices that are compile-time constants.
template <int count, class F> HWY_INLINE void unroll(F &&f)
{
  [&]<int... i>(std::integer_sequence<int, i...>) HWY_ATTR
  {
    (f(std::integral_constant<int, i>()), ...);
  }
  (std::make_integer_sequence<int, count>());
}

// Returns a vector with v in its low lanes.
template <class D, class V> HWY_INLINE hn::VFromD<D> extend(D d, V v)
{
  if constexpr (hn::MaxLanes(d) == hn::MaxLanes(hn::DFromV<V>()))
    return v;
  else
    return hn::ZeroExtendVector(d, extend(hn::Half<D>(), v));
}

// Returns the low lanes of v.
template <class D, class V> HWY_INLINE hn::VFromD<D> low_lanes(D d, V v)
{
  if constexpr (hn::MaxLanes(d) == hn::MaxLanes(hn::DFromV<V>()))
    return v;
  else
    return low_lanes(d, hn::LowerHalf(v));
}

// Returns the byte of number k, counted from the first number.
template <PCMCPIPrecision storage> constexpr std::size_t byte_offset(std::size_t k)
{
  constexpr int bits = value_bits(storage);
  return bits < 8 ? k / 2 : k * (bits / 8);
}

// Returns the numbers of a record, which follow its exponent.
template <PCMCPIPrecision storage> HWY_INLINE const std::byte *numbers(const std::byte *record)
{
  return record + (has_exponent(storage) ? 1 : 0);
}

template <class D> HWY_INLINE hn::VFromD<D> from_float(D d, hn::VFromD<hn::Rebind<float, D>> v)
{
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(float))
    return v;
  else
    return hn::PromoteTo(d, v);
}

template <class D> HWY_INLINE hn::VFromD<D> from_int(D d, hn::VFromD<hn::Rebind<std::int32_t, D>> v)
{
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(float))
    return hn::ConvertTo(d, v);
  else
    return hn::PromoteTo(d, v);
}

template <class D> HWY_INLINE hn::VFromD<D> load_fp16(D d, const std::byte *at)
{
#if HWY_TARGET == HWY_SSE4
  // There is no instruction for this conversion. The bits are put where a float has them. The
  // float's exponent is then 112 too small, which a multiplication corrects. This is right for
  // finite numbers only.
  const hn::Rebind<float, D> floats;
  const hn::Rebind<std::uint32_t, D> words;
  const auto half = hn::PromoteTo(words, hn::LoadU(hn::Rebind<std::uint16_t, D>(),
                                                   reinterpret_cast<const std::uint16_t *>(at)));
  const auto magnitude = hn::ShiftLeft<13>(hn::And(half, hn::Set(words, 0x7fffu)));
  const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(words, 0x8000u)));
  const auto value = hn::Mul(hn::BitCast(floats, magnitude), hn::Set(floats, 0x1p112f));
  return from_float(d, hn::Or(value, hn::BitCast(floats, sign)));
#else
  const auto half =
      hn::LoadU(hn::Rebind<hwy::float16_t, D>(), reinterpret_cast<const hwy::float16_t *>(at));
  return from_float(d, hn::PromoteTo(hn::Rebind<float, D>(), half));
#endif
}

#if HWY_TARGET == HWY_AVX3
// int4 in 16 lanes
template <int first, class D>
HWY_INLINE hn::VFromD<D> load_nibbles_16(D d, const std::byte *record_numbers)
{
  // A shuffle brings the byte of each nibble to the nibble's lane. As the last bits of 2^23,
  // nibbles make floats.
  constexpr int base = first / 2 + 9 <= 16 ? 0 : first / 2, skip = first - 2 * base;
  struct Lanes {
    std::uint8_t byte[64];
    std::uint32_t shift[16];
  };
  alignas(64) static constexpr Lanes kLanes = [] {
    Lanes lanes{};
    for (int i = 0; i < 64; ++i)
      lanes.byte[i] = i % 4 == 0 ? static_cast<std::uint8_t>((skip + i / 4) / 2) : 0x80;
    for (int i = 0; i < 16; ++i) lanes.shift[i] = 4 * ((skip + i) % 2);
    return lanes;
  }();
  const hn::Repartition<std::uint8_t, D> bytes;
  const hn::Rebind<std::uint32_t, D> words;
  const auto source =
      hn::LoadDup128(bytes, reinterpret_cast<const std::uint8_t *>(record_numbers + base));
  const auto spread =
      hn::BitCast(words, hn::TableLookupBytesOr0(source, hn::Load(bytes, kLanes.byte)));
  const auto nibble = hn::Shr(spread, hn::Load(words, kLanes.shift));
  const auto shifted = hn::OrAnd(hn::Set(words, 0x4b000000u), nibble, hn::Set(words, 15u));
  return hn::Sub(hn::BitCast(d, shifted), hn::Set(d, 0x1p23f + 8));
}
#endif

// int4 in at most 8 lanes. first: number of the first nibble, at its byte
template <int first, class D> HWY_INLINE hn::VFromD<D> load_nibbles(D d, const std::byte *at)
{
  constexpr int odd = first % 2;
  const hn::Rebind<std::uint32_t, D> words;
  const hn::Rebind<std::int32_t, D> ints;
  std::uint32_t word;
  std::memcpy(&word, at, sizeof(word));
  if constexpr (hn::MaxLanes(D()) <= 4) {
    // This avoids different shifts for different lanes: nibbles stay in place and are scaled
    // down.
    using T = hn::TFromD<D>;
    alignas(16) static constexpr std::uint32_t kMask[2][4] = {{0xf, 0xf0, 0xf00, 0xf000},
                                                              {0xf0, 0xf00, 0xf000, 0xf0000}};
    alignas(32) static constexpr T kScale[2][4] = {{1, T(0x1p-4), T(0x1p-8), T(0x1p-12)},
                                                   {T(0x1p-4), T(0x1p-8), T(0x1p-12), T(0x1p-16)}};
    const auto nibble = hn::And(hn::Set(words, word), hn::LoadU(words, kMask[odd]));
    return hn::MulAdd(from_int(d, hn::BitCast(ints, nibble)), hn::LoadU(d, kScale[odd]),
                      hn::Set(d, T(-8)));
  } else {
    alignas(32) static constexpr std::uint32_t kShift[2][8] = {{0, 4, 8, 12, 16, 20, 24, 28},
                                                               {4, 8, 12, 16, 20, 24, 28, 28}};
    const auto nibble =
        hn::And(hn::Shr(hn::Set(words, word), hn::LoadU(words, kShift[odd])), hn::Set(words, 15));
    return from_int(d, hn::Sub(hn::BitCast(ints, nibble), hn::Set(ints, 8)));
  }
}

// Loads the numbers first, first + 1, ... of a record. For int4, all lanes are valid, except that
// the last of 8 lanes is not valid if first is odd.
template <PCMCPIPrecision storage, int first, class D>
HWY_INLINE hn::VFromD<D> load_stored(D d, const std::byte *record_numbers)
{
  const std::byte *const at = record_numbers + byte_offset<storage>(first);
  if constexpr (storage == PC_MCPI_PRECISION_FP64) {
    return hn::LoadU(d, reinterpret_cast<const double *>(at));
  } else if constexpr (storage == PC_MCPI_PRECISION_FP32) {
    return from_float(d, hn::LoadU(hn::Rebind<float, D>(), reinterpret_cast<const float *>(at)));
  } else if constexpr (storage == PC_MCPI_PRECISION_FP16) {
    return load_fp16(d, at);
  } else if constexpr (storage == PC_MCPI_PRECISION_INT8) {
    const auto byte =
        hn::LoadU(hn::Rebind<std::int8_t, D>(), reinterpret_cast<const std::int8_t *>(at));
    return from_int(d, hn::PromoteTo(hn::Rebind<std::int32_t, D>(), byte));
#if HWY_TARGET == HWY_AVX3
  } else if constexpr (hn::MaxLanes(D()) == 16) {
    return load_nibbles_16<first>(d, record_numbers);
#endif
  } else {
    return load_nibbles<first>(d, at);
  }
}

// Returns 2^e for the exponent of a record.
template <typename T> HWY_INLINE T record_scale(const std::byte *record)
{
  return kPowersOfTwo<T>[std::to_integer<std::uint8_t>(record[0])];
}

} // namespace HWY_NAMESPACE
} // namespace mcpi
HWY_AFTER_NAMESPACE();
#endif
#endif
