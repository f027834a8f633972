// Rounds numbers to storage precision on the device. The results are those of core/codec.h.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "backend/device/shapes.h"

namespace mcpi::cuda {
using namespace device;

// The largest integer that is stored
template <PCMCPIPrecision storage> constexpr int integer_limit()
{
  return storage == PC_MCPI_PRECISION_INT8 ? kInt8Limit : kInt4Limit;
}

// Returns 2^e, for the exponents of normal doubles.
__device__ __forceinline__ double exact_power(int e)
{
  return __hiloint2double((e + 1023) << 20, 0);
}

// Returns the upper 32 bits of the least double that the storage precision cannot hold. The lower
// 32 bits are dropped.
template <PCMCPIPrecision storage> constexpr std::uint32_t overflow_from()
{
  switch (storage) {
  case PC_MCPI_PRECISION_FP64:
    return 0x7ff00000U;
  case PC_MCPI_PRECISION_FP32:
    return 0x47efffffU;
  case PC_MCPI_PRECISION_FP16:
    return 0x40effdffU;
  case PC_MCPI_PRECISION_BF16:
    return 0x47efefffU;
  case PC_MCPI_PRECISION_INT8:
    return 0x47dfc001U; // after 127 * 2^kMaxSharedExponent
  case PC_MCPI_PRECISION_INT4:
    return 0x479c0001U; // after 7 * 2^kMaxSharedExponent
  }
  return 0;
}
// The same for a pass that may not store: numbers that are not stored need only be finite.
template <PCMCPIPrecision storage> constexpr std::uint32_t overflow_from(bool store)
{
  return store ? overflow_from<storage>() : overflow_from<PC_MCPI_PRECISION_FP64>();
}

// Returns the stored bits, value_bits() many, of a number below overflow_from(). e: the exponent of
// integers. An integer beyond their range gets arbitrary bits.
template <PCMCPIPrecision storage>
__device__ __forceinline__ std::uint64_t number_bits(double value, int e)
{
  if constexpr (storage == PC_MCPI_PRECISION_FP64) {
    return static_cast<std::uint64_t>(__double_as_longlong(value));
  } else if constexpr (storage == PC_MCPI_PRECISION_FP32) {
    return __float_as_uint(static_cast<float>(value));
  } else if constexpr (storage == PC_MCPI_PRECISION_FP16) {
    return __half_as_ushort(__float2half_rn(static_cast<float>(value)));
  } else if constexpr (storage == PC_MCPI_PRECISION_BF16) {
    return __bfloat16_as_ushort(__float2bfloat16_rn(static_cast<float>(value)));
  } else {
    // The last bit of a double near 2^52 counts 1, so the addition rounds to an integer as a
    // conversion would. A conversion takes longer.
    constexpr double kOnes = 0x1.8p52 + (storage == PC_MCPI_PRECISION_INT8 ? 0 : kNibbleShift);
    return static_cast<std::uint32_t>(__double2loint(__fma_rn(value, exact_power(-e), kOnes))) &
           ((1U << value_bits(storage)) - 1U);
  }
}

// Puts the bits of number k into words that are zero there.
template <PCMCPIPrecision storage>
__device__ __forceinline__ void put_number(std::uint32_t *words, int k, std::uint64_t bits)
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

} // namespace mcpi::cuda
