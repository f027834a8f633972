#include "backend/cuda/vectors.h"

#include "backend/cuda/gathered.cuh"

namespace mcpi::cuda {
namespace {

constexpr int kThreads = 256;

// (D x)_i of one row; x is strided by nothing
template <class T> __device__ double row_product(const VectorArgs &args, Row row, int i, const T *x)
{
  const int     bs    = args.bs;
  const double *block = args.diagonal + static_cast<std::size_t>(row) * bs * bs;
  double        sum   = 0.0;
  for (int j = 0; j < bs; ++j)
    sum += block[args.transposed ? static_cast<std::size_t>(i) * bs + j : static_cast<std::size_t>(j) * bs + i] * static_cast<double>(x[j]);
  return sum;
}

__device__ double scaled(const VectorArgs &args, int i, double value)
{
  return args.divide ? value / args.scale[i] : value * args.scale[i];
}

// A thread for each component of each row and right-hand side, in the vectors' order
struct Place {
  Row row;
  int r, i;
};
__device__ bool place_of(const VectorArgs &args, std::size_t k, Place &place)
{
  const std::size_t entry = static_cast<std::size_t>(args.bs) * args.nrhs;
  if (k >= entry * args.rows) return false;
  place.row             = static_cast<Row>(k / entry);
  const unsigned within = static_cast<unsigned>(k - static_cast<std::size_t>(place.row) * entry);
  place.r               = static_cast<int>(within / static_cast<unsigned>(args.bs));
  place.i               = static_cast<int>(within) - place.r * args.bs;
  return true;
}

template <class T> __global__ void load_kernel(VectorArgs args, const double *array, T *vector)
{
  const std::size_t k = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  Place             at;
  if (!place_of(args, k, at)) return;
  const double *in = array + at.r * args.ld + static_cast<long long>(args.row_of[at.row]) * args.bs;
  vector[k]        = static_cast<T>(args.diagonal ? row_product(args, at.row, at.i, in) : scaled(args, at.i, in[at.i]));
}

template <class T> __global__ void store_kernel(VectorArgs args, const T *vector, double *array)
{
  const std::size_t k = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  Place             at;
  if (!place_of(args, k, at)) return;
  const T *in  = vector + k - at.i;
  double  *out = array + at.r * args.ld + static_cast<long long>(args.row_of[at.row]) * args.bs;
  out[at.i]    = args.diagonal ? row_product(args, at.row, at.i, in) : scaled(args, at.i, static_cast<double>(in[at.i]));
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
  const Mantissas mantissas = Mantissas::make(x + k / static_cast<unsigned>(bs) * static_cast<unsigned>(bs), bs);
  rounded[k]                = static_cast<float>(mantissas.of(x[k])) * gather_quantum(mantissas.exponent);
}

unsigned blocks_of(const VectorArgs &args)
{
  const std::size_t entries = static_cast<std::size_t>(args.rows) * args.bs * args.nrhs;
  return static_cast<unsigned>((entries + kThreads - 1) / kThreads);
}

} // namespace

void load_vector(const VectorArgs &args, bool double_vectors, const double *array, void *vector, cudaStream_t stream)
{
  if (double_vectors)
    load_kernel<<<blocks_of(args), kThreads, 0, stream>>>(args, array, static_cast<double *>(vector));
  else
    load_kernel<<<blocks_of(args), kThreads, 0, stream>>>(args, array, static_cast<float *>(vector));
}

void round_vector(const float *x, std::size_t entries, int bs, bool packed, void *copy, cudaStream_t stream)
{
  const std::size_t count = packed ? entries : entries * static_cast<std::size_t>(bs);
  const auto        grid  = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  if (count == 0) return;
  if (packed)
    round_kernel<<<grid, kThreads, 0, stream>>>(x, entries, bs, static_cast<std::uint32_t *>(copy));
  else
    round_values_kernel<<<grid, kThreads, 0, stream>>>(x, count, bs, static_cast<float *>(copy));
}

void store_vector(const VectorArgs &args, bool double_vectors, const void *vector, double *array, cudaStream_t stream)
{
  if (double_vectors)
    store_kernel<<<blocks_of(args), kThreads, 0, stream>>>(args, static_cast<const double *>(vector), array);
  else
    store_kernel<<<blocks_of(args), kThreads, 0, stream>>>(args, static_cast<const float *>(vector), array);
}

} // namespace mcpi::cuda
