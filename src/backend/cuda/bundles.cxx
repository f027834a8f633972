#include "backend/cuda/bundles.h"

#include <algorithm>
#include <utility>

namespace mcpi::cuda {

Bundles::Bundles(const ColorPlan &plan, ColorPlan outside, TileLayout &layout, const void *function,
                 std::size_t number)
    : bs_(plan.bs), number_(number), slice_bytes_(layout.shape.bytes),
      layout_(make_bundles(plan, std::move(outside), layout))
{
  for (int c = 0; c < plan.colors; ++c) {
    const auto at = static_cast<std::size_t>(c);
    most_boundary_ = std::max(most_boundary_, plan.boundary_end[at] - plan.color_begin[at]);
    most_interior_ = std::max(most_interior_, plan.color_begin[at + 1] - plan.boundary_end[at]);
  }
  ends_.upload(layout_.ends);
  rounds_.upload(layout_.rounds);
  round_begin_.upload(layout_.round_begin);
  allow_shared(function, device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
}

BundleShape Bundles::shape_of(const BundleNeeds &needs, const BundleArgs &args,
                              bool slices_in_shared) const
{
  const unsigned flags = args.flags;
  const bool damped = args.omega.wide != 1.0;
  const bool lower = flags & kLower, upper = flags & kUpper;
  const std::size_t bs = static_cast<std::size_t>(bs_), vector = needs.rows * bs * number_;
  BundleShape shape{};
  std::uint32_t at = kPiece;
  const auto place = [&](std::size_t bytes) {
    const std::uint32_t begin = at;
    at += static_cast<std::uint32_t>(round_up(static_cast<int>(bytes), kPiece));
    return begin;
  };
  if (slices_in_shared) // rounded up to a multiple of four slices at both ends
    shape.slices_at = place(static_cast<std::size_t>(needs.slices.of(lower, upper) + 8) *
                            static_cast<std::size_t>(slice_bytes_));
  shape.rounds_at = place(needs.rounds * sizeof(BundleRound));
  shape.ends_at = place(needs.rows * sizeof(InsideEnds));
  shape.rhs_at = place(vector);
  // x takes the place of the residuals, unless old entries of x are read.
  const bool old = (lower && upper) || flags & kProduct || damped;
  shape.x_at = old ? place(vector) : shape.rhs_at;
  shape.kept_at = place(flags & kKeepSum ? vector : 0);
  shape.gathered_at =
      place(needs.rows * sizeof(std::uint32_t) * static_cast<std::size_t>(gather_words(bs_)));
  shape.products_at = place(needs.slices_of_round.of(lower, upper) *
                            static_cast<std::size_t>(product_stride(bs_)) * number_);
  shape.bytes = at;
  return shape;
}

Bundles::Launch Bundles::launch(std::size_t part, const Tile *tiles, BundleArgs &args) const
{
  const std::uint32_t first = layout_.part_begin[part];
  args.tiles = tiles + layout_.first_tile + first;
  args.inside_ends = ends_.data();
  args.rounds = rounds_.data();
  args.round_begin = round_begin_.data() + first;
  args.shape = shape_of(layout_.needs[part], args, true);
  if (args.shape.bytes > Tuning::kMostBundleBytes)
    args.shape = shape_of(layout_.needs[part], args, false);
  return {layout_.part_begin[part + 1] - first, args.shape.bytes};
}

} // namespace mcpi::cuda
