// Tiles of small blocks. A tile is some whole rows of one color, with all their block slices; a
// thread block takes one tile. The lower triangle is the earlier one, the upper triangle the later
// one, of a forward sweep.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/device/shapes.h"
#include "core/kernels.h"
#include "core/plan.h"

namespace mcpi::device {

// 16 bytes: a thread reads it with one load
struct alignas(16) Tile {
  std::uint32_t offset; // where its slices begin, in pieces of 16 bytes
  std::uint32_t row;    // its first plan row
  // slices of the lower triangle (the lower kLowerBits bits) and number of rows (above them)
  std::uint32_t rows_lower;
  std::uint32_t upper; // slices of the upper triangle, after those of the lower
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
// Slices that a tile stores. Empty slices fill it up to a multiple of 4.
constexpr std::uint32_t stored_slices(const Tile &tile)
{
  return (slices_of(tile) + 3U) & ~3U;
}

// Where a row's slices end in its tile, counted from the first slice of the triangle. A tile of a
// single row does not use this, since such a row may have more slices than 16 bits count.
struct alignas(4) RowEnds {
  std::uint16_t lower, upper;
};

// Which kernel takes the tiles of a color's boundary or interior rows, and how.
struct TileLaunch {
  bool few = false; // the kernel for few rows: a tile has at most one slice for each thread
  // Only with few. True: a color's thread blocks let the next color become resident only after they
  // have waited for the color before them, so at most one following color waits. False: they let it
  // become resident at once, so several following colors may wait.
  bool one_waits = false;
};

// The tiles of all colors. Each color has two parts: its boundary rows, then its interior rows.
struct TileLayout {
  SliceShape shape;                      // of the slices
  std::vector<Tile> tiles;               // part after part
  std::vector<RowEnds> ends;             // of all plan rows
  std::vector<std::uint32_t> part_begin; // first tile of each part; 2*colors + 1 entries
  std::vector<TileLaunch> launch;        // of each part
  std::size_t bytes = 0;                 // of all slices
  // Whether some tile, or some tile of boundary rows, has more slices than a thread block takes at
  // a time. Such a tile has a single row. Slices are counted as TileLimits::one_triangle says.
  bool long_rows = false, long_boundary_rows = false;
};

// What kernels can take. A tile of a single row may still have more slices.
struct TileLimits {
  int rows = 0;            // rows of a tile
  int threads = 0;         // threads of a thread block
  int slices = 0;          // slices that a thread block takes at a time, of interior rows
  int boundary_slices = 0; // the same for boundary rows
  int blocks = 0;          // thread blocks that a multiprocessor holds
  int multiprocessors = 0;
  // The kernel for few rows: rows of a tile, or 0 where there is none; thread blocks of the kernel
  // on a multiprocessor
  int few_rows = 0, few_blocks = 0;
  int tiles_each = 1; // A color is cut into at least this many tiles for each multiprocessor.
  // Limits up to which that kernel lets only one following color wait: bytes of a slice; bytes of a
  // color for each multiprocessor. Beyond the limits several following colors may wait on a
  // multiprocessor, because their early loads gain more than the waiting thread blocks cost.
  std::size_t light_slice = 0, light_color = 0;
  // Kernels mostly read one triangle: a tile's slices are counted in the triangle with more of
  // them.
  bool one_triangle = false;
  // Whether one launch takes many parts. Tiles are then as large as the limits allow, and not
  // matched to the multiprocessors.
  bool many_parts = false;
};

// Cuts the rows of a plan into tiles.
TileLayout make_tiles(const ColorPlan &plan, const SliceShape &shape, const TileLimits &limits);

} // namespace mcpi::device
