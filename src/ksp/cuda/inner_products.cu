#include <algorithm>
#include <cstring>
#include <cub/block/block_reduce.cuh>

#include "core/dispatch.h"
#include "cuda/launch.cuh"
#include "cuda/tuning_hopper.h"
#include "ksp/cuda/inner_products.h"

namespace mcpi::cuda {
namespace {

constexpr unsigned kThreads = Tuning::kProductThreads, kEach = Tuning::kProductNumbers;
constexpr int kTogether = Tuning::kVectorsTogether;
constexpr std::size_t kMost = Tuning::kVectorsCopied, kResident = Tuning::kProductBlocks;

template <int count> struct Vectors {
  const double *at[count];
};
template <int count> struct Combination {
  Vectors<count> v;
  double coefficient[count];
};

// Writes each thread block's sum of v[k] . x to partial[k * gridDim.x + blockIdx.x].
template <int count>
__global__ void __launch_bounds__(kThreads)
    multiply_vectors(Vectors<count> v, const double *__restrict__ x, std::size_t n, double *partial)
{
  using Reduce = cub::BlockReduce<double, kThreads>;
  constexpr int unroll = Tuning::product_unroll(count);
  __shared__ typename Reduce::TempStorage memory;
  double sum[count] = {};
#pragma unroll unroll
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < n;
       i += std::size_t{gridDim.x} * kThreads) {
    const double number = x[i];
#pragma unroll
    for (int k = 0; k < count; ++k) sum[k] += __ldg(v.at[k] + i) * number;
  }
#pragma unroll
  for (int k = 0; k < count; ++k) {
    const double whole = Reduce(memory).Sum(sum[k]);
    if (threadIdx.x == 0) partial[static_cast<std::size_t>(k) * gridDim.x + blockIdx.x] = whole;
    __syncthreads(); // the memory is used again
  }
}

// Adds up the partial sums of a vector, by one thread block.
__global__ void __launch_bounds__(kThreads)
    add_up(const double *partial, std::size_t blocks, double *sum)
{
  using Reduce = cub::BlockReduce<double, kThreads>;
  __shared__ typename Reduce::TempStorage memory;
  double mine = 0.0;
  for (std::size_t i = threadIdx.x; i < blocks; i += kThreads)
    mine += partial[blockIdx.x * blocks + i];
  const double whole = Reduce(memory).Sum(mine);
  if (threadIdx.x == 0) sum[blockIdx.x] = whole;
}

template <int count>
__global__ void __launch_bounds__(kThreads)
    subtract(Combination<count> sum, double *__restrict__ x, std::size_t n)
{
  constexpr int unroll = Tuning::product_unroll(count);
#pragma unroll unroll
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < n;
       i += std::size_t{gridDim.x} * kThreads) {
    double number = x[i];
#pragma unroll
    for (int k = 0; k < count; ++k) number -= sum.coefficient[k] * __ldg(sum.v.at[k] + i);
    x[i] = number;
  }
}

std::size_t most_blocks()
{
  return static_cast<std::size_t>(device_attribute(cudaDevAttrMultiProcessorCount)) * kResident;
}

// Thread blocks for vectors of n numbers
std::size_t blocks_for(std::size_t n, std::size_t most)
{
  return std::clamp(grid_of(n, kThreads * kEach), std::size_t{1}, most);
}

// Vectors of the launch that begins with vector k of so many
int count_from(std::size_t k, std::size_t vectors)
{
  return static_cast<int>(std::min<std::size_t>(kTogether, vectors - k));
}

template <int count> Vectors<count> vectors_from(const double *const *v)
{
  Vectors<count> result;
  std::copy(v, v + count, result.at);
  return result;
}

} // namespace

InnerProducts::InnerProducts() : most_blocks_(most_blocks())
{
  partial_.resize(most_blocks_ * kMost);
  sum_.resize(kMost);
  copied_.resize(kMost * sizeof(double));
}

void InnerProducts::compute(const std::vector<const double *> &v, const double *x, std::size_t n,
                            double *result, cudaStream_t stream)
{
  const std::size_t blocks = blocks_for(n, most_blocks_);
  for (std::size_t first = 0; first < v.size(); first += kMost) {
    const std::size_t together = std::min(kMost, v.size() - first);
    for (std::size_t k = 0; k < together; k += kTogether)
      with_block_size<1, kTogether>(count_from(k, together), [&]<int count> {
        if constexpr (count > 0)
          launch(multiply_vectors<count>, blocks, kThreads, stream,
                 vectors_from<count>(v.data() + first + k), x, n, partial_.data() + k * blocks);
      });
    launch(add_up, together, kThreads, stream, partial_.data(), blocks, sum_.data());
    MCPI_CUDA(cudaMemcpyAsync(copied_.data(), sum_.data(), together * sizeof(double),
                              cudaMemcpyDeviceToHost, stream));
    MCPI_CUDA(cudaStreamSynchronize(stream));
    std::memcpy(result + first, copied_.data(), together * sizeof(double));
  }
}

void subtract_combination(const std::vector<const double *> &v,
                          const std::vector<double> &coefficient, double *x, std::size_t n,
                          cudaStream_t stream)
{
  if (n == 0) return;
  const std::size_t blocks = blocks_for(n, most_blocks());
  for (std::size_t k = 0; k < v.size(); k += kTogether)
    with_block_size<1, kTogether>(count_from(k, v.size()), [&]<int count> {
      if constexpr (count > 0) {
        Combination<count> sum{vectors_from<count>(v.data() + k), {}};
        std::copy_n(coefficient.data() + k, count, sum.coefficient);
        launch(subtract<count>, blocks, kThreads, stream, sum, x, n);
      }
    });
}

} // namespace mcpi::cuda
