// Tiles of small blocks: whole rows of one color, at most as many as a thread block can take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/device/shapes.h"
#include "core/kernels.h"
#include "core/plan.h"

namespace mcpi::device {

struct alignas(16) Tile {   // read at once
  std::uint32_t offset;     // of its slices, in pieces
  std::uint32_t row;        // first plan row
  std::uint32_t rows_lower; // rows, and slices of the lower triangle, which come first
  std::uint32_t upper;      // slices of the upper triangle
};
constexpr int kLowerBits = 22;
constexpr std::uint32_t kLowerMask = (1U << kLowerBits) - 1;

constexpr std::uint32_t rows_of(const Tile &tile)
{
  return tile.rows_lower >> kLowerBits;
}
constexpr std::uint32_t slices_of(const Tile &tile)
{
  return (tile.rows_lower & kLowerMask) + tile.upper;
}
// Slices as they are stored, with those that fill the tile
constexpr std::uint32_t stored_slices(const Tile &tile)
{
  return (slices_of(tile) + 3U) & ~3U;
}

// Ends of a row's slices, counted from the first slice of its triangle in the tile. Not used by
// tiles of one row, which may be longer.
struct alignas(4) RowEnds {
  std::uint16_t lower, upper;
};

// Which kernel takes the tiles of a color's boundary or interior rows, and how
struct TileLaunch {
  bool few = false;       // the one for few rows: tiles have at most a slice a thread
  bool one_waits = false; // of few only: the next color's thread blocks become resident once this
                          // one's turn has come, not before
};

// A range of tiles for each color's boundary rows, then one for its interior rows
struct TileLayout {
  SliceShape shape;
  std::vector<Tile> tiles;
  std::vector<RowEnds> ends;
  std::vector<std::uint32_t> part_begin; // 2*colors + 1
  std::vector<TileLaunch> launch;        // of each part
  std::size_t bytes = 0;
  bool long_rows = false, long_boundary_rows = false; // some tile (of boundary rows) has more
                                                      // slices than a thread block takes at a time
};

// What a thread block takes at a time (of boundary rows: at most boundary_slices), and how many of
// them a multiprocessor. A tile of one row may have more slices. few_rows: the most rows that a
// kernel for colors of few rows takes in a tile, few_blocks: thread blocks of it a multiprocessor;
// 0: there is none.
struct TileLimits {
  int rows, threads, slices, boundary_slices, blocks, multiprocessors, few_rows = 0, few_blocks = 0;
};

TileLayout make_tiles(const ColorPlan &plan, const SliceShape &shape, const TileLimits &limits);

} // namespace mcpi::device
