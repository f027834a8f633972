// Tests how the CUDA backend distributes rows of large blocks to threads. The test needs no device.
// It is built together with the CUDA backend.
#if defined(MCPI_HAVE_CUDA)
#include "backend/cuda/relax.h"

#include <gtest/gtest.h>

#include "support/ranks.h"
#include "support/system.h"

namespace mcpi::test {
namespace {

using namespace mcpi::cuda;

constexpr int kMostShared = 227 * 1024; // most bytes of shared memory of a thread block

TEST(LargeShape, lets_every_number_of_a_column_meet_one_thread)
{
  for (const PCMCPIPrecision storage : kStorages)
    for (int bs = kMaxSmallBlock + 1; bs < 300; ++bs) {
      const StreamShape shape =
          stream_shape(storage, bs, storage == PC_MCPI_PRECISION_FP64 ? 8 : 4);
      const int vector = large_vector(storage, bs);
      EXPECT_EQ(shape.ld % vector, 0);
      EXPECT_EQ(vector * value_bits(storage) % 8, 0);
      EXPECT_GE(shape.parts * shape.lanes * vector, shape.ld) << bs;
      EXPECT_LE(shape.slots * shape.lanes, shape.team);
      EXPECT_GE(shape.slots, 1);
    }
}

TEST(LargeShape, stages_hold_whole_blocks_or_slices_of_one)
{
  for (const PCMCPIPrecision storage : kStorages)
    for (int bs = kMaxSmallBlock + 1; bs < 1000; ++bs) {
      const StreamShape shape = stream_shape(storage, bs, 8);
      EXPECT_LE(shape.rows * shape.bytes, kMostShared) << bs;
      EXPECT_EQ(shape.stage_bytes % kPiece, 0);
      EXPECT_EQ(shape.segment % shape.chunk, 0) << bs;
      EXPECT_GE(shape.slices * shape.width, bs);
      EXPECT_LT((shape.slices - 1) * shape.width, bs);
      if (shape.slices > 1) {
        EXPECT_EQ(shape.chunk, 1);
        EXPECT_GE(shape.stage_bytes, shape.width * shape.column + kPiece - 1);
      } else {
        EXPECT_EQ(shape.stage_bytes, shape.chunk * shape.record);
      }
    }
}

TEST(LargeShape, divides_by_the_block_size)
{
  for (int bs = kMaxSmallBlock + 1; bs < 1000; ++bs) {
    const StreamShape shape = stream_shape(PC_MCPI_PRECISION_FP32, bs, 4);
    for (std::uint64_t e = 0; e < static_cast<std::uint64_t>(shape.segment) * bs; ++e)
      ASSERT_EQ(e * shape.inverse >> 32, e / bs);
  }
}

} // namespace
} // namespace mcpi::test
#endif
