// Numbers in storage precision, as core/codec.h has them; device side.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "backend/cuda/shapes.h"

namespace mcpi::cuda {

template <PCMCPIPrecision storage> constexpr int integer_limit()
{
  return storage == PC_MCPI_PRECISION_INT8 ? kInt8Limit : kInt4Limit;
}

// The power of two with exponent e, for the exponents of normal doubles
__device__ __forceinline__ double exact_power(int e)
{
  return __hiloint2double((e + 1023) << 20, 0);
}

// The exponent that integers of this storage share; false if there is none
template <PCMCPIPrecision storage> __device__ __forceinline__ bool shared_exponent_of(double max_abs, int &e)
{
  e = 0;
  if constexpr (has_exponent(storage)) {
    e = shared_exponent(max_abs, integer_limit<storage>());
    return max_abs <= integer_limit<storage>() * exact_power(e);
  }
  return true;
}

// Bits of a number; false if the format cannot hold it. e: of the integers
template <PCMCPIPrecision storage> __device__ __forceinline__ bool number_bits(double value, int e, std::uint64_t &bits)
{
  if constexpr (storage == PC_MCPI_PRECISION_FP64) {
    bits = static_cast<std::uint64_t>(__double_as_longlong(value));
    return isfinite(value);
  } else if constexpr (storage == PC_MCPI_PRECISION_FP32) {
    const float number = static_cast<float>(value);
    bits               = __float_as_uint(number);
    return isfinite(number);
  } else if constexpr (storage == PC_MCPI_PRECISION_FP16) {
    bits = __half_as_ushort(__float2half_rn(static_cast<float>(value)));
    return (bits & 0x7c00U) != 0x7c00U;
  } else if constexpr (storage == PC_MCPI_PRECISION_BF16) {
    bits = __bfloat16_as_ushort(__float2bfloat16_rn(static_cast<float>(value)));
    return (bits & 0x7f80U) != 0x7f80U;
  } else {
    const int q = __double2int_rn(value * exact_power(-e));
    bits        = storage == PC_MCPI_PRECISION_INT8 ? static_cast<std::uint8_t>(q) : static_cast<std::uint8_t>(q + kNibbleShift);
    return true;
  }
}

// Into words that are zero
template <PCMCPIPrecision storage> __device__ __forceinline__ void put_number(std::uint32_t *words, int k, std::uint64_t bits)
{
  constexpr int size = value_bits(storage);
  if constexpr (size == 64) {
    words[2 * k]     = static_cast<std::uint32_t>(bits);
    words[2 * k + 1] = static_cast<std::uint32_t>(bits >> 32U);
  } else {
    constexpr int per_word = 32 / size;
    words[k / per_word] |= static_cast<std::uint32_t>(bits) << (size * (k % per_word));
  }
}

} // namespace mcpi::cuda
