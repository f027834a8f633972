// How off-diagonal blocks lie in device memory. Host and device code share these definitions.
//
// Small blocks (up to 8 rows): one thread multiplies a block slice: some whole columns of one
// block, the block's exponent, and the block's column index in the last word. A slice is cut into
// pieces of 16 bytes. What is left over is cut into at most one piece of 8 and one of 4 bytes. A
// tile stores the first piece of all its slices, then the second piece of all its slices, and so
// on. Neighboring threads thus read neighboring 16 bytes, and slices need no padding.
//
// Large blocks: a block is a record of whole pieces of 16 bytes, its numbers stored column by
// column.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/codec.h"

namespace mcpi::device {

// Largest block size that is stored in slices
constexpr int kMaxSmallBlock = 8;
constexpr int kPiece = 16; // bytes: the largest load of one thread
// Most bytes of numbers in a slice
constexpr int kMaxSliceBytes = 208;

constexpr int round_up(int value, int multiple)
{
  return (value + multiple - 1) / multiple * multiple;
}

// Whether inverse diagonal blocks are stored as floats with a power of two for each block
// (diagonal_product()). The factored form keeps double, because there nothing else is rounded in
// the scale of the inverse.
constexpr bool narrow_diagonal(int bs, bool double_vectors, bool prescaled)
{
  return bs <= kMaxSmallBlock && !double_vectors && prescaled;
}
// Bytes of one inverse diagonal block. A narrow block has one more word for its power of two.
constexpr std::size_t diagonal_bytes(int bs, bool narrow)
{
  const std::size_t square = static_cast<std::size_t>(bs) * static_cast<std::size_t>(bs);
  return narrow ? (square + 1) * sizeof(float) : square * sizeof(double);
}

// The shape of a block slice.
struct SliceShape {
  int columns = 1;     // columns of the block in a slice; the last slice may have fewer
  int slices = 1;      // slices of a block
  int numbers = 0;     // bytes of whole words that hold numbers, from byte 0
  int bytes = 0;       // bytes of a slice, a multiple of 4; the last word is the head
  bool packed = false; // the head word holds the exponent as well
  int shift = 0;       // bits of the head word below the column index; they hold left-over numbers

  constexpr int pieces() const { return bytes / kPiece; } // whole pieces of 16 bytes
  constexpr int head_at() const { return bytes - 4; }     // byte of the head word
};

// Rows of a tile whose components a thread block takes at a time, with a thread for each component.
// All components of a row go to threads of the same warp.
constexpr int kWarpSize = 32;
constexpr int tile_rows(int threads, int bs)
{
  return threads / kWarpSize * (kWarpSize / bs);
}

// How the head word of a slice is divided. Not packed: the word is the block's column index, and an
// integer format has its exponent in the byte after the numbers. Packed: the exponent, relative to
// a base that the whole operator shares, stands above the bits of the column index.
struct HeadBits {
  int column_bits = 32, exponent_base = 0;
};
// Least number of bits of a packed exponent: 64 powers of two. A block that is 2^60 times smaller
// than the largest block may count as zero.
constexpr int kMinExponentBits = 6;

// Bits of numbers that a packed head word takes below its column index: 4 where the numbers of a
// block fill whole words and one nibble, otherwise none.
constexpr int packed_shift(PCMCPIPrecision storage, int bs)
{
  return bs * bs * value_bits(storage) % 32 == 4 ? 4 : 0;
}

// The slices of blocks of size bs in a storage precision.
constexpr SliceShape slice_shape(PCMCPIPrecision storage, int bs, bool packed = false)
{
  SliceShape shape;
  shape.slices = 1;
  shape.columns = bs;
  // A slice's numbers must fit the registers of a thread.
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

// Place of number (i, j) in a slice, counted in numbers. Floating-point numbers are stored column
// by column. Integers are stored as the packed integer products of a GPU take them: four columns of
// a row are the four bytes of a word, or the low or the high nibbles of its bytes. The last bs % 4
// columns follow, one after the other.
constexpr int number_slot(PCMCPIPrecision storage, int bs, int i, int j)
{
  if (!has_exponent(storage)) return j * bs + i;
  const int quads = bs / 4, over = (j - 4 * quads) * bs + i;
  const int unit = j < 4 * quads ? i * quads + j / 4 : bs * quads + over / 4,
            byte = j < 4 * quads ? j % 4 : over % 4;
  if (storage == PC_MCPI_PRECISION_INT8) return 4 * unit + byte;
  // The last four nibbles fill half a word, so they are stored side by side.
  const bool alone = unit % 2 == 0 && 4 * (unit + 1) == bs * bs;
  return 8 * (unit / 2) + (alone ? byte : 2 * byte + unit % 2);
}

// Words of the copy of x for -pc_mcpi_gather_precision bfp16, for one block row and right-hand
// side. The copy has bs signed mantissas of 16 bits, then the exponent, in words of 32 bits.
constexpr int gather_words(int bs)
{
  return (bs + 2) / 2;
}
// The exponent of a block row with a NaN or an Inf. Its power of two is Inf and all mantissas are
// 0, so every value is NaN.
constexpr int kGatherExponentNaN = 143;

// Place of byte `at` of slice k in a tile, counted from the tile's start. The tile stores count
// slices, a multiple of 4.
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

// Large blocks: pieces of 16 bytes in a record
constexpr int record_pieces(PCMCPIPrecision storage, int bs)
{
  const std::int64_t bits =
      std::int64_t{1} * leading_dimension(storage, bs) * bs * value_bits(storage);
  return static_cast<int>((bits + 8 * kPiece - 1) / (8 * kPiece));
}

} // namespace mcpi::device
