// The kernels of one storage precision, by vector precision and block size. Included once per storage.
#pragma once

#include <type_traits>

#include "backend/cuda/relax_large.cuh"
#include "backend/cuda/relax_small.cuh"

namespace mcpi::cuda {

// Measured on an H200: what keeps most bytes in flight without spilling registers, by the bytes of an item
template <class Kind> struct SmallLaunch {
  static constexpr int bytes      = Kind::shape.bytes;
  static constexpr int threads    = 128;
  static constexpr int per_thread = bytes > 60 ? 1 : bytes > 24 ? 2 : 3;
  static constexpr int resident   = bytes > 104 ? 6 : bytes > 60 ? 9 : bytes > 40 ? 8 : bytes > 24 ? 10 : 8; // thread blocks
  static constexpr int blocks     = sizeof(typename Kind::T) == sizeof(double) ? 1 : resident;
};

template <PCMCPIPrecision storage, class T, int bs, bool packed, bool rounded> RelaxKernel small_kernel_of()
{
  using General         = SmallKind<storage, T, bs, packed, rounded, false>;
  using Simple          = SmallKind<storage, T, bs, packed, rounded, true>;
  using Launch          = SmallLaunch<General>;
  constexpr auto kernel = []<class Kind>(Kind) {
    return reinterpret_cast<const void *>(relax_small<Kind, Launch::threads, Launch::per_thread, Launch::blocks>);
  };
  return {kernel(General()), kernel(Simple()), Launch::threads, Launch::threads * Launch::per_thread};
}

template <PCMCPIPrecision storage, class T, int bs> RelaxKernel small_kernel(const RelaxKind &kind)
{
  if constexpr (sizeof(T) == sizeof(float)) {
    if constexpr (has_exponent(storage))
      if (kind.packed)
        return kind.gather_rounded ? small_kernel_of<storage, T, bs, true, true>() : small_kernel_of<storage, T, bs, true, false>();
    if (kind.gather_rounded) return small_kernel_of<storage, T, bs, false, true>();
  }
  return small_kernel_of<storage, T, bs, false, false>();
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
    return large_kernel<storage, T>(bs);
  }
}

template <PCMCPIPrecision storage> RelaxKernel relax_kernel(const RelaxKind &kind, int bs)
{
  if constexpr (storage == PC_MCPI_PRECISION_FP64)
    return kernel_of<storage, double>(kind, bs);
  else
    return kind.double_vectors ? kernel_of<storage, double>(kind, bs) : kernel_of<storage, float>(kind, bs);
}

} // namespace mcpi::cuda
