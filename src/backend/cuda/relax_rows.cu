// Relaxation of rows that have no slices in the triangles to be read, such as the rows of the first
// color of a sweep from zero.
#include <utility>

#include "backend/cuda/gathered.cuh"
#include "backend/cuda/relax_update.cuh"

namespace mcpi::cuda {
namespace {

// A thread takes one row of one right-hand side. Reads rhs before it waits for the color before it,
// kept and diagonal afterwards; writes x, kept and, if rounded, gathered.
template <class T, int bs, bool rounded>
__global__ void __launch_bounds__(kRowsThreads) relax_rows(RelaxArgs args)
{
  cudaTriggerProgrammaticLaunchCompletion();
  const std::size_t nrhs = static_cast<std::size_t>(args.nrhs),
                    local = static_cast<std::size_t>(blockIdx.x) * kRowsThreads + threadIdx.x,
                    entry = args.first_row * nrhs + local;
  if (local >= args.row_count * nrhs) return;
  const T *rhs = static_cast<const T *>(args.rhs) + entry * bs;
  T update[bs];
#pragma unroll
  for (int i = 0; i < bs; ++i) update[i] = rhs[i];
  cudaGridDependencySynchronize();
#pragma unroll
  for (int i = 0; i < bs; ++i)
    update[i] = residual(args, update[i], TriangleSums<T>(), entry * bs + i);
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

template <int bs> const void *kernel_of(const RelaxKind &kind)
{
  if (kind.double_vectors) return reinterpret_cast<const void *>(relax_rows<double, bs, false>);
  return kind.gather_rounded ? reinterpret_cast<const void *>(relax_rows<float, bs, true>)
                             : reinterpret_cast<const void *>(relax_rows<float, bs, false>);
}

} // namespace

const void *rows_kernel(const RelaxKind &kind, int bs)
{
  const void *kernel = nullptr;
  const auto match = [&]<int... sizes>(std::integer_sequence<int, sizes...>)
  {
    ((bs == sizes + 1 ? void(kernel = kernel_of<sizes + 1>(kind)) : void()), ...);
  };
  match(std::make_integer_sequence<int, kMaxSmallBlock>());
  return kernel;
}

} // namespace mcpi::cuda
