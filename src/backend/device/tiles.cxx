// Cuts the rows of each color into tiles that fill a GPU evenly.
#include "backend/device/tiles.h"

#include <algorithm>
#include <stdexcept>

#include "core/plan_parts.h"

namespace mcpi::device {
namespace {

// The most that a tile may hold, and the kernel that takes it.
struct TileBudget {
  Row rows;
  Offset slices;
  TileLaunch launch{};
};

// Appends tiles to a layout, part by part.
class TileBuilder {
public:
  TileBuilder(const ColorPlan &plan, const TileLimits &limits, TileLayout &layout)
      : plan_(plan), parts_(part_begins(plan)), limits_(limits), layout_(layout)
  {
  }

  std::size_t parts() const { return parts_.size() - 1; }

  // The most that each tile of a color may hold: a color is the parts [first, last), or one step of
  // clusters. The device should take all tiles of a color at once: a few tiles more would take
  // about as long again as all the others. There are three cases:
  // - the color suits the kernel for few rows: one slice a thread;
  // - the color needs several slices a thread: the fewest that let all tiles run at once;
  // - otherwise (long rows, or no kernel for few rows): the same number of tiles for each
  //   multiprocessor.
  TileBudget budget_of(std::size_t first, std::size_t last) const
  {
    if (limits_.many_parts) return {limits_.rows, limits_.slices};
    const Row begin = parts_[first], end = parts_[last], rows = end - begin;
    const Offset all = slices(begin, end), threads = limits_.threads,
                 tiles = Offset{1} * limits_.blocks * limits_.multiprocessors,
                 few = Offset{1} * limits_.few_blocks * limits_.multiprocessors;
    Offset rounds = (all + tiles * threads - 1) / (tiles * threads);
    if (limits_.few_rows > 0 && all <= few * threads) {
      Count counted;
      // A tile has the rows that one warp sums, or else the rows that all warps sum.
      for (const Row most : {limits_.few_rows / (limits_.threads / kWarpSize), limits_.few_rows}) {
        const TileBudget budget = {most, threads, launch_of_few(all)};
        counted = count(first, last, budget);
        if (counted.tiles <= few && counted.largest <= threads) return budget;
      }
      if (counted.tiles > few) rounds = std::max<Offset>(rounds, 2);
    }
    if (rounds > 1) {
      for (Offset most = rounds * threads; most <= limits_.slices; most += threads)
        if (const TileBudget budget = {limits_.rows, most};
            count(first, last, budget).tiles <= tiles)
          return budget;
      return {limits_.rows, std::min<Offset>(rounds * threads, limits_.slices)};
    }
    for (Offset each = limits_.tiles_each;; ++each) {
      const Offset most = each * limits_.multiprocessors, budget = (rows + most - 1) / most;
      if (budget <= 1 || budget * all <= threads * rows)
        return {static_cast<Row>(std::clamp<Offset>(budget, 1, limits_.rows)), limits_.slices};
    }
  }

  // Adds the tiles of a part. Returns the number of slices in the largest tile.
  Offset add_part(std::size_t part, const TileBudget &budget)
  {
    Count counted;
    cut(part, budget, counted, [&](Row begin, Row end) { add_tile(begin, end); });
    layout_.launch.push_back(budget.launch);
    return counted.largest;
  }

private:
  // Whether the kernel with exchanges may take the part. Clusters are relaxed without it.
  bool boundary(std::size_t part) const { return !plan_.clustered && part % 2 == 0; }

  struct Count {
    Offset tiles = 0, largest = 0; // number of tiles; slices of the largest one
  };
  // Calls visit(first row, end) for each tile of a part, and counts the tiles. A tile has at most
  // budget.slices slices, unless a single row has more.
  template <class Visit>
  void cut(std::size_t part, const TileBudget &budget, Count &counted, const Visit &visit) const
  {
    const Row end = parts_[part + 1];
    const Offset most =
        boundary(part) ? std::min<Offset>(budget.slices, limits_.boundary_slices) : budget.slices;
    for (Row begin = parts_[part]; begin < end;) {
      Row last = begin + 1;
      while (last < end && last - begin < budget.rows && slices(begin, last + 1) <= most &&
             !fills_warps(begin, last, most))
        ++last;
      visit(begin, last);
      ++counted.tiles;
      counted.largest = std::max(counted.largest, slices(begin, last));
      begin = last;
    }
  }
  Count count(std::size_t first, std::size_t last, const TileBudget &budget) const
  {
    Count result;
    for (std::size_t part = first; part < last; ++part) cut(part, budget, result, [](Row, Row) {});
    return result;
  }
  // How the kernel for few rows takes a color of so many slices. See TileLimits.
  TileLaunch launch_of_few(Offset all) const
  {
    const auto bytes = static_cast<std::size_t>(layout_.shape.bytes);
    return {true, bytes <= limits_.light_slice ||
                      static_cast<std::size_t>(all) * bytes <=
                          limits_.light_color * static_cast<std::size_t>(limits_.multiprocessors)};
  }
  // Whether a tile should end before it is full. A tile that fills whole warps and is at least
  // three quarters full takes no more rows, because these would occupy one more warp with few rows.
  bool fills_warps(Row begin, Row end, Offset most) const
  {
    return (end - begin) % kWarpSize == 0 && 4 * slices(begin, end) >= 3 * most;
  }
  // Slices of the rows [begin, end) that are read at a time
  Offset slices(Row begin, Row end) const
  {
    const Offset lower = slices(plan_.lower, begin, end), upper = slices(plan_.upper, begin, end);
    return limits_.one_triangle ? std::max(lower, upper) : lower + upper;
  }
  // Slices of the rows in a triangle
  Offset slices(const Triangle &triangle, Row begin, Row end) const
  {
    return (triangle.ptr[end] - triangle.ptr[begin]) * layout_.shape.slices;
  }

  // Appends a tile of the rows [begin, end), with the ends of their slices.
  void add_tile(Row begin, Row end)
  {
    const Offset lower = slices(plan_.lower, begin, end), upper = slices(plan_.upper, begin, end);
    if (lower > static_cast<Offset>(kLowerMask) || upper > static_cast<Offset>(kLowerMask) ||
        layout_.bytes / kPiece > 0xffffffffU)
      throw std::length_error("a device holds at most 64 GiB of off-diagonal blocks: use more GPUs "
                              "or a smaller -pc_mcpi_offdiag_precision");
    const Tile tile{
        static_cast<std::uint32_t>(layout_.bytes / kPiece), static_cast<std::uint32_t>(begin),
        static_cast<std::uint32_t>(end - begin) << kLowerBits | static_cast<std::uint32_t>(lower),
        static_cast<std::uint32_t>(upper)};
    layout_.tiles.push_back(tile);
    layout_.bytes += static_cast<std::size_t>(stored_slices(tile)) *
                     static_cast<std::size_t>(layout_.shape.bytes);
    for (Row row = begin; row < end; ++row)
      layout_.ends.push_back({static_cast<std::uint16_t>(slices(plan_.lower, begin, row + 1)),
                              static_cast<std::uint16_t>(slices(plan_.upper, begin, row + 1))});
  }

  const ColorPlan &plan_;
  const std::vector<Row> parts_;
  const TileLimits limits_;
  TileLayout &layout_;
};

} // namespace

TileLayout make_tiles(const ColorPlan &plan, const SliceShape &shape, const TileLimits &limits)
{
  TileLayout layout;
  layout.shape = shape;
  TileBuilder builder(plan, limits, layout);
  layout.part_begin.push_back(0);
  const std::size_t together = plan.clustered ? 1 : 2;
  for (std::size_t first = 0; first < builder.parts(); first += together) {
    const TileBudget budget = builder.budget_of(first, first + together);
    for (std::size_t part = first; part < first + together; ++part) {
      const Offset largest = builder.add_part(part, budget);
      layout.long_rows = layout.long_rows || largest > limits.slices;
      layout.long_boundary_rows =
          layout.long_boundary_rows || (part == first && largest > limits.boundary_slices);
      layout.part_begin.push_back(static_cast<std::uint32_t>(layout.tiles.size()));
    }
  }
  return layout;
}

} // namespace mcpi::device
