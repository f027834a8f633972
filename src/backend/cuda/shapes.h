// How blocks lie in device memory, for host and device code.
//
// Small blocks: an item is what one thread multiplies, some whole columns of one block, their exponent, and the column index in the last four
// bytes. Items are cut in pieces of 16 bytes and one each of 8 and 4 where they do not divide; a tile stores piece after piece, each for all
// of its items, so that threads read 16 bytes side by side without padding.
// Large blocks: records of pieces of 16 bytes; a piece's numbers lie in at most two columns for each kRun of them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/codec.h"

namespace mcpi::cuda {

constexpr int kMaxSmallBlock = 8;
constexpr int kPiece         = 16; // bytes
constexpr int kMaxItemBytes  = 208;

constexpr int round_up(int value, int multiple)
{
  return (value + multiple - 1) / multiple * multiple;
}
constexpr bool has_exponent(PCMCPIPrecision storage)
{
  return storage == PC_MCPI_PRECISION_INT8 || storage == PC_MCPI_PRECISION_INT4;
}
constexpr int value_bits(PCMCPIPrecision storage)
{
  switch (storage) {
  case PC_MCPI_PRECISION_FP64:
    return 64;
  case PC_MCPI_PRECISION_FP32:
    return 32;
  case PC_MCPI_PRECISION_FP16:
  case PC_MCPI_PRECISION_BF16:
    return 16;
  case PC_MCPI_PRECISION_INT8:
    return 8;
  case PC_MCPI_PRECISION_INT4:
    return 4;
  }
  return 0;
}

struct ItemShape {
  int columns = 1; // of the block; the last item of a block may have fewer
  int items   = 1; // per block
  int numbers = 0; // bytes of numbers, from 0
  int bytes   = 0; // multiple of 4; the column index ends them, the exponent byte follows the numbers

  constexpr int pieces() const { return bytes / kPiece; }
  constexpr int column_at() const { return bytes - 4; }
};

constexpr ItemShape item_shape(PCMCPIPrecision storage, int bs)
{
  ItemShape shape;
  shape.items   = 1;
  shape.columns = bs;
  // an item's numbers must fit the registers of a thread
  while ((shape.columns * bs * value_bits(storage) + 7) / 8 > kMaxItemBytes) {
    ++shape.items;
    shape.columns = (bs + shape.items - 1) / shape.items;
  }
  shape.items   = (bs + shape.columns - 1) / shape.columns;
  shape.numbers = (shape.columns * bs * value_bits(storage) + 7) / 8;
  shape.bytes   = round_up(shape.numbers + (has_exponent(storage) ? 1 : 0), 4) + 4;
  return shape;
}

// Where byte `at` of item k lies in a tile of count items (a multiple of 4), from the tile's start
constexpr std::size_t item_byte(const ItemShape &shape, std::size_t count, std::size_t k, int at)
{
  const int whole = shape.pieces() * kPiece, rest = shape.bytes - whole;
  if (at < whole) return (static_cast<std::size_t>(at / kPiece) * count + k) * kPiece + static_cast<std::size_t>(at % kPiece);
  std::size_t base  = static_cast<std::size_t>(whole) * count;
  int         after = at - whole;
  if (rest & 8) {
    if (after < 8) return base + k * 8 + static_cast<std::size_t>(after);
    base += 8 * count;
    after -= 8;
  }
  return base + k * 4 + static_cast<std::size_t>(after);
}

// Large blocks
constexpr int kRun = 8;
constexpr int leading_dimension(PCMCPIPrecision storage, int bs)
{
  return storage == PC_MCPI_PRECISION_INT4 ? static_cast<int>(nibbles_per_column(bs)) : bs;
}
constexpr int record_pieces(PCMCPIPrecision storage, int bs)
{
  const std::int64_t bits = std::int64_t{1} * leading_dimension(storage, bs) * bs * value_bits(storage);
  return static_cast<int>((bits + 8 * kPiece - 1) / (8 * kPiece));
}

} // namespace mcpi::cuda
