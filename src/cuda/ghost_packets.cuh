// Device functions that send, load and wait for ghost packets.
#pragma once

#include "cuda/ghost_packets.h"
#include "cuda/tuning_hopper.h"

namespace mcpi::cuda {

// Who sees a packet: all devices and the host, or the threads of one device
enum class Reach { system, device };

// Stores 16 bytes by one instruction. Devices before sm_90 have no such instruction; the set-up
// refuses them.
template <Reach reach = Reach::system>
__device__ __forceinline__ void store_packet(uint4 *to, std::uint32_t a, std::uint32_t b,
                                             std::uint32_t c, std::uint32_t epoch)
{
#if __CUDA_ARCH__ >= 900
  const unsigned long long low = a | static_cast<unsigned long long>(b) << 32U,
                           high = c | static_cast<unsigned long long>(epoch) << 32U;
  if constexpr (reach == Reach::system)
    asm volatile(
        "{.reg .b128 v; mov.b128 v, {%1, %2}; st.relaxed.sys.global.b128 [%0], v;}" ::"l"(to),
        "l"(low), "l"(high)
        : "memory");
  else
    asm volatile(
        "{.reg .b128 v; mov.b128 v, {%1, %2}; st.relaxed.gpu.global.b128 [%0], v;}" ::"l"(to),
        "l"(low), "l"(high)
        : "memory");
#endif
}
template <Reach reach = Reach::system>
__device__ __forceinline__ uint4 load_packet(const uint4 *from)
{
  unsigned long long low = 0, high = 0;
#if __CUDA_ARCH__ >= 900
  if constexpr (reach == Reach::system)
    asm volatile("{.reg .b128 v; ld.relaxed.sys.global.b128 v, [%2]; mov.b128 {%0, %1}, v;}"
                 : "=l"(low), "=l"(high)
                 : "l"(from)
                 : "memory");
  else
    asm volatile("{.reg .b128 v; ld.relaxed.gpu.global.b128 v, [%2]; mov.b128 {%0, %1}, v;}"
                 : "=l"(low), "=l"(high)
                 : "l"(from)
                 : "memory");
#endif
  return {static_cast<unsigned>(low), static_cast<unsigned>(low >> 32U),
          static_cast<unsigned>(high), static_cast<unsigned>(high >> 32U)};
}
__device__ __forceinline__ void store_release(unsigned *to, std::uint32_t value)
{
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}
__device__ __forceinline__ std::uint32_t load_relaxed(const unsigned *from)
{
  std::uint32_t value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}
__device__ __forceinline__ std::uint32_t load_acquire(const unsigned *from)
{
  std::uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

// Waits until ready() is true, and returns true. If that takes longer than args.patience,
// *args.lost is set, and the result is false. Once *args.lost is set, no other wait goes on.
template <class Ready>
__device__ __forceinline__ bool wait_for(const PacketArgs &args, int neighbor, const Ready &ready)
{
  constexpr unsigned kPollsPerLook = Tuning::kPollsPerLook;
  unsigned long long begin = 0, now = 0;
  for (unsigned poll = 1; !ready(); ++poll) {
    if (poll % kPollsPerLook != 0) continue;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    if (begin == 0) begin = now;
    if (now - begin > args.patience) *args.lost = 1 + neighbor;
    if (*args.lost != 0) return false;
  }
  return true;
}

// A packet whose epoch is ahead of the expected one by at most this number comes from a rank that
// has given up waiting. The difference is unsigned, so it is larger for packets with old epochs.
constexpr std::uint32_t kAhead = 1U << 20;

// Whether a packet with this epoch has come. Its first `used` numbers belong to a row. The others
// are zero, and are tested, too. If the program did not use them, ptxas would replace the load by
// two narrow loads, and the packet could change between the two.
template <int used>
__device__ __forceinline__ bool has_come(const uint4 &packet, std::uint32_t epoch)
{
  return ((packet.w ^ epoch) | (used < 2 ? packet.y : 0U) | (used < 3 ? packet.z : 0U)) == 0;
}

// Waits for a packet. On entry, packet is what an earlier load has found. On return it is the
// packet of this epoch, or args.missing if the wait has taken too long.
template <int used>
__device__ __forceinline__ void await_packet(const PacketArgs &args, const uint4 *from,
                                             std::uint32_t epoch, uint4 &packet)
{
  if (has_come<used>(packet, epoch)) return;
  const bool here = wait_for(args, 0, [&] {
    packet = load_packet(from);
    if (packet.w - epoch - 1U < kAhead) *args.lost = kOvertaken;
    return has_come<used>(packet, epoch);
  });
  if (!here) packet = {args.missing, args.missing, args.missing, 0};
}

// The packets of a row. numbers: 32-bit numbers of a row
template <int numbers> class RowPackets {
public:
  static constexpr int packets = packets_of(numbers);
  static constexpr int last =
      numbers - kPacketPayload * (packets - 1); // numbers in the last packet

  // Loads them from memory of the same device, and returns whether they have come.
  __device__ __forceinline__ bool look(const uint4 *from, std::uint32_t epoch)
  {
    load(from);
    return have_come(epoch);
  }
  __device__ __forceinline__ void load(const uint4 *from)
  {
#pragma unroll
    for (int w = 0; w < packets; ++w) packet_[w] = load_packet<Reach::device>(from + w);
  }
  __device__ __forceinline__ bool have_come(std::uint32_t epoch) const
  {
    bool here = true;
#pragma unroll
    for (int w = 0; w < packets - 1; ++w)
      here = has_come<kPacketPayload>(packet_[w], epoch) && here;
    return has_come<last>(packet_[packets - 1], epoch) && here;
  }
  __device__ __forceinline__ std::uint32_t operator[](int i) const
  {
    const uint4 &packet = packet_[i / kPacketPayload];
    return i % kPacketPayload == 0 ? packet.x : i % kPacketPayload == 1 ? packet.y : packet.z;
  }

protected:
  uint4 packet_[packets];
};

// A ghost that a relaxation reads from its packets. look() loads the packets without waiting,
// await() then waits for those that have not come.
template <int numbers> class Ghost : public RowPackets<numbers> {
public:
  __device__ __forceinline__ void look(const PacketArgs &args, std::uint32_t ghost)
  {
#pragma unroll
    for (int w = 0; w < packets; ++w) packet_[w] = load_packet(from(args, ghost) + w);
  }
  __device__ __forceinline__ void await(const PacketArgs &args, std::uint32_t ghost,
                                        std::uint32_t epoch)
  {
#pragma unroll
    for (int w = 0; w < packets - 1; ++w)
      await_packet<kPacketPayload>(args, from(args, ghost) + w, epoch, packet_[w]);
    await_packet<RowPackets<numbers>::last>(args, from(args, ghost) + packets - 1, epoch,
                                            packet_[packets - 1]);
  }

private:
  using RowPackets<numbers>::packets, RowPackets<numbers>::packet_;

  static __device__ __forceinline__ const uint4 *from(const PacketArgs &args, std::uint32_t ghost)
  {
    return args.ghosts + static_cast<std::size_t>(ghost) * packets;
  }
};

// The destinations of a row. The constructor loads the first one. It reads nothing that the
// relaxation before writes, so it may run before that relaxation has ended.
template <int numbers> class Sending {
public:
  Sending() = default;
  __device__ __forceinline__ Sending(const InlineExchange &inside, std::size_t row)
  {
    const uint4 sending =
        __ldg(reinterpret_cast<const uint4 *>(inside.sending) + (row - inside.first_row));
    more_ = sending.z;
    end_ = sending.w;
    if (static_cast<Row>(sending.y) >= 0)
      to_ = place(inside, static_cast<Row>(sending.x), static_cast<Row>(sending.y));
  }
  // Stores packet w of the row at all destinations.
  __device__ __forceinline__ void store(const InlineExchange &inside, int w, std::uint32_t a,
                                        std::uint32_t b, std::uint32_t c, std::uint32_t epoch) const
  {
    if (!to_) return;
    store_packet(to_ + w, a, b, c, epoch);
    for (std::uint32_t k = more_; k < end_; ++k)
      store_packet(place(inside, inside.sent[k].ghost, inside.sent[k].mailbox) + w, a, b, c, epoch);
  }

private:
  static __device__ __forceinline__ uint4 *place(const InlineExchange &inside, Row ghost,
                                                 Row mailbox)
  {
    return inside.packets.mailboxes[mailbox].ghosts +
           static_cast<std::size_t>(ghost) * packets_of(numbers);
  }

  std::uint32_t more_ = 0, end_ = 0;
  uint4 *to_ = nullptr;
};

} // namespace mcpi::cuda
