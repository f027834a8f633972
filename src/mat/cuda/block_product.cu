#include <limits>

#include "core/dispatch.h"
#include "cuda/launch.cuh"
#include "cuda/tuning_hopper.h"
#include "mat/cuda/block_product.h"

namespace mcpi::cuda {
namespace {

constexpr unsigned kThreads = Tuning::kBlockProductThreads;
constexpr unsigned kWarp = 32;
constexpr int kMostRows = Tuning::kMostScalarRows, kRowsEach = Tuning::kBlockRowsEach;

// Writes the blocks before each block row. i: row pointers of scalar rows
template <class Index>
__global__ void count_blocks(int rows, int bs, const Index *i, std::uint32_t *ptr)
{
  const int row = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (row <= rows)
    ptr[row] = static_cast<std::uint32_t>(i[static_cast<std::size_t>(row) * bs] / (bs * bs));
}

// What find_columns counts
struct Found {
  int bad;      // whether a block is not full
  int nonempty; // block rows that have blocks
};

// Writes the columns of the blocks of a block row, by one warp.
template <class Index>
__global__ void find_columns(int rows, int bs, const Index *i, const Index *j,
                             const std::uint32_t *ptr, std::uint32_t *columns, Found *found)
{
  const std::size_t row = blockIdx.x * (kThreads / kWarp) + threadIdx.x / kWarp;
  const Index lane = threadIdx.x % kWarp;
  if (row >= static_cast<std::size_t>(rows)) return;
  const Index *ends = i + row * static_cast<std::size_t>(bs);
  const Index begin = ends[0], length = ends[1] - begin;
  bool good = length % bs == 0 && begin % (bs * bs) == 0;
  for (int r = 1; r < bs; ++r) good = good && ends[r + 1] - ends[r] == length;
  for (Index k = lane; good && k < length; k += kWarp) {
    const Index block = k / bs, within = k % bs, column = j[begin + block * bs];
    good = column % bs == 0;
    for (int r = 0; r < bs; ++r) good = good && j[ends[r] + k] == column + within;
    if (within == 0) columns[ptr[row] + block] = static_cast<std::uint32_t>(column / bs);
  }
  if (!good) found->bad = 1;
  if (lane == 0 && length > 0) atomicAdd(&found->nonempty, 1);
}

struct Product {
  int rows, bs, parts; // parts of a block row's scalar rows
  const std::uint32_t *ptr, *columns;
  const double *values, *x, *z;
  double *y;
};

// A team of threads, which multiplies by some scalar rows of one block row after the other. The
// loads of a row's numbers do not wait for its columns. The columns of the next row are loaded
// before the sums of this one.
template <int at_once, int team> struct Team {
  static constexpr int ahead = Tuning::block_product_ahead(at_once);

  const Product &p;
  const int lane = static_cast<int>(threadIdx.x % static_cast<unsigned>(team));
  int block[ahead], within[ahead]; // of a thread's first numbers
  std::uint32_t column[ahead];

  __device__ __forceinline__ explicit Team(const Product &product) : p(product)
  {
#pragma unroll
    for (int a = 0; a < ahead; ++a) {
      block[a] = (lane + a * team) / p.bs;
      within[a] = lane + a * team - block[a] * p.bs;
    }
  }

  // Loads the columns of a thread's first numbers in the row with the blocks from begin to end.
  __device__ __forceinline__ void load_columns(std::uint32_t begin, std::uint32_t end)
  {
#pragma unroll
    for (int a = 0; a < ahead; ++a)
      if (begin + static_cast<unsigned>(block[a]) < end)
        column[a] = __ldcs(p.columns + begin + block[a]);
  }

  // Adds the products of a row, whose first columns are there, and loads those of the next row.
  // values: the first of the scalar rows. next: the end of the next row
  __device__ __forceinline__ void multiply(const double *values, std::uint32_t begin,
                                           std::uint32_t end, std::uint32_t next,
                                           double (&sum)[at_once])
  {
    const int bs = p.bs, length = static_cast<int>(end - begin) * bs;
    double number[ahead][at_once], x[ahead];
    load_numbers(values, length, lane, number);
#pragma unroll
    for (int a = 0; a < ahead; ++a)
      x[a] = lane + a * team < length ? p.x[static_cast<std::size_t>(column[a]) * bs + within[a]]
                                      : 0.0;
    load_columns(end, next);
    add_products(number, x, sum);
    for (int from = lane + ahead * team; from < length; from += ahead * team) {
      load_numbers(values, length, from, number);
#pragma unroll
      for (int a = 0; a < ahead; ++a) {
        const int k = from + a * team, at = k / bs;
        x[a] = k < length ? p.x[static_cast<std::size_t>(p.columns[begin + at]) * bs + k - at * bs]
                          : 0.0;
      }
      add_products(number, x, sum);
    }
  }

  // Sums over the team.
  static __device__ __forceinline__ void add_up(double (&sum)[at_once])
  {
#pragma unroll
    for (int r = 0; r < at_once; ++r)
#pragma unroll
      for (int offset = team / 2; offset > 0; offset /= 2)
        sum[r] += __shfl_xor_sync(~0U, sum[r], offset);
  }

private:
  static __device__ __forceinline__ void load_numbers(const double *values, int length, int from,
                                                      double (&number)[ahead][at_once])
  {
#pragma unroll
    for (int a = 0; a < ahead; ++a)
#pragma unroll
      for (int r = 0; r < at_once; ++r) {
        const int k = from + a * team;
        number[a][r] = k < length ? __ldcs(values + static_cast<std::size_t>(r) * length + k) : 0.0;
      }
  }
  static __device__ __forceinline__ void add_products(const double (&number)[ahead][at_once],
                                                      const double (&x)[ahead],
                                                      double (&sum)[at_once])
  {
#pragma unroll
    for (int a = 0; a < ahead; ++a)
#pragma unroll
      for (int r = 0; r < at_once; ++r) sum[r] += number[a][r] * x[a];
  }
};

// Multiplies by one part of the scalar rows of some block rows, which each team takes one after the
// other. The order in which a row is summed depends on its length and on the size of a team, which
// is that of the portion.
template <int at_once, int team>
__global__ void __launch_bounds__(kThreads) multiply_blocks(Product p)
{
  static_assert(kRowsEach < team);
  const std::size_t bs = static_cast<std::size_t>(p.bs), rows = static_cast<std::size_t>(p.rows),
                    part = blockIdx.x % static_cast<unsigned>(p.parts),
                    first = (blockIdx.x / static_cast<unsigned>(p.parts) *
                                 std::size_t{kThreads / team} +
                             threadIdx.x / team) *
                            kRowsEach;
  Team<at_once, team> mine(p);
  const std::uint32_t ends = p.ptr[min(first + static_cast<unsigned>(mine.lane), rows)];
  const auto end_of = [&](int row) { return __shfl_sync(~0U, ends, row, team); };
  std::uint32_t begin = end_of(0), end = end_of(1);
  mine.load_columns(begin, end);
#pragma unroll 1
  for (int row = 0; row < kRowsEach; ++row) {
    const std::uint32_t next = row + 1 < kRowsEach ? end_of(row + 2) : end;
    double sum[at_once] = {};
    mine.multiply(p.values + begin * bs * bs + part * at_once * (end - begin) * bs, begin, end,
                  next, sum);
    mine.add_up(sum);
    const std::size_t at = (first + static_cast<unsigned>(row)) * bs + part * at_once;
    // One thread stores all sums: a choice by its number would put the sums to local memory.
    if (mine.lane == 0 && at < rows * bs && !(begin == end && p.z == p.y))
#pragma unroll
      for (int r = 0; r < at_once; ++r) p.y[at + r] = p.z ? p.z[at + r] + sum[r] : sum[r];
    begin = end;
    end = next;
  }
}

// The largest number of scalar rows at a time that divides the block size.
int rows_at_once(int bs)
{
  int most = 1;
  for (int rows = 2; rows <= kMostRows; ++rows)
    if (bs % rows == 0) most = rows;
  return most;
}

template <int at_once, int team> void launch_teams(const Product &product, cudaStream_t stream)
{
  constexpr std::size_t rows = kThreads / team * kRowsEach; // of a thread block
  launch(multiply_blocks<at_once, team>,
         (static_cast<std::size_t>(product.rows) + rows - 1) / rows *
             static_cast<std::size_t>(product.parts),
         kThreads, stream, product);
}

// Takes teams that load most rows at a time, with few idle threads. mean_row: numbers of a scalar
// row
template <int at_once>
void launch_product(const Product &product, double mean_row, cudaStream_t stream)
{
  const double threads = Tuning::kLongRow * mean_row / Tuning::block_product_ahead(at_once);
  if (threads <= 8)
    launch_teams<at_once, 8>(product, stream);
  else if (threads <= 16)
    launch_teams<at_once, 16>(product, stream);
  else
    launch_teams<at_once, 32>(product, stream);
}

template <class T> T copy_back(const T *from, cudaStream_t stream)
{
  T value;
  MCPI_CUDA(cudaMemcpyAsync(&value, from, sizeof value, cudaMemcpyDeviceToHost, stream));
  MCPI_CUDA(cudaStreamSynchronize(stream));
  return value;
}

} // namespace

template <class Index>
BlockProduct::BlockProduct(int rows, int bs, const Index *i, const Index *j, cudaStream_t stream)
    : rows_(rows), bs_(bs), ptr_(static_cast<std::size_t>(rows) + 1)
{
  const std::size_t block_rows = static_cast<std::size_t>(rows);
  if (!i) { // PETSc has no arrays for a matrix without numbers
    MCPI_CUDA(cudaMemsetAsync(ptr_.data(), 0, ptr_.bytes(), stream));
    full_ = true;
    return;
  }
  const auto blocks =
      static_cast<std::size_t>(copy_back(i + block_rows * static_cast<std::size_t>(bs), stream)) /
      static_cast<std::size_t>(bs * bs);
  if (blocks > std::numeric_limits<std::uint32_t>::max()) return;
  columns_.resize(blocks);
  DeviceArray<Found> found(1);
  MCPI_CUDA(cudaMemsetAsync(found.data(), 0, sizeof(Found), stream));
  launch(count_blocks<Index>, grid_of(block_rows + 1, kThreads), kThreads, stream, rows, bs, i,
         ptr_.data());
  launch(find_columns<Index>, grid_of(block_rows, kThreads / kWarp), kThreads, stream, rows, bs, i,
         j, ptr_.data(), columns_.data(), found.data());
  const Found result = copy_back(found.data(), stream);
  full_ = result.bad == 0;
  nonempty_ = result.nonempty;
  mean_row_ = nonempty_ > 0 ? static_cast<double>(blocks) / nonempty_ * bs : 0.0;
}

template BlockProduct::BlockProduct(int, int, const std::int32_t *, const std::int32_t *,
                                    cudaStream_t);
template BlockProduct::BlockProduct(int, int, const std::int64_t *, const std::int64_t *,
                                    cudaStream_t);

void BlockProduct::multiply(const double *values, const double *x, const double *z, double *y,
                            cudaStream_t stream) const
{
  const int at_once = rows_at_once(bs_), parts = bs_ / at_once;
  const Product product{rows_, bs_, parts, ptr_.data(), columns_.data(), values, x, z, y};
  with_block_size<1, kMostRows>(at_once, [&]<int size> {
    if constexpr (size > 0) launch_product<size>(product, mean_row_, stream);
  });
}

} // namespace mcpi::cuda
