// Reads stored numbers out of the 32-bit words that a thread has loaded. Number and word indices
// are compile-time constants wherever loops are unrolled.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "backend/device/shapes.h"

namespace mcpi::cuda {
using namespace device;

// Returns number k of the words. Integers are returned without their power of two.
template <PCMCPIPrecision storage, class T>
__device__ __forceinline__ T number(const std::uint32_t *words, int k)
{
  if constexpr (storage == PC_MCPI_PRECISION_FP64) {
    return static_cast<T>(
        __hiloint2double(static_cast<int>(words[2 * k + 1]), static_cast<int>(words[2 * k])));
  } else if constexpr (storage == PC_MCPI_PRECISION_FP32) {
    return static_cast<T>(__uint_as_float(words[k]));
  } else if constexpr (storage == PC_MCPI_PRECISION_FP16) {
    const __half_raw raw{static_cast<unsigned short>(words[k / 2] >> (16 * (k % 2)))};
    return static_cast<T>(__half2float(__half(raw)));
  } else if constexpr (storage == PC_MCPI_PRECISION_BF16) {
    return static_cast<T>(__uint_as_float(k % 2 ? words[k / 2] & 0xffff0000U : words[k / 2] << 16));
  } else if constexpr (storage == PC_MCPI_PRECISION_INT8) {
    // As a float, 2^23 + (q + 128) has q + 128 in its last bits. A byte permutation and a
    // subtraction therefore convert.
    const std::uint32_t biased = words[k / 4] ^ 0x80808080U;
    return static_cast<T>(
        __uint_as_float(__byte_perm(biased, 0x4b000000U, 0x7440U + static_cast<unsigned>(k % 4))) -
        (8388608.0f + 128.0f));
  } else {
    const std::uint32_t nibble = words[k / 8] >> (4 * (k % 8)) & 15U;
    return static_cast<T>(__uint_as_float(nibble | 0x4b000000U) - (8388608.0f + 8.0f));
  }
}

// Returns 2^e, which must be a normal number.
template <class T> __device__ __forceinline__ T power_of_two(int e)
{
  if constexpr (sizeof(T) == sizeof(float))
    return __int_as_float((e + 127) << 23);
  else
    return __hiloint2double((e + 1023) << 20, 0);
}

} // namespace mcpi::cuda
