#include "backend/cuda/tiles.h"

#include <algorithm>
#include <stdexcept>

namespace mcpi::cuda {
namespace {

constexpr Offset kTilesEach = 3; // of a color, for a multiprocessor, at least

// The most of a tile
struct Share {
  Row    rows;
  Offset items;
  bool   few = false;
};

class Builder {
public:
  Builder(const ColorPlan &plan, const TileLimits &limits, TileLayout &layout) : plan_(plan), limits_(limits), layout_(layout) {}

  // A color's boundary or interior rows, in tiles of up to so many items unless a row has more; returns the most
  Offset add_rows(int color, Row begin, Row end, Offset items_of_tile)
  {
    const Row    first = plan_.color_begin[color], last_of_color = plan_.color_begin[color + 1];
    const Share  share   = share_of(last_of_color - first, items(first, last_of_color));
    const Offset most    = std::min(share.items, items_of_tile);
    Offset       largest = 0;
    while (begin < end) {
      Row last = begin + 1;
      while (last < end && last - begin < share.rows && items(begin, last + 1) <= most && !fills_warps(begin, last, most)) ++last;
      add_tile(begin, last);
      largest = std::max(largest, items(begin, last));
      begin   = last;
    }
    layout_.few.push_back(share.few && largest <= limits_.threads);
    return largest;
  }

private:
  // Tiles of so many rows of a color with so many items. Where the device takes all tiles at once: as few items for each thread as that allows. Fewer
  // still: every multiprocessor has as many tiles as the others, and a thread one item.
  Share share_of(Row rows, Offset all) const
  {
    const Offset threads = limits_.threads, at_once = threads * limits_.blocks * limits_.multiprocessors,
                 rounds = (all + at_once - 1) / at_once;
    if (rounds > 1) return {limits_.rows, std::min<Offset>(rounds * threads, limits_.items)};
    for (Offset each = kTilesEach;; ++each) {
      const Offset tiles = each * limits_.multiprocessors, share = (rows + tiles - 1) / tiles;
      if (share > 1 && share * all > threads * rows) continue;
      if (limits_.few_rows > 0) return {static_cast<Row>(std::clamp<Offset>(share, 1, limits_.few_rows)), threads, true};
      return {static_cast<Row>(std::clamp<Offset>(share, 1, limits_.rows)), limits_.items};
    }
  }
  // A nearly full tile does without a few rows that would keep one more warp busy.
  bool   fills_warps(Row begin, Row end, Offset most) const { return (end - begin) % kWarpSize == 0 && 4 * items(begin, end) >= 3 * most; }
  Offset items(Row begin, Row end) const { return items(plan_.lower, begin, end) + items(plan_.upper, begin, end); }
  Offset items(const Triangle &triangle, Row begin, Row end) const
  {
    return (triangle.ptr[end] - triangle.ptr[begin]) * layout_.shape.items;
  }

  void add_tile(Row begin, Row end)
  {
    const Offset lower = items(plan_.lower, begin, end), upper = items(plan_.upper, begin, end);
    if (lower > static_cast<Offset>(kLowerMask) || upper > static_cast<Offset>(kLowerMask) || layout_.bytes / kPiece > 0xffffffffU)
      throw std::length_error("the matrix is too large for the CUDA backend: use more ranks");
    Tile tile{};
    tile.offset     = static_cast<std::uint32_t>(layout_.bytes / kPiece);
    tile.row        = static_cast<std::uint32_t>(begin);
    tile.rows_lower = static_cast<std::uint32_t>(end - begin) << kLowerBits | static_cast<std::uint32_t>(lower);
    tile.upper      = static_cast<std::uint32_t>(upper);
    for (Row row = begin; row < end; ++row)
      layout_.ends.push_back(
          {static_cast<std::uint16_t>(items(plan_.lower, begin, row + 1)), static_cast<std::uint16_t>(items(plan_.upper, begin, row + 1))});
    layout_.tiles.push_back(tile);
    layout_.bytes += static_cast<std::size_t>(stored_items(tile)) * static_cast<std::size_t>(layout_.shape.bytes);
  }

  const ColorPlan &plan_;
  const TileLimits limits_;
  TileLayout      &layout_;
};

} // namespace

TileLayout make_tiles(const ColorPlan &plan, const ItemShape &shape, const TileLimits &limits)
{
  TileLayout layout;
  layout.shape = shape;
  Builder builder(plan, limits, layout);
  layout.part_begin.push_back(0);
  for (int c = 0; c < plan.colors; ++c) {
    const Offset boundary = builder.add_rows(c, plan.color_begin[c], plan.boundary_end[c], limits.boundary_items);
    layout.part_begin.push_back(static_cast<std::uint32_t>(layout.tiles.size()));
    const Offset interior     = builder.add_rows(c, plan.boundary_end[c], plan.color_begin[c + 1], limits.items);
    layout.long_rows          = layout.long_rows || std::max(boundary, interior) > limits.items;
    layout.long_boundary_rows = layout.long_boundary_rows || boundary > limits.boundary_items;
    layout.part_begin.push_back(static_cast<std::uint32_t>(layout.tiles.size()));
  }
  return layout;
}

} // namespace mcpi::cuda
