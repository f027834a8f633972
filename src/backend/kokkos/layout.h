// How blocks lie in the memory of an execution space.
//
// slices    devices: as for the CUDA backend (backend/device/shapes.h), whose tiles of whole rows
// these are sell     CPUs, sliced ELLPACK (SELL-C): tiles of as many rows as a SIMD vector has
// numbers. Step k holds the k-th block of each of them, lower triangle first: columns, exponents if
//          there are any, then number after number, each for all rows. Rows that end earlier are
//          filled up with zeros.
// records  blocks above 8: as core/codec.h writes them
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/device/tiles.h"
#include "core/codec.h"
#include "core/plan.h"

namespace mcpi::kokkos {

enum class LayoutKind { slices, sell, records };

struct Shape {
  LayoutKind kind = LayoutKind::records;
  PCMCPIPrecision storage = PC_MCPI_PRECISION_FP64;
  int bs = 0, bits = 0, lanes = 0;
  std::size_t record = 0;
  device::SliceShape slice;

  constexpr bool exponents() const { return device::has_exponent(storage); }
  constexpr std::size_t step_numbers() const // bytes before them in a step of sell
  {
    return static_cast<std::size_t>(lanes) * (sizeof(Row) + (exponents() ? 1 : 0));
  }
  constexpr std::size_t step_bytes() const
  {
    return step_numbers() + static_cast<std::size_t>(lanes) *
                                ((static_cast<std::size_t>(bs) * static_cast<std::size_t>(bs) *
                                      static_cast<std::size_t>(bits) +
                                  7) /
                                 8);
  }
  // Where number (i, j) of a record stands, counted in numbers
  constexpr std::size_t in_record(int i, int j) const
  {
    const std::size_t column =
        storage == PC_MCPI_PRECISION_INT4 ? nibbles_per_column(bs) : static_cast<std::size_t>(bs);
    return static_cast<std::size_t>(j) * column + static_cast<std::size_t>(i);
  }
};

// Where a block lies. slices: its tile's bytes, the tile's stored slices, and its first; sell: its
// step, and its lane
struct Slot {
  std::uint64_t base;
  std::uint32_t count, place;
};

struct SellTile {
  std::uint64_t base; // bytes of its first step
  Row row;
  std::int32_t rows, steps;
  std::int32_t lower_steps,
      upper_begin; // steps [0, lower_steps) hold all blocks of the lower triangle, [upper_begin,
                   // steps) those of the upper one
};

// Lower blocks and all blocks of a row
struct SellRow {
  std::int32_t lower, all;
};

// What the host knows about an operator's place in memory
struct Placement {
  Shape shape;
  std::size_t bytes = 0;
  std::vector<Slot> slots;  // lower, then upper triangle; none for records
  std::vector<Row> columns; // sell: of all steps
  std::vector<SellTile> sell_tiles;
  std::vector<SellRow> sell_rows;
  device::TileLayout slices;
  std::vector<std::uint32_t>
      part_begin; // 2*colors + 1: tiles of each color's boundary rows, then of its interior rows
};

Placement place_sell(const ColorPlan &plan, PCMCPIPrecision storage, int lanes);
Placement place_slices(const ColorPlan &plan, PCMCPIPrecision storage,
                       const device::TileLimits &limits);
Placement place_records(const ColorPlan &plan, PCMCPIPrecision storage);

} // namespace mcpi::kokkos
