// Loads of the relaxation kernels: vectors of numbers, large blocks, and bulk copies from global to
// shared memory.
#pragma once

#include <cstdint>

#include <cuda/ptx>

#include "backend/device/block_slice.h"

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
// ptx::mbarrier_init() tells how many copies end a phase. ptx::fence_mbarrier_init() makes barriers
// that a thread has initialized visible to bulk copies.
namespace ptx = ::cuda::ptx;

// Starts a copy that completes on the barrier. Both addresses and bytes are multiples of 16. The
// copy is written out because ptx::cp_async_bulk() changes the code of relax_streamed()
// (CUDA 13.0).
__device__ __forceinline__ void bulk_copy(void *to, const void *from, std::uint32_t bytes,
                                          std::uint64_t *barrier)
{
  const auto shared = [](const void *p) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
  };
  ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, barrier,
                                 bytes);
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared(to)),
      "l"(from), "r"(bytes), "r"(shared(barrier))
      : "memory");
}
// Waits until the phase of the given parity has ended. The first phase has parity 0.
__device__ __forceinline__ void barrier_wait(std::uint64_t *barrier, std::uint32_t parity)
{
  while (!ptx::mbarrier_try_wait_parity(barrier, parity)) continue;
}

} // namespace mcpi::cuda
