// Numbers in storage precision, as core/codec.h has them; device side.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "backend/device/shapes.h"

namespace mcpi::cuda {
using namespace device;

template <PCMCPIPrecision storage> constexpr int integer_limit()
{
  return storage == PC_MCPI_PRECISION_INT8 ? kInt8Limit : kInt4Limit;
}

// The power of two with exponent e, for the exponents of normal doubles
__device__ __forceinline__ double exact_power(int e)
{
  return __hiloint2double((e + 1023) << 20, 0);
}

// The upper word of the least double that the storage cannot hold, rounded down
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
    return 0x47dfc001U; // 127 * 2^kMaxSharedExponent, the next one
  case PC_MCPI_PRECISION_INT4:
    return 0x479c0001U; // 7 * 2^kMaxSharedExponent, the next one
  }
  return 0;
}
// Numbers that are not stored need only be finite.
template <PCMCPIPrecision storage> constexpr std::uint32_t overflow_from(bool store)
{
  return store ? overflow_from<storage>() : overflow_from<PC_MCPI_PRECISION_FP64>();
}

// Bits of a number below that, as many as value_bits() says. e: of the integers; what is beyond
// their range gets any bits
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
    // a double whose last bit counts 1 rounds the sum as a conversion would, which takes longer
    constexpr double kOnes = 0x1.8p52 + (storage == PC_MCPI_PRECISION_INT8 ? 0 : kNibbleShift);
    return static_cast<std::uint32_t>(__double2loint(__fma_rn(value, exact_power(-e), kOnes))) &
           ((1U << value_bits(storage)) - 1U);
  }
}

// Into words that are zero
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
