// Relaxation of several parts of a plan, one part after the other, by one launch. Rows wait for the
// rows that they read, not for the whole part before them. So a part takes the time of one row, not
// that of a launch.
//
// A row is sent to the rows that read it as packets (cuda/ghost_packets.h), with the epoch of the
// launch. Thread blocks take tiles by tickets. All that a tile reads was computed from tiles with
// smaller tickets, and the thread blocks that hold those have started. So the tile with the
// smallest ticket that is not done waits for nothing, and no launch hangs, whatever order the
// device starts thread blocks in.
#pragma once

#include "backend/cuda/relax_small.cuh"

namespace mcpi::cuda {

// Makes the compiler have a value in a register at this place. Otherwise it loads arguments of the
// kernel where they are used, which is after the wait, where each instruction counts.
__device__ __forceinline__ void hold(std::uint32_t &value)
{
  asm volatile("" : "+r"(value)::"memory");
}
__device__ __forceinline__ void hold(float &value)
{
  asm volatile("" : "+f"(value)::"memory");
}
__device__ __forceinline__ void hold(double &value)
{
  asm volatile("" : "+d"(value)::"memory");
}

// Takes the next ticket of a launch. Returns the number of the ticket, and the epoch of the launch.
// The last ticket begins the next epoch. All threads must call it.
__device__ __forceinline__ uint2 take_ticket(unsigned long long *tickets)
{
  __shared__ unsigned long long ticket;
  if (threadIdx.x == 0) {
    ticket = atomicAdd(tickets, 1ULL);
    if (static_cast<std::uint32_t>(ticket) == gridDim.x - 1) {
      atomicAdd(tickets, (1ULL << 32U) - gridDim.x);
      __threadfence(); // before the next launch may start
    }
  }
  __syncthreads();
  return {static_cast<std::uint32_t>(ticket), static_cast<std::uint32_t>(ticket >> 32U)};
}

// The tile of a thread block, and its slices that are read: those of one triangle. All threads must
// make it.
struct OrderedTile {
  std::uint32_t epoch;  // of the launch
  uint4 head;           // the tile as it is stored
  std::uint32_t count;  // slices that the tile stores
  std::uint32_t k, end; // the thread's first slice, and the end of those that are read
  std::uint32_t read;   // number of slices that are read
  const std::byte *blocks;

  __device__ __forceinline__ explicit OrderedTile(const OrderedArgs &args)
  {
    const uint2 ticket = take_ticket(args.tickets);
    cudaTriggerProgrammaticLaunchCompletion();
    epoch = ticket.y;
    const std::uint32_t number = args.forward ? ticket.x : gridDim.x - 1 - ticket.x;
    head = __ldg(reinterpret_cast<const uint4 *>(args.tiles) + number);
    fetch_ahead(args, number);
    const std::uint32_t lower = head.z & kLowerMask, upper = head.w;
    const bool low = args.flags & kLower;
    count = (lower + upper + 3U) & ~3U;
    k = low ? threadIdx.x : lower + threadIdx.x;
    end = low ? lower : lower + upper;
    read = low ? lower : upper;
    blocks =
        static_cast<const std::byte *>(args.blocks) + static_cast<std::size_t>(head.x) * kPiece;
  }
  // Asks for the head of a later tile, so that its thread block finds it in the second-level cache.
  // The memory sends the heads of several tiles together.
  static __device__ __forceinline__ void fetch_ahead(const OrderedArgs &args, std::uint32_t number)
  {
    constexpr std::uint32_t together = 64 / sizeof(Tile);
    const std::uint32_t later =
        args.forward ? number + Tuning::kOrderedHeads : number - Tuning::kOrderedHeads;
    if (threadIdx.x == 0 && number % together == 0 && later < gridDim.x)
      prefetch(args.tiles + later);
  }
  __device__ __forceinline__ std::uint32_t rows() const { return head.z >> kLowerBits; }
};

// Waits until a row that is relaxed some rows before the tile [first, last_row] is done. Most of
// what the tile reads has then come, or comes soon, so that few threads look for packets at a time.
__device__ __forceinline__ void wait_for_turn(const OrderedArgs &args, std::uint32_t first,
                                              std::uint32_t last_row, std::size_t packets,
                                              std::uint32_t epoch)
{
  const std::uint32_t at =
      (args.forward ? first - args.ahead : last_row + args.ahead) - args.first_row;
  if (at >= args.row_count) return;
  if (threadIdx.x % kWarpSize == 0) {
    const uint4 *last = args.packets + (std::size_t{at} + args.first_row) * packets + packets - 1;
    while (load_relaxed(&last->w) != epoch) __nanosleep(Tuning::kOrderedSleep);
  }
  __syncwarp();
}

// Loads the entries of x for slice k of a tile. Those of rows of this launch come from their
// packets.
template <class Kind, class MySlice>
__device__ __forceinline__ void load_ordered(const OrderedArgs &args, const MySlice &slice,
                                             std::uint32_t k, std::uint32_t epoch,
                                             typename Kind::X &x)
{
  constexpr int bs = Kind::bs, slices = MySlice::shape.slices, columns = MySlice::shape.columns,
                numbers = sent_numbers<Kind>();
  const auto column = static_cast<std::uint32_t>(slice.column(args.head));
  const int part = slices > 1 ? static_cast<int>(k % slices) : 0;
  if (column - args.first_row < args.row_count) {
    const uint4 *from = args.packets + std::size_t{column} * packets_of(numbers);
    RowPackets<numbers> packets;
    while (!packets.look(from, epoch)) continue;
    x.template take<bs, slices>(packets, part);
  } else {
    x.template load<slices * columns == bs, bs>(args, column, part * columns);
  }
}

// Sends a row to the rows that read it, by bs neighboring threads of a warp, each with its
// component i. All threads of the warp must call it. Threads without a component pass mine = false.
template <class Kind>
__device__ __forceinline__ void send_ordered(const OrderedArgs &args, std::size_t row, unsigned i,
                                             typename Kind::T update, bool mine,
                                             std::uint32_t epoch)
{
  constexpr int bs = Kind::bs, numbers = sent_numbers<Kind>(),
                packets = static_cast<int>(packets_of(numbers));
  const int first = static_cast<int>(threadIdx.x % kWarpSize - i);
  std::uint32_t number[packets * kPacketPayload] = {};
  std::uint32_t word = 0;
  if constexpr (Kind::rounded) word = gathered_word_together<bs>(i, update);
#pragma unroll
  for (int k = 0; k < numbers; ++k)
    if constexpr (Kind::rounded)
      number[k] = __shfl_sync(~0U, word, first + gathered_holder(k, bs));
    else if constexpr (sizeof(update) == sizeof(float))
      number[k] = __shfl_sync(~0U, __float_as_uint(update), first + k);
    else
      number[k] = static_cast<std::uint32_t>(
          __shfl_sync(~0U, k % 2 ? __double2hiint(update) : __double2loint(update), first + k / 2));
  uint4 *to = args.packets + row * packets;
#pragma unroll
  for (int w = 0; w < packets; ++w)
    if (mine && i == static_cast<unsigned>(w))
      store_packet<Reach::device>(to + w, number[3 * w], number[3 * w + 1], number[3 * w + 2],
                                  epoch);
  if constexpr (Kind::rounded)
    if (args.gathered) store_gathered_word<bs>(args.gathered, row, i, word, mine);
}

// A thread's component of a row of a tile
template <class Kind> struct OrderedComponent {
  using T = typename Kind::T;
  static constexpr unsigned bs = Kind::bs, in_warp = kWarpSize / bs;

  unsigned lane = threadIdx.x % kWarpSize, i = lane % bs;
  std::uint32_t my_row = threadIdx.x / kWarpSize * in_warp + lane / bs; // in the tile
  bool mine;       // whether there is such a row
  std::size_t row; // plan row
  Span slices{};   // of the row, counted from the first slice that is read
  T rhs = 0, before = 0;

  // head: the tile as it is stored. slices_read: those of the tile
  __device__ __forceinline__ OrderedComponent(const OrderedArgs &args, const uint4 &head,
                                              std::uint32_t slices_read)
      : mine(lane < in_warp * bs && my_row < head.z >> kLowerBits),
        row(head.y + my_row), slices{0, slices_read}
  {
    if (!mine) return;
    if (head.z >> kLowerBits > 1) {
      const auto *ends = reinterpret_cast<const std::uint32_t *>(args.ends) + row;
      const auto end = [&](const std::uint32_t *of) {
        return args.flags & kLower ? lower_end(__ldg(of)) : upper_end(__ldg(of));
      };
      slices.first = my_row > 0 ? end(ends - 1) : 0;
      slices.size = end(ends) - slices.first;
    }
    rhs = static_cast<const T *>(args.rhs)[row * bs + i];
  }

  // Returns the new x of the component, and stores nothing but kept sums. sum: the sum of the
  // products
  __device__ __forceinline__ T relax(const RelaxTerms &terms, T sum) const
  {
    const std::size_t at = row * bs + i;
    T update = 0;
    if (mine)
      update = residual(terms, rhs,
                        terms.flags & kLower ? TriangleSums<T>{sum, 0} : TriangleSums<T>{0, sum},
                        before, at);
    if (terms.flags & kFactored) {
      T v[bs]; // the row's residuals
#pragma unroll
      for (unsigned j = 0; j < bs; ++j)
        v[j] = __shfl_sync(~0U, update, static_cast<int>(lane - i + j));
      if (mine)
        update = apply_diagonal<Kind::bs, T>(terms, row, static_cast<int>(i),
                                             [&](int j) { return v[j]; });
    }
    return mine ? damped(terms, update, static_cast<const T *>(terms.x) + at) : T(0);
  }
};

// Relaxes the tiles of args in their order, or in the opposite one, one for each thread block.
// Products read one triangle, that of the parts before. A tile has at most one slice of it for each
// thread.
template <class Kind, int threads, int blocks>
__global__ void __launch_bounds__(threads, blocks) relax_ordered(OrderedArgs args)
{
  using T = typename Kind::T;
  using MySlice = BlockSlice<Kind::storage, Kind::bs, Kind::packed>;
  using Partials = SmallPartials<Kind, threads>;
  __shared__ alignas(kPiece) T memory[Partials::size];
  const Partials partials{memory};

  const OrderedTile tile(args);
  const std::uint32_t t = threadIdx.x, k = tile.k, end = tile.end, epoch = tile.epoch;
  MySlice slice;
  if (k < end) slice.load(tile.blocks, tile.count, k);
  OrderedComponent<Kind> mine(args, tile.head, tile.read);
  cudaGridDependencySynchronize();
  const std::size_t at = mine.row * Kind::bs + mine.i;
  if (mine.mine) mine.before = kept_sum<T>(args, at);
  RelaxTerms terms = args;
  hold(terms.flags);
  if constexpr (sizeof(T) == sizeof(float)) {
    hold(terms.alpha.narrow);
    hold(terms.omega.narrow);
  } else {
    hold(terms.alpha.wide);
    hold(terms.omega.wide);
  }
  hold(mine.slices.first);
  hold(mine.slices.size);
  hold(mine.rhs);
  hold(mine.before);
  wait_for_turn(args, tile.head.y, tile.head.y + tile.rows() - 1, packets_of(sent_numbers<Kind>()),
                epoch);
  if (k < end) {
    typename Kind::X x;
    load_ordered<Kind>(args, slice, k, epoch, x);
    T product[Kind::bs];
    multiply_slice<Kind>(slice, x, args.head, product);
    partials.store(t, product);
  }
  __syncthreads();
  const T update = mine.relax(terms, mine.mine ? partials.sum(mine.slices, mine.i) : T(0));
  send_ordered<Kind>(args, mine.row, mine.i, update, mine.mine, epoch);
  if (mine.mine && terms.flags & kReadLater) static_cast<T *>(args.x)[at] = update;
}

} // namespace mcpi::cuda
