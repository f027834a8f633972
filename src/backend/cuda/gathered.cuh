// The bfp16 copy of x: the rounded numbers of core/gather.h, stored as mantissas and an exponent
// for each block row and right-hand side.
#pragma once

#include "backend/device/shapes.h"
#include "core/gather.h"

namespace mcpi::cuda {
using namespace device;

// The bits of |value|, which compare like the values
__device__ __forceinline__ std::uint32_t magnitude(float value)
{
  return __float_as_uint(value) & 0x7fffffffU;
}

// The power of two by which a mantissa is multiplied
__device__ __forceinline__ float gather_quantum(int e)
{
  return __int_as_float((e + 112) << 23);
}

// How the values of one block row are rounded. largest: the bits of their largest magnitude.
struct Mantissas {
  bool finite;
  int exponent;

  __device__ __forceinline__ explicit Mantissas(std::uint32_t largest)
      : finite(largest < 0x7f800000U),
        exponent(finite ? max(static_cast<int>(largest >> 23) - 126, kMinGatherExponent)
                        : kGatherExponentNaN)
  {
  }
  // The mantissa of a value
  __device__ __forceinline__ int of(float value) const
  {
    return finite ? min(max(__float2int_rn(value * __int_as_float((142 - exponent) << 23)),
                            -kGatherLimit),
                        kGatherLimit)
                  : 0;
  }
};

__device__ __forceinline__ Mantissas mantissas_of(const float *x, int bs)
{
  std::uint32_t largest = 0;
#pragma unroll
  for (int i = 0; i < bs; ++i) largest = max(largest, magnitude(x[i]));
  return Mantissas(largest);
}

// Returns word w of the copy of one block row.
__device__ __forceinline__ std::uint32_t gathered_word(const Mantissas &mantissas, const float *x,
                                                       int bs, int w)
{
  const auto half = [&](int i) {
    return i > bs ? 0U
                  : static_cast<std::uint32_t>(i == bs ? mantissas.exponent
                                                       : mantissas.of(x[i < bs ? i : 0])) &
                        0xffffU;
  };
  return half(2 * w) | half(2 * w + 1) << 16U;
}

// Stores the copy of one block row, by one thread. size: bs if it is known at compile time,
// otherwise 0.
template <int size = 0>
__device__ __forceinline__ void store_gathered(std::uint32_t *gathered, std::size_t entry,
                                               int any_bs, const float *x)
{
  const int bs = size > 0 ? size : any_bs;
  const Mantissas mantissas = mantissas_of(x, bs);
  std::uint32_t *out = gathered + entry * static_cast<std::size_t>(gather_words(bs));
#pragma unroll
  for (int w = 0; w < gather_words(bs); ++w) out[w] = gathered_word(mantissas, x, bs, w);
}

// Stores the copy of one block row by bs neighboring threads of a warp, each with its component i.
// All threads of the warp must call it. Threads without a component pass mine = false.
template <int bs>
__device__ __forceinline__ void store_gathered_together(std::uint32_t *gathered, std::size_t entry,
                                                        unsigned i, float x, bool mine)
{
  const unsigned lane = threadIdx.x % kWarpSize;
  std::uint32_t largest = 0;
#pragma unroll
  for (unsigned j = 0; j < bs; ++j)
    largest = max(largest, __shfl_sync(~0U, magnitude(x), static_cast<int>(lane - i + j)));
  const Mantissas mantissas(largest);
  const std::uint32_t low = static_cast<std::uint32_t>(mantissas.of(x)) & 0xffffU,
                      next = __shfl_down_sync(~0U, low, 1),
                      exponent = static_cast<std::uint32_t>(mantissas.exponent) & 0xffffU;
  std::uint32_t *out = gathered + entry * static_cast<std::size_t>(gather_words(bs));
  if (mine && i % 2 == 0) out[i / 2] = low | (i + 1 < bs ? next : exponent) << 16U;
  if (bs % 2 == 0 && mine && i == 1) out[bs / 2] = exponent;
}

// The signed half of a word
__device__ __forceinline__ int low_half(std::uint32_t word)
{
  return static_cast<short>(word & 0xffffU);
}
__device__ __forceinline__ int high_half(std::uint32_t word)
{
  return static_cast<int>(word) >> 16;
}

// Converts a signed half to a float, exactly. As a float, 2^23 + (q + 2^15) has q + 2^15 in its
// last bits.
__device__ __forceinline__ float half_to_float(std::uint32_t word, int half)
{
  return __uint_as_float(__byte_perm(word ^ 0x80008000U, 0x4b000000U, half ? 0x7632U : 0x7610U)) -
         (8388608.0f + 32768.0f);
}

} // namespace mcpi::cuda
