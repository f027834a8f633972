// How off-diagonal blocks lie in memory, and access to single stored numbers at set-up, for any
// storage precision and block size. There are three layouts:
// - slices, for devices: block slices in tiles (backend/device/shapes.h).
// - pieces, for devices: large blocks as records of whole pieces of 16 bytes. Their exponents are
//   in an array of heads.
// - records: as core/codec.h writes them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/device/numbers.h"
#include "core/plan.h"

namespace mcpi::device {

enum class LayoutKind { slices, pieces, records };

// The layout of one operator's blocks
struct Shape {
  LayoutKind kind = LayoutKind::records;
  PCMCPIPrecision storage = PC_MCPI_PRECISION_FP64;
  int bs = 0, bits = 0;   // bits of a number
  std::size_t record = 0; // bytes of a block of records or pieces
  SliceShape slice;       // of the layout slices

  constexpr bool exponents() const { return has_exponent(storage); }
  constexpr bool packed() const { return kind == LayoutKind::slices && slice.packed; }
  // Place of number (i, j) in a record, counted in numbers
  constexpr std::size_t in_record(int i, int j) const
  {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(leading_dimension(storage, bs)) +
           static_cast<std::size_t>(i);
  }
};

// Sets what all layouts have.
constexpr Shape make_shape(LayoutKind kind, PCMCPIPrecision storage, int bs)
{
  Shape shape;
  shape.kind = kind;
  shape.storage = storage;
  shape.bs = bs;
  shape.bits = value_bits(storage);
  shape.record = kind == LayoutKind::pieces
                     ? static_cast<std::size_t>(record_pieces(storage, bs)) * kPiece
                     : record_bytes(storage, bs);
  return shape;
}

// What belongs to a large block besides its numbers
struct BlockHead {
  Row column;   // plan column
  int exponent; // of integer storage
};

// Stored blocks
struct BlockMemory {
  Shape shape;
  std::byte *blocks = nullptr;
  BlockHead *heads = nullptr; // pieces: the heads of all blocks
  HeadBits head{};            // slices: how packed heads are divided
};

// Where a block lies.
// - slices: base is the first byte of the block's tile, count the tile's stored slices, place the
//   block's first slice in the tile.
// - pieces, records: base is the first byte of the block, place its number.
struct Slot {
  std::uint64_t base;
  std::uint32_t count, place;
};

// Returns the place of block k. slots: places of all blocks of the layout slices. Blocks of the
// others follow each other.
MCPI_HD Slot slot_of(const Shape &shape, const Slot *slots, std::size_t k)
{
  if (shape.kind == LayoutKind::slices) return slots[k];
  return {k * shape.record, 0, static_cast<std::uint32_t>(k)};
}

// Returns the head word of a block's slice.
MCPI_HD std::uint32_t *head_word(const BlockMemory &memory, const Slot &slot, int part)
{
  const SliceShape &slice = memory.shape.slice;
  return reinterpret_cast<std::uint32_t *>(
      memory.blocks + slot.base +
      slice_byte(slice, slot.count, slot.place + static_cast<std::size_t>(part), slice.head_at()));
}

// Returns the byte that holds number (i, j) of a block, or its first byte. high: whether a nibble
// is the upper one of its byte.
MCPI_HD std::byte *number_at(const BlockMemory &memory, const Slot &slot, int i, int j, bool &high)
{
  const Shape &shape = memory.shape;
  const auto bits = static_cast<std::size_t>(shape.bits);
  std::byte *base = memory.blocks + slot.base;
  if (shape.kind == LayoutKind::records || shape.kind == LayoutKind::pieces) {
    const std::size_t n = shape.in_record(i, j) * bits;
    high = n % 8 != 0;
    return base + (shape.kind == LayoutKind::records && shape.exponents() ? 1 : 0) + n / 8;
  }
  const int columns = shape.slice.columns;
  const std::size_t n =
      static_cast<std::size_t>(number_slot(shape.storage, shape.bs, i, j % columns)) * bits;
  high = n % 8 != 0;
  return base + slice_byte(shape.slice, slot.count,
                           slot.place + static_cast<std::size_t>(j / columns),
                           static_cast<int>(n / 8));
}

// Returns the byte that holds a block's exponent, unless a head holds it. part: which slice of a
// block that has several.
MCPI_HD std::byte *exponent_at(const BlockMemory &memory, const Slot &slot, int part)
{
  const Shape &shape = memory.shape;
  std::byte *base = memory.blocks + slot.base;
  if (shape.kind == LayoutKind::records) return base;
  return base + slice_byte(shape.slice, slot.count, slot.place + static_cast<std::size_t>(part),
                           shape.slice.numbers);
}

// The exponent of a block of integers. It is stored with each slice of the block. An exponent that
// packed heads cannot hold is raised to their least one.
MCPI_HD int get_exponent(const BlockMemory &memory, const Slot &slot)
{
  if (memory.shape.kind == LayoutKind::pieces) return memory.heads[slot.place].exponent;
  if (!memory.shape.packed()) return static_cast<std::int8_t>(*exponent_at(memory, slot, 0));
  return memory.head.exponent_base +
         static_cast<int>(*head_word(memory, slot, 0) >>
                          (memory.shape.slice.shift + memory.head.column_bits));
}
MCPI_HD void put_exponent(const BlockMemory &memory, const Slot &slot, int e)
{
  if (memory.shape.kind == LayoutKind::pieces) {
    memory.heads[slot.place].exponent = e;
    return;
  }
  const int slices = memory.shape.kind == LayoutKind::slices ? memory.shape.slice.slices : 1,
            shift = memory.shape.slice.shift + memory.head.column_bits,
            above = e > memory.head.exponent_base ? e - memory.head.exponent_base : 0;
  for (int part = 0; part < slices; ++part)
    if (memory.shape.packed()) {
      std::uint32_t &head = *head_word(memory, slot, part);
      head = (head & ((1U << shift) - 1U)) | static_cast<std::uint32_t>(above) << shift;
    } else {
      *exponent_at(memory, slot, part) = static_cast<std::byte>(static_cast<std::int8_t>(e));
    }
}

// Writes the stored bits of number (i, j) of a block. The other nibble of its byte stays.
template <PCMCPIPrecision storage>
MCPI_HD void put_number(const BlockMemory &memory, const Slot &slot, int i, int j,
                        std::uint64_t bits)
{
  bool high = false;
  std::byte *at = number_at(memory, slot, i, j, high);
  if constexpr (storage == PC_MCPI_PRECISION_INT4)
    *at = high ? (*at & std::byte{15}) | static_cast<std::byte>(bits << 4)
               : (*at & std::byte{240}) | static_cast<std::byte>(bits);
  else
    *reinterpret_cast<Bits<storage> *>(at) = static_cast<Bits<storage>>(bits);
}

template <PCMCPIPrecision storage>
MCPI_HD std::uint64_t get_number(const BlockMemory &memory, const Slot &slot, int i, int j)
{
  bool high = false;
  const std::byte *at = number_at(memory, slot, i, j, high);
  if constexpr (storage == PC_MCPI_PRECISION_INT4)
    return static_cast<std::uint64_t>(high ? *at >> 4 : *at & std::byte{15});
  else
    return *reinterpret_cast<const Bits<storage> *>(at);
}

// Copies the columns [begin, end) of a block, or of the transposed block, and its exponent with the
// first column. If its exponent is below those of packed heads, the block counts as zero: another
// rank may have more bits for exponents than this one.
template <PCMCPIPrecision storage>
MCPI_HD void copy_columns(const BlockMemory &from, const Slot &slot, bool transposed,
                          const BlockMemory &to, const Slot &place, int begin, int end)
{
  bool zero = false;
  if constexpr (has_exponent(storage)) {
    const int e = get_exponent(from, slot);
    zero = to.shape.packed() && e < to.head.exponent_base;
    if (begin == 0) put_exponent(to, place, e);
  }
  for (int j = begin; j < end; ++j)
    for (int i = 0; i < to.shape.bs; ++i)
      put_number<storage>(
          to, place, i, j,
          !zero ? get_number<storage>(from, slot, transposed ? j : i, transposed ? i : j)
          : storage == PC_MCPI_PRECISION_INT4 ? kNibbleShift
                                              : 0);
}

} // namespace mcpi::device
