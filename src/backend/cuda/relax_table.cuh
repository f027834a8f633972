// The kernels of one storage precision, by vector precision and block size. Included once per storage.
#pragma once

#include <type_traits>

#include "backend/cuda/relax_large.cuh"
#include "backend/cuda/relax_small.cuh"

namespace mcpi::cuda {

// Measured on an H200: what keeps most bytes in flight without spilling registers, by the bytes of an item
template <PCMCPIPrecision storage, class T, int bs> struct SmallLaunch {
  static constexpr int bytes      = item_shape(storage, bs).bytes;
  static constexpr int threads    = 128;
  static constexpr int per_thread = bytes > 60 ? 1 : bytes > 24 ? 2 : 3;
  static constexpr int resident   = bytes > 104 ? 6 : bytes > 60 ? 9 : bytes > 40 ? 8 : bytes > 24 ? 10 : 8; // thread blocks
  static constexpr int blocks     = sizeof(T) == sizeof(double) ? 1 : resident;
};

template <PCMCPIPrecision storage, class T, int bs> RelaxKernel small_kernel()
{
  using Launch          = SmallLaunch<storage, T, bs>;
  constexpr auto kernel = [](auto simple) {
    return reinterpret_cast<const void *>(
        relax_small<storage, T, bs, Launch::threads, Launch::per_thread, Launch::blocks, decltype(simple)::value>);
  };
  return {kernel(std::false_type()), kernel(std::true_type()), Launch::threads, Launch::threads * Launch::per_thread};
}

inline RelaxKernel large_kernel_of(void (*kernel)(RelaxArgs), int threads)
{
  return {reinterpret_cast<const void *>(kernel), reinterpret_cast<const void *>(kernel), threads, 0};
}

// A thread holds one place of the record if 256 threads hold it whole, else more as far as registers go.
template <PCMCPIPrecision storage, class T> RelaxKernel large_kernel(int bs)
{
  const int pieces = record_pieces(storage, bs);
  if (pieces <= 32) return large_kernel_of(relax_large<storage, T, 32, 1>, 32);
  if (pieces <= 64) return large_kernel_of(relax_large<storage, T, 64, 1>, 64);
  if (pieces <= 128 || value_bits(storage) == 4) return large_kernel_of(relax_large<storage, T, 128, 1>, 128);
  if constexpr (value_bits(storage) > 16)
    if (pieces > 512) return large_kernel_of(relax_large<storage, T, 256, 4>, 256);
  if constexpr (value_bits(storage) > 8)
    if (pieces > 256) return large_kernel_of(relax_large<storage, T, 256, 2>, 256);
  if constexpr (value_bits(storage) > 4) return large_kernel_of(relax_large<storage, T, 256, 1>, 256);
  return {};
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
