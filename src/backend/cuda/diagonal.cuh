// Inverse diagonal blocks, column-major, in plan order: doubles, or (narrow) floats and behind them
// the power of two that they count: half the bytes, and a range for any units, since each block has
// a power of its own.
#pragma once

#include <cstddef>
#include <type_traits>

#include "backend/cuda/decode.cuh"

namespace mcpi::cuda {

// Component i of a row's block, or of its transpose, times v, whose components are v(0), v(1), ...
// size: bs where it is known
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

// A component of a right-hand side in what the power of two of its row's narrow block counts
template <int size>
__device__ __forceinline__ float counted(const void *diagonal, std::size_t row, double value)
{
  const float *block =
      static_cast<const float *>(diagonal) + row * static_cast<std::size_t>(size * size + 1);
  return static_cast<float>(value * power_of_two<double>(__float_as_int(block[size * size])));
}

// Component i of a narrow block times a right-hand side, in float: each conversion of a stored
// number to double would cost four products. Not finite where a term is beyond a float, though the
// sum may not be: then diagonal_product() is to be asked.
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
