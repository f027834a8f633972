// Relaxation with large blocks, one row a thread block: each thread keeps the sums of its places in a record over all blocks of the row.
#pragma once

#include "backend/cuda/load_once.cuh"
#include "backend/cuda/relax_update.cuh"

namespace mcpi::cuda {

// The numbers of one place, a piece of the record, times x
template <PCMCPIPrecision storage, class T> struct Place {
  static constexpr int numbers = 8 * kPiece / value_bits(storage);
  static constexpr int run     = numbers < kRun ? numbers : kRun; // numbers in at most two columns
  static constexpr int runs    = numbers / run;

  int column[runs], left[runs]; // of a run's first number; how many of its column follow, itself included
  T   sum[numbers];

  __device__ __forceinline__ void start(int piece, int ld)
  {
#pragma unroll
    for (int s = 0; s < runs; ++s) {
      const int at = piece * numbers + s * run;
      column[s]    = at / ld;
      left[s]      = ld - (at - column[s] * ld);
    }
#pragma unroll
    for (int k = 0; k < numbers; ++k) sum[k] = T(0);
  }

  // What add() needs of x, of the block's column; columns from bs on are filling
  struct Entries {
    T first[runs], next[runs];
  };
  __device__ __forceinline__ void gather(bool valid, const T *x, int bs, Entries &entries) const
  {
#pragma unroll
    for (int s = 0; s < runs; ++s) {
      entries.first[s] = valid && column[s] < bs ? x[column[s]] : T(0);
      entries.next[s]  = valid && left[s] < run && column[s] + 1 < bs ? x[column[s] + 1] : T(0);
    }
  }

  __device__ __forceinline__ void add(const uint4 &stored, const Entries &entries, T scale)
  {
    const std::uint32_t word[4] = {stored.x, stored.y, stored.z, stored.w};
#pragma unroll
    for (int s = 0; s < runs; ++s) {
      const T first = has_exponent(storage) ? entries.first[s] * scale : entries.first[s];
      const T next  = has_exponent(storage) ? entries.next[s] * scale : entries.next[s];
#pragma unroll
      for (int k = 0; k < run; ++k) sum[s * run + k] += number<storage, T>(word, s * run + k) * (k < left[s] ? first : next);
    }
  }
};

// A thread's share of the blocks of one range: every groups-th block, places t + q*threads of the record
template <PCMCPIPrecision storage, class T, int threads, int per_thread> class RowShare {
  static constexpr int ahead = per_thread == 1 ? 4 : per_thread == 2 ? 2 : 1; // blocks in flight

  const uint4     *blocks_;
  const BlockHead *heads_;
  int              pieces_, groups_, group_, piece_[per_thread];
  uint4            stored_[ahead][per_thread];
  BlockHead        head_[ahead];

public:
  Place<storage, T> place[per_thread];

  __device__ RowShare(const RelaxArgs &args, int pieces)
      : blocks_(static_cast<const uint4 *>(args.blocks)), heads_(args.heads), pieces_(pieces)
  {
    groups_ = pieces <= threads ? threads / pieces : 1;
    group_  = pieces <= threads ? static_cast<int>(threadIdx.x) / pieces : 0;
  }
  __device__ int  groups() const { return groups_; }
  __device__ int  group() const { return group_; }
  __device__ int  piece(int q) const { return piece_[q]; }
  __device__ bool has(int q) const { return group_ < groups_ && piece_[q] < pieces_; }

  // first: the piece from which on the threads hold the record
  __device__ void start(int first, int ld)
  {
#pragma unroll
    for (int q = 0; q < per_thread; ++q) {
      piece_[q] =
          first + (pieces_ <= threads ? static_cast<int>(threadIdx.x) - group_ * pieces_ : static_cast<int>(threadIdx.x) + q * threads);
      place[q].start(piece_[q], ld);
    }
  }

  // Without branches: loads of several blocks fly together. What lies behind the end counts as zero.
  __device__ __forceinline__ void load(std::uint32_t k0, std::uint32_t end)
  {
#pragma unroll
    for (int a = 0; a < ahead; ++a) {
      const std::uint32_t k     = k0 + static_cast<std::uint32_t>(group_ + a * groups_);
      const bool          valid = k < end;
      head_[a]                  = valid ? heads_[k] : BlockHead{0, 0};
#pragma unroll
      for (int q = 0; q < per_thread; ++q)
        stored_[a][q] = valid && has(q) ? load_once(blocks_ + static_cast<std::size_t>(k) * pieces_ + piece_[q]) : uint4{0, 0, 0, 0};
    }
  }

  // Adds all blocks [k0, end), the first of which are loaded. x: of right-hand side r
  __device__ __forceinline__ void run(std::uint32_t k0, std::uint32_t end, const T *x, std::size_t stride, int bs)
  {
    while (k0 < end) {
      typename Place<storage, T>::Entries entries[ahead][per_thread];
#pragma unroll
      for (int a = 0; a < ahead; ++a)
#pragma unroll
        for (int q = 0; q < per_thread; ++q)
          place[q].gather(has(q) && k0 + static_cast<std::uint32_t>(group_ + a * groups_) < end,
                          x + static_cast<std::size_t>(head_[a].column) * stride, bs, entries[a][q]);
#pragma unroll
      for (int a = 0; a < ahead; ++a)
#pragma unroll
        for (int q = 0; q < per_thread; ++q) place[q].add(stored_[a][q], entries[a][q], power_of_two<T>(head_[a].exponent));
      k0 += static_cast<std::uint32_t>(ahead * groups_);
      load(k0, end);
    }
  }
};

// Threads on a multiprocessor that leave each enough registers for its sums and what it has in flight
template <PCMCPIPrecision storage, class T> constexpr int resident_threads()
{
  return sizeof(T) == sizeof(double) ? 512 : value_bits(storage) >= 16 ? 768 : 640;
}

template <PCMCPIPrecision storage, class T, int threads, int per_thread>
__global__ void __launch_bounds__(threads, resident_threads<storage, T>() / threads) relax_large(RelaxArgs args)
{
  constexpr int          numbers = Place<storage, T>::numbers, wide = threads * per_thread;
  __shared__ T           parts[wide * numbers];
  __shared__ T           partial[threads];
  extern __shared__ char dynamic[]; // the row's sums over the triangles, then its residual

  cudaTriggerProgrammaticLaunchCompletion();
  const int bs = args.bs, ld = leading_dimension(storage, bs), pieces = record_pieces(storage, bs), t = static_cast<int>(threadIdx.x);
  T        *sums = reinterpret_cast<T *>(dynamic), *residuals = sums + 2 * bs;
  const std::size_t row  = args.first_row + blockIdx.x;
  const LargeRow    head = args.rows[row];
  const T          *x = static_cast<const T *>(args.x), *rhs = static_cast<const T *>(args.rhs);
  const bool        both = (args.flags & (kLower | kUpper)) == (kLower | kUpper), split = both && args.flags & kKeepSum;
  const auto        begin = [&](int side) { return head.block + (side == 0 && args.flags & kLower ? 0U : head.lower); };
  const auto end = [&](int side) { return head.block + head.lower + (side == 1 || (!split && args.flags & kUpper) ? head.upper : 0U); };
  RowShare<storage, T, threads, per_thread> share(args, pieces);
  share.start(0, ld);
  share.load(begin(0), end(0));
  cudaGridDependencySynchronize();

  for (int r = 0; r < args.nrhs; ++r) {
    for (int i = t; i < 2 * bs; i += threads) sums[i] = T(0);
    for (int side = 0; side < (split ? 2 : 1); ++side)
      for (int first = 0; first < pieces; first += wide) {
        if (r > 0 || side > 0 || first > 0) {
          share.start(first, ld);
          share.load(begin(side), end(side));
        }
        share.run(begin(side), end(side), x + static_cast<std::size_t>(r) * bs, static_cast<std::size_t>(args.nrhs) * bs, bs);
        // parts: the record's numbers from piece `first` on, group after group
        const int held = min(pieces - first, wide) * numbers;
        __syncthreads();
#pragma unroll
        for (int q = 0; q < per_thread; ++q)
          if (share.has(q))
#pragma unroll
            for (int k = 0; k < numbers; ++k) parts[share.group() * held + (share.piece(q) - first) * numbers + k] = share.place[q].sum[k];
        __syncthreads();
        // component i over the columns and groups, cut among the threads that there are
        const int from = first * numbers, cut = max(1, threads / bs), mine = cut > 1 ? t / bs : 0;
        for (int i0 = 0; i0 < bs; i0 += threads) {
          const int i   = i0 + (cut > 1 ? t - mine * bs : t);
          T         sum = 0;
          if (i < bs && mine < cut) {
            const int j0 = max(0, (from - i + ld - 1) / ld), j1 = min(bs, (from + held - i + ld - 1) / ld);
            for (int g = 0; g < share.groups(); ++g)
#pragma unroll 4
              for (int j = j0 + mine; j < j1; j += cut) sum += parts[g * held + j * ld + i - from];
          }
          if (cut > 1) {
            partial[t] = sum;
            __syncthreads();
            if (mine == 0)
              for (int c = 1; c < cut; ++c) sum += partial[c * bs + i];
          }
          if (i < bs && mine == 0) sums[side * bs + i] += sum;
        }
      }
    __syncthreads();
    for (int i = t; i < bs; i += threads) {
      const std::size_t at = (row * args.nrhs + r) * bs + i;
      // one range only: its sum is the near triangle's if anything is to be kept
      const T one = sums[i], other = sums[bs + i];
      residuals[i] =
          residual(args, rhs[at], !split && !(args.flags & kLower) ? TriangleSums<T>{other, one} : TriangleSums<T>{one, other}, at);
    }
    __syncthreads();
    for (int i = t; i < bs; i += threads)
      relax_component(args, args.flags & kFactored ? apply_diagonal(args, row, i, residuals) : residuals[i],
                      (row * args.nrhs + r) * bs + i);
    __syncthreads();
  }
}

} // namespace mcpi::cuda
