// The table of one storage precision's set-up kernels, by block size. One translation unit for each
// storage precision includes it.
#pragma once

#include "backend/cuda/setup_large.cuh"
#include "backend/cuda/setup_small.cuh"
#include "cuda/memory.h"

namespace mcpi::cuda {

template <PCMCPIPrecision storage, bool packed, int bs = 1>
SetupKernel small_setup_kernel(int wanted)
{
  if constexpr (bs < kMaxSmallBlock)
    if (wanted != bs) return small_setup_kernel<storage, packed, bs + 1>(wanted);
  return {reinterpret_cast<const void *>(setup_small<storage, bs, packed>), kSetupThreads,
          setup_rows(bs), 0, 0};
}

template <PCMCPIPrecision storage> SetupKernel setup_kernel(int bs, bool packed)
{
  if constexpr (has_exponent(storage))
    if (packed) return small_setup_kernel<storage, true>(bs);
  if (bs <= kMaxSmallBlock) return small_setup_kernel<storage, false>(bs);
  const LargeShape shape = large_shape(bs);
  const std::size_t bytes = shape.size() * sizeof(double);
  const bool fits = bytes <= static_cast<std::size_t>(
                                 most_shared(reinterpret_cast<const void *>(setup_large<storage>)));
  return {reinterpret_cast<const void *>(setup_large<storage>), kLargeThreads, shape.rows,
          fits ? bytes : 0, fits ? 0 : bytes};
}

} // namespace mcpi::cuda
