// Reads, rounds and writes stored numbers, on hosts and on devices. The results are those of
// core/codec.cxx.
#pragma once

#include <cfloat>

#include "backend/kokkos/spaces.h"

namespace mcpi::kokkos {

template <PCMCPIPrecision storage> struct RawOf {
  using Type = std::uint8_t;
};
template <> struct RawOf<PC_MCPI_PRECISION_FP64> {
  using Type = double;
};
template <> struct RawOf<PC_MCPI_PRECISION_FP32> {
  using Type = float;
};
template <> struct RawOf<PC_MCPI_PRECISION_FP16> {
  using Type = std::uint16_t;
};
template <> struct RawOf<PC_MCPI_PRECISION_BF16> {
  using Type = std::uint16_t;
};
template <PCMCPIPrecision storage> using Raw = typename RawOf<storage>::Type;

KOKKOS_INLINE_FUNCTION float as_float(std::uint32_t bits)
{
  return Kokkos::bit_cast<float>(bits);
}

// Converts a finite fp16 number by integer arithmetic, which compilers vectorize.
KOKKOS_INLINE_FUNCTION float half_from_bits(std::uint16_t bits)
{
  constexpr std::uint32_t kRebias = (127U - 15U) << 23, kNormal = 1U << 23;
  const std::uint32_t magnitude = (bits & 0x7fffU) << 13;
  const float denormal = as_float(magnitude + kRebias + kNormal) - 0x1p-14f,
              normal = as_float(magnitude + kRebias);
  const std::uint32_t value =
      Kokkos::bit_cast<std::uint32_t>(magnitude < kNormal ? denormal : normal);
  return as_float(value | (bits & 0x8000U) << 16);
}
// Converts a finite fp16 number. Devices have an instruction for it, if Kokkos has the type.
KOKKOS_INLINE_FUNCTION float half_to_float(std::uint16_t bits)
{
#if defined(KOKKOS_HALF_T_IS_FLOAT) && !KOKKOS_HALF_T_IS_FLOAT
  KOKKOS_IF_ON_DEVICE((return Kokkos::Experimental::cast_from_half<float>(
                                  Kokkos::bit_cast<Kokkos::Experimental::half_t>(bits));))
  KOKKOS_IF_ON_HOST((return half_from_bits(bits);))
#else
  return half_from_bits(bits);
#endif
}

// Converts a stored number. Integers are returned without their power of two.
template <PCMCPIPrecision storage, class T> KOKKOS_INLINE_FUNCTION T decoded(Raw<storage> raw)
{
  if constexpr (storage == PC_MCPI_PRECISION_FP16)
    return static_cast<T>(half_to_float(raw));
  else if constexpr (storage == PC_MCPI_PRECISION_BF16)
    return static_cast<T>(as_float(static_cast<std::uint32_t>(raw) << 16));
  else if constexpr (storage == PC_MCPI_PRECISION_INT8)
    return static_cast<T>(static_cast<std::int8_t>(raw));
  else if constexpr (storage == PC_MCPI_PRECISION_INT4)
    return static_cast<T>(static_cast<int>(raw) - kNibbleShift);
  else
    return static_cast<T>(raw);
}

// Returns number k of the words that a thread has loaded.
template <PCMCPIPrecision storage, class T>
KOKKOS_INLINE_FUNCTION T number(const std::uint32_t *words, int k)
{
  if constexpr (storage == PC_MCPI_PRECISION_FP64)
    return static_cast<T>(Kokkos::bit_cast<double>(
        static_cast<std::uint64_t>(words[2 * k + 1]) << 32 | words[2 * k]));
  else if constexpr (storage == PC_MCPI_PRECISION_FP32)
    return static_cast<T>(as_float(words[k]));
  else if constexpr (storage == PC_MCPI_PRECISION_BF16)
    return static_cast<T>(as_float(k % 2 ? words[k / 2] & 0xffff0000U : words[k / 2] << 16));
  else if constexpr (storage == PC_MCPI_PRECISION_FP16)
    return decoded<storage, T>(static_cast<std::uint16_t>(words[k / 2] >> (16 * (k % 2))));
  else if constexpr (storage == PC_MCPI_PRECISION_INT8)
    // As a float, 2^23 + (q + 128) has q + 128 in its last bits.
    return static_cast<T>(as_float((words[k / 4] >> (8 * (k % 4)) & 255U) ^ 0x4b000080U) -
                          (8388608.0f + 128.0f));
  else
    return static_cast<T>(as_float((words[k / 8] >> (4 * (k % 8)) & 15U) | 0x4b000000U) -
                          (8388608.0f + 8.0f));
}

// Returns 2^e, which must be a normal number.
template <class T> KOKKOS_INLINE_FUNCTION T power_of_two(int e)
{
  if constexpr (sizeof(T) == sizeof(float))
    return as_float(static_cast<std::uint32_t>(e + 127) << 23);
  else
    return Kokkos::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
}

// Rounds to fp16, which has 11 binary digits; ties go to even. What overflows becomes Inf. NaN
// stays NaN.
KOKKOS_INLINE_FUNCTION std::uint16_t to_half(double value)
{
  const std::uint32_t bits = Kokkos::bit_cast<std::uint32_t>(static_cast<float>(value)),
                      sign = bits >> 16 & 0x8000U, magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U);
  if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);
  if (magnitude < 0x38800000U) {
    // Denormal results are multiples of 2^-24. Added to 0.5, they become its last digits.
    const float quanta = as_float(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign |
                                      (Kokkos::bit_cast<std::uint32_t>(quanta) - 0x3f000000U));
  }
  const std::uint32_t rounded = magnitude + 0xfffU + (magnitude >> 13 & 1U);
  return static_cast<std::uint16_t>(sign | (rounded - ((127U - 15U) << 23)) >> 13);
}

// Rounds to bf16; ties go to even.
KOKKOS_INLINE_FUNCTION std::uint16_t to_bfloat(double value)
{
  const std::uint32_t bits = Kokkos::bit_cast<std::uint32_t>(static_cast<float>(value));
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

// Rounds to the nearest integer; ties go to even. |value| must be below 2^50.
KOKKOS_INLINE_FUNCTION int nearest(double value)
{
  constexpr double kToInteger = 0x1.8p52;
  return static_cast<int>(
      static_cast<std::int32_t>(Kokkos::bit_cast<std::uint64_t>(value + kToInteger) & 0xffffffffU));
}

KOKKOS_INLINE_FUNCTION bool is_finite(double value)
{
  return (Kokkos::bit_cast<std::uint64_t>(value) >> 52 & 0x7ffU) != 0x7ffU;
}

// Returns the number as it is stored. inverse_quantum: the inverse of the block's power of two, for
// integers. good: set to false if the number does not fit.
template <PCMCPIPrecision storage>
KOKKOS_INLINE_FUNCTION Raw<storage> encoded(double value, double inverse_quantum, bool &good)
{
  if constexpr (storage == PC_MCPI_PRECISION_FP64) {
    good = good && is_finite(value);
    return value;
  } else if constexpr (storage == PC_MCPI_PRECISION_FP32) {
    const float number = static_cast<float>(value);
    good = good && is_finite(static_cast<double>(number));
    return number;
  } else if constexpr (storage == PC_MCPI_PRECISION_FP16) {
    const std::uint16_t number = to_half(value);
    good = good && (number & 0x7c00U) != 0x7c00U;
    return number;
  } else if constexpr (storage == PC_MCPI_PRECISION_BF16) {
    const std::uint16_t number = to_bfloat(value);
    good = good && (number & 0x7f80U) != 0x7f80U;
    return number;
  } else if constexpr (storage == PC_MCPI_PRECISION_INT8) {
    return static_cast<std::uint8_t>(static_cast<std::int8_t>(nearest(value * inverse_quantum)));
  } else {
    return static_cast<std::uint8_t>(nearest(value * inverse_quantum) + kNibbleShift);
  }
}

// Places of numbers in memory

// Returns the byte that holds number (i, j) of a block, or its first byte. high: whether a nibble
// is the upper one of its byte.
KOKKOS_INLINE_FUNCTION std::byte *number_at(const Shape &shape, std::byte *blocks, const Slot &slot,
                                            int i, int j, bool &high)
{
  const auto lanes = static_cast<std::size_t>(shape.lanes),
             bits = static_cast<std::size_t>(shape.bits);
  std::byte *base = blocks + slot.base;
  if (shape.kind == LayoutKind::records) {
    const std::size_t n = shape.in_record(i, j) * bits;
    high = n % 8 != 0;
    return base + (shape.exponents() ? 1 : 0) + n / 8;
  }
  if (shape.kind == LayoutKind::sell) {
    const std::size_t n = (static_cast<std::size_t>(j) * static_cast<std::size_t>(shape.bs) +
                           static_cast<std::size_t>(i)) *
                          bits;
    high = n % 8 != 0;
    return base + shape.step_numbers() + n / 8 * lanes + slot.place * (bits < 8 ? 1 : bits / 8);
  }
  const int columns = shape.slice.columns;
  const std::size_t n = static_cast<std::size_t>(j % columns * shape.bs + i) * bits;
  high = n % 8 != 0;
  return base + device::slice_byte(shape.slice, slot.count,
                                   slot.place + static_cast<std::size_t>(j / columns),
                                   static_cast<int>(n / 8));
}

// Returns the byte that holds a block's exponent. part: which slice of a block that has several.
KOKKOS_INLINE_FUNCTION std::byte *exponent_at(const Shape &shape, std::byte *blocks,
                                              const Slot &slot, int part)
{
  std::byte *base = blocks + slot.base;
  if (shape.kind == LayoutKind::records) return base;
  if (shape.kind == LayoutKind::sell)
    return base + static_cast<std::size_t>(shape.lanes) * sizeof(Row) + slot.place;
  return base + device::slice_byte(shape.slice, slot.count,
                                   slot.place + static_cast<std::size_t>(part),
                                   shape.slice.numbers);
}
// How many times a block's exponent is stored: once for each slice.
KOKKOS_INLINE_FUNCTION int exponent_copies(const Shape &shape)
{
  return shape.kind == LayoutKind::slices ? shape.slice.slices : 1;
}

// Writes number (i, j) of a block. The other nibble of its byte stays.
template <PCMCPIPrecision storage>
KOKKOS_INLINE_FUNCTION void put_number(const Shape &shape, std::byte *blocks, const Slot &slot,
                                       int i, int j, Raw<storage> raw)
{
  bool high = false;
  std::byte *at = number_at(shape, blocks, slot, i, j, high);
  if constexpr (storage == PC_MCPI_PRECISION_INT4)
    *at = high ? (*at & std::byte{15}) | static_cast<std::byte>(raw << 4)
               : (*at & std::byte{240}) | static_cast<std::byte>(raw);
  else
    *reinterpret_cast<Raw<storage> *>(at) = raw;
}

template <PCMCPIPrecision storage>
KOKKOS_INLINE_FUNCTION Raw<storage> get_number(const Shape &shape, const std::byte *blocks,
                                               const Slot &slot, int i, int j)
{
  bool high = false;
  const std::byte *at = number_at(shape, const_cast<std::byte *>(blocks), slot, i, j, high);
  if constexpr (storage == PC_MCPI_PRECISION_INT4)
    return static_cast<std::uint8_t>(high ? *at >> 4 : *at & std::byte{15});
  else
    return *reinterpret_cast<const Raw<storage> *>(at);
}

} // namespace mcpi::kokkos
