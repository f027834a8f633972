// Exchanges that devices do without the host. A row is stored as packets in the memory of the
// neighbors. A packet has 16 bytes: 12 bytes of the row, and the epoch at which it was sent. This
// is the LL protocol of NCCL with a sequence number. A packet is written and read as a whole. So a
// reader that finds the expected epoch has the 12 bytes that belong to it.
//
// A separate exchange kernel overwrites a packet only after the reader has acknowledged the
// exchange that used the packet last. Relaxations with an exchange inside need acknowledgements
// between applications only. docs/notes/ghost-packets.md has the proofs.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "core/plan.h"
#include "sweep/packet_steps.h"

namespace mcpi::cuda {

constexpr int kOvertaken = -1;    // value of *lost: a neighbor has not waited for this rank
constexpr int kPacketPayload = 3; // 32-bit numbers of a row in a packet; the fourth is the epoch

// The number of packets of a row with this number of 32-bit numbers
constexpr std::size_t packets_of(std::size_t numbers)
{
  return (numbers + kPacketPayload - 1) / kPacketPayload;
}

// The memory of a neighbor, into which this rank writes
struct Mailbox {
  uint4 *acknowledged; // the first number is the epoch that this rank has acknowledged
  uint4 *ghosts;       // packets of the neighbor's ghosts
};

// A row that is sent: this rank's plan row, its ghost number on the neighbor, and the mailbox
struct SentRow {
  Row row, ghost, mailbox;
};

// The destinations of a boundary row. The first one is (ghost, mailbox). The others are
// [more, end) of a list of SentRow.
struct RowSending {
  Row ghost, mailbox; // mailbox < 0: the row is not sent
  std::uint32_t more, end;
};
static_assert(sizeof(RowSending) == sizeof(uint4)); // it is read by one load

// Arguments common to the kernels of an application. Epochs count exchanges, or passes if exchanges
// are inside relaxations (sweep/epochs.h).
struct PacketArgs {
  const Mailbox *mailboxes;    // one for each neighbor
  int neighbors;               // number of neighbors
  const uint4 *acknowledged;   // by neighbor: the first number is the epoch that it acknowledged
  const uint4 *ghosts;         // packets of this rank's ghosts
  std::uint32_t *base;         // last epoch of the application before
  std::uint32_t *x;            // rows, then ghosts
  std::uint32_t numbers;       // 32-bit numbers of a row
  std::uint32_t rows;          // local rows in x
  unsigned long long patience; // longest time to wait for a neighbor, in ns
  // In host memory. 0: no failure; kOvertaken; else 1 + the number of a neighbor that has not
  // answered in time. After a failure nothing can be exchanged.
  volatile int *lost;
  std::uint32_t missing; // pattern that replaces 32 bits that have not arrived
};

// Arguments of a relaxation with an exchange inside. Its boundary tiles come first. They read
// ghosts from the packets, and send their rows. Epochs count passes and are relative to
// *packets.base.
struct InlineExchange {
  PacketArgs packets{};
  const RowSending *sending = nullptr; // by boundary row of the color
  const SentRow *sent = nullptr;       // the list to which RowSending::more and end refer
  std::uint32_t first_row = 0;         // first plan row of the color
  std::uint32_t boundary_tiles = 0;    // number of tiles with boundary rows
  std::uint32_t sends = 0;             // epoch of the rows that are sent; 0: no row is sent
  std::uint32_t lower = 0, upper = 0;  // epochs of the ghosts that products of a triangle read
  // The ghosts [turn_begin, turn_end) have the epoch `turn` instead.
  std::uint32_t turn = 0, turn_begin = 0, turn_end = 0;

  constexpr std::uint32_t epoch(std::uint32_t ghost, bool in_lower) const
  {
    return ghost >= turn_begin && ghost < turn_end ? turn : in_lower ? lower : upper;
  }
};

// Launches a kernel that sends the rows of one exchange.
void send_packets(const PacketArgs &args, const SentRow *sent, std::size_t count,
                  const PacketStep &step, cudaStream_t stream);
// Launches a kernel that waits for the ghosts [begin, end) of an exchange and copies them to x.
void receive_packets(const PacketArgs &args, std::size_t begin, std::size_t end, std::uint32_t step,
                     cudaStream_t stream);
// Launches a kernel that ends the application, after this number of epochs. It acknowledges all of
// them and advances *base.
void finish_packets(const PacketArgs &args, std::uint32_t steps, cudaStream_t stream);

} // namespace mcpi::cuda

namespace mcpi {

// What a halo gives to a backend for exchanges inside relaxations. It is valid for one size of
// rows, until the next call of Halo::prepare().
struct GhostPackets {
  cuda::PacketArgs args{};                            // x is not set
  const cuda::SentRow *sent = nullptr;                // all rows that are sent, sorted by row
  std::size_t count = 0;                              // number of entries of sent
  std::vector<const cuda::RowSending *> sending = {}; // by color: array for its boundary rows
};

} // namespace mcpi
