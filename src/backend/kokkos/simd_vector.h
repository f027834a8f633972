// SimdVector: 64 bytes of numbers, one for each row of a tile. It consists of as many SIMD vectors
// as the CPU needs for 64 bytes. Uses the vector extensions of GCC, Clang and related compilers.
#pragma once

#include <cstring>
#include <utility>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "backend/kokkos/numbers.h"

namespace mcpi::kokkos {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class Number, int count> struct VectorOf {
  typedef Number Type __attribute__((vector_size(count * sizeof(Number))));
};
template <class Number, int count> using Vector = typename VectorOf<Number, count>::Type;

template <class T> struct SimdVector {
  static constexpr int each = kVectorBytes / static_cast<int>(sizeof(T)), parts = 64 / kVectorBytes;
  Vector<T, each> part[parts] = {};
};

template <class To, int count, class From>
KOKKOS_FORCEINLINE_FUNCTION Vector<To, count> converted(const From &from)
{
  return __builtin_convertvector(from, Vector<To, count>);
}
template <class Number, int count>
KOKKOS_FORCEINLINE_FUNCTION Vector<Number, count> loaded(const Number *from)
{
  Vector<Number, count> v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}
template <int count>
KOKKOS_FORCEINLINE_FUNCTION Vector<float, count> as_floats(Vector<std::uint32_t, count> bits)
{
  return reinterpret_cast<Vector<float, count>>(bits);
}

// Converts fp16 numbers as half_from_bits() does. CPUs that have an instruction for it use that.
template <int count>
KOKKOS_FORCEINLINE_FUNCTION Vector<float, count> halves(const std::uint16_t *from)
{
#if defined(__AVX512F__)
  if constexpr (count == 16)
    return reinterpret_cast<Vector<float, count>>(
        _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from))));
#endif
#if defined(__F16C__)
  if constexpr (count == 8)
    return reinterpret_cast<Vector<float, count>>(
        _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(from))));
#endif
  constexpr std::uint32_t kRebias = (127U - 15U) << 23, kNormal = 1U << 23;
  const Vector<std::uint32_t, count> bits = converted<std::uint32_t, count>(
                                         loaded<std::uint16_t, count>(from)),
                                     magnitude = (bits & 0x7fffU) << 13,
                                     sign = (bits & 0x8000U) << 16, normal = magnitude + kRebias;
  const auto denormal =
      reinterpret_cast<Vector<std::uint32_t, count>>(as_floats<count>(normal + kNormal) - 0x1p-14f);
  const auto small = reinterpret_cast<Vector<std::uint32_t, count>>(
      reinterpret_cast<Vector<std::int32_t, count>>(magnitude) <
      static_cast<std::int32_t>(kNormal));
  return as_floats<count>((small & denormal) | (~small & normal) | sign);
}

// Returns number n of the stored blocks of one step, for all lanes.
template <PCMCPIPrecision storage, class T>
KOKKOS_FORCEINLINE_FUNCTION SimdVector<T> stored_numbers(const std::byte *numbers, int n)
{
  constexpr int lanes = kLanes<T>, each = SimdVector<T>::each;
  SimdVector<T> result;
#pragma GCC unroll 8
  for (int p = 0; p < SimdVector<T>::parts; ++p) {
    const std::byte *at = numbers + p * each * static_cast<int>(sizeof(Raw<storage>)) +
                          (storage == PC_MCPI_PRECISION_INT4 ? n / 2 : n) * lanes *
                              static_cast<int>(sizeof(Raw<storage>));
    const auto *raw = reinterpret_cast<const Raw<storage> *>(at);
    if constexpr (storage == PC_MCPI_PRECISION_FP64 || storage == PC_MCPI_PRECISION_FP32) {
      result.part[p] = converted<T, each>(loaded<Raw<storage>, each>(raw));
    } else if constexpr (storage == PC_MCPI_PRECISION_FP16) {
      result.part[p] = converted<T, each>(halves<each>(raw));
    } else if constexpr (storage == PC_MCPI_PRECISION_BF16) {
      result.part[p] = converted<T, each>(
          as_floats<each>(converted<std::uint32_t, each>(loaded<std::uint16_t, each>(raw)) << 16));
    } else if constexpr (storage == PC_MCPI_PRECISION_INT8) {
      result.part[p] = converted<T, each>(converted<std::int32_t, each>(
          loaded<std::int8_t, each>(reinterpret_cast<const std::int8_t *>(raw))));
    } else {
      const auto two = converted<std::int32_t, each>(loaded<std::uint8_t, each>(raw));
      result.part[p] = converted<T, each>((n % 2 ? two >> 4 : two & 15) - kNibbleShift);
    }
  }
  return result;
}

// Returns a vector with value(l) in lane l.
template <class T, class Value>
KOKKOS_FORCEINLINE_FUNCTION SimdVector<T> gathered(const Value &value)
{
  constexpr int each = SimdVector<T>::each;
  SimdVector<T> result;
#pragma GCC unroll 8
  for (int p = 0; p < SimdVector<T>::parts; ++p)
    result.part[p] = [&]<int... e>(std::integer_sequence<int, e...>)
    {
      return Vector<T, each>{value(p * each + e)...};
    }
  (std::make_integer_sequence<int, each>());
  return result;
}

template <class T>
KOKKOS_FORCEINLINE_FUNCTION void multiply_add(SimdVector<T> &sum, const SimdVector<T> &a,
                                              const SimdVector<T> &b)
{
#pragma GCC unroll 8
  for (int p = 0; p < SimdVector<T>::parts; ++p) sum.part[p] += a.part[p] * b.part[p];
}

} // namespace mcpi::kokkos
