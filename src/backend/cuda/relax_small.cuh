// Relaxation with small blocks: a thread block takes a tile of whole rows, each thread some items, then each thread one component of the rows.
#pragma once

#include "backend/cuda/load_once.cuh"
#include "backend/cuda/relax_update.cuh"

namespace mcpi::cuda {

template <PCMCPIPrecision storage, int bs> struct Item {
  static constexpr ItemShape shape = item_shape(storage, bs);
  static constexpr int       words = shape.bytes / 4;
  std::uint32_t              word[words];

  // Item k of a tile of count stored items. The column comes first: what it leads to is loaded while the numbers are still on their way.
  __device__ __forceinline__ void load(const std::byte *tile, std::uint32_t count, std::uint32_t k)
  {
    constexpr int    pieces = shape.pieces();
    const uint4     *piece  = reinterpret_cast<const uint4 *>(tile) + k;
    const std::byte *rest   = tile + static_cast<std::size_t>(pieces) * kPiece * count;
    if constexpr ((shape.bytes & 4) != 0) {
      const std::byte *last = rest + ((shape.bytes & 8) != 0 ? static_cast<std::size_t>(8) * count : 0);
      word[words - 1]       = load_once(reinterpret_cast<const std::uint32_t *>(last) + k);
    }
    if constexpr ((shape.bytes & 8) != 0) {
      const uint2 v        = load_once(reinterpret_cast<const uint2 *>(rest) + k);
      word[4 * pieces]     = v.x;
      word[4 * pieces + 1] = v.y;
    }
#pragma unroll
    for (int q = pieces - 1; q >= 0; --q) {
      const uint4 v   = load_once(piece + static_cast<std::size_t>(q) * count);
      word[4 * q]     = v.x;
      word[4 * q + 1] = v.y;
      word[4 * q + 2] = v.z;
      word[4 * q + 3] = v.w;
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

  // x: of the item's block column; first: the item's first column in its block
  template <class T> __device__ __forceinline__ void gather(const T *x, int first, T *xj) const
  {
#pragma unroll
    for (int j = 0; j < shape.columns; ++j) {
      xj[j] = 0;
      if (shape.items * shape.columns == bs || first + j < bs) xj[j] = x[first + j];
    }
  }

  // y[i * stride] = sum over its columns j of number(i, j) * xj[j]
  template <class T> __device__ __forceinline__ void multiply(const T *xj, T *y, int stride) const
  {
    T sum[bs] = {};
#pragma unroll
    for (int j = 0; j < shape.columns; ++j)
#pragma unroll
      for (int i = 0; i < bs; ++i) sum[i] += number<storage, T>(word, j * bs + i) * xj[j];
    if constexpr (has_exponent(storage)) {
      const T scale = power_of_two<T>(exponent());
#pragma unroll
      for (int i = 0; i < bs; ++i) sum[i] *= scale;
    }
#pragma unroll
    for (int i = 0; i < bs; ++i) y[i * stride] = sum[i];
  }
};

struct Span {
  std::uint32_t first, size;
};

// What of a row's items [begin, end) lies in the chunk [from, from + count), as places in the chunk
__device__ __forceinline__ Span span_in(std::uint32_t begin, std::uint32_t end, std::uint32_t from, std::uint32_t count)
{
  const std::uint32_t first = max(begin, from), last = min(end, from + count);
  return {first - from, last > first ? last - first : 0};
}

// Adds both triangles' parts in order, side by side: their loads do not wait for each other.
template <class T> __device__ __forceinline__ void add_parts(const T *parts, Span lower, Span upper, TriangleSums<T> &sums)
{
  const T            *low = parts + lower.first, *up = parts + upper.first;
  const std::uint32_t size = max(lower.size, upper.size);
#pragma unroll 4
  for (std::uint32_t k = 0; k < size; ++k) {
    if (k < lower.size) sums.lower += low[k];
    if (k < upper.size) sums.upper += up[k];
  }
}

// simple: one right-hand side and no tile with more items than the threads take at a time
template <PCMCPIPrecision storage, class T, int bs, int threads, int per_thread, int blocks, bool simple>
__global__ void __launch_bounds__(threads, blocks) relax_small(RelaxArgs args)
{
  using MyItem           = Item<storage, bs>;
  constexpr int capacity = threads * per_thread;
  constexpr int stride   = capacity + 1; // between components: threads of one row hit different banks
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
  const int           nrhs = simple ? 1 : args.nrhs;
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
  if (mine && rows > 1) {
    const RowEnds *ends = args.ends + head.y + my_row;
    to                  = *ends;
    if (my_row > 0) from = ends[-1];
  }
  const std::size_t row    = head.y + my_row;
  const T          *rhs    = static_cast<const T *>(args.rhs);
  T                 my_rhs = 0;
  if (mine) my_rhs = rhs[row * nrhs * bs + i];
  cudaGridDependencySynchronize();

  const T   *x    = static_cast<const T *>(args.x);
  const bool many = !simple && end - begin > static_cast<std::uint32_t>(capacity);
  for (int r = 0; r < nrhs; ++r) {
    TriangleSums<T> sums;
    std::uint32_t   chunk = begin;
    do {
      if (!simple && (chunk != begin || r > 0)) {
        if (many) load(chunk);
        __syncthreads(); // the parts before have been summed
      }
      T xj[per_thread][MyItem::shape.columns];
#pragma unroll
      for (int u = 0; u < per_thread; ++u)
        if (const std::uint32_t k = chunk + t + u * threads; k < end)
          item[u].gather(x + (static_cast<std::size_t>(item[u].column()) * nrhs + r) * bs,
                         items > 1 ? static_cast<int>(k % items) * MyItem::shape.columns : 0, xj[u]);
#pragma unroll
      for (int u = 0; u < per_thread; ++u)
        if (chunk + t + u * threads < end) item[u].multiply(xj[u], parts + t + u * threads, stride);
      __syncthreads();
      if (mine) {
        const std::uint32_t lower_end = rows > 1 ? to.lower : lower, upper_end = lower + (rows > 1 ? to.upper : upper);
        const Span          low = span_in(from.lower, args.flags & kLower ? lower_end : 0, chunk, capacity);
        const Span          up  = span_in(lower + from.upper, args.flags & kUpper ? upper_end : 0, chunk, capacity);
        add_parts(parts + i * stride, low, up, sums);
      }
      chunk += capacity;
    } while (!simple && chunk < end);
    const std::size_t at     = (row * nrhs + r) * bs + i;
    T                 update = 0;
    if (mine) update = residual(args, r == 0 ? my_rhs : rhs[at], sums, at);
    if (args.flags & kFactored) {
      if (mine) residuals[t] = update;
      __syncthreads();
      if (mine) update = apply_diagonal(args, row, static_cast<int>(i), residuals + my_row * bs);
      if (!simple) __syncthreads();
    }
    if (mine) relax_component(args, update, at);
  }
}

} // namespace mcpi::cuda
