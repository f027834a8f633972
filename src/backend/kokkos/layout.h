// Where each block of a plan lies in the memory of an execution space (backend/device/places.h): in
// slices, whose heads are not packed, or in records if blocks are larger than 8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/device/places.h"
#include "backend/device/tiles.h"
#include "core/plan.h"

namespace mcpi::kokkos {
using namespace device;

// Where all of an operator's blocks lie, as the host computes it.
struct Placement {
  Shape shape;
  std::size_t bytes = 0;    // of all blocks
  std::vector<Slot> slots;  // slices: of all blocks, lower triangle first
  std::vector<Row> columns; // slices: for each block
  TileLayout slices;        // slices: all tiles
  // first tile of each color's boundary rows, then of its interior rows; 2*colors + 1 entries
  std::vector<std::uint32_t> part_begin;
};

Placement place_slices(const ColorPlan &plan, PCMCPIPrecision storage, const TileLimits &limits);
Placement place_records(const ColorPlan &plan, PCMCPIPrecision storage);

} // namespace mcpi::kokkos
