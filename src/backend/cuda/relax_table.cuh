// The table of one storage precision's relaxation kernels, by vector precision and block size. One
// translation unit for each storage precision includes it.
#pragma once

#include <type_traits>
#include <utility>

#include "backend/cuda/relax_resident.cuh"
#include "backend/cuda/relax_small.cuh"
#include "backend/cuda/relax_streamed.cuh"

namespace mcpi::cuda {

// How kernels for small blocks are launched, by the bytes of a slice. Measured on an H200: these
// values keep most bytes in flight without spilling registers.
template <class Kind> struct SmallLaunch {
  static constexpr int bytes = Kind::shape.bytes, bs = Kind::bs;
  static constexpr bool by_row = Kind::by_row;
  // most slices a thread takes, unless threads sum rows and slices are small
  static constexpr int few = bytes >= kWideSlice ? 1 : bytes > 32 ? 2 : 3;
  // slices a thread takes if threads sum rows and slices have at most 16 bytes
  static constexpr int many = Kind::integers || bs < 5 ? 5 : 4;
  static constexpr int per_thread = by_row        ? (bytes <= 16 ? many : few)
                                    : bytes <= 12 ? 3
                                                  : std::min(few, 2);
  // slices a thread takes of a tile of boundary rows
  static constexpr int boundary = std::min(per_thread, 3);
  static constexpr int threads = bytes >= kWideSlice || !by_row ? 128 : 96;
  // Thread blocks that a multiprocessor holds, if threads sum rows (row) or components (component).
  // A multiprocessor that holds more would leave a thread too few registers for a slice and its
  // products.
  static constexpr int row = bytes > 104  ? 6
                             : bytes > 32 ? std::min(15 - bs, 10)
                             : bs > 5     ? 10
                                          : 12;
  static constexpr int component = bytes > 104 ? 6 : bytes >= kWideSlice ? 10 : bytes > 32 ? 9 : 8;
  static constexpr int resident = by_row ? row : component;
  static constexpr int blocks = sizeof(typename Kind::T) == sizeof(double) ? 1 : resident;
};

template <PCMCPIPrecision storage, class T, int bs, bool packed, bool rounded>
RelaxKernel small_kernel_of()
{
  using General = SmallKind<storage, T, bs, packed, rounded, Role::general>;
  using Simple = SmallKind<storage, T, bs, packed, rounded, Role::simple>;
  using Exchanging = SmallKind<storage, T, bs, packed, rounded, Role::exchanging>;
  using Few = SmallKind<storage, T, bs, packed, rounded, Role::few>;
  using Launch = SmallLaunch<General>;
  constexpr auto kernel = []<class Kind>(Kind) {
    return reinterpret_cast<const void *>(
        relax_small<Kind, Launch::threads, Launch::per_thread, Launch::blocks>);
  };
  RelaxKernel result;
  result.function = kernel(General());
  result.simple = kernel(Simple());
  if constexpr (sizeof(T) == sizeof(float) && (rounded || storage != PC_MCPI_PRECISION_FP32)) {
    result.few =
        reinterpret_cast<const void *>(relax_small<Few, Launch::threads, 1, Launch::blocks>);
    result.few_rows = tile_rows(Launch::threads, bs);
  }
  if constexpr (sizeof(T) == sizeof(float)) {
    // both kernels take the same tiles
    static_assert(SmallLaunch<Exchanging>::threads == Launch::threads &&
                  SmallLaunch<Exchanging>::per_thread == Launch::per_thread);
    result.exchanging_blocks = SmallLaunch<Exchanging>::resident;
    result.exchanging = reinterpret_cast<const void *>(
        relax_exchanging<Exchanging, Launch::threads, Launch::per_thread, Launch::boundary,
                         SmallLaunch<Exchanging>::blocks>);
  }
  result.threads = Launch::threads;
  result.capacity = Launch::threads * Launch::per_thread;
  result.boundary = Launch::threads * Launch::boundary;
  result.tile_rows = General::by_row ? Launch::threads : tile_rows(Launch::threads, bs);
  result.blocks = Launch::resident;
  return result;
}

template <PCMCPIPrecision storage, class T, int bs> RelaxKernel small_kernel(const RelaxKind &kind)
{
  if constexpr (sizeof(T) == sizeof(float)) {
    if constexpr (has_exponent(storage))
      if (kind.packed)
        return kind.gather_rounded ? small_kernel_of<storage, T, bs, true, true>()
                                   : small_kernel_of<storage, T, bs, true, false>();
    if (kind.gather_rounded) return small_kernel_of<storage, T, bs, false, true>();
  }
  return small_kernel_of<storage, T, bs, false, false>();
}

// Adds relax_resident where records are small enough for it.
template <PCMCPIPrecision storage, class T, int bs> void set_resident(RelaxKernel &kernel)
{
  if constexpr (record_pieces(storage, bs) * kPiece <= largest_record(storage)) {
    kernel.simple = reinterpret_cast<const void *>(relax_resident<storage, T, bs>);
    kernel.resident = Resident<storage, T, bs>::shape;
  }
}

template <PCMCPIPrecision storage, class T, int vector> void set_streamed(RelaxKernel &kernel)
{
  if (kernel.stream.team == 32)
    kernel.function = reinterpret_cast<const void *>(relax_streamed<storage, T, vector, true>);
  else
    kernel.function = reinterpret_cast<const void *>(relax_streamed<storage, T, vector, false>);
}

// Block sizes for which relax_resident is compiled
using ResidentSizes = std::integer_sequence<int, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                            22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 40, 48, 64>;

template <PCMCPIPrecision storage, class T, int... sizes>
RelaxKernel large_kernel(int bs, std::integer_sequence<int, sizes...>)
{
  constexpr int most = large_vector(storage, 64); // the largest vector of all block sizes
  RelaxKernel kernel;
  kernel.stream = stream_shape(storage, bs, static_cast<int>(sizeof(T)));
  if (const int vector = large_vector(storage, bs); vector == most)
    set_streamed<storage, T, most>(kernel);
  else if (most > 2 && vector == most / 2)
    set_streamed<storage, T, std::max(most / 2, 1)>(kernel);
  else
    set_streamed<storage, T, std::max(most / 4, 1)>(kernel);
  ((bs == sizes ? set_resident<storage, T, sizes>(kernel) : void()), ...);
  return kernel;
}

template <PCMCPIPrecision storage, class T> RelaxKernel kernel_of(const RelaxKind &kind, int bs)
{
  switch (bs) {
  case 1:
    return small_kernel<storage, T, 1>(kind);
  case 2:
    return small_kernel<storage, T, 2>(kind);
  case 3:
    return small_kernel<storage, T, 3>(kind);
  case 4:
    return small_kernel<storage, T, 4>(kind);
  case 5:
    return small_kernel<storage, T, 5>(kind);
  case 6:
    return small_kernel<storage, T, 6>(kind);
  case 7:
    return small_kernel<storage, T, 7>(kind);
  case 8:
    return small_kernel<storage, T, 8>(kind);
  default:
    return large_kernel<storage, T>(bs, ResidentSizes());
  }
}

template <PCMCPIPrecision storage> RelaxKernel relax_kernel(const RelaxKind &kind, int bs)
{
  if constexpr (storage == PC_MCPI_PRECISION_FP64)
    return kernel_of<storage, double>(kind, bs);
  else
    return kind.double_vectors ? kernel_of<storage, double>(kind, bs)
                               : kernel_of<storage, float>(kind, bs);
}

} // namespace mcpi::cuda
