// The parts of a plan: ranges of rows that are relaxed together. Each color has two parts, its
// boundary rows and its interior rows, either of which may be empty. If rows form clusters, each
// stage is a part.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/plan.h"

namespace mcpi {

// First plan rows of all parts, and the number of rows
inline std::vector<Row> part_begins(const ColorPlan &plan)
{
  std::vector<Row> begins = plan.stage_begin;
  for (int c = 0; c < plan.colors && !plan.clustered; ++c) {
    begins.push_back(plan.color_begin[static_cast<std::size_t>(c)]);
    begins.push_back(plan.boundary_end[static_cast<std::size_t>(c)]);
  }
  begins.push_back(plan.rows);
  return begins;
}

// The number of the part that begins at this row, which must not be the end of the plan
inline std::size_t part_at(const ColorPlan &plan, Row begin)
{
  const std::vector<Row> &starts = plan.clustered ? plan.stage_begin : plan.color_begin;
  const auto at = static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), begin) -
                                           starts.begin() - 1);
  return plan.clustered ? at : 2 * at + (begin >= plan.boundary_end[at] ? 1 : 0);
}

// Calls visit(begin, end) for all parts of the plan rows [begin, end) that have rows, in their
// order or in the opposite one. The range may begin and end inside a part. starts: first plan rows
// of the parts, ascending. The first one is at most begin.
template <class Visit>
void for_parts(const std::vector<Row> &starts, Row begin, Row end, bool forward, const Visit &visit)
{
  if (begin >= end) return;
  const auto first = std::upper_bound(starts.begin(), starts.end(), begin) - 1,
             last = std::lower_bound(first, starts.end(), end);
  const auto count = last - first;
  for (std::ptrdiff_t k = 0; k < count; ++k) {
    const auto at = first + (forward ? k : count - 1 - k);
    const Row part_begin = std::max(*at, begin), part_end = at + 1 == last ? end : at[1];
    if (part_begin < part_end) visit(part_begin, part_end);
  }
}

} // namespace mcpi
