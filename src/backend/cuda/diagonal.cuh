// Inverse diagonal blocks and their products with vectors. Blocks are column-major and in plan
// order. A block is bs*bs doubles, or, if narrow, bs*bs floats and a word with the exponent of the
// power of two by which they are multiplied. Narrow blocks take half the bytes and suit any units,
// since each block has its own power of two.
#pragma once

#include <cstddef>
#include <type_traits>

#include "backend/cuda/decode.cuh"

namespace mcpi::cuda {

// Returns component i of a row's block, or of its transpose, times v, whose components are v(0),
// v(1), ... size: bs if it is known at compile time, otherwise 0.
template <int size, bool narrow, class V>
__device__ __forceinline__ double diagonal_product(const void *diagonal, std::size_t row, int bs,
                                                   int i, bool transposed, const V &v)
{
  using Stored = std::conditional_t<narrow, float, double>;
  if constexpr (size > 0) bs = size;
  const Stored *block = static_cast<const Stored *>(diagonal) +
                        row * static_cast<std::size_t>(bs * bs + (narrow ? 1 : 0));
  const int first = transposed ? i * bs : i, step = transposed ? 1 : bs;
  double sum = 0.0;
#pragma unroll
  for (int j = 0; j < bs; ++j)
    sum += static_cast<double>(block[first + j * step]) * static_cast<double>(v(j));
  if constexpr (narrow) sum *= power_of_two<double>(__float_as_int(block[bs * bs]));
  return sum;
}

// Returns a component of a right-hand side times the power of two of its row's narrow block.
template <int size>
__device__ __forceinline__ float counted(const void *diagonal, std::size_t row, double value)
{
  const float *block =
      static_cast<const float *>(diagonal) + row * static_cast<std::size_t>(size * size + 1);
  return static_cast<float>(value * power_of_two<double>(__float_as_int(block[size * size])));
}

// Returns component i of a narrow block times a right-hand side, computed in float. A conversion of
// each stored number to double would cost as much as four products. The result is not finite if a
// term exceeds the range of float, even if the sum does not. The caller then calls
// diagonal_product().
template <int size, class V>
__device__ __forceinline__ float narrow_product(const void *diagonal, std::size_t row, int i,
                                                const V &counted_value)
{
  const float *block =
      static_cast<const float *>(diagonal) + row * static_cast<std::size_t>(size * size + 1);
  float sum = 0.0F;
#pragma unroll
  for (int j = 0; j < size; ++j) sum += block[j * size + i] * counted_value(j);
  return sum;
}

} // namespace mcpi::cuda
