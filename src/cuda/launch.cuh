// Launches of kernels, checked.
#pragma once

#include "cuda/memory.h"

namespace mcpi::cuda {

// Does nothing for an empty grid. The launch's own error is reported, not one that somebody else
// left behind. early: the kernel itself waits for what was launched before (programmatic dependent
// launch).
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

// Thread blocks of so many threads that give each slice one
inline std::size_t grid_of(std::size_t slices, unsigned threads)
{
  return (slices + threads - 1) / threads;
}

} // namespace mcpi::cuda
