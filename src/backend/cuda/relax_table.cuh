// The table of one storage precision's relaxation kernels, by vector precision and block size. One
// translation unit for each storage precision includes it.
#pragma once

#include <utility>

#include "backend/cuda/relax_ordered_rows.cuh"
#include "backend/cuda/relax_resident.cuh"
#include "backend/cuda/relax_small.cuh"
#include "backend/cuda/relax_streamed.cuh"
#include "core/dispatch.h"

namespace mcpi::cuda {

// How kernels for small blocks are launched.
template <class Kind> struct SmallLaunch {
  static constexpr SmallTuning tuned =
      Tuning::small(Kind::shape.bytes, Kind::bs, Kind::by_row, Kind::integers);
  static constexpr int threads = tuned.threads, per_thread = tuned.per_thread,
                       boundary = tuned.boundary, resident = tuned.resident;
  static constexpr int blocks = sizeof(typename Kind::T) == sizeof(double) ? 1 : resident;
};

template <PCMCPIPrecision storage, class T, int bs, bool packed, bool rounded>
SmallKernels small_kernel_of()
{
  using General = SmallKind<storage, T, bs, packed, rounded, Role::general>;
  using Simple = SmallKind<storage, T, bs, packed, rounded, Role::simple>;
  using OneTriangle = SmallKind<storage, T, bs, packed, rounded, Role::one_triangle>;
  using Exchanging = SmallKind<storage, T, bs, packed, rounded, Role::exchanging>;
  using Few = SmallKind<storage, T, bs, packed, rounded, Role::few>;
  using Launch = SmallLaunch<General>;
  constexpr auto kernel = []<class Kind>(Kind) {
    return address_of(relax_small<Kind, Launch::threads, Launch::per_thread, Launch::blocks>);
  };
  SmallKernels result;
  result.limits.rows = General::by_row ? Launch::threads : tile_rows(Launch::threads, bs);
  result.limits.threads = Launch::threads;
  result.limits.slices = Launch::threads * Launch::per_thread;
  result.limits.boundary_slices = Launch::threads * Launch::boundary;
  result.limits.blocks = Launch::resident;
  result.limits.tiles_each = Tuning::kTilesEach;
  result.limits.light_slice = Tuning::kLightSlice;
  result.limits.light_color = Tuning::kLightColor;
  result.general = kernel(General());
  result.simple = kernel(Simple());
  result.one_triangle = kernel(OneTriangle());
  using Ordered = SmallKind<storage, T, bs, packed, rounded, Role::ordered>;
  constexpr OrderedTuning ordered =
      Tuning::ordered(General::shape.bytes, bs, sizeof(T) == sizeof(double), rounded);
  constexpr int ordered_rows = std::min(tile_rows(ordered.threads, bs), Launch::threads);
  // Launches of single parts take the same tiles.
  result.few_ordered = {address_of(relax_ordered<Ordered, ordered.threads, ordered.resident>),
                        ordered.threads, ordered_rows,
                        std::min(ordered.threads, result.limits.slices)};
  if constexpr (ordered.many_rows > 0)
    result.many_ordered = {
        address_of(relax_ordered_rows<Ordered, ordered.threads_many, ordered.per_thread_many,
                                      ordered.resident_many>),
        ordered.threads_many, std::min(kOrderedRows, result.limits.rows),
        std::min(ordered.threads_many * ordered.per_thread_many, result.limits.slices)};
  else
    result.many_ordered = result.few_ordered;
  result.many_rows = ordered.many_rows;
  result.ordered_color = ordered.largest_color;
  result.ordered_cluster_part = ordered.largest_cluster_part;
  if constexpr (sizeof(T) == sizeof(float) && (rounded || storage != PC_MCPI_PRECISION_FP32)) {
    result.few = address_of(relax_small<Few, Launch::threads, 1, Launch::blocks>);
    result.limits.few_rows = tile_rows(Launch::threads, bs);
  }
  if constexpr (sizeof(T) == sizeof(float)) {
    // both kernels take the same tiles
    static_assert(SmallLaunch<Exchanging>::threads == Launch::threads &&
                  SmallLaunch<Exchanging>::per_thread == Launch::per_thread);
    result.exchanging_blocks = SmallLaunch<Exchanging>::resident;
    result.exchanging =
        address_of(relax_exchanging<Exchanging, Launch::threads, Launch::per_thread,
                                    Launch::boundary, SmallLaunch<Exchanging>::blocks>);
  }
  return result;
}

template <PCMCPIPrecision storage> SmallKernels small_kernels(const RelaxKind &kind, int bs)
{
  return with_vectors<storage>(kind.double_vectors, [&]<class T> {
    return with_block_size<1, kMaxSmallBlock>(bs, [&]<int size>() -> SmallKernels {
      if constexpr (size == 0)
        return {};
      else if constexpr (sizeof(T) == sizeof(double))
        return small_kernel_of<storage, T, size, false, false>();
      else
        return with_bool(kind.gather_rounded, [&]<bool rounded> {
          if constexpr (has_exponent(storage))
            if (kind.packed) return small_kernel_of<storage, T, size, true, rounded>();
          return small_kernel_of<storage, T, size, false, rounded>();
        });
    });
  });
}

// The kernel relax_streamed for vectors of large_vector() numbers
template <PCMCPIPrecision storage, class T, int vector>
const void *streamed_kernel(const StreamShape &shape)
{
  return with_bool(shape.team == kWarpSize,
                   [&]<bool warp> { return address_of(relax_streamed<storage, T, vector, warp>); });
}

// Sets relax_resident where records are small enough for it.
template <PCMCPIPrecision storage, class T, int bs> void set_resident(LargeKernels &kernels)
{
  if constexpr (record_pieces(storage, bs) * kPiece <=
                Tuning::largest_record(has_exponent(storage))) {
    kernels.resident = address_of(relax_resident<storage, T, bs>);
    kernels.shape = Resident<storage, T, bs>::shape;
  }
}

// Block sizes for which relax_resident is compiled, besides 9 to 32
using ResidentSizes = std::integer_sequence<int, 40, 48, 64>;

template <PCMCPIPrecision storage> LargeKernels large_kernels(const RelaxKind &kind, int bs)
{
  return with_vectors<storage>(kind.double_vectors, [&]<class T> {
    constexpr int most = large_vector(storage, 64); // the largest vector of all block sizes
    LargeKernels kernels;
    kernels.stream = stream_shape(storage, bs, static_cast<int>(sizeof(T)));
    if (const int vector = large_vector(storage, bs); vector == most)
      kernels.streamed = streamed_kernel<storage, T, most>(kernels.stream);
    else if (most > 2 && vector == most / 2)
      kernels.streamed = streamed_kernel<storage, T, std::max(most / 2, 1)>(kernels.stream);
    else
      kernels.streamed = streamed_kernel<storage, T, std::max(most / 4, 1)>(kernels.stream);
    with_block_size<kMaxSmallBlock + 1, 32>(bs, [&]<int size> {
      if constexpr (size > 0) set_resident<storage, T, size>(kernels);
    });
    [&]<int... sizes>(std::integer_sequence<int, sizes...>)
    {
      ((bs == sizes ? set_resident<storage, T, sizes>(kernels) : void()), ...);
    }
    (ResidentSizes());
    return kernels;
  });
}

} // namespace mcpi::cuda
