// Kernels for rows without their blocks: relaxation of rows that have no slices in the triangles to
// be read, such as those of the first color of a sweep from zero, and rounding of x.
#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/gathered.cuh"
#include "backend/cuda/vectors.h"
#include "core/dispatch.h"
#include "cuda/launch.cuh"

namespace mcpi::cuda {
namespace {

// A thread takes one row of one right-hand side. Reads rhs before it waits for the color before it,
// kept and diagonal afterwards; writes x, kept and, if rounded, gathered.
template <class T, int bs, bool rounded>
__global__ void __launch_bounds__(Tuning::kRowsThreads) relax_rows(SmallArgs args)
{
  cudaTriggerProgrammaticLaunchCompletion();
  const std::size_t nrhs = static_cast<std::size_t>(args.nrhs),
                    local =
                        static_cast<std::size_t>(blockIdx.x) * Tuning::kRowsThreads + threadIdx.x,
                    entry = args.first_row * nrhs + local;
  if (local >= args.row_count * nrhs) return;
  const T *rhs = static_cast<const T *>(args.rhs) + entry * bs;
  T update[bs];
#pragma unroll
  for (int i = 0; i < bs; ++i) update[i] = rhs[i];
  cudaGridDependencySynchronize();
#pragma unroll
  for (int i = 0; i < bs; ++i)
    update[i] = residual(args, update[i], TriangleSums<T>(), kept_sum<T>(args, entry * bs + i),
                         entry * bs + i);
  if (args.flags & kFactored) {
    T v[bs];
#pragma unroll
    for (int i = 0; i < bs; ++i) v[i] = update[i];
#pragma unroll
    for (int i = 0; i < bs; ++i)
      update[i] = apply_diagonal<bs, T>(args, entry / nrhs, i, [&](int j) { return v[j]; });
  }
#pragma unroll
  for (int i = 0; i < bs; ++i) update[i] = relax_component(args, update[i], entry * bs + i);
  if constexpr (rounded) store_gathered<bs>(args.gathered, entry, bs, update);
}

// Each thread writes the packed bfp16 copy of one entry (block row and right-hand side).
__global__ void round_kernel(const float *x, std::size_t entries, int bs, std::uint32_t *gathered)
{
  const std::size_t entry = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (entry < entries)
    store_gathered(gathered, entry, bs, x + entry * static_cast<std::size_t>(bs));
}

// Each thread writes one rounded value of x as a float.
__global__ void round_values_kernel(const float *x, std::size_t count, int bs, float *rounded)
{
  const std::size_t k = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k >= count) return;
  const Mantissas mantissas =
      mantissas_of(x + k / static_cast<unsigned>(bs) * static_cast<unsigned>(bs), bs);
  rounded[k] = static_cast<float>(mantissas.of(x[k])) * gather_quantum(mantissas.exponent);
}

} // namespace

const void *rows_kernel(const RelaxKind &kind, int bs)
{
  return with_block_size<1, kMaxSmallBlock>(bs, [&]<int size>() -> const void * {
    if constexpr (size == 0)
      return nullptr;
    else if (kind.double_vectors)
      return address_of(relax_rows<double, size, false>);
    else
      return with_bool(kind.gather_rounded,
                       [&]<bool rounded> { return address_of(relax_rows<float, size, rounded>); });
  });
}

void round_vector(const float *x, std::size_t entries, int bs, bool packed, void *copy,
                  cudaStream_t stream)
{
  if (packed)
    launch(round_kernel, grid_of(entries, Tuning::kRoundThreads), Tuning::kRoundThreads, stream, x,
           entries, bs, static_cast<std::uint32_t *>(copy));
  else
    launch(round_values_kernel,
           grid_of(entries * static_cast<std::size_t>(bs), Tuning::kRoundThreads),
           Tuning::kRoundThreads, stream, x, entries * static_cast<std::size_t>(bs), bs,
           static_cast<float *>(copy));
}

} // namespace mcpi::cuda

// All kernels of the library are compiled for the same devices as those of this file.
bool mcpi::has_code_for_cuda_device()
{
  cudaFuncAttributes attributes{};
  const cudaError_t error =
      cudaFuncGetAttributes(&attributes, cuda::address_of(cuda::round_kernel));
  if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction) {
    (void)cudaGetLastError();
    return false;
  }
  cuda::check(error, "cudaFuncGetAttributes");
  return true;
}
