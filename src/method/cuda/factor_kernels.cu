#include "method/cuda/factor_kernels.h"

#include <algorithm>

#include "backend/cuda/team.cuh"
#include "core/dispatch.h"
#include "cuda/launch.cuh"

namespace mcpi::cuda {
namespace {

constexpr unsigned kThreads = Tuning::kFactorThreads;
// A warp takes a row of small blocks, and a thread block a row of larger ones.
constexpr unsigned teams_of(int bs)
{
  return bs <= kMaxSmallBlock ? kThreads / kWarpSize : 1;
}
// Doubles of a team: the negative left factor of a step or the inverse, two vectors, pivots
constexpr std::size_t work_numbers(int bs)
{
  const auto size = static_cast<std::size_t>(bs);
  return size * size + 2 * size + (size + 1) / 2;
}

// Each warp takes a matrix row. Reads values, ptr, diagonal and row_begin; writes blocks.
__global__ void arrange_kernel(ArrangeArgs args)
{
  const long long warp =
      (static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x) / kWarpSize + args.begin;
  if (warp >= args.end) return;
  const auto row = static_cast<Row>(warp);
  const auto bs = static_cast<std::size_t>(args.bs), square = bs * bs;
  double *next = args.blocks + (args.row_begin[row] + 1) * square;
  for (int p = 0; p < 2; ++p) {
    if (!args.ptr[p]) continue;
    const std::uint32_t begin = args.ptr[p][row], count = args.ptr[p][row + 1] - begin;
    const double *values = args.values[p] + (begin - args.first[p]) * square;
    const std::size_t width = count * bs;
    const Row diagonal = p == 0 ? args.diagonal[row] : -1;
    for (std::size_t n = threadIdx.x % kWarpSize; n < count * square; n += kWarpSize) {
      const std::size_t scalar_row = n / width, column = n - scalar_row * width;
      const auto block = static_cast<Row>(args.scalar_rows ? column / bs : n / square);
      const std::size_t at = args.scalar_rows ? column % bs * bs + scalar_row : n % square;
      const Row place = diagonal < 0 || block < diagonal ? block
                        : block == diagonal              ? -1
                                                         : block - 1;
      next[static_cast<std::ptrdiff_t>(place) * static_cast<std::ptrdiff_t>(square) +
           static_cast<std::ptrdiff_t>(at)] = values[n];
    }
    next += (count - (p == 0 ? 1 : 0)) * square;
  }
}

// c = a b, or c += a b if add, by a team. b may belong to a row that another multiprocessor has
// written in this launch, so it is not read through the first-level cache.
template <bool add>
__device__ __forceinline__ void multiply(const Team &team, int bs, const double *a, const double *b,
                                         double *c)
{
  for_entries(team, bs, [&](int i, int j) {
    double sum = add ? c[j * bs + i] : 0.0;
    for (int k = 0; k < bs; ++k) sum += a[k * bs + i] * __ldcg(b + j * bs + k);
    c[j * bs + i] = sum;
  });
}

// Takes the next row of a launch, for all threads of a team. Rows are taken in the order of the
// plan. So a row waits only for rows that other teams have taken, and no launch hangs.
__device__ __forceinline__ Row take_row(const FactorArgs &args, const Team &team)
{
  __shared__ unsigned taken;
  unsigned number = 0;
  if (team.size == kWarpSize) {
    if (team.lane == 0) number = atomicAdd(args.next, 1U);
    number = __shfl_sync(kAllLanes, number, 0);
  } else {
    __syncthreads(); // all threads have read the row before
    if (team.rank == 0) taken = atomicAdd(args.next, 1U);
    __syncthreads();
    number = taken;
  }
  return number < static_cast<unsigned>(args.end - args.begin)
             ? args.begin + static_cast<Row>(number)
             : args.end;
}

// Waits for the row whose inverse a step reads, if it is a row of this launch.
__device__ __forceinline__ void await_row(const FactorArgs &args, BlockNumber inverse)
{
  const BlockNumber row = inverse - args.first_inverse;
  if (inverse >= args.first_offered || row < static_cast<BlockNumber>(args.begin)) return;
  while (*static_cast<volatile std::uint32_t *>(args.done + row) != args.epoch)
    __nanosleep(Tuning::kFactorSleep);
  __threadfence();
}

// Factors a row as IncompleteLU does on the host. work: work_numbers() doubles
__device__ __forceinline__ void factor_row(const FactorArgs &args, const Team &team, int bs,
                                           Row row, double *work)
{
  const std::size_t square = static_cast<std::size_t>(bs) * bs;
  const auto block = [&](BlockNumber number) { return args.blocks + number * square; };
  for (BlockNumber s = args.step_begin[row]; s < args.step_begin[row + 1]; ++s) {
    const Elimination::Step step = args.steps[s];
    const BlockNumber end = args.steps[s + 1].first;
    const double *by = block(step.inverse);
    bool some = false;
    await_row(args, step.inverse);
    for (std::size_t n = team.lane; n < square; n += Team::lanes)
      some = some || __ldcg(by + n) != 0.0;
    if (!team.any(some)) continue;
    multiply<false>(team, bs, block(step.lower), by, work);
    team.sync();
    for (BlockNumber u = step.first; u < end; ++u)
      multiply<true>(team, bs, work, block(args.updates[u].upper), block(args.updates[u].target));
    team.sync();
  }
  const Row at = args.row_of[row];
  const double *own = block(args.row_begin[at]), *own_end = block(args.row_begin[at + 1]);
  bool finite = true;
  for (const double *n = own + team.lane; n < own_end; n += Team::lanes)
    finite = finite && is_finite(*n);
  finite = team.all(finite);
  for (std::size_t n = team.rank; n < square; n += team.size) work[n] = own[n];
  team.sync();
  const bool good = invert(team, work, bs, work + square, work + square + bs,
                           reinterpret_cast<int *>(work + square + 2 * bs)) == Inversion::done &&
                    finite;
  team.sync();
  double *inverse = block(args.first_inverse + static_cast<BlockNumber>(row));
  for (std::size_t n = team.rank; n < square; n += team.size) inverse[n] = good ? -work[n] : 0.0;
  team.sync();
  if (team.rank > 0) return;
  __threadfence(); // before other teams see that the row is done
  *static_cast<volatile std::uint32_t *>(args.done + row) = args.epoch;
}

// size: of a block; 0: args.bs
template <int size> __global__ void __launch_bounds__(kThreads) factor_kernel(FactorArgs args)
{
  extern __shared__ double shared[];
  constexpr bool warps = size > 0;
  const int bs = size > 0 ? size : args.bs, t = static_cast<int>(threadIdx.x),
            width = warps ? kWarpSize : static_cast<int>(kThreads), number = t / width;
  const Team team{t % width, width};
  const std::size_t each = work_numbers(bs);
  double *work = args.scratch ? args.scratch + blockIdx.x * each : shared + number * each;
  for (Row row = take_row(args, team); row < args.end; row = take_row(args, team))
    factor_row(args, team, bs, row, work);
}

__global__ void copy_kernel(double *blocks, const BlockNumber *from, std::size_t count,
                            BlockNumber to, std::size_t square)
{
  const std::size_t n = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (n < count * square) blocks[to * square + n] = blocks[from[n / square] * square + n % square];
}

const void *factor_kernel_for(int bs)
{
  return with_block_size<1, kMaxSmallBlock>(
      bs, [&]<int size> { return reinterpret_cast<const void *>(factor_kernel<size>); });
}

} // namespace

void arrange_values(const ArrangeArgs &args, cudaStream_t stream)
{
  launch(arrange_kernel,
         grid_of(static_cast<std::size_t>(args.end - args.begin), kThreads / kWarpSize), kThreads,
         stream, args);
}

FactorLaunch factor_launch(int bs)
{
  FactorLaunch launch{factor_kernel_for(bs), 0, teams_of(bs) * work_numbers(bs) * sizeof(double),
                      0};
  const bool fits = launch.shared <= static_cast<std::size_t>(most_shared(launch.function));
  int resident = 0;
  if (!fits) launch.shared = 0;
  allow_shared(launch.function, static_cast<int>(launch.shared));
  MCPI_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &resident, launch.function, static_cast<int>(kThreads), launch.shared));
  launch.blocks = static_cast<unsigned>(fits ? std::max(resident, 1) : 1) *
                  static_cast<unsigned>(device_attribute(cudaDevAttrMultiProcessorCount));
  if (!fits) launch.scratch = work_numbers(bs) * launch.blocks;
  return launch;
}

void factor_rows(const FactorLaunch &launch, const FactorArgs &args, cudaStream_t stream)
{
  if (args.begin == args.end) return;
  FactorArgs copy = args;
  void *list[1] = {&copy};
  const std::size_t needed =
      grid_of(static_cast<std::size_t>(args.end - args.begin), teams_of(args.bs));
  MCPI_CUDA(cudaMemsetAsync(args.next, 0, sizeof(*args.next), stream));
  MCPI_CUDA(cudaLaunchKernel(
      launch.function, dim3(static_cast<unsigned>(std::min<std::size_t>(needed, launch.blocks))),
      dim3(kThreads), list, launch.shared, stream));
}

void copy_blocks(double *blocks, const BlockNumber *from, std::size_t count, BlockNumber to, int bs,
                 cudaStream_t stream)
{
  const auto square = static_cast<std::size_t>(bs) * static_cast<std::size_t>(bs);
  launch(copy_kernel, grid_of(count * square, kThreads), kThreads, stream, blocks, from, count, to,
         square);
}

} // namespace mcpi::cuda
