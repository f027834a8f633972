// Assigns places in memory to the blocks of a plan.
#include "backend/kokkos/layout.h"

namespace mcpi::kokkos {

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
