// Relaxation with large blocks, one row a thread block: each thread keeps the sums of its place in the record over all blocks of the row.
#pragma once

#include "backend/cuda/decode.cuh"
#include "backend/cuda/relax_update.cuh"

namespace mcpi::cuda {

// The numbers of one piece times x, added to sums by place
template <PCMCPIPrecision storage, class T> struct Piece {
  static constexpr int numbers = 8 * kPiece / value_bits(storage);
  static constexpr int run     = numbers < kRun ? numbers : kRun; // numbers in at most two columns
  static constexpr int runs    = numbers / run;

  std::uint32_t word[4];

  __device__ __forceinline__ void load(const uint4 *from)
  {
    const uint4 v = *from;
    word[0]       = v.x;
    word[1]       = v.y;
    word[2]       = v.z;
    word[3]       = v.w;
  }

  // at: place of the first number in a record with ld numbers a column
  __device__ __forceinline__ void add(const T *x, T scale, int at, int ld, int bs, T *sums) const
  {
#pragma unroll
    for (int s = 0; s < runs; ++s) {
      const int place = at + s * run, column = place / ld, left = ld - (place - column * ld);
      const T   first = column < bs ? x[column] * scale : T(0), second = left < run && column + 1 < bs ? x[column + 1] * scale : T(0);
#pragma unroll
      for (int k = 0; k < run; ++k) sums[s * run + k] += number<storage, T>(word, s * run + k) * (k < left ? first : second);
    }
  }
};

template <PCMCPIPrecision storage, class T, int threads, int per_thread>
__global__ void __launch_bounds__(threads) relax_large(RelaxArgs args)
{
  using MyPiece                  = Piece<storage, T>;
  constexpr int          numbers = MyPiece::numbers, ahead = per_thread == 1 ? 4 : 1; // blocks of a thread in flight
  __shared__ T           parts[threads * per_thread * numbers];
  __shared__ T           partial[threads];
  extern __shared__ char dynamic[]; // the row's sums over both triangles, then its residual

  cudaTriggerProgrammaticLaunchCompletion();
  const int bs = args.bs, ld = leading_dimension(storage, bs), pieces = record_pieces(storage, bs), t = static_cast<int>(threadIdx.x);
  T        *sums = reinterpret_cast<T *>(dynamic), *residuals = sums + 2 * bs;
  const std::size_t row    = args.first_row + blockIdx.x;
  const LargeRow    head   = args.rows[row];
  const int         wide   = threads * per_thread;
  const int         groups = pieces <= threads ? threads / pieces : 1; // blocks side by side
  const int         group  = pieces <= threads ? t / pieces : 0;
  const uint4      *blocks = static_cast<const uint4 *>(args.blocks);
  const T          *x = static_cast<const T *>(args.x), *rhs = static_cast<const T *>(args.rhs);
  cudaGridDependencySynchronize();

  for (int r = 0; r < args.nrhs; ++r) {
    for (int i = t; i < 2 * bs; i += threads) sums[i] = T(0);
    for (int first = 0; first < pieces; first += wide) { // places that the threads hold at a time
      for (int side = 0; side < 2; ++side) {
        if (!(args.flags & (side == 0 ? kLower : kUpper))) continue;
        const std::uint32_t begin = head.block + (side == 0 ? 0U : head.lower), end = begin + (side == 0 ? head.lower : head.upper);
        T                   sum[per_thread][numbers] = {};
        for (std::uint32_t k0 = begin + static_cast<std::uint32_t>(group); k0 < end && group < groups;
             k0 += static_cast<std::uint32_t>(groups * ahead)) {
          MyPiece   piece[ahead][per_thread];
          BlockHead block[ahead];
#pragma unroll
          for (int a = 0; a < ahead; ++a) {
            const std::uint32_t k = k0 + static_cast<std::uint32_t>(a * groups);
            if (k >= end) break;
            block[a] = args.heads[k];
#pragma unroll
            for (int q = 0; q < per_thread; ++q) {
              const int place = pieces <= threads ? t - group * pieces : first + t + q * threads;
              if (place < pieces) piece[a][q].load(blocks + static_cast<std::size_t>(k) * pieces + place);
            }
          }
#pragma unroll
          for (int a = 0; a < ahead; ++a) {
            const std::uint32_t k = k0 + static_cast<std::uint32_t>(a * groups);
            if (k >= end) break;
            const T *xk    = x + (static_cast<std::size_t>(block[a].column) * args.nrhs + r) * bs;
            const T  scale = has_exponent(storage) ? power_of_two<T>(block[a].exponent) : T(1);
#pragma unroll
            for (int q = 0; q < per_thread; ++q) {
              const int place = pieces <= threads ? t - group * pieces : first + t + q * threads;
              if (place < pieces) piece[a][q].add(xk, scale, place * numbers, ld, bs, sum[q]);
            }
          }
        }
        __syncthreads();
        // parts: the record's numbers from place `first` on, group after group
        const int held = min(pieces - first, wide) * numbers;
#pragma unroll
        for (int q = 0; q < per_thread; ++q) {
          const int place = pieces <= threads ? t - group * pieces : t + q * threads;
          if (group < groups && place * numbers < held)
#pragma unroll
            for (int k = 0; k < numbers; ++k) parts[group * held + place * numbers + k] = sum[q][k];
        }
        __syncthreads();
        // component i over the columns, cut among the threads that there are
        const int from = first * numbers, cut = max(1, threads / bs);
        for (int i0 = 0; i0 < bs; i0 += threads) {
          const int i = i0 + (cut > 1 ? t % bs : t), share = cut > 1 ? t / bs : 0;
          T         mine = 0;
          if (i < bs && share < cut) {
            const int j0 = max(0, (from - i + ld - 1) / ld), j1 = min(bs, (from + held - i + ld - 1) / ld), columns = j1 - j0;
            for (int c = share; c < groups * columns; c += cut) {
              const int g = c / columns, j = j0 + c - g * columns;
              mine += parts[g * held + j * ld + i - from];
            }
          }
          partial[t] = mine;
          __syncthreads();
          if (i < bs && share == 0) {
            for (int c = 1; c < cut; ++c) mine += partial[c * bs + i];
            sums[side * bs + i] += mine;
          }
          __syncthreads();
        }
      }
    }
    __syncthreads();
    for (int i = t; i < bs; i += threads) {
      const std::size_t at = (row * args.nrhs + r) * bs + i;
      residuals[i]         = residual(args, rhs[at], TriangleSums<T>{sums[i], sums[bs + i]}, at);
    }
    __syncthreads();
    for (int i = t; i < bs; i += threads)
      relax_component(args, args.flags & kFactored ? apply_diagonal(args, row, i, residuals) : residuals[i],
                      (row * args.nrhs + r) * bs + i);
    __syncthreads();
  }
}

} // namespace mcpi::cuda
