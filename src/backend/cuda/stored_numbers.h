// Access to single stored numbers on the device, for any storage precision and block size at run
// time. It is slow, but seldom needed: for column indices, records for other ranks, and transposed
// blocks.
#pragma once

#include <cuda_runtime.h>

#include "backend/cuda/relax.h"

namespace mcpi::cuda {

// The stored blocks of an operator. See Operator.
struct StoredNumbers {
  PCMCPIPrecision storage;
  int bs;
  bool small;        // whether blocks are stored in slices
  SliceShape shape;  // small blocks
  HeadBits head;     // small blocks
  const Tile *tiles; // small blocks
  std::byte *blocks;
  BlockHead *heads; // large blocks
};

// Where a block lies. Small blocks: its tile in the upper half, its first slice in the tile in the
// lower half. Large blocks: its number.
using Location = std::uint64_t;
constexpr Location location(std::uint32_t tile, std::uint32_t place)
{
  return static_cast<Location>(tile) << 32U | place;
}
// The location is a record that another rank sent. The other bits are the number of the record.
constexpr Location kReceived = Location{1} << 63U;

// Writes the column indices of all slices, tile after tile.
void set_columns(const StoredNumbers &to, std::uint32_t tiles, const Row *columns);
// Writes the records (core/codec.h) of the blocks at `count` locations, one after the other.
void read_records(const StoredNumbers &from, const Location *locations, std::size_t count,
                  std::byte *records, cudaStream_t stream);
// Fills `to` with transposed blocks. sources: for each slice of `to` (each block, if large), the
// location in `from` of the block whose transposed numbers it takes, or the number of a received
// record.
void fill_transposed(const StoredNumbers &to, const StoredNumbers &from, const Location *sources,
                     std::uint32_t tiles, std::size_t blocks, const std::byte *received,
                     cudaStream_t stream);

} // namespace mcpi::cuda
