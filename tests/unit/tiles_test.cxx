// Tests the layout of small blocks for the CUDA backend. The test needs no device. It is built
// together with the CUDA backend.
#if defined(MCPI_HAVE_CUDA)
#include "backend/device/tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "backend/cuda/vectors.h"

#include "support/system.h"

namespace mcpi::test {
namespace {

using namespace mcpi::cuda;

struct Problem {
  Pattern pattern;
  BlockMatrix matrix;
  Ranks ranks;

  Problem(Row rows, int bs) : Problem(ring_pattern(rows, 2, 1), bs) {}
  Problem(const Pattern &given, int bs)
      : pattern(given), matrix(make_matrix(bs, pattern, {.pivots = true, .seed = 2}))
  {
    ranks =
        build_ranks(pattern, greedy_coloring(pattern), bs, {0, static_cast<Row>(pattern.size())});
  }
  const ColorPlan &plan() const { return ranks.forward[0]; }
};

TEST(Tiles, hold_every_row_of_a_color_once_and_no_more_than_a_thread_block_takes)
{
  for (const auto &[bs, resident] : {std::pair{1, 1}, {1, 5}, {3, 1}, {3, 1000}, {8, 2}})
    for (const int capacity : {16, 128, 384}) {
      const Problem problem(400, bs);
      const ColorPlan &plan = problem.plan();
      const int rows = tile_rows(128, bs);
      const TileLayout layout =
          make_tiles(plan, slice_shape(PC_MCPI_PRECISION_FP32, bs),
                     {rows, std::min(128, capacity), capacity, capacity / 2, resident, 2});
      ASSERT_EQ(layout.part_begin.size(), 2 * static_cast<std::size_t>(plan.colors) + 1);
      Row next = 0;
      for (int part = 0; part < 2 * plan.colors; ++part) {
        for (std::uint32_t t = layout.part_begin[part]; t < layout.part_begin[part + 1]; ++t) {
          const Tile &tile = layout.tiles[t];
          EXPECT_EQ(static_cast<Row>(tile.row), next);
          EXPECT_LE(rows_of(tile), static_cast<std::uint32_t>(rows));
          if (rows_of(tile) > 1) {
            EXPECT_LE(slices_of(tile), static_cast<std::uint32_t>(capacity));
          }
          next += static_cast<Row>(rows_of(tile));
        }
        EXPECT_EQ(next,
                  part % 2 == 0 ? plan.boundary_end[part / 2] : plan.color_begin[part / 2 + 1]);
      }
    }
}

TEST(Slices, give_every_number_its_own_bits)
{
  for (const PCMCPIPrecision storage : kStorages)
    for (int bs = 1; bs <= kMaxSmallBlock; ++bs)
      for (const bool packed : {false, true}) {
        if (packed && !has_exponent(storage)) continue;
        const SliceShape shape = slice_shape(storage, bs, packed);
        std::set<int> slots;
        const int bits = value_bits(storage), end = 8 * shape.numbers + shape.shift;
        for (int j = 0; j < shape.columns; ++j)
          for (int i = 0; i < bs; ++i) {
            const int slot = number_slot(storage, bs, i, j);
            EXPECT_TRUE(slots.insert(slot).second)
                << "storage " << storage << " bs " << bs << " (" << i << ", " << j << ")";
            EXPECT_LE((slot + 1) * bits, end)
                << "storage " << storage << " bs " << bs << " packed " << packed;
          }
        EXPECT_EQ(shape.bytes % 4, 0);
        EXPECT_LE(shape.numbers + (has_exponent(storage) && !packed ? 1 : 0), shape.head_at());
      }
}

TEST(Slices, of_integers_hold_four_columns_of_a_row_in_one_word)
{
  for (int bs = 4; bs <= kMaxSmallBlock; ++bs)
    for (int i = 0; i < bs; ++i)
      for (int q = 0; q < bs / 4; ++q)
        for (int c = 1; c < 4; ++c) {
          EXPECT_EQ(number_slot(PC_MCPI_PRECISION_INT8, bs, i, 4 * q + c),
                    number_slot(PC_MCPI_PRECISION_INT8, bs, i, 4 * q) + c);
          const int first = number_slot(PC_MCPI_PRECISION_INT4, bs, i, 4 * q);
          EXPECT_EQ(number_slot(PC_MCPI_PRECISION_INT4, bs, i, 4 * q + c), first + 2 * c);
          EXPECT_LE(first % 8, 1);
        }
}

// The threads of boundary rows wait for ghosts. This takes registers, so fewer block slices fit.
TEST(Tiles, of_boundary_rows_have_fewer_slices)
{
  const Pattern pattern = ring_pattern(600, 2, 3);
  const Ranks ranks = build_ranks(pattern, greedy_coloring(pattern), 5, {0, 300, 600});
  for (const ColorPlan &plan : ranks.forward)
    for (const auto &[slices, boundary_slices] : {std::pair{96, 48}, {48, 48}, {96, 3}, {4, 3}}) {
      const TileLayout layout = make_tiles(plan, slice_shape(PC_MCPI_PRECISION_INT4, 5),
                                           {32, 32, slices, boundary_slices, 1, 1});
      std::uint32_t most[2]{};
      for (std::size_t part = 0; part + 1 < layout.part_begin.size(); ++part)
        for (std::uint32_t t = layout.part_begin[part]; t < layout.part_begin[part + 1]; ++t)
          most[part % 2] = std::max(most[part % 2], slices_of(layout.tiles[t]));
      EXPECT_GT(most[0], 0U);
      EXPECT_EQ(layout.long_rows, std::max(most[0], most[1]) > static_cast<unsigned>(slices));
      EXPECT_EQ(layout.long_boundary_rows, most[0] > static_cast<unsigned>(boundary_slices));
      EXPECT_EQ(layout.long_boundary_rows, boundary_slices == 3);
    }
}

TEST(Tiles, of_few_rows_are_small)
{
  const Problem problem(400, 5);
  const TileLayout layout = make_tiles(problem.plan(), slice_shape(PC_MCPI_PRECISION_FP32, 5),
                                       {tile_rows(128, 5), 128, 128, 128, 10, 132, 0, 0, 3});
  for (const Tile &tile : layout.tiles) EXPECT_EQ(rows_of(tile), 1U);
}

TEST(Tiles, give_a_thread_as_few_slices_as_let_the_device_take_all_at_once)
{
  const Problem problem(4000, 5);
  const ColorPlan &plan = problem.plan();
  const auto most = [&](int multiprocessors) {
    std::uint32_t slices = 0;
    const TileLayout layout = make_tiles(plan, slice_shape(PC_MCPI_PRECISION_INT4, 5),
                                         {32, 32, 128, 128, 2, multiprocessors});
    for (const Tile &tile : layout.tiles) slices = std::max(slices, slices_of(tile));
    return slices;
  };
  EXPECT_GT(most(1), 64U);
  EXPECT_LE(most(1000), 32U);
}

// If the device cannot take all tiles at once, even a few tiles more take about as long as a full
// device.
TEST(Tiles, are_taken_at_once_where_larger_ones_would_be)
{
  constexpr int kThreads = 32, kBlocks = 2;
  const Problem problem(4000, 8);
  const SliceShape shape = slice_shape(PC_MCPI_PRECISION_FP64, 8);
  const ColorPlan &plan = problem.plan();
  const auto tiles = [&](int multiprocessors) {
    return make_tiles(plan, shape, {kThreads, kThreads, 160, 160, kBlocks, multiprocessors})
        .part_begin;
  };
  // With one multiprocessor, no color's tiles are all taken at once.
  const std::vector<std::uint32_t> largest = tiles(1);
  int fitted = 0;
  for (int multiprocessors = 2; multiprocessors < 200; ++multiprocessors) {
    const std::vector<std::uint32_t> part = tiles(multiprocessors);
    const auto most = static_cast<std::uint32_t>(kBlocks * multiprocessors);
    for (std::size_t color = 0; 2 * color + 2 < part.size(); ++color) {
      const Row begin = plan.color_begin[color], end = plan.color_begin[color + 1];
      const Offset blocks =
          plan.lower.ptr[end] - plan.lower.ptr[begin] + plan.upper.ptr[end] - plan.upper.ptr[begin];
      if (blocks * shape.slices <= Offset{kThreads} * most ||
          largest[2 * color + 2] - largest[2 * color] > most)
        continue;
      EXPECT_LE(part[2 * color + 2] - part[2 * color], most)
          << color << " with " << multiprocessors;
      ++fitted;
    }
  }
  EXPECT_GT(fitted, 50);
}

TEST(Tiles, of_colors_that_the_device_takes_at_once_fit_kernels_for_few_rows)
{
  constexpr int kThreads = 96, kFewRows = 18, kFewBlocks = 3;
  const Problem problem(4000, 5);
  const ColorPlan &plan = problem.plan();
  for (const auto &[multiprocessors, any, all] :
       {std::tuple{1, false, false}, {20, true, false}, {1000, true, true}}) {
    const TileLayout layout =
        make_tiles(plan, slice_shape(PC_MCPI_PRECISION_INT4, 5),
                   {kThreads, kThreads, 480, 288, 2, multiprocessors, kFewRows, kFewBlocks});
    ASSERT_EQ(layout.launch.size(), layout.part_begin.size() - 1);
    bool some = false, every = true;
    for (std::size_t part = 0; part < layout.launch.size(); ++part) {
      const std::uint32_t begin = layout.part_begin[part], end = layout.part_begin[part + 1];
      if (begin == end) continue;
      some = some || layout.launch[part].few;
      every = every && layout.launch[part].few;
      if (!layout.launch[part].few) continue;
      EXPECT_LE(end - begin, static_cast<std::uint32_t>(kFewBlocks * multiprocessors));
      for (std::uint32_t t = begin; t < end; ++t) {
        EXPECT_LE(rows_of(layout.tiles[t]), static_cast<std::uint32_t>(kFewRows));
        EXPECT_LE(slices_of(layout.tiles[t]), static_cast<std::uint32_t>(kThreads));
      }
    }
    EXPECT_TRUE(some || !any) << multiprocessors;
    EXPECT_EQ(every, all) << multiprocessors;
  }
}

// If the device takes all such tiles at once, a tile has the rows that one warp sums.
TEST(Tiles, of_few_rows_have_the_rows_of_a_warp_where_those_are_taken_at_once)
{
  const Problem problem(4000, 5);
  const TileLayout layout = make_tiles(problem.plan(), slice_shape(PC_MCPI_PRECISION_INT4, 5),
                                       {96, 96, 480, 288, 2, 1000, 18, 3});
  std::uint32_t most = 0;
  for (const Tile &tile : layout.tiles) most = std::max(most, rows_of(tile));
  EXPECT_EQ(most, static_cast<std::uint32_t>(kWarpSize / 5));
}

// A color with a long row still has enough tiles for all multiprocessors.
TEST(Tiles, of_a_color_with_a_long_row_are_small_but_not_for_kernels_of_few_rows)
{
  constexpr int kThreads = 32, kMultiprocessors = 50;
  Pattern pattern = ring_pattern(1000, 2, 1);
  for (const bool with_long_row : {false, true}) {
    if (with_long_row)
      for (Row column = 1; column < 60; ++column) pattern[0].push_back(10 * column);
    std::sort(pattern[0].begin(), pattern[0].end());
    pattern[0].erase(std::unique(pattern[0].begin(), pattern[0].end()), pattern[0].end());
    const Problem problem(pattern, 5);
    const TileLayout layout =
        make_tiles(problem.plan(), slice_shape(PC_MCPI_PRECISION_INT8, 5),
                   {kThreads, kThreads, 96, 96, 10, kMultiprocessors, 6, 16, 3});
    bool long_row = false;
    for (std::size_t part = 0; part < layout.launch.size(); ++part) {
      const auto begin = layout.tiles.begin() + layout.part_begin[part],
                 end = layout.tiles.begin() + layout.part_begin[part + 1];
      const bool has = std::any_of(begin, end, [](const Tile &tile) {
        return slices_of(tile) > static_cast<std::uint32_t>(kThreads);
      });
      if (begin == end) continue;
      EXPECT_EQ(layout.launch[part].few, !has) << part;
      if (has) {
        EXPECT_GE(end - begin, 2 * kMultiprocessors);
      }
      long_row = long_row || has;
    }
    EXPECT_EQ(long_row, with_long_row);
  }
}

TEST(Tiles, for_one_triangle_fill_thread_blocks_with_it)
{
  constexpr std::uint32_t kMost = 64;
  const Problem problem(4000, 5);
  std::uint32_t largest = 0, both = 0;
  TileLimits limits{32, 32, static_cast<int>(kMost), static_cast<int>(kMost), 2, 1};
  limits.one_triangle = true;
  const TileLayout layout =
      make_tiles(problem.plan(), slice_shape(PC_MCPI_PRECISION_INT4, 5), limits);
  for (const Tile &tile : layout.tiles) {
    const std::uint32_t lower = tile.rows_lower & kLowerMask;
    largest = std::max({largest, lower, tile.upper});
    both = std::max(both, lower + tile.upper);
  }
  EXPECT_LE(largest, kMost);
  EXPECT_GT(both, kMost);
  EXPECT_FALSE(layout.long_rows);
}

// If slices are small or few, only one color waits: thread blocks of further waiting colors would
// load little data.
TEST(Tiles, of_small_colors_let_one_color_wait)
{
  const Problem problem(4000, 8);
  const ColorPlan &plan = problem.plan();
  for (const auto &[storage, multiprocessors, one_waits] :
       {std::tuple{PC_MCPI_PRECISION_INT4, 10, true},
        {PC_MCPI_PRECISION_FP16, 10, false},
        {PC_MCPI_PRECISION_FP16, 2000, true}}) {
    const TileLayout layout =
        make_tiles(plan, slice_shape(storage, 8),
                   {96, 96, 192, 192, 10, multiprocessors, 12, 1000, 3, 40, 20 << 10});
    for (int color = 0; color < plan.colors; ++color) {
      const TileLaunch &launch = layout.launch[2 * static_cast<std::size_t>(color) + 1];
      EXPECT_TRUE(launch.few);
      if (plan.color_begin[color + 1] - plan.color_begin[color] > 400) {
        EXPECT_EQ(launch.one_waits, one_waits) << storage << " " << multiprocessors;
      }
    }
  }
}

TEST(GatherGroups, take_each_row_once_in_the_order_of_the_array)
{
  for (const int bs : {1, 5, 8}) {
    const Problem problem(4001, bs);
    const ColorPlan &plan = problem.plan();
    const GatherGroups groups = make_gather_groups(plan);
    const std::size_t rows = group_rows(bs), units = rows / kUnit,
                      count = (static_cast<std::size_t>(plan.rows) + rows - 1) / rows;
    ASSERT_EQ(groups.rows.size(), count * rows);
    ASSERT_EQ(groups.slots.size(), count * rows);
    ASSERT_EQ(groups.units.size(), count * units);
    std::set<Row> matrix_rows;
    std::set<std::uint32_t> all;
    for (std::size_t k = 0; k < groups.rows.size(); ++k) {
      const Row row = groups.rows[k];
      if (row < 0) continue;
      if (k % rows > 0) {
        EXPECT_LT(groups.rows[k - 1], row);
        EXPECT_GE(groups.rows[k - 1], 0);
      }
      const std::uint32_t unit = groups.units[k / rows * units + groups.slots[k] / kUnit];
      ASSERT_EQ(plan.row_of[unit * kUnit + groups.slots[k] % kUnit], row);
      matrix_rows.insert(row);
      all.insert(unit);
    }
    EXPECT_EQ(matrix_rows.size(), static_cast<std::size_t>(plan.rows));
    EXPECT_EQ(all.size(), (static_cast<std::size_t>(plan.rows) + kUnit - 1) / kUnit);
    EXPECT_TRUE(std::all_of(
        groups.units.begin() + static_cast<std::ptrdiff_t>(all.size()), groups.units.end(),
        [&](std::uint32_t unit) { return unit * kUnit >= static_cast<std::uint32_t>(plan.rows); }));
  }
}

TEST(GatherGroups, follow_their_rows_places_in_the_colors)
{
  const Problem problem(4000, 5);
  const ColorPlan &plan = problem.plan();
  double last = 0;
  for (const std::uint32_t unit : make_gather_groups(plan).units) {
    const Row row = static_cast<Row>(unit * kUnit);
    if (row >= plan.rows) continue;
    const auto color = std::upper_bound(plan.color_begin.begin(), plan.color_begin.end(), row) -
                       plan.color_begin.begin() - 1;
    const double place = (row - plan.color_begin[color]) /
                         static_cast<double>(plan.color_begin[color + 1] - plan.color_begin[color]);
    EXPECT_GE(place, last);
    last = place;
  }
  EXPECT_GT(last, 0.5);
}

// A color of 185 rows has either 47 or 62 tiles, so the pattern is one without such a color.
TEST(Tiles, of_few_rows_are_as_many_for_each_multiprocessor)
{
  const Problem problem(ring_pattern(4000, 2, 2), 5);
  const ColorPlan &plan = problem.plan();
  const TileLayout layout =
      make_tiles(plan, slice_shape(PC_MCPI_PRECISION_INT4, 5), {96, 96, 480, 288, 12, 20, 0, 0, 3});
  int checked = 0;
  for (int c = 0; c < plan.colors; ++c) {
    const std::uint32_t tiles = layout.part_begin[2 * c + 2] - layout.part_begin[2 * c + 1];
    const Row rows = plan.color_begin[c + 1] - plan.boundary_end[c];
    if (rows < 60) continue;
    EXPECT_LE(tiles % 20 == 0 ? 0U : 20U - tiles % 20, 10U) << rows;
    ++checked;
  }
  EXPECT_GE(checked, 5);
}

} // namespace
} // namespace mcpi::test
#endif
