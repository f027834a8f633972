#include "device_read.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>

namespace {

constexpr int kThreads = 512, kUnroll = 8, kRepeats = 12;
constexpr std::size_t kBytes = std::size_t(4) << 30U;

// Each thread block reads one tile, as in sweeps.
__global__ void __launch_bounds__(kThreads) read_all(const uint4 *from, unsigned *sink)
{
  const uint4 *tile =
      from + static_cast<std::size_t>(blockIdx.x) * kThreads * kUnroll + threadIdx.x;
  uint4 v[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) v[u] = __ldcs(tile + u * kThreads);
  unsigned all = 0;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) all ^= v[u].x ^ v[u].y ^ v[u].z ^ v[u].w;
  if (all == 0x2545f491U) *sink = all; // This keeps the compiler from removing the reads.
}

} // namespace

double device_read_bandwidth()
{
  void *memory = nullptr, *sink = nullptr;
  cudaEvent_t begin, end;
  float best = 1e30F;
  if (cudaMalloc(&memory, kBytes) != cudaSuccess ||
      cudaMalloc(&sink, sizeof(unsigned)) != cudaSuccess)
    return -1.0;
  (void)cudaMemset(memory, 1, kBytes);
  (void)cudaEventCreate(&begin);
  (void)cudaEventCreate(&end);
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    float milliseconds = 0;
    (void)cudaEventRecord(begin);
    read_all<<<static_cast<unsigned>(kBytes / sizeof(uint4) / kThreads / kUnroll), kThreads>>>(
        static_cast<const uint4 *>(memory), static_cast<unsigned *>(sink));
    (void)cudaEventRecord(end);
    (void)cudaEventSynchronize(end);
    (void)cudaEventElapsedTime(&milliseconds, begin, end);
    best = std::min(best, milliseconds);
  }
  (void)cudaEventDestroy(begin);
  (void)cudaEventDestroy(end);
  (void)cudaFree(memory);
  (void)cudaFree(sink);
  return cudaGetLastError() == cudaSuccess ? static_cast<double>(kBytes) / (best * 1e-3) : -1.0;
}
