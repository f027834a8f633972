#include "cuda/ghost_packets.cuh"
#include "cuda/launch.cuh"

namespace mcpi::cuda {
namespace {

constexpr unsigned kThreads = Tuning::kPacketThreads;

// Acknowledges an epoch to all neighbors. All packets up to it have been read, since the kernels of
// a stream run one after the other.
__device__ void acknowledge(const PacketArgs &args, std::uint32_t epoch)
{
  for (int k = static_cast<int>(threadIdx.x); k < args.neighbors; k += kThreads)
    store_release(&args.mailboxes[k].acknowledged->x, epoch);
}

__global__ void __launch_bounds__(kThreads)
    send_kernel(PacketArgs args, const SentRow *sent, std::size_t count, PacketStep step)
{
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
  const std::uint32_t base = *args.base, epoch = base + step.step;
  // The acknowledgement comes before the wait, because neighbors may wait for it. The first block
  // gives it, because that block starts first.
  if (blockIdx.x == 0) acknowledge(args, epoch - 1);
  for (int k = static_cast<int>(threadIdx.x); k < args.neighbors; k += kThreads)
    (void)wait_for(args, k, [&] {
      return static_cast<int>(load_acquire(&args.acknowledged[k].x) - (base + step.used)) >= 0;
    });
  __syncthreads();
  const std::size_t packets = packets_of(args.numbers),
                    k = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (k >= count * packets) return;
  const std::size_t w = k % packets, left = args.numbers - w * kPacketPayload;
  const SentRow row = sent[k / packets];
  const std::uint32_t *x =
      args.x + static_cast<std::size_t>(row.row) * args.numbers + w * kPacketPayload;
  store_packet(args.mailboxes[row.mailbox].ghosts + static_cast<std::size_t>(row.ghost) * packets +
                   w,
               x[0], left > 1 ? x[1] : 0U, left > 2 ? x[2] : 0U, epoch);
}

__global__ void __launch_bounds__(kThreads)
    receive_kernel(PacketArgs args, std::size_t begin, std::size_t end, std::uint32_t step)
{
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
  const std::size_t packets = packets_of(args.numbers),
                    k = begin * packets + static_cast<std::size_t>(blockIdx.x) * kThreads +
                        threadIdx.x;
  if (k >= end * packets) return;
  uint4 packet = load_packet(args.ghosts + k);
  // How many numbers of the packet belong to the row is known at run time only. So the compiler
  // cannot narrow the load, and no unused number has to be tested.
  await_packet<kPacketPayload>(args, args.ghosts + k, *args.base + step, packet);
  const std::size_t first = k % packets * kPacketPayload;
  std::uint32_t *x = args.x + (args.rows + k / packets) * args.numbers + first;
  x[0] = packet.x;
  if (first + 1 < args.numbers) x[1] = packet.y;
  if (first + 2 < args.numbers) x[2] = packet.z;
}

__global__ void __launch_bounds__(kThreads) finish_kernel(PacketArgs args, std::uint32_t steps)
{
  const std::uint32_t next = *args.base + steps;
  acknowledge(args, next);
  __syncthreads();
  if (threadIdx.x == 0) *args.base = next;
}

} // namespace

void send_packets(const PacketArgs &args, const SentRow *sent, std::size_t count,
                  const PacketStep &step, cudaStream_t stream)
{
  const std::size_t grid = grid_of(count * packets_of(args.numbers), kThreads);
  launch_kernel<true>(send_kernel, grid > 0 ? grid : 1, kThreads, stream, args, sent, count, step);
}

void receive_packets(const PacketArgs &args, std::size_t begin, std::size_t end, std::uint32_t step,
                     cudaStream_t stream)
{
  launch_kernel<true>(receive_kernel, grid_of((end - begin) * packets_of(args.numbers), kThreads),
                      kThreads, stream, args, begin, end, step);
}

void finish_packets(const PacketArgs &args, std::uint32_t steps, cudaStream_t stream)
{
  launch(finish_kernel, 1, kThreads, stream, args, steps);
}

} // namespace mcpi::cuda
