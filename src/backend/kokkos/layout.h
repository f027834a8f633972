// How off-diagonal blocks lie in the memory of an execution space. There are three layouts:
// - slices, for devices: block slices in tiles (backend/device/shapes.h), as in the CUDA backend.
//   Heads are not packed, however.
// - sell, for CPUs: sliced ELLPACK (SELL-C). A tile has up to 64/sizeof(T) rows, where T is the
//   type of the vectors: 64 bytes hold one number for each row. Step k of a tile holds the k-th
//   block of each row, lower triangle first: column indices, then exponents if there are any, then
//   number after number, each for all rows. Rows with fewer blocks are filled up with zeros.
// - records, for blocks above 8: as core/codec.h writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/device/numbers.h"
#include "backend/device/tiles.h"
#include "core/plan.h"

namespace mcpi::kokkos {
using namespace device;

enum class LayoutKind { slices, sell, records };

// The layout of one operator's blocks.
struct Shape {
  LayoutKind kind = LayoutKind::records;
  PCMCPIPrecision storage = PC_MCPI_PRECISION_FP64;
  int bs = 0, bits = 0, lanes = 0; // bits of a number; lanes: rows of a tile of sell
  std::size_t record = 0;          // bytes of a record
  SliceShape slice;                // of the layout slices

  constexpr bool exponents() const { return has_exponent(storage); }
  // bytes of a step of sell before its numbers
  constexpr std::size_t step_numbers() const
  {
    return static_cast<std::size_t>(lanes) * (sizeof(Row) + (exponents() ? 1 : 0));
  }
  // bytes of a step of sell
  constexpr std::size_t step_bytes() const
  {
    return step_numbers() + static_cast<std::size_t>(lanes) *
                                ((static_cast<std::size_t>(bs) * static_cast<std::size_t>(bs) *
                                      static_cast<std::size_t>(bits) +
                                  7) /
                                 8);
  }
  // Place of number (i, j) in a record, counted in numbers
  constexpr std::size_t in_record(int i, int j) const
  {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(leading_dimension(storage, bs)) +
           static_cast<std::size_t>(i);
  }
};

// Where a block lies.
// - slices: base is the first byte of the block's tile, count the tile's stored slices, place the
//   block's first slice in the tile.
// - sell: base is the first byte of the block's step, place its lane (the row's place in the tile).
struct Slot {
  std::uint64_t base;
  std::uint32_t count, place;
};

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

// Places of numbers in memory, at set-up

// Returns the byte that holds number (i, j) of a block, or its first byte. high: whether a nibble
// is the upper one of its byte.
MCPI_HD std::byte *number_at(const Shape &shape, std::byte *blocks, const Slot &slot, int i, int j,
                             bool &high)
{
  const auto lanes = static_cast<std::size_t>(shape.lanes),
             bits = static_cast<std::size_t>(shape.bits);
  std::byte *base = blocks + slot.base;
  if (shape.kind == LayoutKind::records) {
    const std::size_t n = shape.in_record(i, j) * bits;
    high = n % 8 != 0;
    return base + (shape.exponents() ? 1 : 0) + n / 8;
  }
  if (shape.kind == LayoutKind::sell) {
    const std::size_t n = (static_cast<std::size_t>(j) * static_cast<std::size_t>(shape.bs) +
                           static_cast<std::size_t>(i)) *
                          bits;
    high = n % 8 != 0;
    return base + shape.step_numbers() + n / 8 * lanes + slot.place * (bits < 8 ? 1 : bits / 8);
  }
  const int columns = shape.slice.columns;
  const std::size_t n =
      static_cast<std::size_t>(number_slot(shape.storage, shape.bs, i, j % columns)) * bits;
  high = n % 8 != 0;
  return base + slice_byte(shape.slice, slot.count,
                           slot.place + static_cast<std::size_t>(j / columns),
                           static_cast<int>(n / 8));
}

// Returns the byte that holds a block's exponent. part: which slice of a block that has several.
MCPI_HD std::byte *exponent_at(const Shape &shape, std::byte *blocks, const Slot &slot, int part)
{
  std::byte *base = blocks + slot.base;
  if (shape.kind == LayoutKind::records) return base;
  if (shape.kind == LayoutKind::sell)
    return base + static_cast<std::size_t>(shape.lanes) * sizeof(Row) + slot.place;
  return base + slice_byte(shape.slice, slot.count, slot.place + static_cast<std::size_t>(part),
                           shape.slice.numbers);
}
// How many times a block's exponent is stored: once for each slice.
MCPI_HD int exponent_copies(const Shape &shape)
{
  return shape.kind == LayoutKind::slices ? shape.slice.slices : 1;
}

// Writes the stored bits of number (i, j) of a block. The other nibble of its byte stays.
template <PCMCPIPrecision storage>
MCPI_HD void put_number(const Shape &shape, std::byte *blocks, const Slot &slot, int i, int j,
                        std::uint64_t bits)
{
  bool high = false;
  std::byte *at = number_at(shape, blocks, slot, i, j, high);
  if constexpr (storage == PC_MCPI_PRECISION_INT4)
    *at = high ? (*at & std::byte{15}) | static_cast<std::byte>(bits << 4)
               : (*at & std::byte{240}) | static_cast<std::byte>(bits);
  else
    *reinterpret_cast<Bits<storage> *>(at) = static_cast<Bits<storage>>(bits);
}

template <PCMCPIPrecision storage>
MCPI_HD std::uint64_t get_number(const Shape &shape, const std::byte *blocks, const Slot &slot,
                                 int i, int j)
{
  bool high = false;
  const std::byte *at = number_at(shape, const_cast<std::byte *>(blocks), slot, i, j, high);
  if constexpr (storage == PC_MCPI_PRECISION_INT4)
    return static_cast<std::uint64_t>(high ? *at >> 4 : *at & std::byte{15});
  else
    return *reinterpret_cast<const Bits<storage> *>(at);
}

} // namespace mcpi::kokkos
