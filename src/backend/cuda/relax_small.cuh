// Relaxation with small blocks: a thread block takes a tile of whole rows, each thread some items, then each thread one component of the rows.
#pragma once

#include "backend/cuda/decode.cuh"
#include "backend/cuda/relax_update.cuh"

namespace mcpi::cuda {

template <PCMCPIPrecision storage, int bs> struct Item {
  static constexpr ItemShape shape = item_shape(storage, bs);
  static constexpr int       words = shape.bytes / 4;
  std::uint32_t              word[words];

  // Item k of a tile of count stored items; nobody reads it again in this sweep
  __device__ __forceinline__ void load(const std::byte *tile, std::uint32_t count, std::uint32_t k)
  {
    constexpr int pieces = shape.pieces();
    const uint4  *piece  = reinterpret_cast<const uint4 *>(tile) + k;
#pragma unroll
    for (int q = 0; q < pieces; ++q) {
      const uint4 v   = __ldcs(piece + static_cast<std::size_t>(q) * count);
      word[4 * q]     = v.x;
      word[4 * q + 1] = v.y;
      word[4 * q + 2] = v.z;
      word[4 * q + 3] = v.w;
    }
    const std::byte *rest = tile + static_cast<std::size_t>(pieces) * kPiece * count;
    if constexpr ((shape.bytes & 8) != 0) {
      const uint2 v        = __ldcs(reinterpret_cast<const uint2 *>(rest) + k);
      word[4 * pieces]     = v.x;
      word[4 * pieces + 1] = v.y;
    }
    if constexpr ((shape.bytes & 4) != 0) {
      rest += (shape.bytes & 8) != 0 ? static_cast<std::size_t>(8) * count : 0;
      word[words - 1] = __ldcs(reinterpret_cast<const std::uint32_t *>(rest) + k);
    }
  }

  __device__ __forceinline__ Row column() const
  {
    return static_cast<Row>(word[words - 1]);
  }
  __device__ __forceinline__ int exponent() const
  {
    constexpr int at = shape.numbers;
    return static_cast<signed char>(word[at / 4] >> (8 * (at % 4)));
  }

  // y[i * stride] = sum over its columns j of number(i, j) * x[j]; first: the item's first column
  template <class T> __device__ __forceinline__ void multiply(const T *x, int first, T *y, int stride) const
  {
    T sum[bs] = {};
#pragma unroll
    for (int j = 0; j < shape.columns; ++j) {
      T xj = 0;
      if (shape.items * shape.columns == bs || first + j < bs) xj = x[first + j];
#pragma unroll
      for (int i = 0; i < bs; ++i) sum[i] += number<storage, T>(word, j * bs + i) * xj;
    }
    if constexpr (has_exponent(storage)) {
      const T scale = power_of_two<T>(exponent());
#pragma unroll
      for (int i = 0; i < bs; ++i) sum[i] *= scale;
    }
#pragma unroll
    for (int i = 0; i < bs; ++i) y[i * stride] = sum[i];
  }
};

// The part of [begin, end) that lies in [from, from + count), summed in order
template <class T>
__device__ __forceinline__ T sum_part(const T *parts, std::uint32_t begin, std::uint32_t end, std::uint32_t from, std::uint32_t count)
{
  const std::uint32_t first = max(begin, from), last = min(end, from + count);
  T                   even = 0, odd = 0;
  std::uint32_t       k = first;
  for (; k + 1 < last; k += 2) {
    even += parts[k - from];
    odd += parts[k - from + 1];
  }
  if (k < last) even += parts[k - from];
  return even + odd;
}

template <PCMCPIPrecision storage, class T, int bs, int threads, int per_thread, int blocks>
__global__ void __launch_bounds__(threads, blocks) relax_small(RelaxArgs args)
{
  using MyItem           = Item<storage, bs>;
  constexpr int capacity = threads * per_thread;
  constexpr int stride   = capacity + 1; // of the components: no bank is hit twice
  constexpr int items    = MyItem::shape.items;
  __shared__ T  parts[bs * stride];
  __shared__ T  residuals[threads];

  // All that does not depend on x is loaded before the kernel waits for the color before it.
  cudaTriggerProgrammaticLaunchCompletion();
  const std::uint32_t t    = threadIdx.x;
  const uint4         head = __ldg(reinterpret_cast<const uint4 *>(args.tiles) + blockIdx.x);
  const std::uint32_t rows = head.z >> kLowerBits, lower = head.z & kLowerMask, upper = head.w;
  const std::uint32_t count = (lower + upper + 3U) & ~3U;
  const std::uint32_t begin = args.flags & kLower ? 0U : lower, end = args.flags & kUpper ? lower + upper : lower;
  const std::byte    *tile = static_cast<const std::byte *>(args.blocks) + static_cast<std::size_t>(head.x) * kPiece;
  MyItem              item[per_thread];
  const auto          load = [&](std::uint32_t from) {
#pragma unroll
    for (int u = 0; u < per_thread; ++u)
      if (const std::uint32_t k = from + t + u * threads; k < end) item[u].load(tile, count, k);
  };
  load(begin);
  const std::uint32_t my_row = t / bs, i = t % bs;
  const bool          mine = my_row < rows;
  RowEnds             from{0, 0}, to{0, 0};
  if (mine) {
    const RowEnds *ends = args.ends + head.y + my_row;
    to                  = *ends;
    if (my_row > 0) from = ends[-1];
  }
  const std::size_t row    = head.y + my_row;
  const T          *rhs    = static_cast<const T *>(args.rhs);
  T                 my_rhs = 0;
  if (mine) my_rhs = rhs[row * args.nrhs * bs + i];
  cudaGridDependencySynchronize();

  const T   *x    = static_cast<const T *>(args.x);
  const bool many = end - begin > static_cast<std::uint32_t>(capacity);
  for (int r = 0; r < args.nrhs; ++r) {
    TriangleSums<T> sums;
    for (std::uint32_t chunk = begin; chunk < end; chunk += capacity) {
      if (many && (chunk != begin || r > 0)) load(chunk);
#pragma unroll
      for (int u = 0; u < per_thread; ++u) {
        const std::uint32_t place = t + u * threads, k = chunk + place;
        if (k < end)
          item[u].multiply(x + (static_cast<std::size_t>(item[u].column()) * args.nrhs + r) * bs,
                           items > 1 ? (k % items) * MyItem::shape.columns : 0, parts + place, stride);
      }
      __syncthreads();
      if (mine) {
        if (args.flags & kLower) sums.lower += sum_part(parts + i * stride, from.lower, to.lower, chunk, capacity);
        if (args.flags & kUpper) sums.upper += sum_part(parts + i * stride, lower + from.upper, lower + to.upper, chunk, capacity);
      }
      __syncthreads();
    }
    const std::size_t at     = (row * args.nrhs + r) * bs + i;
    T                 update = 0;
    if (mine) update = residual(args, r == 0 ? my_rhs : rhs[at], sums, at);
    if (args.flags & kFactored) {
      if (mine) residuals[t] = update;
      __syncthreads();
      if (mine) update = apply_diagonal(args, row, static_cast<int>(i), residuals + my_row * bs);
      __syncthreads();
    }
    if (mine) relax_component(args, update, at);
  }
}

} // namespace mcpi::cuda
