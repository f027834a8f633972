// Forms gather groups from units of plan rows at similar places of their colors.
#include "backend/cuda/vectors.h"

#include <algorithm>
#include <numeric>

#include "core/plan_parts.h"

namespace mcpi::cuda {
namespace {

// Returns the units sorted by place: the relative position of a unit's first row in its part.
std::vector<std::uint32_t> units_by_place(const ColorPlan &plan)
{
  std::vector<double> places;
  const std::vector<Row> parts = part_begins(plan);
  std::size_t part = 0;
  for (Row row = 0; row < plan.rows; row += static_cast<Row>(kUnit)) {
    while (row >= parts[part + 1]) ++part;
    const Row begin = parts[part], end = parts[part + 1];
    places.push_back(static_cast<double>(row - begin) / static_cast<double>(end - begin));
  }
  std::vector<std::uint32_t> units(places.size());
  std::iota(units.begin(), units.end(), 0U);
  std::stable_sort(units.begin(), units.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return places[a] < places[b]; });
  return units;
}

} // namespace

GatherGroups make_gather_groups(const ColorPlan &plan)
{
  GatherGroups groups;
  const std::size_t most = group_rows(plan.bs), each = most / kUnit;
  if (most == 0) return groups;
  groups.units = units_by_place(plan);
  const std::size_t behind = groups.units.size(), count = (behind + each - 1) / each;
  std::vector<std::size_t> slots;
  groups.units.resize(count * each, static_cast<std::uint32_t>(behind));
  groups.rows.resize(count * most, -1);
  groups.slots.resize(count * most, 0);
  for (std::size_t p = 0; p < count; ++p) {
    const std::uint32_t *units = groups.units.data() + p * each;
    const auto plan_row = [&](std::size_t slot) {
      return static_cast<std::size_t>(units[slot / kUnit]) * kUnit + slot % kUnit;
    };
    const auto row = [&](std::size_t slot) { return plan.row_of[plan_row(slot)]; };
    slots.clear();
    for (std::size_t slot = 0; slot < most; ++slot)
      if (plan_row(slot) < static_cast<std::size_t>(plan.rows)) slots.push_back(slot);
    std::sort(slots.begin(), slots.end(),
              [&](std::size_t a, std::size_t b) { return row(a) < row(b); });
    for (std::size_t k = 0; k < slots.size(); ++k) {
      groups.rows[p * most + k] = row(slots[k]);
      groups.slots[p * most + k] = static_cast<std::uint16_t>(slots[k]);
    }
  }
  return groups;
}

} // namespace mcpi::cuda
