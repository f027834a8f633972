// Functions that launch kernels and check for errors.
#pragma once

#include "cuda/memory.h"

namespace mcpi::cuda {

// Launches a kernel; does nothing for an empty grid. It reports the error of this launch only, not
// an earlier error of other code. early: the kernel may start before earlier launches have ended,
// and waits for them itself (programmatic dependent launch).
template <bool early, class... P, class... A>
void launch_kernel(void (*kernel)(P...), std::size_t grid, unsigned threads, cudaStream_t stream,
                   A &&...arguments)
{
  if (grid == 0) return;
  if (grid > 0x7fffffffU)
    throw Error("the matrix is too large for the CUDA backend: use more ranks");
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(grid));
  config.blockDim = dim3(threads);
  config.stream = stream;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = early ? 1 : 0;
  MCPI_CUDA(cudaLaunchKernelEx(&config, kernel, static_cast<P>(arguments)...));
}

template <class... P, class... A>
void launch(void (*kernel)(P...), std::size_t grid, unsigned threads, cudaStream_t stream,
            A &&...arguments)
{
  launch_kernel<false>(kernel, grid, threads, stream, std::forward<A>(arguments)...);
}

// The number of thread blocks with which each slice gets one thread
inline std::size_t grid_of(std::size_t slices, unsigned threads)
{
  return (slices + threads - 1) / threads;
}

} // namespace mcpi::cuda
