// Relaxation of several parts of many rows each by one launch. relax_ordered() is made for the
// shortest chain of dependent instructions, this kernel for few instructions: a thread takes one or
// several slices, and each thread of the last warp takes a whole row.
#pragma once

#include "backend/cuda/relax_ordered.cuh"

namespace mcpi::cuda {

// Most rows of a tile
constexpr int kOrderedRows = kWarpSize;

// The product of a thread's slice with x. look() loads the packets of the row that the slice reads,
// multiply() waits for them. So the packets of several slices are on their way together.
template <class Kind, class MySlice> class OrderedProduct {
public:
  __device__ __forceinline__ void look(const OrderedArgs &args, const MySlice &slice)
  {
    column_ = static_cast<std::uint32_t>(slice.column(args.head));
    if (sent(args)) packets_.load(from(args));
  }
  __device__ __forceinline__ void multiply(const OrderedArgs &args, const MySlice &slice,
                                           std::uint32_t epoch,
                                           typename Kind::T (&product)[Kind::bs])
  {
    typename Kind::X x;
    if (sent(args)) {
      while (!packets_.have_come(epoch)) packets_.load(from(args));
      x.template take<Kind::bs, 1>(packets_, 0);
    } else {
      x.template load<true, Kind::bs>(args, column_, 0);
    }
    multiply_slice<Kind>(slice, x, args.head, product);
  }

private:
  static_assert(MySlice::shape.slices == 1);
  static constexpr int numbers = sent_numbers<Kind>();

  // Whether the row is relaxed by this launch
  __device__ __forceinline__ bool sent(const OrderedArgs &args) const
  {
    return column_ - args.first_row < args.row_count;
  }
  __device__ __forceinline__ const uint4 *from(const OrderedArgs &args) const
  {
    return args.packets + std::size_t{column_} * packets_of(numbers);
  }

  std::uint32_t column_ = 0;
  RowPackets<numbers> packets_;
};

// Sends a row to the rows that read it, by one thread.
template <class Kind>
__device__ __forceinline__ void send_ordered_row(const OrderedArgs &args, std::size_t row,
                                                 const float (&update)[Kind::bs],
                                                 std::uint32_t epoch)
{
  constexpr int bs = Kind::bs, numbers = sent_numbers<Kind>(),
                packets = static_cast<int>(packets_of(numbers));
  std::uint32_t number[packets * kPacketPayload] = {};
  if constexpr (Kind::rounded) {
    const Mantissas mantissas = mantissas_of(update, bs);
#pragma unroll
    for (int w = 0; w < numbers; ++w) number[w] = gathered_word(mantissas, update, bs, w);
  } else {
#pragma unroll
    for (int i = 0; i < bs; ++i) number[i] = __float_as_uint(update[i]);
  }
  uint4 *to = args.packets + row * packets;
#pragma unroll
  for (int w = 0; w < packets; ++w)
    store_packet<Reach::device>(to + w, number[3 * w], number[3 * w + 1], number[3 * w + 2], epoch);
  if constexpr (Kind::rounded)
    if (args.gathered)
#pragma unroll
      for (int w = 0; w < numbers; ++w) args.gathered[row * numbers + w] = number[w];
}

// A row of a tile, for a thread of the last warp
template <class T, int bs> class OrderedRow {
public:
  // Numbers of the rows of a tile, in shared memory. They take no registers while the thread block
  // multiplies.
  struct Memory {
    T rhs[kOrderedRows * bs], kept[kOrderedRows * bs];
  };

  // Starts to copy the right-hand side. tile: the tile as it is stored. slices_read: its
  // slices. All threads must call it.
  __device__ __forceinline__ OrderedRow(const OrderedArgs &args, const uint4 &tile,
                                        std::uint32_t slices_read, Memory &memory)
      : memory_(memory), lane_(threadIdx.x % kWarpSize), row_(tile.y + lane_)
  {
    const std::uint32_t rows = tile.z >> kLowerBits;
    std::uint32_t end = slices_read;
    mine_ = threadIdx.x + kWarpSize >= blockDim.x && lane_ < rows;
    if (mine_ && rows > 1) {
      const std::uint32_t ends =
          __ldg(reinterpret_cast<const std::uint32_t *>(args.ends) + tile.y + lane_);
      end = args.flags & kLower ? lower_end(ends) : upper_end(ends);
    }
    const std::uint32_t before = __shfl_up_sync(~0U, end, 1);
    slices_.first = lane_ > 0 ? before : 0;
    slices_.size = end - slices_.first;
    copy(memory_.rhs, args.rhs);
  }
  // Starts to copy the kept sums, which an earlier launch may have written.
  __device__ __forceinline__ void copy_kept(const OrderedArgs &args)
  {
    if (args.flags & kUseKept) copy(memory_.kept, args.kept);
    __pipeline_commit();
  }
  // Waits for the copies of this thread, which reads no others. __syncthreads() must follow, so
  // that the compiler does not read them earlier.
  __device__ __forceinline__ void await() const { __pipeline_wait_prior(0); }
  // Relaxes the row, and sends it.
  template <class Kind, class Partials>
  __device__ __forceinline__ void relax(const OrderedArgs &args, const Partials &partials,
                                        std::uint32_t epoch) const
  {
    if (!mine_) return;
    const bool low = args.flags & kLower;
    T update[bs], sum[bs] = {};
    partials.add(slices_, sum);
#pragma unroll
    for (int i = 0; i < bs; ++i)
      update[i] = residual(args, memory_.rhs[lane_ * bs + i],
                           low ? TriangleSums<T>{sum[i], 0} : TriangleSums<T>{0, sum[i]},
                           args.flags & kUseKept ? memory_.kept[lane_ * bs + i] : T(0), place(i));
    if (args.flags & kFactored) {
      T v[bs]; // the row's residuals
#pragma unroll
      for (int i = 0; i < bs; ++i) v[i] = update[i];
#pragma unroll
      for (int i = 0; i < bs; ++i)
        update[i] = apply_diagonal<bs, T>(args, row_, i, [&](int j) { return v[j]; });
    }
#pragma unroll
    for (int i = 0; i < bs; ++i)
      update[i] = damped(args, update[i], static_cast<const T *>(args.x) + place(i));
    send_ordered_row<Kind>(args, row_, update, epoch);
    if (args.flags & kReadLater)
#pragma unroll
      for (int i = 0; i < bs; ++i) static_cast<T *>(args.x)[place(i)] = update[i];
  }

private:
  __device__ __forceinline__ std::size_t place(int i) const
  {
    return row_ * bs + static_cast<std::size_t>(i);
  }
  __device__ __forceinline__ void copy(T *to, const void *from) const
  {
    if (!mine_) return;
#pragma unroll
    for (int i = 0; i < bs; ++i)
      __pipeline_memcpy_async(to + lane_ * bs + i, static_cast<const T *>(from) + place(i),
                              sizeof(T));
  }

  Memory &memory_;
  std::uint32_t lane_;
  std::size_t row_; // plan row
  bool mine_;       // whether this thread has a row
  Span slices_{};   // of the row, counted from the first slice that is read
};

// Relaxes the tiles of args in their order, or in the opposite one, one for each thread block.
// Products read one triangle, that of the parts before. A tile has at most per_thread slices of it
// for each thread, and at most kOrderedRows rows.
template <class Kind, int threads, int per_thread, int blocks>
__global__ void __launch_bounds__(threads, blocks) relax_ordered_rows(OrderedArgs args)
{
  using T = typename Kind::T;
  using MySlice = BlockSlice<Kind::storage, Kind::bs, Kind::packed>;
  using Partials =
      PartialProducts<T, Kind::bs, threads * per_thread, true, Tuning::kPartialsAtOnce>;
  __shared__ alignas(kPiece) T memory[Partials::size];
  __shared__ typename OrderedRow<T, Kind::bs>::Memory numbers;
  const Partials partials{memory};

  const OrderedTile tile(args);
  const std::uint32_t t = threadIdx.x, k = tile.k, end = tile.end, epoch = tile.epoch;
  MySlice slice[per_thread];
  const auto for_slices = [&](const auto &visit) {
#pragma unroll
    for (int u = 0; u < per_thread; ++u)
      if (k + u * threads < end) visit(u);
  };
  for_slices([&](int u) { slice[u].load(tile.blocks, tile.count, k + u * threads); });
  OrderedRow<T, Kind::bs> row(args, tile.head, tile.read, numbers);
  cudaGridDependencySynchronize();
  row.copy_kept(args);
  wait_for_turn(args, tile.head.y, tile.head.y + tile.rows() - 1, packets_of(sent_numbers<Kind>()),
                epoch);
  OrderedProduct<Kind, MySlice> product[per_thread];
  for_slices([&](int u) { product[u].look(args, slice[u]); });
  for_slices([&](int u) {
    T y[Kind::bs];
    product[u].multiply(args, slice[u], epoch, y);
    partials.store(t + u * threads, y);
  });
  row.await();
  __syncthreads();
  row.template relax<Kind>(args, partials, epoch);
}

} // namespace mcpi::cuda
