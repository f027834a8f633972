// x as bfp16 gathers read it: the numbers of core/gather.h, kept as integers.
#pragma once

#include "backend/cuda/shapes.h"
#include "core/gather.h"

namespace mcpi::cuda {

__device__ __forceinline__ std::uint32_t magnitude(float value)
{
  return __float_as_uint(value) & 0x7fffffffU;
}

// The power of two that a mantissa counts
__device__ __forceinline__ float gather_quantum(int e)
{
  return __int_as_float((e + 112) << 23);
}

// How the values of one block row are rounded. size: bs where it is known
struct Mantissas {
  bool finite;
  int  exponent;

  template <int size = 0> __device__ __forceinline__ static Mantissas make(const float *x, int bs)
  {
    constexpr std::uint32_t kInf    = 0x7f800000U;
    std::uint32_t           largest = 0;
#pragma unroll
    for (int i = 0; i < (size > 0 ? size : bs); ++i) largest = max(largest, magnitude(x[i]));
    const bool finite = largest < kInf;
    return {finite, finite ? max(static_cast<int>(largest >> 23) - 126, kMinGatherExponent) : kGatherExponentNaN};
  }
  __device__ __forceinline__ int of(float value) const
  {
    return finite ? min(max(__float2int_rn(value * __int_as_float((142 - exponent) << 23)), -kGatherLimit), kGatherLimit) : 0;
  }
};

// The copy of one block row
template <int size = 0> __device__ __forceinline__ void store_gathered(std::uint32_t *gathered, std::size_t entry, int bs, const float *x)
{
  const int       n         = size > 0 ? size : bs;
  const Mantissas mantissas = Mantissas::make<size>(x, bs);
  const auto      half      = [&](int i) {
    return i > n ? 0U : static_cast<std::uint32_t>(i == n ? mantissas.exponent : mantissas.of(x[i < n ? i : 0])) & 0xffffU;
  };
  std::uint32_t *out = gathered + entry * static_cast<std::size_t>(gather_words(n));
#pragma unroll
  for (int w = 0; w < gather_words(n); ++w) out[w] = half(2 * w) | half(2 * w + 1) << 16U;
}

__device__ __forceinline__ int low_half(std::uint32_t word)
{
  return static_cast<short>(word & 0xffffU);
}
__device__ __forceinline__ int high_half(std::uint32_t word)
{
  return static_cast<int>(word) >> 16;
}

// A signed half as a float, exact: 2^23 + (q + 2^15) has its digits in the last bits
__device__ __forceinline__ float half_to_float(std::uint32_t word, int half)
{
  return __uint_as_float(__byte_perm(word ^ 0x80008000U, 0x4b000000U, half ? 0x7632U : 0x7610U)) - (8388608.0f + 32768.0f);
}

} // namespace mcpi::cuda
