// How blocks lie in device memory, for host and device code.
//
// Small blocks: a slice is what one thread multiplies, some whole columns of one block, their
// exponent, and the column index in the last word. Slices are cut in pieces of 16 bytes and one
// each of 8 and 4 where they do not divide; a tile stores piece after piece, each for all of its
// slices, so that threads read 16 bytes side by side without padding. Large blocks: records of
// pieces of 16 bytes; a piece's numbers lie in at most two columns for each kRun of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/codec.h"

namespace mcpi::device {

constexpr int kMaxSmallBlock = 8;
constexpr int kPiece = 16; // bytes
constexpr int kMaxSliceBytes = 208;

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

// Inverse diagonal blocks, see diagonal.cuh. The factored form keeps double: there nothing else is
// rounded in the scale of the inverse.
constexpr bool narrow_diagonal(int bs, bool double_vectors, bool prescaled)
{
  return bs <= kMaxSmallBlock && !double_vectors && prescaled;
}
constexpr std::size_t diagonal_bytes(int bs, bool narrow)
{
  const std::size_t square = static_cast<std::size_t>(bs) * static_cast<std::size_t>(bs);
  return narrow ? (square + 1) * sizeof(float) : square * sizeof(double);
}

struct SliceShape {
  int columns = 1; // of the block; the last slice of a block may have fewer
  int slices = 1;  // per block
  int numbers = 0; // bytes of numbers in whole words, from 0
  int bytes = 0;   // multiple of 4; the head word ends them
  bool packed = false;
  int shift = 0; // of the column in the head word, below it: numbers left over

  constexpr int pieces() const { return bytes / kPiece; }
  constexpr int head_at() const { return bytes - 4; }
};

// Rows of a tile whose components a thread block takes at a time: those of a row to threads of one
// warp
constexpr int kWarpSize = 32;
constexpr int tile_rows(int threads, int bs)
{
  return threads / kWarpSize * (kWarpSize / bs);
}

// The head word of a slice: its block's column. Unpacked, integers have their exponent in a byte
// behind the numbers; packed, it is above the column's bits, relative to a base that the whole
// operator shares.
struct HeadBits {
  int column_bits = 32, exponent_base = 0;
};
// blocks 2^-60 times smaller than the largest are as good as zero
constexpr int kMinExponentBits = 6;

constexpr int packed_shift(PCMCPIPrecision storage, int bs)
{
  return bs * bs * value_bits(storage) % 32 == 4 ? 4 : 0;
}

constexpr SliceShape slice_shape(PCMCPIPrecision storage, int bs, bool packed = false)
{
  SliceShape shape;
  shape.slices = 1;
  shape.columns = bs;
  // a slice's numbers must fit the registers of a thread
  while ((shape.columns * bs * value_bits(storage) + 7) / 8 > kMaxSliceBytes) {
    ++shape.slices;
    shape.columns = (bs + shape.slices - 1) / shape.slices;
  }
  shape.slices = (bs + shape.columns - 1) / shape.columns;
  if (packed) {
    shape.packed = true;
    shape.shift = packed_shift(storage, bs);
    shape.numbers = round_up(bs * bs * value_bits(storage) - shape.shift, 32) / 8;
    shape.bytes = shape.numbers + 4;
  } else {
    shape.numbers = (shape.columns * bs * value_bits(storage) + 7) / 8;
    shape.bytes = round_up(shape.numbers + (has_exponent(storage) ? 1 : 0), 4) + 4;
  }
  return shape;
}

// Where number (i, j) stands in a slice, counted in numbers. Integers: four columns of a row to
// the four bytes of a word (of a plane of nibbles: the low ones, then the high ones), as products
// with packed integers take them; then the columns left over, one after the other.
constexpr int number_slot(PCMCPIPrecision storage, int bs, int i, int j)
{
  if (!has_exponent(storage)) return j * bs + i;
  const int quads = bs / 4, over = (j - 4 * quads) * bs + i;
  const int unit = j < 4 * quads ? i * quads + j / 4 : bs * quads + over / 4,
            byte = j < 4 * quads ? j % 4 : over % 4;
  if (storage == PC_MCPI_PRECISION_INT8) return 4 * unit + byte;
  const bool alone = unit % 2 == 0 && 4 * (unit + 1) == bs * bs; // no high nibbles beside it
  return 8 * (unit / 2) + (alone ? byte : 2 * byte + unit % 2);
}

// x for -pc_mcpi_gather_precision bfp16, one block row and right-hand side: bs signed mantissas of
// 16 bits, then the exponent, in words of 32 bits.
constexpr int gather_words(int bs)
{
  return (bs + 2) / 2;
}
constexpr int kGatherExponentNaN = 143; // its power of two is Inf, times a mantissa of 0

// Where byte `at` of slice k lies in a tile of count slices (a multiple of 4), from the tile's
// start
constexpr std::size_t slice_byte(const SliceShape &shape, std::size_t count, std::size_t k, int at)
{
  const int whole = shape.pieces() * kPiece, rest = shape.bytes - whole;
  if (at < whole)
    return (static_cast<std::size_t>(at / kPiece) * count + k) * kPiece +
           static_cast<std::size_t>(at % kPiece);
  std::size_t base = static_cast<std::size_t>(whole) * count;
  int after = at - whole;
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
  const std::int64_t bits =
      std::int64_t{1} * leading_dimension(storage, bs) * bs * value_bits(storage);
  return static_cast<int>((bits + 8 * kPiece - 1) / (8 * kPiece));
}

} // namespace mcpi::device
