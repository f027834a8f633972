// The partial products of a tile's slices in shared memory, and their sums for each row.
#pragma once

#include "backend/cuda/relax_update.cuh"
#include "backend/device/shapes.h"

namespace mcpi::cuda {
using namespace device;

// A range of slices, counted from the first one of a chunk.
struct Span {
  std::uint32_t first, size;
};

// Returns the part of a row's slices [begin, end) that lies in the chunk [from, from + count) of
// the tile. whole: all of them do.
template <bool whole>
__device__ __forceinline__ Span span_in(std::uint32_t begin, std::uint32_t end, std::uint32_t from,
                                        std::uint32_t count)
{
  if (whole) return {begin - from, end - begin};
  const std::uint32_t first = max(begin, from), last = min(end, from + count);
  return {first - from, last > first ? last - first : 0};
}

// The ends of a row's slices in both triangles, from RowEnds read as one word.
__device__ __forceinline__ std::uint32_t lower_end(std::uint32_t ends)
{
  return ends & 0xffffU;
}
__device__ __forceinline__ std::uint32_t upper_end(std::uint32_t ends)
{
  return ends >> 16;
}

// Partial products for threads that each sum one component of a row. Each component is stored by
// itself, so that threads with different components of a row read different banks. The thread block
// synchronizes between store() and add().
template <class T, int bs, int capacity> struct PartialsByComponent {
  static constexpr int stride = capacity + 1;
  T value[bs * stride];

  __device__ __forceinline__ void store(std::uint32_t k, const T (&y)[bs])
  {
#pragma unroll
    for (int i = 0; i < bs; ++i) value[i * stride + k] = y[i];
  }

  // Adds component i of both triangles' slices in order. The two triangles are added side by side,
  // so that their loads do not wait for each other.
  __device__ __forceinline__ void add(Span lower, Span upper, unsigned i,
                                      TriangleSums<T> (&sums)[1]) const
  {
    const T *low = value + i * stride + lower.first, *up = value + i * stride + upper.first;
    const std::uint32_t size = max(lower.size, upper.size);
#pragma unroll 4
    for (std::uint32_t k = 0; k < size; ++k) {
      if (k < lower.size) sums[0].lower += low[k];
      if (k < upper.size) sums[0].upper += up[k];
    }
  }
};

// Partial products for threads that each sum a whole row. Up to four components of a slice lie side
// by side, and several slices are loaded at once.
template <int bs, int capacity> struct alignas(kPiece) PartialsByRow {
  static constexpr int quads = bs / 4, kAtOnce = 4;
  float value[bs * capacity];

  __device__ __forceinline__ void store(std::uint32_t k, const float (&y)[bs])
  {
#pragma unroll
    for (int q = 0; q < quads; ++q)
      at<float4>(4 * q)[k] = {y[4 * q], y[4 * q + 1], y[4 * q + 2], y[4 * q + 3]};
    if constexpr (bs & 2) at<float2>(4 * quads)[k] = {y[4 * quads], y[4 * quads + 1]};
    if constexpr (bs & 1) at<float>(bs - 1)[k] = y[bs - 1];
  }

  __device__ __forceinline__ void add(Span lower, Span upper, unsigned,
                                      TriangleSums<float> (&sums)[bs]) const
  {
    add(lower, [&](int i) -> float & { return sums[i].lower; });
    add(upper, [&](int i) -> float & { return sums[i].upper; });
  }

private:
  template <class Vector> __device__ __forceinline__ Vector *at(int component)
  {
    return reinterpret_cast<Vector *>(value + component * capacity);
  }
  template <class Vector> __device__ __forceinline__ const Vector *at(int component) const
  {
    return reinterpret_cast<const Vector *>(value + component * capacity);
  }
  template <class Sum> __device__ __forceinline__ void add(Span span, const Sum &sum) const
  {
    const std::uint32_t last = span.first + span.size;
#pragma unroll 1
    for (std::uint32_t k = span.first; k < last; k += kAtOnce) {
      float v[kAtOnce][bs];
#pragma unroll
      for (int n = 0; n < kAtOnce; ++n)
        if (k + n < last) load(k + n, v[n]);
#pragma unroll
      for (int n = 0; n < kAtOnce; ++n)
        if (k + n < last)
#pragma unroll
          for (int i = 0; i < bs; ++i) sum(i) += v[n][i];
    }
  }
  __device__ __forceinline__ void load(std::uint32_t k, float (&v)[bs]) const
  {
#pragma unroll
    for (int q = 0; q < quads; ++q) {
      const float4 four = at<float4>(4 * q)[k];
      v[4 * q] = four.x;
      v[4 * q + 1] = four.y;
      v[4 * q + 2] = four.z;
      v[4 * q + 3] = four.w;
    }
    if constexpr (bs & 2) {
      const float2 two = at<float2>(4 * quads)[k];
      v[4 * quads] = two.x;
      v[4 * quads + 1] = two.y;
    }
    if constexpr (bs & 1) v[bs - 1] = at<float>(bs - 1)[k];
  }
};

} // namespace mcpi::cuda
