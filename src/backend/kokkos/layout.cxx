// Assigns places in memory to the blocks of a plan, in each of the three layouts.
#include "backend/kokkos/layout.h"

#include <algorithm>

#include "core/plan_parts.h"

namespace mcpi::kokkos {
namespace {

std::int32_t length(const Triangle &triangle, Row row)
{
  return static_cast<std::int32_t>(triangle.ptr[row + 1] - triangle.ptr[row]);
}

// Adds one tile of the rows [begin, end) behind the tiles so far.
void add_sell_tile(const ColorPlan &plan, Row begin, Row end, Placement &placement)
{
  const auto lanes = static_cast<std::size_t>(placement.shape.lanes),
             step_bytes = placement.shape.step_bytes();
  SellTile tile{placement.bytes, begin, end - begin, 0, 0, 0};
  tile.upper_begin = end > begin ? length(plan.lower, begin) : 0;
  for (Row row = begin; row < end; ++row) {
    const std::int32_t lower = length(plan.lower, row), all = lower + length(plan.upper, row);
    placement.sell_rows.push_back({lower, all});
    tile.steps = std::max(tile.steps, all);
    tile.lower_steps = std::max(tile.lower_steps, lower);
    tile.upper_begin = std::min(tile.upper_begin, lower);
  }
  const std::size_t lowers = plan.lower.col.size(), first = placement.columns.size();
  // Blocks that fill up a tile read some x of the tile's own color.
  placement.columns.resize(first + static_cast<std::size_t>(tile.steps) * lanes, begin);
  for (Row row = begin; row < end; ++row) {
    const auto lane = static_cast<std::size_t>(row - begin);
    std::size_t step = 0;
    for (const Triangle *triangle : {&plan.lower, &plan.upper})
      for (Offset k = triangle->ptr[row]; k < triangle->ptr[row + 1]; ++k, ++step) {
        const std::size_t stored =
            static_cast<std::size_t>(k) + (triangle == &plan.lower ? 0 : lowers);
        placement.slots[stored] = {tile.base + step * step_bytes, 0,
                                   static_cast<std::uint32_t>(lane)};
        placement.columns[first + step * lanes + lane] = triangle->col[static_cast<std::size_t>(k)];
      }
    for (; step < static_cast<std::size_t>(tile.steps); ++step)
      placement.columns[first + step * lanes + lane] = row;
  }
  placement.bytes += static_cast<std::size_t>(tile.steps) * step_bytes;
  placement.sell_tiles.push_back(tile);
}

} // namespace

Placement place_sell(const ColorPlan &plan, PCMCPIPrecision storage, int lanes)
{
  Placement placement;
  placement.shape = make_shape(LayoutKind::sell, storage, plan.bs);
  placement.shape.lanes = lanes;
  placement.slots.resize(static_cast<std::size_t>(plan.blocks()));
  placement.sell_rows.reserve(static_cast<std::size_t>(plan.rows));
  placement.part_begin.push_back(0);
  const std::vector<Row> parts = part_begins(plan);
  for (std::size_t part = 0; part + 1 < parts.size(); ++part) {
    for (Row begin = parts[part]; begin < parts[part + 1]; begin += lanes)
      add_sell_tile(plan, begin, std::min(begin + lanes, parts[part + 1]), placement);
    placement.part_begin.push_back(static_cast<std::uint32_t>(placement.sell_tiles.size()));
  }
  return placement;
}

Placement place_slices(const ColorPlan &plan, PCMCPIPrecision storage, const TileLimits &limits)
{
  Placement placement;
  placement.shape = make_shape(LayoutKind::slices, storage, plan.bs);
  placement.shape.slice = slice_shape(storage, plan.bs);
  placement.slices = make_tiles(plan, placement.shape.slice, limits);
  placement.bytes = placement.slices.bytes;
  placement.part_begin = placement.slices.part_begin;
  placement.slots.resize(static_cast<std::size_t>(plan.blocks()));
  placement.columns = plan.lower.col;
  placement.columns.insert(placement.columns.end(), plan.upper.col.begin(), plan.upper.col.end());
  const std::size_t lowers = plan.lower.col.size();
  for (const Tile &tile : placement.slices.tiles) {
    const Row begin = static_cast<Row>(tile.row), end = begin + static_cast<Row>(rows_of(tile));
    std::uint32_t slice = 0;
    for (const Triangle *triangle : {&plan.lower, &plan.upper})
      for (Offset k = triangle->ptr[begin]; k < triangle->ptr[end];
           ++k, slice += static_cast<std::uint32_t>(placement.shape.slice.slices))
        placement.slots[static_cast<std::size_t>(k) + (triangle == &plan.lower ? 0 : lowers)] = {
            static_cast<std::uint64_t>(tile.offset) * kPiece, stored_slices(tile), slice};
  }
  return placement;
}

Placement place_records(const ColorPlan &plan, PCMCPIPrecision storage)
{
  Placement placement;
  placement.shape = make_shape(LayoutKind::records, storage, plan.bs);
  placement.bytes = static_cast<std::size_t>(plan.blocks()) * placement.shape.record;
  return placement;
}

} // namespace mcpi::kokkos
