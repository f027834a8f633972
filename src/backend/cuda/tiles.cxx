#include "backend/cuda/tiles.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace mcpi::cuda {
namespace {

std::uint32_t item_count(const Tile &tile)
{
  return (tile.rows_lower & kLowerMask) + tile.upper;
}

std::size_t stored_items(const Tile &tile)
{
  return (static_cast<std::size_t>(item_count(tile)) + 3) / 4 * 4;
}

constexpr Offset kManyTiles = 528; // of a color: four for each multiprocessor of an H100 or H200
constexpr Offset kFewItems  = 32;

class Builder {
public:
  Builder(const ColorPlan &plan, int threads, int capacity, TileLayout &layout)
      : plan_(plan), layout_(layout), rows_(threads / plan.bs), capacity_(capacity)
  {
  }

  void add_rows(Row begin, Row end)
  {
    // few rows: smaller tiles, so that every multiprocessor has some
    const Offset share = (items(plan_.lower, begin, end) + items(plan_.upper, begin, end)) / kManyTiles,
                 most  = std::clamp(share, std::min(kFewItems, capacity_), capacity_);
    while (begin < end) {
      Row last = begin + 1;
      while (last < end && last - begin < rows_ && items(plan_.lower, begin, last + 1) + items(plan_.upper, begin, last + 1) <= most)
        ++last;
      add_tile(begin, last);
      begin = last;
    }
  }

private:
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
    if (lower + upper > capacity_) layout_.long_rows = true;
    layout_.bytes += stored_items(tile) * static_cast<std::size_t>(layout_.shape.bytes);
  }

  const ColorPlan &plan_;
  TileLayout      &layout_;
  const Row        rows_;
  const Offset     capacity_;
};

// Bytes of an item that come from a record, and the record's bytes that they are
struct Source {
  int at, from, count;
};

} // namespace

TileLayout make_tiles(const ColorPlan &plan, const ItemShape &shape, int threads, int capacity)
{
  TileLayout layout;
  layout.shape = shape;
  Builder builder(plan, threads, capacity, layout);
  layout.part_begin.push_back(0);
  for (int c = 0; c < plan.colors; ++c) {
    builder.add_rows(plan.color_begin[c], plan.boundary_end[c]);
    layout.part_begin.push_back(static_cast<std::uint32_t>(layout.tiles.size()));
    builder.add_rows(plan.boundary_end[c], plan.color_begin[c + 1]);
    layout.part_begin.push_back(static_cast<std::uint32_t>(layout.tiles.size()));
  }
  return layout;
}

void pack_tiles(const TileLayout &layout, PCMCPIPrecision storage, const ColorPlan &plan, const std::byte *lower, const std::byte *upper,
                std::byte *out)
{
  const ItemShape       &shape  = layout.shape;
  const int              first  = has_exponent(storage) ? 1 : 0; // of a record's numbers
  const std::size_t      record = record_bytes(storage, plan.bs);
  const int              whole  = static_cast<int>(record) - first;
  std::vector<std::byte> item(static_cast<std::size_t>(shape.bytes));
  for (const Tile &tile : layout.tiles) {
    std::byte        *base  = out + static_cast<std::size_t>(tile.offset) * kPiece;
    const std::size_t count = stored_items(tile);
    const Row         begin = static_cast<Row>(tile.row), end = begin + static_cast<Row>(tile.rows_lower >> kLowerBits);
    std::size_t       k = 0;
    std::memset(base, 0, count * static_cast<std::size_t>(shape.bytes));
    for (const Triangle *triangle : {&plan.lower, &plan.upper}) {
      const std::byte *records = triangle == &plan.lower ? lower : upper;
      for (Offset block = triangle->ptr[begin]; block < triangle->ptr[end]; ++block)
        for (int slice = 0; slice < shape.items; ++slice, ++k) {
          const std::byte *in   = records + static_cast<std::size_t>(block) * record;
          const int        from = slice * shape.numbers;
          std::fill(item.begin(), item.end(), std::byte{0});
          std::memcpy(item.data(), in + first + from, static_cast<std::size_t>(std::min(shape.numbers, whole - from)));
          if (first) item[static_cast<std::size_t>(shape.numbers)] = in[0];
          std::memcpy(item.data() + shape.column_at(), &triangle->col[block], sizeof(Row));
          for (int at = 0; at < shape.bytes; at += 4) std::memcpy(base + item_byte(shape, count, k, at), item.data() + at, 4);
        }
    }
  }
}

} // namespace mcpi::cuda
