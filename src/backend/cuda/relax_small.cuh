// Relaxation with small blocks. A thread block takes a tile of whole rows. First each thread
// multiplies some block slices and stores the partial products in shared memory. Then each thread
// sums the partial products of one row, or of one component of a row, and updates x.
#pragma once

#include <cuda_pipeline.h>

#include <type_traits>

#include "backend/cuda/gathered.cuh"
#include "backend/cuda/loads.cuh"
#include "cuda/ghost_packets.cuh"

namespace mcpi::cuda {

// What a kernel is for.
// - general: every case.
// - simple: one right-hand side, no tile with more slices than the threads take at a time, and no
//   kept sums.
// - one_triangle: like simple, for relaxations that read one triangle, and maybe kept sums.
// - exchanging: like simple, with kept sums, and the exchange of ghosts inside the kernel.
// - few: like simple, with kept sums, for colors of few rows. Their time is that of the longest
//   chain of dependent instructions.
// - ordered: several parts by one launch (relax_ordered.cuh, relax_ordered_rows.cuh).
enum class Role { general, simple, one_triangle, exchanging, few, ordered };

// How a kernel gets kept sums.
// - none: it uses none.
// - early: each thread loads one before it multiplies.
// - shared: they are copied to shared memory while the threads multiply.
// - late: they are loaded after the products, from the second-level cache.
enum class KeptSums { none, early, shared, late };

// What a kernel is compiled for. rounded: products read the bfp16 copy of x. integers: products are
// computed in integers. T: a number of the vectors. X: the entries of x that a thread's slice
// needs.
template <PCMCPIPrecision storage_, class T_, int bs_, bool packed_, bool rounded_, Role role>
struct SmallKind {
  static constexpr PCMCPIPrecision storage = storage_;
  static constexpr int bs = bs_;
  static constexpr bool packed = packed_, rounded = rounded_, simple = role != Role::general,
                        one_triangle = role == Role::one_triangle, few = role == Role::few,
                        ordered = role == Role::ordered;
  static constexpr SliceShape shape = slice_shape(storage, bs, packed);
  static constexpr bool integers = rounded && has_exponent(storage);
  // Whether a thread sums all components of a row, not only one. An exchanging kernel with a
  // rounded copy always does, because one thread sends the whole row.
  static constexpr bool by_row =
      !few && !ordered && sizeof(T_) == sizeof(float) &&
      ((rounded && role == Role::exchanging) ||
       Tuning::sums_rows(storage == PC_MCPI_PRECISION_FP32, rounded, shape.bytes, bs));
  static constexpr bool kept_in_vain =
      Tuning::loads_kept_in_vain(storage == PC_MCPI_PRECISION_FP16, rounded);
  static constexpr KeptSums kept = role == Role::simple && !kept_in_vain ? KeptSums::none
                                   : few                                 ? KeptSums::early
                                   : role != Role::one_triangle          ? KeptSums::late
                                   : by_row                              ? KeptSums::shared
                                                                         : KeptSums::early;
  using T = T_;
  using X = std::conditional_t<rounded, RoundedX<shape.columns>, PlainX<T, shape.columns>>;
};

// The partial products of a thread block, for capacity slices.
template <class Kind, int capacity>
using SmallPartials =
    PartialProducts<typename Kind::T, Kind::bs, capacity, Kind::by_row,
                    Kind::ordered ? 2 * Tuning::kPartialsAtOnce : Tuning::kPartialsAtOnce>;

// Numbers of kept sums in shared memory, at most
template <class Kind, int threads>
constexpr int kept_numbers = Kind::kept == KeptSums::shared ? threads *Kind::bs : 1;

// Starts to copy numbers to shared memory by all threads of a thread block, which takes no
// registers meanwhile. They have come after __pipeline_wait_prior(0) and __syncthreads().
template <int threads, class T>
__device__ __forceinline__ void copy_to_shared(T *to, const T *from, std::uint32_t count)
{
#pragma unroll 1
  for (std::uint32_t k = threadIdx.x; k < count; k += threads)
    __pipeline_memcpy_async(to + k, from + k, sizeof(T));
  __pipeline_commit();
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

// Numbers of 32 bits that are sent for a row
template <class Kind> constexpr int sent_numbers()
{
  return Kind::rounded ? gather_words(Kind::bs)
                       : Kind::bs * static_cast<int>(sizeof(typename Kind::T) / 4);
}

// Multiplies a slice by the entries of x that it needs.
template <class Kind, class MySlice>
__device__ __forceinline__ void multiply_slice(const MySlice &slice, const typename Kind::X &x,
                                               const HeadBits &head,
                                               typename Kind::T (&product)[Kind::bs])
{
  if constexpr (Kind::integers)
    IntegerProduct<Kind::storage, Kind::bs, Kind::packed>{slice}(x, head, product);
  else
    slice.multiply(x, head, product);
}

// Loads x for a tile's slices. Entries of local rows come from x (or its rounded copy), those of
// ghosts from the packets where they arrive. A thread looks at the packets of all its slices before
// it waits for any of them.
template <class Kind, int threads, class MySlice, int per_thread>
__device__ __forceinline__ void
load_with_ghosts(const SmallArgs &args, const MySlice (&slice)[per_thread], std::uint32_t begin,
                 std::uint32_t end, std::uint32_t lower, std::uint32_t base,
                 typename Kind::X (&x)[per_thread])
{
  constexpr int bs = Kind::bs, slices = MySlice::shape.slices, columns = MySlice::shape.columns;
  const PacketArgs &packets = args.inside.packets;
  Ghost<sent_numbers<Kind>()> ghost[per_thread];
  std::uint32_t column[per_thread];
#pragma unroll
  for (int u = 0; u < per_thread; ++u) {
    const std::uint32_t k = begin + threadIdx.x + u * threads;
    column[u] = k < end ? static_cast<std::uint32_t>(slice[u].column(args.head)) : 0;
    if (column[u] >= packets.rows)
      ghost[u].look(packets, column[u] - packets.rows);
    else if (k < end)
      x[u].template load<slices * columns == bs, bs>(
          args, column[u], slices > 1 ? static_cast<int>(k % slices) * columns : 0);
  }
#pragma unroll
  for (int u = 0; u < per_thread; ++u)
    if (column[u] >= packets.rows) {
      const std::uint32_t k = begin + threadIdx.x + u * threads, number = column[u] - packets.rows;
      ghost[u].await(packets, number, base + args.inside.epoch(number, k < lower));
      x[u].template take<bs, slices>(ghost[u], static_cast<int>(k % slices));
    }
}

// Sends a row that was just relaxed to the neighbors' memory. update: the new values of a thread's
// components, from component i on. All threads of a warp must call it.
template <class Kind, class T, int own>
__device__ __forceinline__ void
send_row(const InlineExchange &inside, const Sending<sent_numbers<Kind>()> &sending,
         std::uint32_t epoch, std::uint32_t i, const T (&update)[own])
{
  constexpr int bs = Kind::bs, numbers = sent_numbers<Kind>();
  if constexpr (Kind::by_row) {
    const auto number = [&](int k) {
      if constexpr (Kind::rounded)
        return k < numbers ? gathered_word(mantissas_of(update, bs), update, bs, k) : 0U;
      else
        return k < numbers ? __float_as_uint(update[k < bs ? k : 0]) : 0U;
    };
#pragma unroll
    for (int w = 0; w < static_cast<int>(packets_of(numbers)); ++w)
      sending.store(inside, w, number(kPacketPayload * w), number(kPacketPayload * w + 1),
                    number(kPacketPayload * w + 2), epoch);
  } else {
    static_assert(!Kind::rounded);
    const std::uint32_t mine = __float_as_uint(update[0]), next = __shfl_down_sync(~0U, mine, 1),
                        last = __shfl_down_sync(~0U, mine, 2);
    if (i % kPacketPayload == 0)
      sending.store(inside, static_cast<int>(i / kPacketPayload), mine, i + 1 < bs ? next : 0U,
                    i + 2 < bs ? last : 0U, epoch);
  }
}

// Adds the partial products of a row's slices in the triangle that is read. lower, upper: where the
// row's slices begin and end in each triangle of its tile
template <class Kind, class Partials, int own>
__device__ __forceinline__ void add_triangle(const Partials &partials, bool reads_lower,
                                             uint2 lower, uint2 upper, unsigned i,
                                             TriangleSums<typename Kind::T> (&sums)[own])
{
  const uint2 read = reads_lower ? lower : upper;
  const Span slices{read.x, read.y - read.x};
  typename Kind::T sum[own] = {};
  if constexpr (Kind::by_row)
    partials.add(slices, sum);
  else
    sum[0] = partials.sum(slices, i);
#pragma unroll
  for (int c = 0; c < own; ++c) (reads_lower ? sums[c].lower : sums[c].upper) = sum[c];
}

// Relaxes one tile. exchanging: it is a tile of boundary rows that reads ghosts from their packets
// and sends its rows. Reads tiles, ends, blocks, rhs, kept, diagonal and x or gathered; writes x,
// kept and gathered.
// Before it waits for the color before it, the kernel loads its tile, slices, ends and right-hand
// side. After the wait it reads x and kept. An exchanging tile then waits for the epochs of the
// ghosts that it reads.
template <class Kind, int threads, int per_thread, bool exchanging>
__device__ __forceinline__ void
relax_tile(const SmallArgs &args, const SmallPartials<Kind, threads * per_thread> &partials,
           [[maybe_unused]] typename Kind::T *kept)
{
  using T = typename Kind::T;
  using MySlice = BlockSlice<Kind::storage, Kind::bs, Kind::packed>;
  constexpr int bs = Kind::bs;
  constexpr bool simple = Kind::simple;
  constexpr int capacity = threads * per_thread;
  constexpr int slices = MySlice::shape.slices;
  constexpr bool by_row = Kind::by_row;
  constexpr int own = by_row ? bs : 1; // components that a thread sums

  // All that does not depend on x is loaded before the kernel waits for the color before it. In
  // small colors, thread blocks of several colors would wait on a multiprocessor and share it
  // unevenly. With kOneWaits the next color therefore starts only after the wait.
  if (!Kind::few || !(args.flags & kOneWaits)) cudaTriggerProgrammaticLaunchCompletion();
  const std::uint32_t t = threadIdx.x;
  const uint4 head = __ldg(reinterpret_cast<const uint4 *>(args.tiles) + blockIdx.x);
  const std::uint32_t rows = head.z >> kLowerBits, lower = head.z & kLowerMask, upper = head.w;
  const std::uint32_t count = (lower + upper + 3U) & ~3U;
  const std::uint32_t begin = args.flags & kLower ? 0U : lower,
                      end = args.flags & kUpper ? lower + upper : lower;
  const std::byte *tile =
      static_cast<const std::byte *>(args.blocks) + static_cast<std::size_t>(head.x) * kPiece;
  const int nrhs = simple ? 1 : args.nrhs;
  MySlice slice[per_thread];
  const auto load = [&](std::uint32_t from) {
#pragma unroll
    for (int u = 0; u < per_thread; ++u)
      if (const std::uint32_t k = from + t + u * threads; k < end) slice[u].load(tile, count, k);
  };
  load(begin);
  const std::uint32_t lane = t % kWarpSize,
                      i = by_row ? 0 : lane % bs, // the first of a thread's components
      my_row = by_row ? t : t / kWarpSize * (kWarpSize / bs) + lane / bs;
  const bool mine = (by_row || lane < kWarpSize / bs * bs) && my_row < rows;
  std::uint32_t from = 0, to = 0;
  if (mine && rows > 1) {
    const std::uint32_t *ends =
        reinterpret_cast<const std::uint32_t *>(args.ends) + head.y + my_row;
    to = __ldg(ends);
    if (my_row > 0) from = __ldg(ends - 1);
  }
  const std::size_t row = head.y + my_row;
  const T *rhs = static_cast<const T *>(args.rhs);
  T my_rhs[own] = {};
  if (mine)
#pragma unroll
    for (unsigned c = 0; c < own; ++c) my_rhs[c] = rhs[row * nrhs * bs + i + c];
  [[maybe_unused]] Sending<sent_numbers<Kind>()> sending;
  if constexpr (exchanging)
    if (mine && args.inside.sends != 0) sending = {args.inside, row};
  cudaGridDependencySynchronize();
  if constexpr (Kind::few)
    if (args.flags & kOneWaits) cudaTriggerProgrammaticLaunchCompletion();
  [[maybe_unused]] T my_kept = 0;
  if (Kind::kept != KeptSums::none && args.flags & kUseKept) {
    const T *from = static_cast<const T *>(args.kept);
    if constexpr (Kind::kept == KeptSums::shared)
      copy_to_shared<threads>(kept, from + std::size_t{head.y} * bs, rows * bs);
    else if (mine && Kind::kept == KeptSums::early)
      my_kept = from[row * bs + i];
    else if (mine)
      prefetch(from + row * nrhs * bs + i);
  }
  [[maybe_unused]] std::uint32_t base = 0;
  if constexpr (exchanging) base = *args.inside.packets.base;

  const bool many = !simple && end - begin > static_cast<std::uint32_t>(capacity);
  for (int r = 0; r < nrhs; ++r) {
    TriangleSums<T> sums[own];
    std::uint32_t chunk = begin;
    do {
      if (!simple && (chunk != begin || r > 0)) {
        if (many) load(chunk);
        __syncthreads(); // the previous partial products have been summed
      }
      typename Kind::X x[per_thread];
      if constexpr (exchanging)
        load_with_ghosts<Kind, threads>(args, slice, begin, end, lower, base, x);
      else
#pragma unroll
        for (int u = 0; u < per_thread; ++u)
          if (const std::uint32_t k = chunk + t + u * threads; k < end)
            x[u].template load<slices * MySlice::shape.columns == bs, bs>(
                args, static_cast<std::size_t>(slice[u].column(args.head)) * nrhs + r,
                slices > 1 ? static_cast<int>(k % slices) * MySlice::shape.columns : 0);
#pragma unroll
      for (int u = 0; u < per_thread; ++u)
        if (chunk + t + u * threads < end) {
          T product[bs];
          multiply_slice<Kind>(slice[u], x[u], args.head, product);
          partials.store(t + u * threads, product);
        }
      if constexpr (Kind::kept == KeptSums::shared) __pipeline_wait_prior(0);
      __syncthreads();
      const std::uint32_t last_lower = rows > 1 ? lower_end(to) : lower,
                          last_upper = rows > 1 ? upper_end(to) : upper;
      if constexpr (Kind::one_triangle) {
        if (mine)
          add_triangle<Kind>(partials, args.flags & kLower, {lower_end(from), last_lower},
                             {upper_end(from), last_upper}, i, sums);
      } else if (mine) {
        // A triangle that is not read has no slices here.
        Span low = span_in<simple>(lower_end(from), last_lower, chunk, capacity);
        Span up = span_in<simple>(lower + upper_end(from), lower + last_upper, chunk, capacity);
        if (!(args.flags & kLower)) low.size = 0;
        if (!(args.flags & kUpper)) up.size = 0;
        if constexpr (by_row)
          partials.add(low, up, sums);
        else
          partials.add(low, up, i, sums);
      }
      chunk += capacity;
    } while (!simple && chunk < end);
    const std::size_t at = (row * nrhs + r) * bs + i;
    T update[own] = {};
    if (mine)
#pragma unroll
      for (unsigned c = 0; c < own; ++c) {
        T before = 0;
        if constexpr (Kind::kept == KeptSums::early) before = my_kept;
        if constexpr (Kind::kept == KeptSums::shared)
          before = args.flags & kUseKept ? kept[my_row * bs + c] : T(0);
        if constexpr (Kind::kept == KeptSums::late) before = kept_sum<T>(args, at + c);
        update[c] = residual(args, r == 0 ? my_rhs[c] : rhs[at + c], sums[c], before, at + c);
      }
    if (args.flags & kFactored) {
      T v[bs]; // the row's residuals
#pragma unroll
      for (unsigned j = 0; j < bs; ++j)
        v[j] =
            by_row ? update[j % own] : __shfl_sync(~0U, update[0], static_cast<int>(lane - i + j));
      if (mine)
#pragma unroll
        for (unsigned c = 0; c < own; ++c)
          update[c] = apply_diagonal<bs, T>(args, row, static_cast<int>(i + c),
                                            [&](int j) { return v[j]; });
    }
    if (mine)
#pragma unroll
      for (unsigned c = 0; c < own; ++c) update[c] = relax_component(args, update[c], at + c);
    if constexpr (Kind::rounded) {
      const std::size_t entry = row * static_cast<std::size_t>(nrhs) + static_cast<std::size_t>(r);
      if constexpr (!by_row)
        store_gathered_word<bs>(args.gathered, entry, i, gathered_word_together<bs>(i, update[0]),
                                mine);
      else if (mine)
        store_gathered<bs>(args.gathered, entry, bs, update);
    }
    if constexpr (exchanging)
      if (args.inside.sends != 0)
        send_row<Kind>(args.inside, sending, base + args.inside.sends, i, update);
  }
}

// Relaxes the tiles of args, one for each thread block; see relax_tile().
template <class Kind, int threads, int per_thread, int blocks>
__global__ void __launch_bounds__(threads, blocks) relax_small(SmallArgs args)
{
  using Partials = SmallPartials<Kind, threads * per_thread>;
  __shared__ alignas(kPiece) typename Kind::T memory[Partials::size];
  __shared__ typename Kind::T kept[kept_numbers<Kind, threads>];
  relax_tile<Kind, threads, per_thread, false>(args, Partials{memory}, kept);
}

// Relaxes a whole color and exchanges ghosts. The first thread blocks take tiles of boundary rows,
// the others tiles of interior rows. Boundary tiles have fewer slices a thread and their own code,
// so that the code for interior tiles keeps its registers.
template <class Kind, int threads, int per_thread, int boundary_per_thread, int blocks>
__global__ void __launch_bounds__(threads, blocks) relax_exchanging(SmallArgs args)
{
  using Interior = SmallPartials<Kind, threads * per_thread>;
  using Boundary = SmallPartials<Kind, threads * boundary_per_thread>;
  __shared__ alignas(kPiece) typename Kind::T memory[std::max(Interior::size, Boundary::size)];
  if (blockIdx.x < args.inside.boundary_tiles)
    relax_tile<Kind, threads, boundary_per_thread, true>(args, Boundary{memory}, nullptr);
  else
    relax_tile<Kind, threads, per_thread, false>(args, Interior{memory}, nullptr);
}

} // namespace mcpi::cuda
