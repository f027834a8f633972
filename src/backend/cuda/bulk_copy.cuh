// Bulk copies from global to shared memory. A copy completes on a barrier (mbarrier) in shared
// memory, on which threads wait. Needs compute capability 9.0.
#pragma once

#include <cstdint>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#error "Bulk copies need an architecture of 90 or later in CMAKE_CUDA_ARCHITECTURES"
#endif

namespace mcpi::cuda {

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
