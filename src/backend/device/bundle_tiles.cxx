#include "backend/device/bundle_tiles.h"

#include <stdexcept>
#include <utility>

#include "core/plan_parts.h"

namespace mcpi::device {
namespace {

// Calls visit(row, number of its bundle) for all rows.
template <class Visit> void for_rows(const ColorPlan &plan, const Visit &visit)
{
  std::size_t bundle = 0;
  for (Row row = 0; row < plan.rows; ++row) {
    if (bundle + 1 < plan.bundle_begin.size() && row == plan.bundle_begin[bundle + 1]) ++bundle;
    visit(row, bundle);
  }
}

// Appends bundles one after the other.
class BundleBuilder {
public:
  BundleBuilder(const ColorPlan &plan, ColorPlan outside, TileLayout &layout)
      : plan_(plan), layout_(layout), slices_(layout.shape.slices)
  {
    bundles_.outside = std::move(outside);
    bundles_.first_tile = layout.tiles.size();
    bundles_.ends.resize(static_cast<std::size_t>(plan.rows));
    bundles_.round_begin.push_back(0);
    bundles_.part_begin.push_back(0);
  }

  BundleLayout make()
  {
    const std::vector<Row> parts = part_begins(plan_);
    std::size_t bundle = 0;
    for (std::size_t part = 0; part + 1 < parts.size(); ++part) {
      bundles_.needs.emplace_back();
      for (; bundle < plan_.bundle_begin.size() && begin_of(bundle) < parts[part + 1]; ++bundle)
        add(begin_of(bundle), begin_of(bundle + 1));
      bundles_.part_begin.push_back(static_cast<std::uint32_t>(bundle));
    }
    return std::move(bundles_);
  }

private:
  Row begin_of(std::size_t bundle) const
  {
    return bundle < plan_.bundle_begin.size() ? plan_.bundle_begin[bundle] : plan_.rows;
  }
  // Slices inside bundles before a row, in a triangle
  Offset before(bool lower, Row row) const
  {
    const Triangle &all = lower ? plan_.lower : plan_.upper,
                   &outside = lower ? bundles_.outside.lower : bundles_.outside.upper;
    return (all.ptr[row] - outside.ptr[row]) * slices_;
  }
  std::uint32_t slices(bool lower, Row begin, Row end) const
  {
    return static_cast<std::uint32_t>(before(lower, end) - before(lower, begin));
  }

  void add(Row begin, Row end)
  {
    BundleNeeds &needs = bundles_.needs.back();
    const std::uint32_t lower = slices(true, begin, end), upper = slices(false, begin, end);
    needs.rows = std::max(needs.rows, static_cast<std::uint32_t>(end - begin));
    needs.slices.raise(lower, upper);
    for (Row row = begin; row < end; ++row)
      bundles_.ends[static_cast<std::size_t>(row)] = {slices(true, begin, row + 1),
                                                      slices(false, begin, row + 1)};
    append_tile(layout_, begin, end, lower, upper);
    auto step = std::upper_bound(plan_.step_begin.begin(), plan_.step_begin.end(), begin);
    for (Row first = begin; first < end; ++step) {
      const Row last = step == plan_.step_begin.end() ? end : std::min(*step, end);
      add_rounds(begin, first, last);
      first = last;
    }
    const auto rounds = static_cast<std::uint32_t>(bundles_.rounds.size());
    needs.rounds = std::max(needs.rounds, rounds - bundles_.round_begin.back());
    bundles_.round_begin.push_back(rounds);
  }

  // Cuts the rows [first, last) of a step into rounds.
  void add_rounds(Row bundle, Row first, Row last)
  {
    while (first < last) {
      Row end = first + 1;
      while (end < last &&
             slices(true, first, end + 1) + slices(false, first, end + 1) <= kRoundSlices)
        ++end;
      bundles_.needs.back().slices_of_round.raise(slices(true, first, end),
                                                  slices(false, first, end));
      bundles_.rounds.push_back(static_cast<std::uint16_t>(end - bundle));
      first = end;
    }
  }

  const ColorPlan &plan_;
  TileLayout &layout_;
  const Offset slices_; // of a block
  BundleLayout bundles_;
};

} // namespace

ColorPlan plan_outside_bundles(const ColorPlan &plan)
{
  ColorPlan outside;
  outside.bs = plan.bs;
  outside.rows = plan.rows;
  outside.ghosts = plan.ghosts;
  outside.colors = plan.colors;
  outside.color_begin = plan.color_begin;
  outside.boundary_end = plan.boundary_end;
  outside.ghost_begin = plan.ghost_begin;
  outside.clustered = outside.bundled = true;
  for (const auto &[from, to] :
       {std::pair(&plan.lower, &outside.lower), std::pair(&plan.upper, &outside.upper)}) {
    to->ptr.push_back(0);
    for_rows(plan, [&, from = from, to = to](Row row, std::size_t bundle) {
      Offset blocks = 0;
      for (Offset k = from->ptr[row]; k < from->ptr[row + 1]; ++k)
        blocks += !inside_bundle(plan, bundle, from->col[static_cast<std::size_t>(k)]);
      to->ptr.push_back(to->ptr.back() + blocks);
    });
  }
  return outside;
}

BundleLayout make_bundles(const ColorPlan &plan, ColorPlan outside, TileLayout &layout)
{
  return BundleBuilder(plan, std::move(outside), layout).make();
}

} // namespace mcpi::device
