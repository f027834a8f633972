// Exchanges that the devices do by themselves: rows go straight into words of the neighbors' memory, of 16 bytes each: 12 of a row, and the epoch of
// the sending. A word is written and read whole, so who finds the epoch that he waits for has the row's part as well. Words are written again
// when their reader has acknowledged the exchange that used them last. docs/design.md, "Ghost words", has the proof.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/plan.h"
#include "halo/word_steps.h"

namespace mcpi::cuda {

constexpr int kWordPayload = 3; // of 32 bits, of four

// Words of a row of so many 32-bit numbers
constexpr std::size_t ghost_words(std::size_t numbers)
{
  return (numbers + kWordPayload - 1) / kWordPayload;
}

// A neighbor's memory
struct Mailbox {
  uint4 *acknowledged; // by us, the first number
  uint4 *ghosts;
};

struct SentRow {
  Row row, ghost, mailbox;
};

// What the kernels of an application share. Epochs count exchanges; an application's are counted from *base.
struct WordsArgs {
  const Mailbox     *mailboxes;
  int                neighbors;
  const uint4       *acknowledged; // by the neighbors
  const uint4       *ghosts;
  std::uint32_t     *base;
  std::uint32_t     *x;       // rows, then ghosts
  std::uint32_t      numbers; // of a row
  std::uint32_t      rows;
  unsigned long long patience; // ns
  volatile int      *lost;     // in host memory: 1 + a neighbor that has not answered in time
  std::uint32_t      missing;  // what stands for 32 bits that have not come
};

// The rows of one exchange go out.
void send_words(const WordsArgs &args, const SentRow *sent, std::size_t count, const WordStep &step, cudaStream_t stream);
// The ghosts [begin, end) of an exchange arrive in x.
void receive_words(const WordsArgs &args, std::size_t begin, std::size_t end, std::uint32_t step, cudaStream_t stream);
// The application had so many exchanges.
void finish_words(const WordsArgs &args, std::uint32_t steps, cudaStream_t stream);

} // namespace mcpi::cuda
