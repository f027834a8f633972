// Numeric set-up of large blocks. A thread block takes some matrix rows. Each warp inverts the
// diagonal block of one row; the largest blocks are inverted by all threads, one row at a time.
// Then all threads multiply and round groups of off-diagonal blocks.
#pragma once

#include "backend/cuda/setup_small.cuh"
#include "backend/cuda/team.cuh"
#include "core/dispatch.h"
#include "cuda/memory.h"

namespace mcpi::cuda {

constexpr int kLargeThreads = Tuning::kLargeSetupThreads;
constexpr int kWarps = kLargeThreads / kWarpSize;

// How a thread block's working memory is divided. Offsets are in doubles; each function returns
// where a part begins. The first part holds the left factors of the rows.
struct LargeShape {
  int rows;           // rows at a time: one for each warp, or a single one
  int blocks;         // off-diagonal blocks at a time
  std::size_t square; // bs*bs
  int bs;

  // values of off-diagonal blocks
  __host__ __device__ constexpr std::size_t in() const { return rows * square; }
  // stored numbers of off-diagonal blocks, before they are rounded
  __host__ __device__ constexpr std::size_t out() const { return in() + blocks * square; }
  // scales of rows and columns for the inversion of each row's block
  __host__ __device__ constexpr std::size_t vectors() const { return out() + blocks * square; }
  // pivots of each row, as ints
  __host__ __device__ constexpr std::size_t pivots() const { return vectors() + 2UL * rows * bs; }
  // maxima, 4 bytes each
  __host__ __device__ constexpr std::size_t maxima() const
  {
    return pivots() + static_cast<std::size_t>(rows) * bs;
  }
  __host__ __device__ constexpr std::size_t size() const { return maxima() + square + 1; }
};
constexpr LargeShape large_shape(int bs)
{
  constexpr int kNumbers = Tuning::kSetupNumbers;
  const int square = bs * bs;
  return {square <= kNumbers ? kWarps : 1, square < kNumbers ? (kNumbers + square - 1) / square : 1,
          static_cast<std::size_t>(square), bs};
}

// The same as prepare_row(), for a large block. left[j*bs + i] multiplies entry j for row i.
__device__ __forceinline__ bool prepare_large_row(const SetupArgs &args, const Team &team, Row row,
                                                  double *left, double *vectors, int *pivot,
                                                  std::uint32_t *most)
{
  const int bs = args.bs;
  const BlockView block = diagonal_view(args, row, bs);
  for_entries(team, bs, [&](int i, int j) {
    left[j * bs + i] = block.data[static_cast<std::size_t>(i) * block.row +
                                  static_cast<std::size_t>(j) * block.column];
  });
  team.sync();
  double condition = 0.0;
  const Inversion verdict =
      invert_rest(team, left, bs, empty_of(args, row), vectors, vectors + bs, pivot, &condition);
  if (team.rank == 0 && verdict != Inversion::done) report(args, row, defect_of(verdict));
  if (team.rank == 0 && verdict == Inversion::done) raise_condition(most, condition);
  const double *left_scale = args.scales, *right_scale = args.scales + bs;
  double *map = static_cast<double *>(args.diagonal_map) +
                static_cast<std::size_t>(args.plan_row[row]) * bs * bs;
  for_entries(team, bs, [&](int i, int j) {
    const double d = left[j * bs + i];
    map[j * bs + i] = d / right_scale[i] / (args.prescaled ? 1.0 : left_scale[j]);
    left[j * bs + i] = args.prescaled ? left_scale[i] * d : (i == j ? left_scale[i] : 0.0);
  });
  team.sync();
  for (int j = team.rank; j < bs; j += team.size) {
    double largest = 0.0;
    for (int i = 0; i < bs; ++i) largest = fmax(largest, fabs(map[j * bs + i]));
    if (largest > 0.0) raise_inverse_range(most, largest, largest);
  }
  return verdict == Inversion::done;
}

// Parts of the working memory: left factor of the row, blocks in, blocks out, maxima
struct LargeMemory {
  double *left, *in, *out;
  std::uint32_t *most;
};

// Converts the off-diagonal blocks [k0, k0 + count) of one row and portion. All threads of the
// thread block take part. Reads portion.values; writes memory.in, memory.out, memory.most, and, if
// args.store, args.blocks and args.heads.
template <PCMCPIPrecision storage>
__device__ __forceinline__ void convert_group(const SetupArgs &args, const SetupPortion &portion,
                                              Row row, std::uint32_t k0, int count,
                                              const LargeMemory &memory)
{
  const int bs = args.bs, square = bs * bs, t = static_cast<int>(threadIdx.x);
  const std::uint32_t begin = portion.ptr[row], end = portion.ptr[row + 1];
  const double *right = args.scales + bs;
  bool good_in = true;
  std::uint32_t largest = 0; // upper 32 bits
  __syncthreads();           // all threads have read in and out
  for (int n = t; n < count * square; n += kLargeThreads) {
    // The values are read in the order of memory.
    const int block = n / square, at = n - block * square, slow = at / bs, fast = at - slow * bs;
    const BlockView view =
        block_view(args, portion, k0 + static_cast<std::uint32_t>(block), begin, end);
    const int i = args.scalar_rows ? slow : fast, j = args.scalar_rows ? fast : slow;
    const double value = view.data[static_cast<std::size_t>(i) * view.row +
                                   static_cast<std::size_t>(j) * view.column];
    memory.in[block * square + j * bs + i] = value;
    good_in = good_in && isfinite(value);
  }
  __syncthreads();
  for (int n = t; n < count * square; n += kLargeThreads) {
    const int block = n / square, at = n - block * square, j = at / bs, i = at - j * bs;
    const double *column = memory.in + block * square + j * bs;
    double sum = 0.0;
    if (args.prescaled)
      for (int k = 0; k < bs; ++k) sum += memory.left[k * bs + i] * column[k];
    else
      sum = memory.left[i * bs + i] * column[i];
    sum *= right[j];
    memory.out[n] = sum;
    const std::uint32_t upper = static_cast<std::uint32_t>(__double2hiint(sum)) & 0x7fffffffU;
    largest = max(largest, upper);
    if (upper > memory.most[at]) atomicMax(memory.most + at, upper); // seldom true
  }
  const bool all_in = __syncthreads_and(good_in),
             fits = __syncthreads_and(largest < overflow_from<storage>(args.store));
  if (!fits) {
    if (t == 0) report(args, row, all_in ? Defect::unrepresentable : Defect::nonfinite_offdiagonal);
    return;
  }
  if (!args.store) return;
  // A warp takes a block, because the shared exponent needs all numbers of the block.
  constexpr int numbers = 8 * kPiece / value_bits(storage);
  const int ld = leading_dimension(storage, bs), pieces = record_pieces(storage, bs),
            lane = t % kWarpSize;
  for (int block = t / kWarpSize; block < count; block += kWarps) {
    const double *out = memory.out + block * square;
    int e = 0;
    if constexpr (has_exponent(storage)) {
      double most = 0.0;
      for (int n = lane; n < square; n += kWarpSize) most = fmax(most, fabs(out[n]));
      e = shared_exponent(Team{lane, kWarpSize}.max(most), integer_limit(storage));
    }
    const std::uint32_t place = portion.place[k0 + static_cast<std::uint32_t>(block)];
    uint4 *record =
        reinterpret_cast<uint4 *>(args.blocks) + static_cast<std::size_t>(place) * pieces;
    for (int q = lane; q < pieces; q += kWarpSize) {
      std::uint32_t word[kPiece / 4] = {};
      int j = q * numbers / ld, i = q * numbers - j * ld;
#pragma unroll
      for (int n = 0; n < numbers; ++n) {
        if (i < bs && j < bs)
          put_number<storage>(word, n, number_bits<storage>(out[j * bs + i], e));
        if (++i == ld) {
          i = 0;
          ++j;
        }
      }
      record[q] = make_uint4(word[0], word[1], word[2], word[3]);
    }
    if (lane == 0) args.heads[place].exponent = e;
  }
}

// Sets up the matrix rows [args.begin, args.end). Working memory is args.scratch, or shared memory
// if that is null. At the end each thread block raises args.maxima to its own maxima.
template <PCMCPIPrecision storage>
__global__ void __launch_bounds__(kLargeThreads) setup_large(SetupArgs args)
{
  extern __shared__ double shared[];
  __shared__ bool inverted[kWarps];
  const int bs = args.bs, t = static_cast<int>(threadIdx.x), square = bs * bs;
  const LargeShape shape = large_shape(bs);
  double *memory = args.scratch ? args.scratch + blockIdx.x * shape.size() : shared;
  int *pivots = reinterpret_cast<int *>(memory + shape.pivots());
  std::uint32_t *most = reinterpret_cast<std::uint32_t *>(memory + shape.maxima());
  const Team team = shape.rows > 1 ? Team{t % kWarpSize, kWarpSize} : Team{t, kLargeThreads};
  const int mine = shape.rows > 1 ? t / kWarpSize : 0;
  for (int n = t; n < square + kRangeWords; n += kLargeThreads) most[n] = 0;
  for (Row row0 = args.begin + static_cast<Row>(blockIdx.x) * shape.rows; row0 < args.end;
       row0 += static_cast<Row>(gridDim.x) * shape.rows) {
    const int rows = min(shape.rows, args.end - row0);
    __syncthreads();
    if (mine < rows) {
      const bool good = prepare_large_row(
          args, team, matrix_row(args, row0 + mine), memory + mine * shape.square,
          memory + shape.vectors() + 2 * mine * bs, pivots + mine * bs, most + square);
      if (team.rank == 0) inverted[mine] = good;
    }
    __syncthreads();
    for (int r = 0; r < rows; ++r) {
      if (!inverted[r]) continue;
      const Row row = matrix_row(args, row0 + r);
      for (int p = 0; p < 2; ++p) {
        const SetupPortion &portion = args.portion[p];
        if (!portion.values) continue;
        const std::uint32_t begin = portion.ptr[row], end = portion.ptr[row + 1],
                            diagonal = p == 0
                                           ? begin + static_cast<std::uint32_t>(args.diagonal[row])
                                           : end;
        for (std::uint32_t k = begin; k < end;) {
          if (k == diagonal) {
            ++k;
            continue;
          }
          const std::uint32_t stop = k < diagonal ? diagonal : end;
          const int count =
              static_cast<int>(min(stop - k, static_cast<std::uint32_t>(shape.blocks)));
          convert_group<storage>(
              args, portion, row, k, count,
              {memory + r * shape.square, memory + shape.in(), memory + shape.out(), most});
          k += static_cast<std::uint32_t>(count);
        }
      }
    }
  }
  __syncthreads();
  for (int n = t; n < square + kRangeWords; n += kLargeThreads) atomicMax(args.maxima + n, most[n]);
}

// Returns the kernel for a block size.
template <PCMCPIPrecision storage> SetupKernel setup_kernel(int bs, bool packed)
{
  return with_block_size<1, kMaxSmallBlock>(bs, [&]<int size>() -> SetupKernel {
    if constexpr (size > 0) {
      const void *function = reinterpret_cast<const void *>(setup_small<storage, size, false>);
      if constexpr (has_exponent(storage))
        if (packed) function = reinterpret_cast<const void *>(setup_small<storage, size, true>);
      return {function, kSetupThreads, Tuning::setup_rows(size), 0, 0};
    } else {
      const void *function = reinterpret_cast<const void *>(setup_large<storage>);
      const LargeShape shape = large_shape(bs);
      const std::size_t bytes = shape.size() * sizeof(double);
      const bool fits = bytes <= static_cast<std::size_t>(most_shared(function));
      return {function, kLargeThreads, shape.rows, fits ? bytes : 0, fits ? 0 : bytes};
    }
  });
}

} // namespace mcpi::cuda
