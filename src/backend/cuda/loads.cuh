// Loads of the relaxation kernels: vectors of numbers, large blocks, and bulk copies from global to
// shared memory.
#pragma once

#include <cstdint>

#include "backend/device/numbers.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#error "Bulk copies need an architecture of 90 or later in CMAKE_CUDA_ARCHITECTURES"
#endif

namespace mcpi::cuda {
using namespace device;

// Synchronizes a team: a warp or the whole thread block.
template <bool warp> __device__ __forceinline__ void team_sync()
{
  if constexpr (warp)
    __syncwarp();
  else
    __syncthreads();
}

// Asks for a line to be brought to the second-level cache.
__device__ __forceinline__ void prefetch(const void *line)
{
  asm volatile("prefetch.global.L2 [%0];" ::"l"(line));
}

// Neighboring numbers that one instruction loads or stores
template <class T, int width> struct alignas(sizeof(T) * width) Vector {
  T v[width];
};

// Stored numbers of one column, as words in a thread's registers
template <PCMCPIPrecision storage, int vector> struct Numbers {
  static constexpr int bits = vector * value_bits(storage);
  std::uint32_t word[(bits + 31) / 32];

  __device__ __forceinline__ void load(const std::byte *from)
  {
    if constexpr (bits == 128) {
      const uint4 v = *reinterpret_cast<const uint4 *>(from);
      word[0] = v.x;
      word[1] = v.y;
      word[2] = v.z;
      word[3] = v.w;
    } else if constexpr (bits == 64) {
      const uint2 v = *reinterpret_cast<const uint2 *>(from);
      word[0] = v.x;
      word[1] = v.y;
    } else if constexpr (bits == 32) {
      word[0] = *reinterpret_cast<const std::uint32_t *>(from);
    } else if constexpr (bits == 16) {
      word[0] = *reinterpret_cast<const std::uint16_t *>(from);
    } else {
      word[0] = *reinterpret_cast<const std::uint8_t *>(from);
    }
  }

  // Adds x times each number to the sums.
  template <class T> __device__ __forceinline__ void add_times(T x, T *sum) const
  {
#pragma unroll
    for (int i = 0; i < vector; ++i) sum[i] += number<storage, T>(word, i) * x;
  }
};

// Bulk copies. A copy completes on a barrier (mbarrier) in shared memory, on which threads wait.

__device__ __forceinline__ std::uint32_t shared_address(const void *p)
{
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}
// Initializes a barrier. Each phase ends when `copies` bulk copies have completed.
__device__ __forceinline__ void barrier_init(std::uint64_t *barrier, unsigned copies = 1)
{
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(copies)
               : "memory");
}
// Makes the barriers that this thread has initialized visible to bulk copies.
__device__ __forceinline__ void barrier_init_fence()
{
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
// Starts a copy that completes on the barrier. Both addresses and bytes are multiples of 16.
__device__ __forceinline__ void bulk_copy(void *to, const void *from, std::uint32_t bytes,
                                          std::uint64_t *barrier)
{
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}
// Waits until the phase of the given parity has ended. The first phase has parity 0.
__device__ __forceinline__ void barrier_wait(std::uint64_t *barrier, std::uint32_t parity)
{
  std::uint32_t done;
  do
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 "
                 "%0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(shared_address(barrier)), "r"(parity)
                 : "memory");
  while (!done);
}

} // namespace mcpi::cuda
