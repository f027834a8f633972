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
// Doubles of a team's working memory: the negative left factor of a step, or the block to invert;
// two blocks of other rows; two vectors; pivots
constexpr std::size_t work_numbers(int bs)
{
  const auto size = static_cast<std::size_t>(bs);
  return 3 * size * size + 2 * size + (size + 1) / 2;
}

// Each warp takes a matrix row. Reads values, ptr, diagonal and row_begin; writes blocks.
__global__ void arrange_kernel(ArrangeArgs args)
{
  const long long warp =
      (static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x) / kWarpSize + args.begin;
  if (warp >= args.end) return;
  const auto row = static_cast<Row>(warp);
  const auto bs = static_cast<unsigned>(args.bs), square = bs * bs, lane = threadIdx.x % kWarpSize;
  double *next = args.blocks + (args.row_begin[row] + 1) * static_cast<std::size_t>(square);
  for (int p = 0; p < 2; ++p) {
    if (!args.ptr[p]) continue;
    const std::uint32_t begin = args.ptr[p][row], count = args.ptr[p][row + 1] - begin;
    const double *values =
        args.values[p] + (begin - args.first[p]) * static_cast<std::size_t>(square);
    const Row diagonal = p == 0 ? args.diagonal[row] : -1;
    // In the order of the blocks, so that neighboring threads write neighboring memory
    for (unsigned n = lane; n < count * square; n += kWarpSize) {
      const unsigned block = n / square, at = n - block * square, j = at / bs, i = at - j * bs;
      const auto number = static_cast<Row>(block);
      const Row place = diagonal < 0 || number < diagonal ? number
                        : number == diagonal              ? -1
                                                          : number - 1;
      next[place * static_cast<std::ptrdiff_t>(square) + at] =
          values[args.scalar_rows ? i * count * bs + block * bs + j : n];
    }
    next += (count - (p == 0 ? 1 : 0)) * static_cast<std::size_t>(square);
  }
}

// c = a b, or c += a b if add, by a team
template <bool add>
__device__ __forceinline__ void multiply(const Team &team, int bs, const double *a, const double *b,
                                         double *c)
{
  for_entries(team, bs, [&](int i, int j) {
    double sum = add ? c[j * bs + i] : 0.0;
    for (int k = 0; k < bs; ++k) sum += a[k * bs + i] * b[j * bs + k];
    c[j * bs + i] = sum;
  });
}

// Copies blocks of other rows to working memory. Another multiprocessor may have written them in
// this launch, so they are not read through the first-level cache.
__device__ __forceinline__ void fetch(const Team &team, int bs, const double *block, double *to)
{
  for (int n = team.rank; n < bs * bs; n += team.size) to[n] = __ldcg(block + n);
}

// The same for two blocks, one behind the other. Returns whether this thread has read a number of
// the first block that is not zero.
__device__ __forceinline__ bool fetch_two(const Team &team, int bs, const double *first,
                                          const double *second, double *to)
{
  const int square = bs * bs;
  bool some = false;
  for (int n = team.rank; n < square; n += team.size) {
    const double a = __ldcg(first + n), b = __ldcg(second + n);
    some = some || a != 0.0;
    to[n] = a;
    to[square + n] = b;
  }
  return some;
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

// Waits for the row whose inverse a step reads, if it is a row of this launch. What the row has
// written may be read after a fence.
__device__ __forceinline__ void await_row(const FactorArgs &args, BlockNumber inverse)
{
  const BlockNumber row = inverse - args.search.first_inverse;
  if (inverse >= args.search.first_ghost || row < static_cast<BlockNumber>(args.begin)) return;
  while (*static_cast<volatile std::uint32_t *>(args.done + row) != args.epoch)
    __nanosleep(Tuning::kFactorSleep);
}

// Loads a block from memory to the second-level cache.
__device__ __forceinline__ void prefetch(const double *block, std::size_t square)
{
  constexpr std::size_t kLine = 128 / sizeof(double);
  for (std::size_t n = 0; n < square; n += kLine)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(block + n));
}

// The number that a lane holds, for all lanes
__device__ __forceinline__ BlockNumber of_lane(BlockNumber number, unsigned lane)
{
  return __shfl_sync(kAllLanes, number, static_cast<int>(lane));
}

// Finds a step, loads its blocks to the second-level cache, and waits for the row that it reads.
__device__ __forceinline__ Step load_step(const FactorArgs &args, BlockNumber number,
                                          std::uint32_t matrix_row, std::size_t square)
{
  const Step step = find_step(args.search, number, matrix_row);
  prefetch(args.blocks + step.lower * square, square);
  if (step.opposite != kNone) prefetch(args.blocks + step.opposite * square, square);
  await_row(args, step.inverse);
  return step;
}

__device__ __forceinline__ Step of_lane(const Step &mine, unsigned lane)
{
  return {of_lane(mine.lower, lane),
          of_lane(mine.inverse, lane),
          of_lane(mine.opposite, lane),
          {of_lane(mine.blocks.begin, lane), of_lane(mine.blocks.end, lane),
           of_lane(mine.blocks.shift, lane)}};
}

// Subtracts from the off-diagonal blocks of a row what a step gives there. Each lane looks whether
// the row has a block in the column of one block of U_j. Only pairs that are found take time of the
// whole team.
__device__ __forceinline__ void update_offdiagonal(const FactorArgs &args, const Team &team, int bs,
                                                   std::uint32_t matrix_row, const Step &step,
                                                   const double *left, double *upper)
{
  const std::size_t square = static_cast<std::size_t>(bs) * bs;
  const Blocks own = blocks_of(args.search, matrix_row);
  for (BlockNumber first = step.blocks.begin; first < step.blocks.end; first += kWarpSize) {
    const BlockNumber target =
        find_target(args.search, step, own, first + static_cast<BlockNumber>(team.lane));
    for (unsigned found = __ballot_sync(kAllLanes, target != kNone); found != 0;
         found &= found - 1) {
      const auto lane = static_cast<unsigned>(__ffs(static_cast<int>(found)) - 1);
      team.sync();
      fetch(team, bs, args.blocks + (first + lane) * square, upper);
      team.sync();
      multiply<true>(team, bs, left, upper, args.blocks + of_lane(target, lane) * square);
    }
  }
}

// Takes one step of a row. work: work_numbers() doubles
__device__ __forceinline__ void take_step(const FactorArgs &args, const Team &team, int bs,
                                          std::uint32_t matrix_row, const Step &step, double *work)
{
  const std::size_t square = static_cast<std::size_t>(bs) * bs;
  double *left = work, *inverse = work + square, *upper = inverse + square;
  const auto block = [&](BlockNumber number) { return args.blocks + number * square; };
  const bool opposite = step.opposite != kNone;
  if (!opposite && !args.fill) return;
  if (!team.any_of_team(fetch_two(team, bs, block(step.inverse),
                                  block(opposite ? step.opposite : step.inverse), inverse)))
    return;
  multiply<false>(team, bs, block(step.lower), inverse, left);
  team.sync();
  if (opposite) multiply<true>(team, bs, left, upper, block(args.search.row_begin[matrix_row]));
  if (args.fill) update_offdiagonal(args, team, bs, matrix_row, step, left, upper);
  team.sync();
}

// Replaces E by -E^{-1} in the inverse, or by zero. empty: BlockRows::empty_of() of the row. work:
// work_numbers() doubles
template <int size>
__device__ __forceinline__ void store_inverse(const Team &team, int bs, const double *own,
                                              const std::uint8_t *empty, bool finite,
                                              double *inverse, double *work)
{
  const int square = bs * bs;
  if constexpr (size > 0) {
    double a[size][size]; // Each lane inverts the whole block, which takes no exchanges.
#pragma unroll
    for (int n = 0; n < size * size; ++n) a[n / size][n % size] = own[n];
    const bool good = device::invert_rest(a, empty) == Inversion::done && finite;
#pragma unroll
    for (int n = 0; n < size * size; ++n)
      if (team.lane == n % kWarpSize) inverse[n] = good ? -a[n / size][n % size] : 0.0;
  } else {
    for (int n = team.rank; n < square; n += team.size) work[n] = own[n];
    team.sync();
    double *vectors = work + 3 * square;
    const bool good =
        device::invert_rest(team, work, bs, empty, vectors, vectors + bs,
                            reinterpret_cast<int *>(vectors + 2 * bs)) == Inversion::done &&
        finite;
    for (int n = team.rank; n < square; n += team.size) inverse[n] = good ? -work[n] : 0.0;
  }
}

// Factors a row as IncompleteLU does on the host. size: the block size; 0: bs
template <int size>
__device__ __forceinline__ void factor_row(const FactorArgs &args, const Team &team, int bs,
                                           Row row, double *work)
{
  const std::size_t square = static_cast<std::size_t>(bs) * bs;
  const auto block = [&](BlockNumber number) { return args.blocks + number * square; };
  const BlockNumber end = args.search.lower_begin[row + 1];
  const auto lane = static_cast<unsigned>(team.lane);
  const Row at = args.row_of[row];
  const auto matrix_row = static_cast<std::uint32_t>(at);
  for (BlockNumber first = args.search.lower_begin[row]; first < end; first += kWarpSize) {
    Step mine{};
    if (first + lane < end) mine = load_step(args, first + lane, matrix_row, square);
    __threadfence(); // The rows that were waited for are done.
    __syncwarp();
    for (unsigned k = 0; k < kWarpSize && first + k < end; ++k)
      take_step(args, team, bs, matrix_row, of_lane(mine, k), work);
  }
  const double *own = block(args.search.row_begin[at]),
               *own_end = block(args.search.row_begin[at + 1]);
  bool finite = true;
  for (const double *n = own + lane; n < own_end; n += Team::lanes)
    finite = finite && is_finite(*n);
  const std::uint8_t *empty = args.empty ? args.empty + static_cast<std::size_t>(at) * bs : nullptr;
  store_inverse<size>(team, bs, own, empty, team.all(finite),
                      block(args.search.first_inverse + static_cast<BlockNumber>(row)), work);
  team.sync();
  if (team.rank > 0) return;
  __threadfence(); // before other teams see that the row is done
  *static_cast<volatile std::uint32_t *>(args.done + row) = args.epoch;
}

// size: the block size; 0: args.bs
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
    factor_row<size>(args, team, bs, row, work);
}

__global__ void copy_kernel(const double *blocks, const BlockNumber *from, std::size_t count,
                            std::size_t square, double *to)
{
  const std::size_t n = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (n < count * square) to[n] = blocks[from[n / square] * square + n % square];
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

FactorLaunch factor_launch(int bs, Row rows)
{
  FactorLaunch launch{factor_kernel_for(bs), 0, teams_of(bs) * work_numbers(bs) * sizeof(double),
                      0};
  const auto multiprocessors =
      static_cast<std::size_t>(device_attribute(cudaDevAttrMultiProcessorCount));
  if (launch.shared > static_cast<std::size_t>(most_shared(launch.function))) {
    // Few thread blocks, because each has its own memory
    const std::size_t most = Tuning::kMostScratch / (work_numbers(bs) * sizeof(double)),
                      blocks = std::min({multiprocessors, static_cast<std::size_t>(rows), most});
    launch.shared = 0;
    launch.blocks = static_cast<unsigned>(std::max<std::size_t>(blocks, 1));
    launch.scratch = work_numbers(bs) * launch.blocks;
    return launch;
  }
  int resident = 0;
  allow_shared(launch.function, static_cast<int>(launch.shared));
  MCPI_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &resident, launch.function, static_cast<int>(kThreads), launch.shared));
  launch.blocks =
      static_cast<unsigned>(multiprocessors) * static_cast<unsigned>(std::max(resident, 1));
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

void copy_blocks(const double *blocks, const BlockNumber *from, std::size_t count, int bs,
                 double *to, cudaStream_t stream)
{
  const auto square = static_cast<std::size_t>(bs) * static_cast<std::size_t>(bs);
  launch(copy_kernel, grid_of(count * square, kThreads), kThreads, stream, blocks, from, count,
         square, to);
}

} // namespace mcpi::cuda
