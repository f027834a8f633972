// Exchanges that the devices do by themselves. A row goes into packets in the neighbors' memory. A
// packet has 16 bytes: 12 of the row, and the epoch of the sending. This is the LL protocol of NCCL
// with a sequence number. A packet is written and read as a whole, so a reader that finds the epoch
// has the row's part as well. Exchanges with kernels of their own write a packet again after its
// reader has acknowledged the exchange that used it last. Relaxations that exchange by themselves
// need acknowledgements between applications only. docs/notes/ghost-packets.md has the proofs.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "core/plan.h"
#include "sweep/packet_steps.h"

namespace mcpi::cuda {

constexpr int kOvertaken = -1;    // a neighbor has not waited for this rank
constexpr int kPacketPayload = 3; // of 32 bits, of four

// Words of a row of so many 32-bit numbers
constexpr std::size_t packets_of(std::size_t numbers)
{
  return (numbers + kPacketPayload - 1) / kPacketPayload;
}

// A neighbor's memory
struct Mailbox {
  uint4 *acknowledged; // by us, the first number
  uint4 *ghosts;
};

struct SentRow {
  Row row, ghost, mailbox;
};

// Of a boundary row: the first place to which it goes, others from `more` on
struct RowSending {
  Row ghost, mailbox; // mailbox < 0: it goes nowhere
  std::uint32_t more, end;
};
static_assert(sizeof(RowSending) == sizeof(uint4)); // read at once

// What the kernels of an application share. Epochs count exchanges, or passes (sweep/epochs.h); an
// application's are counted from *base.
struct PacketArgs {
  const Mailbox *mailboxes;
  int neighbors;
  const uint4 *acknowledged; // by the neighbors
  const uint4 *ghosts;
  std::uint32_t *base;
  std::uint32_t *x;      // rows, then ghosts
  std::uint32_t numbers; // of a row
  std::uint32_t rows;
  unsigned long long patience; // ns
  volatile int *lost; // in host memory: 1 + a neighbor that has not answered in time, or why else
                      // nothing can be exchanged any more
  std::uint32_t missing; // what stands for 32 bits that have not come
};

// For relaxations that exchange by themselves: their boundary tiles, which come first, read ghosts
// where they arrive, and send their rows. Epochs of passes (sweep/epochs.h), counted from *base.
struct InlineExchange {
  PacketArgs packets{};
  const RowSending *sending = nullptr; // of the color's boundary rows
  const SentRow *sent = nullptr;       // where `more` counts
  std::uint32_t first_row = 0;         // of the color
  std::uint32_t boundary_tiles = 0;
  std::uint32_t sends = 0;            // 0: nothing is sent
  std::uint32_t lower = 0, upper = 0; // of the ghosts that products of a triangle read,
  std::uint32_t turn = 0, turn_begin = 0, turn_end = 0; // but for these

  constexpr std::uint32_t epoch(std::uint32_t ghost, bool in_lower) const
  {
    return ghost >= turn_begin && ghost < turn_end ? turn : in_lower ? lower : upper;
  }
};

// The rows of one exchange go out.
void send_packets(const PacketArgs &args, const SentRow *sent, std::size_t count,
                  const PacketStep &step, cudaStream_t stream);
// The ghosts [begin, end) of an exchange arrive in x.
void receive_packets(const PacketArgs &args, std::size_t begin, std::size_t end, std::uint32_t step,
                     cudaStream_t stream);
// The application had so many exchanges.
void finish_packets(const PacketArgs &args, std::uint32_t steps, cudaStream_t stream);

} // namespace mcpi::cuda

namespace mcpi {

// What a halo hands to a backend that exchanges by itself: valid for one size of rows at a time,
// see Halo::prepare()
struct GhostPackets {
  cuda::PacketArgs args{};                            // without x
  const cuda::SentRow *sent = nullptr;                // by row
  std::size_t count = 0;                              // sent
  std::vector<const cuda::RowSending *> sending = {}; // of each color's boundary rows
};

} // namespace mcpi
