#include "backend/cuda/vectors.h"

#include <algorithm>
#include <utility>

#include "backend/cuda/gathered.cuh"
#include "backend/cuda/launch.cuh"

namespace mcpi::cuda {
namespace {

constexpr unsigned kThreads = 256;

// (D x)_i of one row; x is strided by nothing. size: bs where it is known
template <int size, class T> __device__ __forceinline__ double row_product(const VectorArgs &args, std::size_t row, int i, const T *x)
{
  const int     bs    = size > 0 ? size : args.bs;
  const double *block = args.diagonal + row * static_cast<std::size_t>(bs * bs) + (args.transposed ? i * bs : i);
  const int     step  = args.transposed ? 1 : bs;
  double        sum   = 0.0;
#pragma unroll
  for (int j = 0; j < bs; ++j) sum += block[j * step] * static_cast<double>(x[j]);
  return sum;
}

__device__ double scaled(const VectorArgs &args, int i, double value)
{
  return args.divide ? value / args.scale[i] : value * args.scale[i];
}

// A thread block takes whole rows, a thread some of their components; calls with row, right-hand side, component, and what comes before it.
template <int size, class Visit> __device__ __forceinline__ void for_components(const VectorArgs &args, const Visit &visit)
{
  const unsigned    bs = static_cast<unsigned>(size > 0 ? size : args.bs), entry = bs * static_cast<unsigned>(args.nrhs);
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * args.rows_per_block;
  const unsigned    rows  = static_cast<unsigned>(min(static_cast<std::size_t>(args.rows_per_block), args.rows - first));
  for (unsigned k = threadIdx.x; k < rows * entry; k += kThreads) {
    const unsigned row = k / entry, within = k - row * entry, r = within / bs;
    visit(first + row, r, static_cast<int>(within - r * bs), first * entry + k);
  }
}

template <int size, class T> __global__ void load_kernel(VectorArgs args, const double *array, T *vector)
{
  const int bs = size > 0 ? size : args.bs;
  for_components<size>(args, [&](std::size_t row, unsigned r, int i, std::size_t at) {
    const double *in = array + r * args.ld + static_cast<long long>(args.row_of[row]) * bs;
    vector[at]       = static_cast<T>(args.diagonal ? row_product<size>(args, row, i, in) : scaled(args, i, in[i]));
  });
}

// By the array's rows: scattered reads cost less than scattered writes.
template <int size, class T> __global__ void store_kernel(VectorArgs args, const T *vector, double *array)
{
  const int bs = size > 0 ? size : args.bs;
  for_components<size>(args, [&](std::size_t row, unsigned r, int i, std::size_t) {
    const std::size_t plan_row = static_cast<std::size_t>(args.plan_row[row]);
    const T          *in       = vector + (plan_row * static_cast<unsigned>(args.nrhs) + r) * static_cast<unsigned>(bs);
    array[r * args.ld + static_cast<long long>(row) * bs + i] =
        args.diagonal ? row_product<size>(args, plan_row, i, in) : scaled(args, i, static_cast<double>(in[i]));
  });
}

// Calls with bs as a constant, 0 for larger ones.
template <class Call> void by_size(int bs, const Call &call)
{
  const auto match = [&]<int... sizes>(std::integer_sequence<int, sizes...>)
  {
    return ((bs == sizes + 1 && (call.template operator()<sizes + 1>(), true)) || ...);
  };
  if (!match(std::make_integer_sequence<int, kMaxSmallBlock>())) call.template operator()<0>();
}

__global__ void round_kernel(const float *x, std::size_t entries, int bs, std::uint32_t *gathered)
{
  const std::size_t entry = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (entry < entries) store_gathered(gathered, entry, bs, x + entry * static_cast<std::size_t>(bs));
}

__global__ void round_values_kernel(const float *x, std::size_t count, int bs, float *rounded)
{
  const std::size_t k = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k >= count) return;
  const Mantissas mantissas = mantissas_of(x + k / static_cast<unsigned>(bs) * static_cast<unsigned>(bs), bs);
  rounded[k]                = static_cast<float>(mantissas.of(x[k])) * gather_quantum(mantissas.exponent);
}

} // namespace

void load_vector(VectorArgs args, bool double_vectors, const double *array, void *vector, cudaStream_t stream)
{
  args.rows_per_block = std::max(1U, kThreads / static_cast<unsigned>(args.bs * args.nrhs));
  by_size(args.bs, [&]<int size> {
    const std::size_t grid = grid_of(static_cast<std::size_t>(args.rows), args.rows_per_block);
    if (double_vectors)
      launch(load_kernel<size, double>, grid, kThreads, stream, args, array, static_cast<double *>(vector));
    else
      launch(load_kernel<size, float>, grid, kThreads, stream, args, array, static_cast<float *>(vector));
  });
}

void store_vector(VectorArgs args, bool double_vectors, const void *vector, double *array, cudaStream_t stream)
{
  args.rows_per_block = std::max(1U, kThreads / static_cast<unsigned>(args.bs * args.nrhs));
  by_size(args.bs, [&]<int size> {
    const std::size_t grid = grid_of(static_cast<std::size_t>(args.rows), args.rows_per_block);
    if (double_vectors)
      launch(store_kernel<size, double>, grid, kThreads, stream, args, static_cast<const double *>(vector), array);
    else
      launch(store_kernel<size, float>, grid, kThreads, stream, args, static_cast<const float *>(vector), array);
  });
}

void round_vector(const float *x, std::size_t entries, int bs, bool packed, void *copy, cudaStream_t stream)
{
  if (packed)
    launch(round_kernel, grid_of(entries, kThreads), kThreads, stream, x, entries, bs, static_cast<std::uint32_t *>(copy));
  else
    launch(round_values_kernel, grid_of(entries * static_cast<std::size_t>(bs), kThreads), kThreads, stream, x,
           entries * static_cast<std::size_t>(bs), bs, static_cast<float *>(copy));
}

} // namespace mcpi::cuda
