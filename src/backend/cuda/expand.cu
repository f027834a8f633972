// Expands the entries of scalar rows to dense blocks, for matrices on the device whose blocks are
// not full.
#include "backend/cuda/setup.h"
#include "cuda/launch.cuh"

namespace mcpi::cuda {
namespace {

constexpr int kThreads = 128;

// Each warp takes a scalar row. Reads values, entry_ptr, slot and ptr; writes the entries to
// blocks.
__global__ void expand_kernel(ExpandArgs args)
{
  const long long warp = (static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x) / kWarpSize;
  const long long row = static_cast<long long>(args.begin) * args.bs + warp;
  if (row >= static_cast<long long>(args.end) * args.bs) return;
  double *out = args.blocks +
                static_cast<std::size_t>(args.ptr[row / args.bs] - args.first) * args.bs * args.bs;
  for (Offset k = args.entry_ptr[row] + threadIdx.x % kWarpSize; k < args.entry_ptr[row + 1];
       k += kWarpSize)
    out[args.slot[k]] = args.values[k];
}

} // namespace

void expand_blocks(const ExpandArgs &args, cudaStream_t stream)
{
  constexpr unsigned kRows = kThreads / kWarpSize;
  const long long rows = static_cast<long long>(args.end - args.begin) * args.bs;
  launch(expand_kernel, grid_of(static_cast<std::size_t>(rows), kRows), kThreads, stream, args);
}

} // namespace mcpi::cuda
