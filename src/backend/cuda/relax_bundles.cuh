// Relaxation of bundles of clusters with the blocks inside them. A thread block takes a bundle. It
// copies the block slices to shared memory before it waits for the launch before it. Then it takes
// round after round: each thread multiplies some slices and stores the products in shared memory,
// and each thread sums the products of one component of a row and updates x, which stays in shared
// memory to the end.
#pragma once

#include "backend/cuda/bundles.h"
#include "backend/cuda/gathered.cuh"
#include "backend/cuda/loads.cuh"

namespace mcpi::cuda {

// Entries of x in shared memory, as far as X::load() reads them
struct EntriesInShared {
  const void *read;
  const std::uint32_t *gathered;
};

template <class Kind> class BundleSweep {
public:
  __device__ __forceinline__ BundleSweep(const BundleArgs &args, std::byte *memory)
      : args_(args), t_(threadIdx.x), memory_(memory)
  {
    const std::uint32_t bundle = blockIdx.x;
    const uint4 head = __ldg(reinterpret_cast<const uint4 *>(args.tiles) + bundle);
    row_ = head.y;
    rows_ = head.z >> kLowerBits;
    lower_ = head.z & kLowerMask;
    stored_ = (lower_ + head.w + 3U) & ~3U;
    begin_ = args.flags & kLower ? 0U : lower_ & ~3U;
    count_ = (args.flags & kUpper ? stored_ : (lower_ + 3U) & ~3U) - begin_;
    tile_ = static_cast<const std::byte *>(args.blocks) + static_cast<std::size_t>(head.x) * kPiece;
    first_round_ = __ldg(args.round_begin + bundle);
    round_count_ = __ldg(args.round_begin + bundle + 1) - first_round_;
    in_shared_.read = x();
    in_shared_.gathered = gathered();
  }

  __device__ __forceinline__ void run()
  {
    const bool in_shared = args_.shape.slices_at > 0;
    if (in_shared) copy_slices();
    prepare_rounds();
    cudaGridDependencySynchronize();
    for (int r = 0; r < args_.nrhs; ++r) {
      load_vectors(r);
      __syncthreads();
      if (in_shared && r == 0 && count_ > 0) barrier_wait(barrier(), 0);
      if (in_shared)
        take_rounds<true>(at<std::byte>(args_.shape.slices_at), count_, begin_);
      else
        take_rounds<false>(tile_, stored_, 0);
      store_vectors(r);
      __syncthreads();
    }
  }

private:
  using T = typename Kind::T;
  using X = typename Kind::X;
  using MySlice = BlockSlice<Kind::storage, Kind::bs, Kind::packed>;
  static constexpr int bs = Kind::bs, slices = Kind::shape.slices, columns = Kind::shape.columns,
                       stride = product_stride(bs), words = gather_words(bs);
  static constexpr std::uint32_t threads = Tuning::kBundleThreads;

  template <class Entry> __device__ __forceinline__ Entry *at(std::uint32_t place) const
  {
    return reinterpret_cast<Entry *>(memory_ + place);
  }
  __device__ __forceinline__ std::uint64_t *barrier() const { return at<std::uint64_t>(0); }
  __device__ __forceinline__ BundleRound *rounds() const
  {
    return at<BundleRound>(args_.shape.rounds_at);
  }
  __device__ __forceinline__ InsideEnds *ends() const
  {
    return at<InsideEnds>(args_.shape.ends_at);
  }
  __device__ __forceinline__ T *rhs() const { return at<T>(args_.shape.rhs_at); }
  __device__ __forceinline__ T *x() const { return at<T>(args_.shape.x_at); }
  __device__ __forceinline__ T *products() const { return at<T>(args_.shape.products_at); }
  __device__ __forceinline__ T *kept() const { return at<T>(args_.shape.kept_at); }
  __device__ __forceinline__ std::uint32_t *gathered() const
  {
    return at<std::uint32_t>(args_.shape.gathered_at);
  }

  __device__ __forceinline__ bool has(unsigned flag) const { return args_.flags & flag; }

  // Copies the slices [begin_, begin_ + count_) of the tile, which are laid out in shared memory
  // like a tile of count_ slices: pieces of 16 bytes, then those of 8 and of 4.
  __device__ __forceinline__ void copy_slices()
  {
    constexpr SliceShape shape = Kind::shape;
    constexpr int pieces = shape.pieces(), rest = shape.bytes % kPiece;
    if (t_ != 0 || count_ == 0) return;
    barrier_init(barrier(), pieces + (rest & 8 ? 1 : 0) + (rest & 4 ? 1 : 0));
    barrier_init_fence();
    std::byte *to = at<std::byte>(args_.shape.slices_at);
    const std::byte *from = tile_;
    const auto copy = [&](std::uint32_t bytes) {
      bulk_copy(to, from + std::size_t{begin_} * bytes, count_ * bytes, barrier());
      to += count_ * bytes;
      from += std::size_t{stored_} * bytes;
    };
#pragma unroll
    for (int q = 0; q < pieces; ++q) copy(kPiece);
    if constexpr ((rest & 8) != 0) copy(8);
    if constexpr ((rest & 4) != 0) copy(4);
  }

  // Computes the rows and slices of all rounds. A triangle that is not read has no slices.
  __device__ __forceinline__ void prepare_rounds()
  {
    const InsideEnds *from = args_.inside_ends + row_;
    for (std::uint32_t r = t_; r < rows_; r += threads) ends()[r] = from[r];
    for (std::uint32_t m = t_; m < round_count_; m += threads) {
      BundleRound round{};
      round.row_end = __ldg(args_.rounds + first_round_ + m);
      if (m > 0) {
        round.row = __ldg(args_.rounds + first_round_ + m - 1);
        round.lower = from[round.row - 1].lower;
        round.upper = from[round.row - 1].upper;
      }
      round.lower_end = has(kLower) ? from[round.row_end - 1].lower : round.lower;
      round.upper_end = has(kUpper) ? from[round.row_end - 1].upper : round.upper;
      rounds()[m] = round;
    }
  }

  // The place of number n of the bundle in an array with `size` numbers for each row and right-hand
  // side. first: the plan row of the bundle in the array
  template <int size>
  __device__ __forceinline__ std::size_t place(std::uint32_t n, int r, std::uint32_t first) const
  {
    if (args_.nrhs == 1) return std::size_t{first} * size + n;
    return ((first + n / size) * static_cast<std::size_t>(args_.nrhs) + static_cast<unsigned>(r)) *
               size +
           n % size;
  }

  // Loads the residuals, kept sums, and x where it is needed: if a row reads rows that are relaxed
  // after it, or if the relaxation is damped.
  __device__ __forceinline__ void load_vectors(int r)
  {
    const T *from = static_cast<const T *>(has(kProduct) ? args_.read : args_.x);
    const bool both = has(kLower) && has(kUpper),
               old = !has(kFromZero) && args_.omega.template as<T>() != T(1);
#pragma unroll 4
    for (std::uint32_t n = t_; n < rows_ * bs; n += threads)
      rhs()[n] = static_cast<const T *>(args_.rhs)[place<bs>(n, r, row_ - args_.rhs_row)];
    if (has(kKeepSum))
#pragma unroll 4
      for (std::uint32_t n = t_; n < rows_ * bs; n += threads)
        kept()[n] = static_cast<const T *>(args_.kept)[place<bs>(n, r, row_)];
    if (old || (both && !Kind::rounded))
#pragma unroll 4
      for (std::uint32_t n = t_; n < rows_ * bs; n += threads) x()[n] = from[place<bs>(n, r, row_)];
    if constexpr (Kind::rounded)
      if (both)
#pragma unroll 4
        for (std::uint32_t n = t_; n < rows_ * words; n += threads)
          gathered()[n] = args_.gathered[place<words>(n, r, row_)];
  }
  __device__ __forceinline__ void store_vectors(int r) const
  {
    const T *from = has(kProduct) ? rhs() : x();
    if (has(kReadLater))
      for (std::uint32_t n = t_; n < rows_ * bs; n += threads)
        static_cast<T *>(args_.x)[place<bs>(n, r, row_)] = from[n];
    if (has(kKeepSum))
      for (std::uint32_t n = t_; n < rows_ * bs; n += threads)
        static_cast<T *>(args_.kept)[place<bs>(n, r, row_)] = kept()[n];
    if constexpr (Kind::rounded)
      for (std::uint32_t n = t_; n < rows_ * words; n += threads)
        args_.gathered[place<words>(n, r, row_)] = gathered()[n];
  }

  // Relaxes all rounds. tile: stores count slices, from slice begin on. shared: it is in shared
  // memory. A thread's first slice of the next round is loaded while sums are made.
  template <bool shared>
  __device__ __forceinline__ void take_rounds(const std::byte *tile, std::uint32_t count,
                                              std::uint32_t begin)
  {
    MySlice slice;
    const auto load = [&](const BundleRound &round, std::uint32_t q) {
      if (q < slices_of(round)) slice.template load<shared>(tile, count, number(round, q) - begin);
    };
    BundleRound round = round_at(0);
    load(round, t_);
    for (std::uint32_t m = 0; m < round_count_; ++m) {
      const std::uint32_t all = slices_of(round);
      for (std::uint32_t q = t_; q < all; q += threads) {
        if (q != t_) load(round, q);
        multiply(slice, q, number(round, q));
      }
      __syncthreads();
      const BundleRound next = round_at(m + 1);
      load(next, t_);
      update(round);
      __syncthreads();
      round = next;
    }
  }

  // The m-th round to be taken; one without slices after the last
  __device__ __forceinline__ BundleRound round_at(std::uint32_t m) const
  {
    return m < round_count_ ? rounds()[args_.forward ? m : round_count_ - 1 - m] : BundleRound();
  }
  static __device__ __forceinline__ std::uint32_t slices_of(const BundleRound &round)
  {
    return round.lower_end - round.lower + round.upper_end - round.upper;
  }
  // The number in the tile of the q-th slice of a round. Slices of the lower triangle come first.
  __device__ __forceinline__ std::uint32_t number(const BundleRound &round, std::uint32_t q) const
  {
    const std::uint32_t lowers = round.lower_end - round.lower;
    return q < lowers ? round.lower + q : lower_ + round.upper + q - lowers;
  }

  // Stores the product of slice k of the tile, which is the q-th slice of a round.
  __device__ __forceinline__ void multiply(const MySlice &slice, std::uint32_t q, std::uint32_t k)
  {
    X entries;
    entries.template load<slices * columns == bs, bs>(
        in_shared_, static_cast<std::uint32_t>(slice.column(args_.head)) - row_,
        slices > 1 ? static_cast<int>(k % slices) * columns : 0);
    T product[bs];
    if constexpr (Kind::integers)
      IntegerProduct<Kind::storage, bs, Kind::packed>{slice}(entries, args_.head, product);
    else
      slice.multiply(entries, args_.head, product);
    T *to = products() + q * stride;
#pragma unroll
    for (int i = 0; i < bs; ++i) to[i] = product[i];
  }

  // Sums component i of the products [from, to).
  __device__ __forceinline__ T sum(std::uint32_t from, std::uint32_t to, std::uint32_t i) const
  {
    constexpr std::uint32_t together = Tuning::kPartialsAtOnce;
    T total = 0;
    for (std::uint32_t k = from; k < to; k += together) {
      T v[together];
#pragma unroll
      for (std::uint32_t n = 0; n < together; ++n)
        v[n] = k + n < to ? products()[(k + n) * stride + i] : T(0);
#pragma unroll
      for (std::uint32_t n = 0; n < together; ++n) total += v[n];
    }
    return total;
  }

  // Relaxes the rows of a round, a thread for each component. All components of a row go to threads
  // of the same warp.
  __device__ __forceinline__ void update(const BundleRound &round)
  {
    constexpr std::uint32_t in_warp = kWarpSize / bs, together = in_warp * (threads / kWarpSize);
    const std::uint32_t lane = t_ % kWarpSize, i = lane % bs;
    for (std::uint32_t first = round.row; first < round.row_end; first += together) {
      const std::uint32_t r = first + t_ / kWarpSize * in_warp + lane / bs, n = r * bs + i;
      const bool mine = lane < in_warp * bs && r < round.row_end;
      T update = 0;
      if (mine) {
        const InsideEnds to = ends()[r];
        InsideEnds from{0, 0};
        if (r > 0) from = ends()[r - 1];
        const std::uint32_t uppers = round.lower_end - round.lower - round.upper;
        const T low = has(kLower) ? sum(from.lower - round.lower, to.lower - round.lower, i) : T(0),
                up = has(kUpper) ? sum(uppers + from.upper, uppers + to.upper, i) : T(0);
        update = rhs()[n] - args_.alpha.template as<T>() * (low + up);
        if (has(kKeepSum)) kept()[n] += has(kLowerIsNear) ? low : up;
      }
      if (has(kFactored)) {
        T v[bs]; // the row's residuals
#pragma unroll
        for (unsigned j = 0; j < bs; ++j)
          v[j] = __shfl_sync(~0U, update, static_cast<int>(lane - i + j));
        if (mine)
          update = apply_diagonal<bs, T>(args_, row_ + r, static_cast<int>(i),
                                         [&](int j) { return v[j]; });
      }
      if (mine) {
        update = damped(args_, update, x() + n);
        (has(kProduct) ? rhs() : x())[n] = update;
      }
      if constexpr (Kind::rounded) store_gathered_together<bs>(gathered(), r, i, update, mine);
    }
  }

  const BundleArgs &args_;
  const std::uint32_t t_;
  std::byte *memory_;
  std::uint32_t row_, rows_;    // plan rows of the bundle
  std::uint32_t lower_;         // slices of the lower triangle
  std::uint32_t stored_;        // slices that the tile stores
  std::uint32_t begin_, count_; // slices that are read, widened to multiples of four
  std::uint32_t first_round_, round_count_;
  const std::byte *tile_;
  EntriesInShared in_shared_; // from which entries of x are loaded
};

// Relaxes bundles, one for each thread block.
template <class Kind>
__global__ void __launch_bounds__(Tuning::kBundleThreads) relax_bundles(BundleArgs args)
{
  extern __shared__ uint4 bundle_memory[];
  cudaTriggerProgrammaticLaunchCompletion();
  BundleSweep<Kind>(args, reinterpret_cast<std::byte *>(bundle_memory)).run();
}

} // namespace mcpi::cuda
