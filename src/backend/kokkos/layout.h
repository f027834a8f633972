// Where each block of a plan lies in the memory of an execution space (backend/device/places.h): in
// slices on devices, whose heads are not packed, and in sell on CPUs; in records if blocks are
// larger than 8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/device/places.h"
#include "backend/device/tiles.h"
#include "core/plan.h"

namespace mcpi::kokkos {
using namespace device;

// A tile of sell.
struct SellTile {
  std::uint64_t base;       // first byte of its first step
  Row row;                  // its first plan row
  std::int32_t rows, steps; // number of rows; number of steps
  // steps [0, lower_steps) hold all blocks of the lower triangle; steps [upper_begin, steps) hold
  // all blocks of the upper triangle
  std::int32_t lower_steps, upper_begin;
};

// Number of lower blocks, and of all blocks, of a row
struct SellRow {
  std::int32_t lower, all;
};

// Where all of an operator's blocks lie, as the host computes it.
struct Placement {
  Shape shape;
  std::size_t bytes = 0;            // of all blocks
  std::vector<Slot> slots;          // of all blocks, lower triangle first; empty for records
  std::vector<Row> columns;         // sell: for each lane of each step; slices: for each block
  std::vector<SellTile> sell_tiles; // sell: all tiles
  std::vector<SellRow> sell_rows;   // sell: all plan rows
  TileLayout slices;                // slices: all tiles
  // first tile of each color's boundary rows, then of its interior rows; 2*colors + 1 entries
  std::vector<std::uint32_t> part_begin;
};

Placement place_sell(const ColorPlan &plan, PCMCPIPrecision storage, int lanes);
Placement place_slices(const ColorPlan &plan, PCMCPIPrecision storage, const TileLimits &limits);
Placement place_records(const ColorPlan &plan, PCMCPIPrecision storage);

} // namespace mcpi::kokkos
