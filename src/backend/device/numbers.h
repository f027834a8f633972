// Stored numbers on hosts and devices: reads them from the 32-bit words that a thread has loaded,
// and rounds numbers to storage precision. The results are those of core/codec.cxx. Number and word
// indices are compile-time constants wherever loops are unrolled.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#if defined(__CUDACC__)
#include <cuda_fp16.h>
#endif

#include "backend/device/shapes.h"
#include "core/powers_of_two.h"

// How functions are declared that host and device code share: with nvcc, with Kokkos' compilers for
// devices, and with a compiler for hosts.
//
// MCPI_HD: a function for hosts and devices. MCPI_UNROLL stands before loops whose indices must be
// constants, so that arrays of a device's thread stay in registers. A host's arrays are in memory
// anyway. MCPI_UNROLL_BY(n): n rounds of the loop together, on a device.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define MCPI_HD __host__ __device__ __forceinline__
#else
#define MCPI_HD inline __attribute__((always_inline))
#endif
// MCPI_HD_FOR_ALL stands before templates of such functions that call functions of their arguments'
// types, which may be for devices only.
#if defined(__CUDACC__)
#define MCPI_HD_FOR_ALL _Pragma("nv_exec_check_disable")
#else
#define MCPI_HD_FOR_ALL
#endif
#define MCPI_PRAGMA(text) _Pragma(#text)
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define MCPI_UNROLL _Pragma("unroll")
#define MCPI_UNROLL_BY(n) MCPI_PRAGMA(unroll n)
#elif defined(__clang__)
#define MCPI_UNROLL _Pragma("unroll")
#define MCPI_UNROLL_BY(n)
#else
#define MCPI_UNROLL
#define MCPI_UNROLL_BY(n)
#endif

namespace mcpi::device {

MCPI_HD float as_float(std::uint32_t bits)
{
  return std::bit_cast<float>(bits);
}

MCPI_HD bool is_finite(double value)
{
#if defined(__CUDA_ARCH__)
  return isfinite(value);
#else
  return (std::bit_cast<std::uint64_t>(value) >> 52 & 0x7ffU) != 0x7ffU;
#endif
}

// Reading

// Converts a finite fp16 number by integer arithmetic, which compilers for CPUs vectorize. Devices
// have an instruction for it.
MCPI_HD float half_to_float(std::uint16_t bits)
{
#if defined(__CUDA_ARCH__)
  return __half2float(__half(__half_raw{bits}));
#elif defined(__HIP_DEVICE_COMPILE__) || defined(__SYCL_DEVICE_ONLY__)
  return static_cast<float>(std::bit_cast<_Float16>(bits));
#else
  constexpr std::uint32_t kRebias = (127U - 15U) << 23, kNormal = 1U << 23;
  const std::uint32_t magnitude = (bits & 0x7fffU) << 13;
  const float denormal = as_float(magnitude + kRebias + kNormal) - 0x1p-14f,
              normal = as_float(magnitude + kRebias);
  const std::uint32_t value = std::bit_cast<std::uint32_t>(magnitude < kNormal ? denormal : normal);
  return as_float(value | (bits & 0x8000U) << 16);
#endif
}

// The type of a stored number in memory; for nibbles, that of two of them.
template <PCMCPIPrecision storage>
using Raw = std::conditional_t<
    storage == PC_MCPI_PRECISION_FP64, double,
    std::conditional_t<storage == PC_MCPI_PRECISION_FP32, float,
                       std::conditional_t<value_bits(storage) == 16, std::uint16_t, std::uint8_t>>>;
// The bits of such a number
template <PCMCPIPrecision storage>
using Bits =
    std::conditional_t<value_bits(storage) == 64, std::uint64_t,
                       std::conditional_t<value_bits(storage) == 32, std::uint32_t, Raw<storage>>>;

// Converts a stored number. Integers are returned without their power of two.
template <PCMCPIPrecision storage, class T> MCPI_HD T decoded(Raw<storage> raw)
{
  if constexpr (storage == PC_MCPI_PRECISION_FP16)
    return static_cast<T>(half_to_float(raw));
  else if constexpr (storage == PC_MCPI_PRECISION_INT8)
    return static_cast<T>(static_cast<std::int8_t>(raw));
  else if constexpr (storage == PC_MCPI_PRECISION_INT4)
    return static_cast<T>(static_cast<int>(raw) - kNibbleShift);
  else
    return static_cast<T>(raw);
}

// Returns number k of the words. Integers are returned without their power of two. As a float,
// 2^23 + n has the integer n in its last bits, so a subtraction converts it.
template <PCMCPIPrecision storage, class T> MCPI_HD T number(const std::uint32_t *words, int k)
{
  if constexpr (storage == PC_MCPI_PRECISION_FP64) {
    return static_cast<T>(
        std::bit_cast<double>(static_cast<std::uint64_t>(words[2 * k + 1]) << 32 | words[2 * k]));
  } else if constexpr (storage == PC_MCPI_PRECISION_FP32) {
    return static_cast<T>(as_float(words[k]));
  } else if constexpr (storage == PC_MCPI_PRECISION_FP16) {
    return decoded<storage, T>(static_cast<std::uint16_t>(words[k / 2] >> (16 * (k % 2))));
  } else if constexpr (storage == PC_MCPI_PRECISION_INT8) {
#if defined(__CUDA_ARCH__) // one byte permutation
    const std::uint32_t bits = __byte_perm(words[k / 4] ^ 0x80808080U, 0x4b000000U,
                                           0x7440U + static_cast<unsigned>(k % 4));
#else
    const std::uint32_t bits = (words[k / 4] >> (8 * (k % 4)) & 255U) ^ 0x4b000080U;
#endif
    return static_cast<T>(as_float(bits) - (8388608.0f + 128.0f));
  } else {
    const std::uint32_t nibble = words[k / 8] >> (4 * (k % 8)) & 15U;
    return static_cast<T>(as_float(nibble | 0x4b000000U) - (8388608.0f + 8.0f));
  }
}

// Rounding

// Returns the upper 32 bits of the least double that the storage precision cannot hold. The lower
// 32 bits are dropped. store: whether numbers are stored. If not, they need only be finite.
template <PCMCPIPrecision storage> constexpr std::uint32_t overflow_from(bool store)
{
  if (!store) return 0x7ff00000U;
  switch (storage) {
  case PC_MCPI_PRECISION_FP64:
    return 0x7ff00000U;
  case PC_MCPI_PRECISION_FP32:
    return 0x47efffffU;
  case PC_MCPI_PRECISION_FP16:
    return 0x40effdffU;
  case PC_MCPI_PRECISION_INT8:
    return 0x47dfc001U; // after 127 * 2^kMaxSharedExponent
  case PC_MCPI_PRECISION_INT4:
    return 0x479c0001U; // after 7 * 2^kMaxSharedExponent
  case PC_MCPI_PRECISION_AUTO:
    break;
  }
  return 0;
}

// Rounds a number that fp16 can hold; ties go to even.
MCPI_HD std::uint16_t to_half(float value)
{
#if defined(__CUDA_ARCH__)
  return __half_as_ushort(__float2half_rn(value));
#else
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value), sign = bits >> 16 & 0x8000U,
                      magnitude = bits & 0x7fffffffU;
  if (magnitude < 0x38800000U) {
    // Denormal results are multiples of 2^-24. Added to 0.5, they become its last digits.
    const float quanta = as_float(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(quanta) - 0x3f000000U));
  }
  const std::uint32_t rounded = magnitude + 0xfffU + (magnitude >> 13 & 1U);
  return static_cast<std::uint16_t>(sign | (rounded - ((127U - 15U) << 23)) >> 13);
#endif
}

// Returns the stored bits, value_bits() many, of a number below overflow_from(). e: the exponent of
// integers. An integer beyond their range gets arbitrary bits.
template <PCMCPIPrecision storage> MCPI_HD std::uint64_t number_bits(double value, int e)
{
  if constexpr (storage == PC_MCPI_PRECISION_FP64) {
    return std::bit_cast<std::uint64_t>(value);
  } else if constexpr (storage == PC_MCPI_PRECISION_FP32) {
    return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  } else if constexpr (storage == PC_MCPI_PRECISION_FP16) {
    return to_half(static_cast<float>(value));
  } else {
    // The last bit of a double near 2^52 counts 1, so the addition rounds to an integer as a
    // conversion would. A conversion takes longer. The product with a power of two is exact.
    constexpr double kOnes = 0x1.8p52 + (storage == PC_MCPI_PRECISION_INT8 ? 0 : kNibbleShift);
    const double sum = value * power_of_two<double>(-e) + kOnes;
    return static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(sum)) &
           ((1U << value_bits(storage)) - 1U);
  }
}

// Puts the bits of number k into words that are zero there.
template <PCMCPIPrecision storage>
MCPI_HD void put_number(std::uint32_t *words, int k, std::uint64_t bits)
{
  constexpr int size = value_bits(storage);
  if constexpr (size == 64) {
    words[2 * k] = static_cast<std::uint32_t>(bits);
    words[2 * k + 1] = static_cast<std::uint32_t>(bits >> 32U);
  } else {
    constexpr int per_word = 32 / size;
    words[k / per_word] |= static_cast<std::uint32_t>(bits) << (size * (k % per_word));
  }
}

} // namespace mcpi::device
