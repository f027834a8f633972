// Tests copies of single stored numbers between the layouts of devices, on the host.
#include "backend/device/places.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "backend/device/block_slice.h"
#include "core/dispatch.h"
#include "support/system.h"

namespace mcpi::test {
namespace {

using namespace device;

constexpr int kBlocks = 5;
constexpr HeadBits kPacked{8, -20};

// kBlocks blocks in one layout. Slices are those of one tile.
class Blocks {
public:
  Blocks(LayoutKind kind, PCMCPIPrecision storage, int bs, const HeadBits &head = {})
      : heads_(kBlocks, {-1, 0})
  {
    memory_.shape = make_shape(kind, storage, bs);
    memory_.shape.slice = slice_shape(storage, bs, head.column_bits < 32);
    memory_.head = head;
    count_ = static_cast<std::uint32_t>(round_up(kBlocks * memory_.shape.slice.slices, 4));
    bytes_ = kind == LayoutKind::slices
                 ? count_ * static_cast<std::size_t>(memory_.shape.slice.bytes)
                 : kBlocks * memory_.shape.record;
    data_.resize(bytes_ / kPiece + 1);
    memory_.blocks = reinterpret_cast<std::byte *>(data_.data());
    memory_.heads = heads_.data();
    if (kind != LayoutKind::slices) return;
    for (int k = 0; k < kBlocks; ++k)
      for (int part = 0; part < memory_.shape.slice.slices; ++part)
        *head_word(memory_, slot(k), part) = column(k) << memory_.shape.slice.shift;
  }

  Blocks(Blocks &&) = default;
  Blocks &operator=(Blocks &&) = delete;

  static std::uint32_t column(int k) { return 3U * static_cast<std::uint32_t>(k) + 1U; }
  const BlockMemory &memory() const { return memory_; }
  std::uint32_t count() const { return count_; }
  Slot slot(int k) const
  {
    const auto n = static_cast<std::uint32_t>(k);
    std::vector<Slot> slots(kBlocks);
    slots[n] = {0, count_, n * static_cast<std::uint32_t>(memory_.shape.slice.slices)};
    return slot_of(memory_.shape, slots.data(), n);
  }
  std::byte *record(int k) const { return memory_.blocks + slot(k).base; }
  bool operator==(const Blocks &other) const
  {
    return bytes_ == other.bytes_ && std::memcmp(memory_.blocks, other.memory_.blocks, bytes_) == 0;
  }

private:
  struct alignas(kPiece) Piece {
    std::byte bytes[kPiece];
  };
  BlockMemory memory_;
  std::uint32_t count_;
  std::size_t bytes_;
  std::vector<Piece> data_;
  std::vector<BlockHead> heads_;
};

// Copies all blocks, column by column from the last one on, as threads of a device may. Blocks in
// whose layout columns share bytes are copied whole.
void copy(const Blocks &from, const Blocks &to, bool transposed)
{
  const Shape &shape = to.memory().shape;
  const bool alone = shape.bs > kMaxSmallBlock || shape.storage != PC_MCPI_PRECISION_INT4;
  for (int k = 0; k < kBlocks; ++k)
    with_precision(shape.storage, [&]<PCMCPIPrecision storage> {
      if (!alone)
        copy_columns<storage>(from.memory(), from.slot(k), transposed, to.memory(), to.slot(k), 0,
                              shape.bs);
      for (int j = shape.bs; alone && j > 0; --j)
        copy_columns<storage>(from.memory(), from.slot(k), transposed, to.memory(), to.slot(k),
                              j - 1, j);
    });
}

// Records of blocks whose exponents fit the packed heads and rise by 3 from block to block
Blocks make_records(PCMCPIPrecision storage, int bs)
{
  Blocks records(LayoutKind::records, storage, bs);
  std::mt19937 generator(static_cast<unsigned>(bs) * 8 + storage);
  std::vector<double> block(static_cast<std::size_t>(bs) * bs);
  for (int k = 0; k < kBlocks; ++k) {
    for (double &number : block)
      number = std::ldexp(static_cast<double>(generator() % 2001) / 1000 - 1, 3 * k - 6);
    block[0] = std::ldexp(1.0, 3 * k - 6);
    EXPECT_TRUE(encode_block(storage, bs, block.data(), records.record(k)));
  }
  return records;
}

// Calls visit(records, blocks, name) with zero blocks of every layout that there is for a precision
// and block size.
template <class Visit> void for_layouts(const Visit &visit)
{
  for (const PCMCPIPrecision storage : kStorages)
    for (const int bs : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 17}) {
      const Blocks records = make_records(storage, bs);
      const auto with = [&](const Blocks &blocks, const char *name) {
        SCOPED_TRACE(testing::Message() << name << ", storage " << storage << ", bs " << bs);
        visit(records, blocks);
      };
      with(Blocks(LayoutKind::records, storage, bs), "records");
      if (bs > kMaxSmallBlock) {
        with(Blocks(LayoutKind::pieces, storage, bs), "pieces");
        continue;
      }
      with(Blocks(LayoutKind::slices, storage, bs), "slices");
      if (has_exponent(storage)) with(Blocks(LayoutKind::slices, storage, bs, kPacked), "packed");
    }
}

// Expects that a slice's numbers, exponent and column index are those of a block, as a relaxation
// reads them.
template <PCMCPIPrecision storage, int bs, bool packed>
void expect_slices(const Blocks &blocks, int k, const std::vector<double> &block)
{
  using MySlice = BlockSlice<storage, bs, packed>;
  for (int part = 0; part < MySlice::shape.slices; ++part) {
    MySlice slice;
    slice.load(blocks.memory().blocks, blocks.count(),
               static_cast<std::uint32_t>(k * MySlice::shape.slices + part));
    EXPECT_EQ(static_cast<std::uint32_t>(slice.column(blocks.memory().head)), Blocks::column(k));
    for (int j = 0; j < MySlice::shape.columns && part * MySlice::shape.columns + j < bs; ++j) {
      double column[bs];
      slice.multiply([&](int n) { return n == j ? 1.0 : 0.0; }, blocks.memory().head, column);
      for (int i = 0; i < bs; ++i)
        EXPECT_EQ(column[i], block[(part * MySlice::shape.columns + j) * bs + i]);
    }
  }
}

TEST(Places, of_every_layout_give_records_back)
{
  for_layouts([](const Blocks &records, const Blocks &blocks) {
    Blocks back(LayoutKind::records, records.memory().shape.storage, records.memory().shape.bs);
    for (const bool transposed : {false, true}) {
      copy(records, blocks, transposed);
      copy(blocks, back, transposed);
      EXPECT_TRUE(back == records) << transposed;
    }
  });
}

TEST(Places, of_every_layout_hold_transposed_blocks)
{
  for_layouts([](const Blocks &records, const Blocks &blocks) {
    const PCMCPIPrecision storage = records.memory().shape.storage;
    const int bs = records.memory().shape.bs;
    Blocks back(LayoutKind::records, storage, bs), expected(LayoutKind::records, storage, bs);
    for (int k = 0; k < kBlocks; ++k)
      transpose_record(storage, bs, records.record(k), expected.record(k));
    copy(records, blocks, true);
    copy(blocks, back, false);
    EXPECT_TRUE(back == expected);
  });
}

TEST(Places, of_slices_are_those_that_relaxations_read)
{
  for_layouts([](const Blocks &records, const Blocks &blocks) {
    const Shape &shape = blocks.memory().shape;
    if (shape.kind != LayoutKind::slices) return;
    copy(records, blocks, false);
    std::vector<double> block(static_cast<std::size_t>(shape.bs) * shape.bs);
    for (int k = 0; k < kBlocks; ++k) {
      decode_block(shape.storage, shape.bs, records.record(k), block.data());
      with_precision(shape.storage, [&]<PCMCPIPrecision storage> {
        with_block_size<1, kMaxSmallBlock>(shape.bs, [&]<int bs> {
          if constexpr (bs > 0)
            with_bool(shape.packed(), [&]<bool packed> {
              if constexpr (has_exponent(storage) || !packed)
                expect_slices<storage, bs, packed>(blocks, k, block);
            });
        });
      });
    }
  });
}

TEST(Places, of_pieces_are_those_of_records_without_exponents)
{
  for_layouts([](const Blocks &records, const Blocks &blocks) {
    const Shape &shape = blocks.memory().shape;
    if (shape.kind != LayoutKind::pieces) return;
    copy(records, blocks, false);
    const std::size_t exponent = shape.exponents() ? 1 : 0,
                      numbers = records.memory().shape.record - exponent;
    for (int k = 0; k < kBlocks; ++k) {
      EXPECT_EQ(std::memcmp(blocks.record(k), records.record(k) + exponent, numbers), 0);
      for (std::size_t n = numbers; n < shape.record; ++n)
        EXPECT_EQ(blocks.record(k)[n], std::byte{0});
      EXPECT_EQ(blocks.memory().heads[k].column, -1);
      if (shape.exponents()) {
        EXPECT_EQ(blocks.memory().heads[k].exponent,
                  std::to_integer<std::int8_t>(records.record(k)[0]));
      }
    }
  });
}

TEST(Places, of_packed_blocks_below_the_range_of_exponents_are_zero)
{
  for (const PCMCPIPrecision storage : {PC_MCPI_PRECISION_INT8, PC_MCPI_PRECISION_INT4})
    for (int bs = 1; bs <= kMaxSmallBlock; ++bs) {
      const Blocks records = make_records(storage, bs);
      // The exponents of the blocks differ by 3. This base is that of the middle one.
      constexpr int kMiddle = kBlocks / 2;
      const int base = get_exponent(records.memory(), records.slot(kMiddle));
      const Blocks blocks(LayoutKind::slices, storage, bs, {kPacked.column_bits, base}),
          back(LayoutKind::records, storage, bs);
      copy(records, blocks, true);
      copy(blocks, back, true);
      std::vector<double> block(static_cast<std::size_t>(bs) * bs), expected(block);
      for (int k = 0; k < kBlocks; ++k) {
        decode_block(storage, bs, back.record(k), block.data());
        if (k >= kMiddle) decode_block(storage, bs, records.record(k), expected.data());
        EXPECT_EQ(block, expected) << "storage " << storage << " bs " << bs << " block " << k;
        EXPECT_EQ(*head_word(blocks.memory(), blocks.slot(k), 0) >>
                          blocks.memory().shape.slice.shift &
                      0xffU,
                  Blocks::column(k));
      }
    }
}

} // namespace
} // namespace mcpi::test
