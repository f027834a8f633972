#include "backend/cuda/launch.cuh"
#include "halo/cuda/ghost_words.h"

namespace mcpi::cuda {
namespace {

constexpr unsigned kThreads = 128;

// 16 bytes at once; devices before sm_90 cannot, and are refused at set-up.
__device__ __forceinline__ void store_word(uint4 *to, std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t epoch)
{
#if __CUDA_ARCH__ >= 900
  const unsigned long long low = a | static_cast<unsigned long long>(b) << 32U, high = c | static_cast<unsigned long long>(epoch) << 32U;
  asm volatile("{.reg .b128 v; mov.b128 v, {%1, %2}; st.relaxed.sys.global.b128 [%0], v;}" ::"l"(to), "l"(low), "l"(high) : "memory");
#endif
}
__device__ __forceinline__ uint4 load_word(const uint4 *from)
{
  unsigned long long low = 0, high = 0;
#if __CUDA_ARCH__ >= 900
  asm volatile("{.reg .b128 v; ld.relaxed.sys.global.b128 v, [%2]; mov.b128 {%0, %1}, v;}" : "=l"(low), "=l"(high) : "l"(from) : "memory");
#endif
  return {static_cast<unsigned>(low), static_cast<unsigned>(low >> 32U), static_cast<unsigned>(high), static_cast<unsigned>(high >> 32U)};
}
__device__ __forceinline__ void store_release(unsigned *to, std::uint32_t value)
{
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}
__device__ __forceinline__ std::uint32_t load_acquire(const unsigned *from)
{
  std::uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

// Whether ready() has come true before the patience for a neighbor ended. Once it has ended nobody waits any more.
template <class Ready> __device__ bool wait_for(const WordsArgs &args, int neighbor, const Ready &ready)
{
  constexpr int      kPollsPerLook = 256;
  unsigned long long begin = 0, now = 0;
  for (int poll = 1; !ready(); ++poll) {
    if (poll % kPollsPerLook != 0) continue;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    if (begin == 0) begin = now;
    if (now - begin > args.patience) *args.lost = 1 + neighbor;
    if (*args.lost != 0) return false;
  }
  return true;
}

// All that was received before has been read: kernels of a stream follow each other.
__device__ void acknowledge(const WordsArgs &args, std::uint32_t epoch)
{
  for (int k = static_cast<int>(threadIdx.x); k < args.neighbors; k += kThreads) store_release(&args.mailboxes[k].acknowledged->x, epoch);
}

__global__ void __launch_bounds__(kThreads) send_kernel(WordsArgs args, const SentRow *sent, std::size_t count, WordStep step)
{
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
  const std::uint32_t base = *args.base, epoch = base + step.step;
  if (blockIdx.x == 0) acknowledge(args, epoch - 1); // before waiting: neighbors may wait for it. The first block starts first
  for (int k = static_cast<int>(threadIdx.x); k < args.neighbors; k += kThreads)
    (void)wait_for(args, k, [&] { return static_cast<int>(load_acquire(&args.acknowledged[k].x) - (base + step.used)) >= 0; });
  __syncthreads();
  const std::size_t words = ghost_words(args.numbers), k = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (k >= count * words) return;
  const SentRow        one    = sent[k / words];
  const std::uint32_t  first  = static_cast<std::uint32_t>(k % words) * kWordPayload;
  const std::uint32_t *x      = args.x + static_cast<std::size_t>(one.row) * args.numbers;
  const auto           number = [&](std::uint32_t i) { return first + i < args.numbers ? x[first + i] : 0U; };
  store_word(args.mailboxes[one.mailbox].ghosts + static_cast<std::size_t>(one.ghost) * words + k % words, number(0), number(1), number(2),
             epoch);
}

__global__ void __launch_bounds__(kThreads) receive_kernel(WordsArgs args, std::size_t begin, std::size_t end, std::uint32_t step)
{
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
  const std::size_t words = ghost_words(args.numbers), k = begin * words + static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (k >= end * words) return;
  const std::uint32_t epoch = *args.base + step, first = static_cast<std::uint32_t>(k % words) * kWordPayload;
  uint4               word{};
  if (!wait_for(args, 0, [&] {
        word = load_word(args.ghosts + k);
        return word.w == epoch;
      }))
    word = {args.missing, args.missing, args.missing, 0};
  std::uint32_t *x = args.x + (args.rows + k / words) * args.numbers + first;
  x[0]             = word.x;
  if (first + 1 < args.numbers) x[1] = word.y;
  if (first + 2 < args.numbers) x[2] = word.z;
}

__global__ void __launch_bounds__(kThreads) finish_kernel(WordsArgs args, std::uint32_t steps)
{
  const std::uint32_t next = *args.base + steps;
  acknowledge(args, next);
  __syncthreads();
  if (threadIdx.x == 0) *args.base = next;
}

} // namespace

void send_words(const WordsArgs &args, const SentRow *sent, std::size_t count, const WordStep &step, cudaStream_t stream)
{
  const std::size_t grid = grid_of(count * ghost_words(args.numbers), kThreads);
  launch_kernel<true>(send_kernel, grid > 0 ? grid : 1, kThreads, stream, args, sent, count, step);
}

void receive_words(const WordsArgs &args, std::size_t begin, std::size_t end, std::uint32_t step, cudaStream_t stream)
{
  launch_kernel<true>(receive_kernel, grid_of((end - begin) * ghost_words(args.numbers), kThreads), kThreads, stream, args, begin, end,
                      step);
}

void finish_words(const WordsArgs &args, std::uint32_t steps, cudaStream_t stream)
{
  launch(finish_kernel, 1, kThreads, stream, args, steps);
}

} // namespace mcpi::cuda
