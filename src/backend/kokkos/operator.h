// The stored off-diagonal blocks of one plan in an execution space, and the launch of relaxations
// with them.
#pragma once

#include <algorithm>
#include <stdexcept>

#include "backend/kokkos/kernels.h"
#include "core/plan_parts.h"

namespace mcpi::kokkos {

// Writes the column indices (Placement::columns) to the heads of slices.
template <class Space>
void write_columns(const Space &space, const BlockMemory &to, const Slot *slots, const Row *columns,
                   std::size_t count)
{
  if (count == 0) return;
  Kokkos::parallel_for(
      "mcpi columns", Kokkos::RangePolicy<Space>(space, 0, count),
      KOKKOS_LAMBDA(const std::size_t k) {
        for (int part = 0; part < to.shape.slice.slices; ++part)
          *head_word(to, slots[k], part) = static_cast<std::uint32_t>(columns[k]);
      });
}

template <class Space> class Operator {
public:
  Operator(const Space &space, const ColorPlan &plan, PCMCPIPrecision storage, bool double_vectors)
      : Operator(space, plan, double_vectors, place(space, plan, storage, double_vectors))
  {
  }

  // Launches the relaxation of the plan rows [begin, end), which are one color's boundary or
  // interior rows.
  void relax(const Space &space, const RelaxTerms &terms, Row begin, Row end) const
  {
    if (begin == end) return;
    RelaxArgs args;
    static_cast<RelaxTerms &>(args) = terms;
    args.bs = plan_.bs;
    args.blocks = blocks_.data();
    args.tiles = tiles_.data();
    args.ends = ends_.data();
    for (int t = 0; t < 2; ++t) {
      args.ptr[t] = ptr_[t].data();
      args.col[t] = col_[t].data();
    }
    args.lowers = lowers();
    args.shape = shape();
    args.begin = begin;
    args.end = end;
    args.long_rows = long_rows_;
    if (shape().kind != LayoutKind::records) {
      const std::size_t part = part_at(plan_, begin);
      args.first_tile = part_begin_[part];
      args.last_tile = part_begin_[part + 1];
    }
    kernels_.relax(space, args);
  }

  // Fills in the operator's part of the set-up's arguments.
  void set(SetupArgs &args) const
  {
    for (int t = 0; t < 2; ++t) args.ptr[t] = ptr_[t].data();
    args.lowers = lowers();
    args.slots = slots_.data();
    static_cast<BlockMemory &>(args) = memory();
  }
  const Kernels<Space> &kernel_table() const { return kernels_; }
  const Shape &shape() const { return shape_; }
  BlockMemory memory() const { return {shape_, blocks_.data()}; }
  const Slot *slots() const { return slots_.data(); }
  Offset lowers() const { return static_cast<Offset>(plan_.lower.col.size()); }
  std::size_t bytes() const
  {
    return blocks_.bytes() + slots_.bytes() + tiles_.bytes() + ends_.bytes() + ptr_[0].bytes() +
           ptr_[1].bytes() + col_[0].bytes() + col_[1].bytes();
  }

private:
  // placement is needed until its arrays have been copied to the execution space.
  Operator(const Space &space, const ColorPlan &plan, bool double_vectors,
           const Placement &placement)
      : plan_(plan), shape_(placement.shape), part_begin_(placement.part_begin),
        long_rows_(placement.slices.long_rows),
        kernels_(kernels<Space>(shape_.storage, double_vectors, plan.bs))
  {
    for (int t = 0; t < 2; ++t) {
      const Triangle &triangle = t == 0 ? plan.lower : plan.upper;
      ptr_[t].upload(space, triangle.ptr);
      if (shape().kind == LayoutKind::records) col_[t].upload(space, triangle.col);
    }
    slots_.upload(space, placement.slots);
    tiles_.upload(space, placement.slices.tiles);
    ends_.upload(space, placement.slices.ends);
    blocks_.resize(space, placement.bytes);
    const Array<Space, Row> columns(space, placement.columns);
    write_columns(space, memory(), slots(), columns.data(), columns.size());
    space.fence("mcpi operator");
  }

  static Placement place(const Space &space, const ColorPlan &plan, PCMCPIPrecision storage,
                         bool double_vectors)
  {
    if (plan.bs > kMaxSmallBlock) return place_records(plan, storage);
    const SliceLaunch launch = slice_launch(storage, double_vectors, plan.bs);
    return place_slices(plan, storage,
                        {launch.by_row ? launch.threads : tile_rows(launch.threads, plan.bs),
                         launch.threads, launch.capacity(), launch.capacity(), launch.resident,
                         SpaceTraits<Space>::processors(space), 0, 0, kTilesEach});
  }

  const ColorPlan &plan_;
  const Shape shape_;
  const std::vector<std::uint32_t> part_begin_; // Placement::part_begin
  const bool long_rows_;
  const Kernels<Space> kernels_;
  Array<Space, std::byte> blocks_;
  Array<Space, Slot> slots_;
  Array<Space, Tile> tiles_;
  Array<Space, RowEnds> ends_;
  Array<Space, Offset> ptr_[2];
  Array<Space, Row> col_[2];
};

} // namespace mcpi::kokkos
