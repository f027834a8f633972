// The bundles of clusters of an operator with small blocks, and the launch of their relaxation. See
// backend/device/bundle_tiles.h.
#pragma once

#include "backend/cuda/relax.h"
#include "backend/device/bundle_tiles.h"
#include "cuda/memory.h"

namespace mcpi::cuda {

// A round as threads read it: its rows and slices in the triangles that are read, counted from the
// first ones of the bundle
struct alignas(8) BundleRound {
  std::uint32_t row, row_end, lower, lower_end, upper, upper_end;
};

// Bytes from the start of a bundle's shared memory, in all for a bundle. The barrier comes first.
struct BundleShape {
  // slices_at: 0 if the slices are read from global memory
  std::uint32_t slices_at, rounds_at, ends_at, rhs_at, x_at, kept_at, gathered_at, products_at,
      bytes;
};

// The arguments of the relaxation of bundles. rhs is the residual of the blocks outside; its entry
// 0 is that of plan row rhs_row. kept holds the sum over the blocks outside.
struct BundleArgs : SmallArgs {
  const InsideEnds *inside_ends = nullptr;
  const std::uint16_t *rounds = nullptr;
  const std::uint32_t *round_begin = nullptr; // of the bundles of this launch
  std::uint32_t rhs_row = 0;
  bool forward = true;
  BundleShape shape{};
};

// Numbers from one slice's products to the next. The stride is odd, so that threads that write
// products of neighboring slices use different banks.
constexpr int product_stride(int bs)
{
  return bs | 1;
}

class Bundles {
public:
  // function: the kernel. outside: plan_outside_bundles(plan), of which layout has the tiles
  Bundles(const ColorPlan &plan, ColorPlan outside, TileLayout &layout, const void *function,
          std::size_t number);

  const ColorPlan &outside() const { return layout_.outside; }
  std::size_t first_tile() const { return layout_.first_tile; }
  // Rows for which the residuals of the blocks outside need room. A part of boundary rows and a
  // part of interior rows may be in work at the same time.
  std::size_t work_rows() const
  {
    return static_cast<std::size_t>(most_boundary_) + static_cast<std::size_t>(most_interior_);
  }
  // The row of that room where the residuals of a part begin
  std::size_t work_row(std::size_t part) const
  {
    return part % 2 == 0 ? 0 : static_cast<std::size_t>(most_boundary_);
  }

  struct Launch {
    unsigned blocks;
    std::size_t shared;
  };
  // Sets the arguments for a part. tiles: of the whole operator. Returns the launch.
  Launch launch(std::size_t part, const Tile *tiles, BundleArgs &args) const;
  std::size_t bytes() const { return ends_.bytes() + rounds_.bytes() + round_begin_.bytes(); }

private:
  BundleShape shape_of(const BundleNeeds &needs, const BundleArgs &args,
                       bool slices_in_shared) const;

  const int bs_;
  const std::size_t number_; // bytes of a number of the vectors
  const int slice_bytes_;
  BundleLayout layout_;
  Row most_boundary_ = 0, most_interior_ = 0; // rows of a part
  DeviceArray<InsideEnds> ends_;
  DeviceArray<std::uint16_t> rounds_;
  DeviceArray<std::uint32_t> round_begin_;
};

} // namespace mcpi::cuda
