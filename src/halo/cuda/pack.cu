#include "halo/cuda/pack.h"

#include "cuda/launch.cuh"
#include "cuda/tuning_hopper.h"

namespace mcpi::cuda {
namespace {

constexpr unsigned kThreads = Tuning::kPackThreads;

__global__ void pack_kernel(const std::uint32_t *vector, unsigned words, const Row *rows,
                            std::size_t count, std::uint32_t *packed)
{
  const std::size_t k = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (k < count * words)
    packed[k] = vector[static_cast<std::size_t>(rows[k / words]) * words + k % words];
}

} // namespace

void pack_rows(const void *vector, std::size_t entry, const Row *rows, std::size_t count,
               void *packed, cudaStream_t stream)
{
  const auto words = static_cast<unsigned>(entry / sizeof(std::uint32_t));
  launch(pack_kernel, grid_of(count * words, kThreads), kThreads, stream,
         static_cast<const std::uint32_t *>(vector), words, rows, count,
         static_cast<std::uint32_t *>(packed));
}

} // namespace mcpi::cuda
