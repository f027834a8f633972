// The kernels of one storage precision, by vector precision and block size. Included once per storage.
#pragma once

#include "backend/cuda/relax_large.cuh"
#include "backend/cuda/relax_small.cuh"

namespace mcpi::cuda {

// Measured on an H100: what keeps enough bytes in flight without spilling registers
template <PCMCPIPrecision storage, class T, int bs> struct SmallLaunch {
  static constexpr int bytes      = item_shape(storage, bs).bytes;
  static constexpr int threads    = bytes > 64 ? 128 : 64;
  static constexpr int per_thread = bytes > 64 ? 1 : bytes > 24 ? 2 : 4;
  static constexpr int blocks     = sizeof(T) == sizeof(double) ? 1 : bytes * per_thread > 128 ? 4 : 512 / threads;
};

template <PCMCPIPrecision storage, class T, int bs> RelaxKernel small_kernel()
{
  using Launch = SmallLaunch<storage, T, bs>;
  return {reinterpret_cast<const void *>(relax_small<storage, T, bs, Launch::threads, Launch::per_thread, Launch::blocks>), Launch::threads,
          Launch::threads * Launch::per_thread};
}

// Sums of all places of a record in registers, where the storage is wide enough for that
template <PCMCPIPrecision storage, class T> RelaxKernel large_kernel(int bs)
{
  const int pieces = record_pieces(storage, bs);
  if constexpr (value_bits(storage) > 8)
    if (pieces > 256) return {reinterpret_cast<const void *>(relax_large<storage, T, 256, 2>), 256, 0};
  if constexpr (value_bits(storage) > 4)
    if (pieces > 128) return {reinterpret_cast<const void *>(relax_large<storage, T, 256, 1>), 256, 0};
  return {reinterpret_cast<const void *>(relax_large<storage, T, 128, 1>), 128, 0};
}

template <PCMCPIPrecision storage, class T> RelaxKernel kernel_of(int bs)
{
  switch (bs) {
  case 1:
    return small_kernel<storage, T, 1>();
  case 2:
    return small_kernel<storage, T, 2>();
  case 3:
    return small_kernel<storage, T, 3>();
  case 4:
    return small_kernel<storage, T, 4>();
  case 5:
    return small_kernel<storage, T, 5>();
  case 6:
    return small_kernel<storage, T, 6>();
  case 7:
    return small_kernel<storage, T, 7>();
  case 8:
    return small_kernel<storage, T, 8>();
  default:
    return large_kernel<storage, T>(bs);
  }
}

template <PCMCPIPrecision storage> RelaxKernel relax_kernel(bool double_vectors, int bs)
{
  if constexpr (storage == PC_MCPI_PRECISION_FP64)
    return kernel_of<storage, double>(bs);
  else
    return double_vectors ? kernel_of<storage, double>(bs) : kernel_of<storage, float>(bs);
}

} // namespace mcpi::cuda
