// Copies the values of a matrix that lie in the memory of the execution space to where the
// conversion reads them, in plan order.
#pragma once

#include "backend/kokkos/operator.h"

namespace mcpi::kokkos {

// A team takes a plan row and writes its blocks, column-major, in the order that SetupArgs
// describes.
template <class Space, int threads> struct CopyBlocks {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;

  // See PortionStructure. to: a block's place among the blocks of its plan row.
  struct Portion {
    const double *values;
    const Offset *ptr, *entry_ptr;
    const Row *to;
    const std::uint32_t *slot;
  };

  SetupArgs args;
  ValueLayout layout;
  bool partial; // whether the source has scalar rows whose blocks are not all full
  Portion portion[2];
  double *values; // output

  KOKKOS_FUNCTION void operator()(const Member &team) const
  {
    const Row row = args.begin + team.league_rank();
    const std::size_t square = args.square();
    double *out = values + static_cast<std::size_t>(args.blocks_before(row)) * square;
    if (partial) {
      const auto count =
          static_cast<std::size_t>(args.blocks_before(row + 1) - args.blocks_before(row)) * square;
      for (auto n = static_cast<std::size_t>(team.team_rank()); n < count; n += threads)
        out[n] = 0.0;
      team.team_barrier();
    }
    for (const Portion &from : portion)
      if (from.ptr) {
        if (partial)
          scatter_entries(team, from, args.row_of[row], out);
        else
          copy_blocks(team, from, args.row_of[row], out);
      }
  }

private:
  // Copies the entries of scalar rows to blocks, which are zero before.
  KOKKOS_FORCEINLINE_FUNCTION void scatter_entries(const Member &team, const Portion &from, Row row,
                                                   double *out) const
  {
    const Offset bs = args.shape.bs;
    const auto square = static_cast<std::uint32_t>(args.square());
    for (Offset k = from.entry_ptr[row * bs] + team.team_rank(); k < from.entry_ptr[(row + 1) * bs];
         k += threads) {
      const std::uint32_t slot = from.slot[k];
      out[static_cast<std::size_t>(from.to[from.ptr[row] + slot / square]) * square +
          slot % square] = from.values[k];
    }
  }
  // Copies full blocks, stored by blocks or by scalar rows.
  KOKKOS_FORCEINLINE_FUNCTION void copy_blocks(const Member &team, const Portion &from, Row row,
                                               double *out) const
  {
    const Offset bs = args.shape.bs, square = bs * bs, count = from.ptr[row + 1] - from.ptr[row];
    const Row *to = from.to + from.ptr[row];
    for (Offset n = team.team_rank(); n < count * square; n += threads) {
      const bool by_rows = layout == ValueLayout::scalar_rows;
      const Offset block = by_rows ? n / bs % count : n / square;
      const Offset inside = by_rows ? n % bs * bs + n / (bs * count) : n % square;
      out[to[block] * square + inside] = from.values[from.ptr[row] * square + n];
    }
  }
};

template <class Space> class ValuesInPlace {
public:
  // Computes where the blocks of the matrix go, unless that is known.
  void prepare(const Space &space, BlockRows &source, const ColorPlan &plan)
  {
    if (layout_ == source.arrays().layout) return;
    layout_ = ValueLayout::none; // until all arrays have been made
    PortionStructure portion[2];
    for (int p = 0; p < 2; ++p) portion[p] = source.structure(p);
    std::vector<Row> to[2];
    for (int p = 0; p < 2; ++p)
      to[p].resize(portion[p].ptr.empty() ? 0 : static_cast<std::size_t>(portion[p].ptr.back()));
    for (Row row = 0; row < plan.rows; ++row) {
      const Row matrix_row = plan.row_of[row];
      const auto at = static_cast<std::size_t>(matrix_row);
      Row number = 0;
      to[0][static_cast<std::size_t>(portion[0].ptr[at] + portion[0].diagonal[at])] = number++;
      for (const Triangle *triangle : {&plan.lower, &plan.upper})
        for (Offset k = triangle->ptr[row]; k < triangle->ptr[row + 1]; ++k) {
          const SourcePlace from =
              source_place(portion[0], portion[1], matrix_row, triangle->source[k]);
          to[from.portion][from.block] = number++;
        }
    }
    partial_ = false;
    for (int p = 0; p < 2; ++p) {
      ptr_[p].upload(space, portion[p].ptr);
      entry_ptr_[p].upload(space, portion[p].entry_ptr);
      to_[p].upload(space, to[p]);
      slot_[p].upload(space, portion[p].slot);
      partial_ = partial_ || !portion[p].entry_ptr.empty();
    }
    layout_ = source.arrays().layout;
  }

  // Copies the values of the plan rows [args.begin, args.end).
  void copy(const Space &space, const ValueArrays &arrays, const SetupArgs &args,
            double *values) const
  {
    using Kernel = CopyBlocks<Space, team_size<Space>(kSetupTeam)>;
    Kernel kernel{args, layout_, partial_, {}, values};
    for (int p = 0; p < 2; ++p)
      if (ptr_[p].size() > 0)
        kernel.portion[p] = {arrays.portion[p], ptr_[p].data(), entry_ptr_[p].data(), to_[p].data(),
                             slot_[p].data()};
    Kokkos::parallel_for(
        "mcpi copy blocks",
        typename Kernel::Policy(space, args.end - args.begin, team_size<Space>(kSetupTeam)),
        kernel);
  }

  std::size_t bytes() const
  {
    std::size_t sum = 0;
    for (int p = 0; p < 2; ++p)
      sum += ptr_[p].bytes() + entry_ptr_[p].bytes() + to_[p].bytes() + slot_[p].bytes();
    return sum;
  }

private:
  ValueLayout layout_ = ValueLayout::none;
  bool partial_ = false;
  Array<Space, Offset> ptr_[2], entry_ptr_[2];
  Array<Space, Row> to_[2];
  Array<Space, std::uint32_t> slot_[2];
};

} // namespace mcpi::kokkos
