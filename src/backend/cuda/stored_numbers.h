// Single stored numbers on the device, for any storage and block size at run time: what is rare
// enough to be slow.
#pragma once

#include <cuda_runtime.h>

#include "backend/cuda/relax.h"

namespace mcpi::cuda {

struct StoredNumbers {
  PCMCPIPrecision storage;
  int bs;
  bool small;
  SliceShape shape;
  HeadBits head;
  const Tile *tiles;
  std::byte *blocks;
  BlockHead *heads;
};

// Where a block lies: for small blocks its tile in the upper half and its first slice there, for
// large ones its number
using Location = std::uint64_t;
constexpr Location location(std::uint32_t tile, std::uint32_t place)
{
  return static_cast<Location>(tile) << 32U | place;
}
// the record of that number among those that other ranks sent
constexpr Location kReceived = Location{1} << 63U;

// columns: of all slices, tile after tile
void set_columns(const StoredNumbers &to, std::uint32_t tiles, const Row *columns);
// Records of core/codec.h of the blocks at count locations, one after the other
void read_records(const StoredNumbers &from, const Location *locations, std::size_t count,
                  std::byte *records, cudaStream_t stream);
// sources: of each slice (each block, if large) of `to` the block whose transposed numbers it gets
void fill_transposed(const StoredNumbers &to, const StoredNumbers &from, const Location *sources,
                     std::uint32_t tiles, std::size_t blocks, const std::byte *received,
                     cudaStream_t stream);

} // namespace mcpi::cuda
