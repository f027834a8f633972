// Relaxation with large blocks in rows of any length, for any number of right-hand sides. A row's
// blocks pass through stages in shared memory: bulk copies fill some stages while the team
// multiplies another one.
#pragma once

#include "backend/cuda/loads.cuh"
#include "backend/cuda/relax.h"

namespace mcpi::cuda {

// The blocks of a row in the order in which they are read. For each right-hand side and part of the
// columns, one or two ranges of blocks are read.
struct RowRanges {
  std::uint32_t begin[2], end[2];
  int sides, passes; // number of ranges; how often they are read
};

// Starts the bulk copies of a row's chunks, one after the other. Only one thread of the team uses
// it.
class Feed {
  const std::byte *blocks_;
  std::byte *stages_;
  std::uint64_t *barriers_;
  std::uint32_t k_, end_;
  int side_ = 0, pass_ = 0, slice_ = 0, stage_ = 0;

public:
  __device__ Feed(const LargeArgs &args, const StreamShape &shape, std::byte *memory,
                  const RowRanges &ranges)
      : blocks_(static_cast<const std::byte *>(args.blocks)), stages_(memory),
        barriers_(reinterpret_cast<std::uint64_t *>(memory + shape.barriers_at)),
        k_(ranges.begin[0]), end_(ranges.end[0])
  {
  }

  // Starts the next copy, into the next stage. Does nothing after the last chunk.
  __device__ __forceinline__ void next(const StreamShape &shape, const RowRanges &ranges)
  {
    while (k_ >= end_) {
      if (++side_ == ranges.sides) {
        side_ = 0;
        ++pass_;
      }
      if (pass_ >= ranges.passes) return;
      k_ = side_ == 0 ? ranges.begin[0] : ranges.begin[1];
      end_ = side_ == 0 ? ranges.end[0] : ranges.end[1];
    }
    const std::byte *from =
        blocks_ + static_cast<std::size_t>(k_) * static_cast<std::size_t>(shape.record);
    int bytes;
    if (shape.slices == 1) {
      const int count = min(static_cast<int>(end_ - k_), shape.chunk);
      bytes = count * shape.record;
      k_ += static_cast<std::uint32_t>(count);
    } else {
      const int first = slice_ * shape.width * shape.column / kPiece * kPiece;
      bytes = min((slice_ + 1) * shape.width * shape.column + kPiece - 1, shape.record) / kPiece *
                  kPiece -
              first;
      from += first;
      if (++slice_ == shape.slices) {
        slice_ = 0;
        ++k_;
      }
    }
    bulk_copy(stages_ + stage_ * shape.stage_bytes, from, static_cast<std::uint32_t>(bytes),
              barriers_ + stage_);
    if (++stage_ == shape.stages) stage_ = 0;
  }
};

// Writes to xs the entries of x by which the blocks of heads [0, count) are multiplied, times the
// blocks' exponents. stride: numbers from one row of x to the next. t: the thread's place in the
// team.
template <PCMCPIPrecision storage, class T, int width>
__device__ __forceinline__ void gather(const StreamShape &shape, const BlockHead *heads, int count,
                                       const T *x, std::uint32_t stride, int t, T *xs)
{
  using Entries = typename RunOf<T, width>::Piece;
  constexpr int ahead = width == 4 ? 2 : 4;
  const int total = count * shape.bs;
  for (int e0 = t * width; e0 < total; e0 += ahead * shape.team * width) {
    Entries v[ahead];
#pragma unroll
    for (int a = 0; a < ahead; ++a)
      if (const int e = e0 + a * shape.team * width; e < total) {
        const int k = static_cast<int>(__umulhi(static_cast<unsigned>(e), shape.inverse));
        const BlockHead head = heads[k];
        v[a] = *reinterpret_cast<const Entries *>(
            x + static_cast<std::size_t>(static_cast<std::uint32_t>(head.column)) * stride +
            (e - k * shape.bs));
        if constexpr (has_exponent(storage))
#pragma unroll
          for (int i = 0; i < width; ++i) v[a].v[i] *= power_of_two<T>(head.exponent);
      }
#pragma unroll
    for (int a = 0; a < ahead; ++a)
      if (const int e = e0 + a * shape.team * width; e < total)
        *reinterpret_cast<Entries *>(xs + e) = v[a];
  }
}

// Adds to sum the columns slot, slot + slots, ... of a stage times xs.
template <PCMCPIPrecision storage, class T, int vector>
__device__ __forceinline__ void multiply_stage(const StreamShape &shape, const std::byte *stage,
                                               const T *xs, int columns, int lane, int slot, T *sum)
{
  constexpr int vector_bytes = vector * value_bits(storage) / 8;
  constexpr int ahead = vector_bytes > 8 ? 3 : vector_bytes > 4 ? 4 : 6;
  const int gap = shape.slices == 1 ? shape.record - shape.bs * shape.column : 0;
  const int step = shape.slots * shape.column;
  if (gap == 0) {
    const std::byte *at = stage + slot * shape.column + lane * vector_bytes;
#pragma unroll ahead
    for (int c = slot; c < columns; c += shape.slots, at += step) {
      Numbers<storage, vector> numbers;
      numbers.load(at);
      numbers.add_times(xs[c], sum);
    }
  } else {
    int k = static_cast<int>(__umulhi(static_cast<unsigned>(slot), shape.inverse)),
        j = slot - k * shape.bs;
    const int ks = static_cast<int>(__umulhi(static_cast<unsigned>(shape.slots), shape.inverse)),
              js = shape.slots - ks * shape.bs;
    const int gap_step = step + ks * gap;
    int at = slot * shape.column + k * gap + lane * vector_bytes;
#pragma unroll ahead
    for (int c = slot; c < columns; c += shape.slots) {
      Numbers<storage, vector> numbers;
      numbers.load(stage + at);
      numbers.add_times(xs[c], sum);
      at += gap_step;
      j += js;
      if (j >= shape.bs) {
        j -= shape.bs;
        at += gap;
      }
    }
  }
}

// Relaxes args.row_count plan rows from args.first_row on; a team (a warp or a thread block) takes
// a row. Reads rows, heads, blocks, rhs, kept, diagonal and read; writes x and kept. Before it
// waits for the color before it, the kernel loads heads and right-hand side and starts the copies
// that fill all stages. After the wait it reads x.
template <PCMCPIPrecision storage, class T, int vector, bool warp>
__global__ void __launch_bounds__(warp ? 64 : 128,
                                  Tuning::streamed_threads(sizeof(T) == sizeof(double)) /
                                      (warp ? 64 : 128)) relax_streamed(LargeArgs args)
{
  constexpr int gathered = storage == PC_MCPI_PRECISION_INT4 ? 1
                           : vector * static_cast<int>(sizeof(T)) > 16
                               ? 16 / static_cast<int>(sizeof(T))
                               : vector;
  extern __shared__ __align__(128) std::byte memory[];

  cudaTriggerProgrammaticLaunchCompletion();
  const StreamShape &shape = args.stream;
  const int in = warp ? static_cast<int>(threadIdx.x) / 32 : 0,
            t = static_cast<int>(threadIdx.x) - in * 32;
  const std::uint32_t place =
      blockIdx.x * static_cast<unsigned>(shape.rows) + static_cast<unsigned>(in);
  if (place >= args.row_count) return;
  const std::size_t row = args.first_row + place;
  const LargeRow head = args.rows[row];
  std::byte *mine = memory + in * shape.bytes;
  T *xs = reinterpret_cast<T *>(mine + shape.x_at),
    *partial = reinterpret_cast<T *>(mine + shape.partial_at),
    *sums = reinterpret_cast<T *>(mine + shape.sums_at);
  BlockHead *heads = reinterpret_cast<BlockHead *>(mine + shape.heads_at);
  std::uint64_t *barriers = reinterpret_cast<std::uint64_t *>(mine + shape.barriers_at);
  const int bs = shape.bs;

  // All that does not depend on x is loaded before the kernel waits for the color before it.
  const bool both = (args.flags & (kLower | kUpper)) == (kLower | kUpper),
             split = both && args.flags & kKeepSum;
  RowRanges ranges{};
  ranges.sides = split ? 2 : 1;
  ranges.begin[0] = head.block + (args.flags & kLower ? 0U : head.lower);
  ranges.end[0] = head.block + head.lower + (!split && args.flags & kUpper ? head.upper : 0U);
  ranges.begin[1] = head.block + head.lower;
  ranges.end[1] = ranges.begin[1] + head.upper;
  const auto chunks = [&](int side) {
    const int blocks = static_cast<int>(ranges.end[side] - ranges.begin[side]);
    return shape.slices == 1 ? (blocks + shape.chunk - 1) / shape.chunk : blocks * shape.slices;
  };
  // Blocks that fit the stages stay there for all right-hand sides.
  const bool stay = chunks(0) + (split ? chunks(1) : 0) <= shape.stages;
  ranges.passes = stay ? 1 : args.nrhs * shape.parts;
  Feed feed(args, shape, mine, ranges);
  if (t == 0) {
    for (int s = 0; s < shape.stages; ++s) ptx::mbarrier_init(barriers + s, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    for (int s = 0; s < shape.stages; ++s) feed.next(shape, ranges);
  }
  const auto load_heads = [&](std::uint32_t k0, std::uint32_t end) {
    const int count = min(static_cast<int>(end - k0), shape.segment);
    for (int k = t; k < count; k += shape.team)
      heads[k] = args.heads[k0 + static_cast<unsigned>(k)];
  };
  if (ranges.begin[0] < ranges.end[0]) load_heads(ranges.begin[0], ranges.end[0]);
  const T *rhs = static_cast<const T *>(args.rhs);
  T my_rhs = 0;
  if (t < bs) my_rhs = rhs[row * args.nrhs * bs + t];
  const int slot = t / shape.lanes, lane0 = t - slot * shape.lanes;
  team_sync<warp>();
  cudaGridDependencySynchronize();

  int stage = 0;
  std::uint32_t parity = 0;
  bool first = ranges.begin[0] < ranges.end[0]; // the first segment, whose heads have been loaded
  for (int r = 0; r < args.nrhs; ++r) {
    const T *x = static_cast<const T *>(args.read) + static_cast<std::size_t>(r) * bs;
    for (int part = 0; part < shape.parts; ++part) {
      if (stay) stage = 0;
      const int lane = part * shape.lanes + lane0;
      for (int side = 0; side < ranges.sides; ++side) {
        const std::uint32_t begin = side == 0 ? ranges.begin[0] : ranges.begin[1],
                            end = side == 0 ? ranges.end[0] : ranges.end[1];
        T sum[vector] = {};
        for (std::uint32_t k0 = begin; k0 < end; k0 += static_cast<std::uint32_t>(shape.segment)) {
          const int count = min(static_cast<int>(end - k0), shape.segment);
          if (!first) {
            load_heads(k0, end);
            team_sync<warp>();
          }
          first = false;
          gather<storage, T, gathered>(shape, heads, count, x,
                                       static_cast<std::uint32_t>(args.nrhs * bs), t, xs);
          team_sync<warp>();
          const int whole = count * bs;
          for (int column = 0, slice = 0; column < whole;) {
            const std::byte *at = mine + stage * shape.stage_bytes;
            int columns;
            if (shape.slices == 1) {
              columns = min(whole - column, shape.chunk * bs);
            } else {
              at += slice * shape.width * shape.column % kPiece;
              columns = min(bs - slice * shape.width, shape.width);
              if (++slice == shape.slices) slice = 0;
            }
            barrier_wait(barriers + stage, parity);
            if (slot < shape.slots && lane * vector < shape.ld)
              multiply_stage<storage, T, vector>(shape, at, xs + column, columns, lane, slot, sum);
            column += columns;
            if (++stage == shape.stages) {
              stage = 0;
              if (!stay) parity ^= 1U;
            }
            if (!stay) {
              team_sync<warp>();
              if (t == 0) feed.next(shape, ranges);
            }
          }
          if (stay) team_sync<warp>(); // all threads have read xs and heads
        }
        // Component i is summed over the slots in order.
        if (slot < shape.slots)
#pragma unroll
          for (int i = 0; i < vector; ++i) partial[t * vector + i] = sum[i];
        team_sync<warp>();
        const int from = part * shape.lanes * vector, held = shape.lanes * vector;
        for (int i = t; i < min(held, bs - from); i += shape.team) {
          T total = 0;
#pragma unroll 4
          for (int s = 0; s < shape.slots; ++s) total += partial[s * held + i];
          sums[side * bs + from + i] = total;
        }
        if (ranges.sides > 1 || shape.parts > 1) team_sync<warp>();
      }
    }
    T *residuals = sums + 2 * bs;
    for (int i = t; i < bs; i += shape.team) {
      const std::size_t at = (row * args.nrhs + r) * bs + i;
      // With one range, its sum is that of the near triangle if a sum is to be kept.
      const T one = sums[i], other = split ? sums[bs + i] : T(0);
      const T update = residual(args, r == 0 && i == t ? my_rhs : rhs[at],
                                !split && !(args.flags & kLower) ? TriangleSums<T>{other, one}
                                                                 : TriangleSums<T>{one, other},
                                kept_sum<T>(args, at), at);
      if (args.flags & kFactored)
        residuals[i] = update;
      else
        relax_component(args, update, at);
    }
    if (args.flags & kFactored) {
      team_sync<warp>();
      for (int i = t; i < bs; i += shape.team)
        relax_component(args,
                        apply_diagonal<0, T>(args, row, i, [&](int j) { return residuals[j]; }),
                        (row * args.nrhs + r) * bs + i);
    }
    if (r + 1 < args.nrhs) team_sync<warp>();
  }
}

} // namespace mcpi::cuda
