// GatherGroups of rows that lie at like places of their colors: neighbors in the mesh, whose
// entries in a user's array lie side by side as well. A right-hand side goes to plan order by
// groups, so that both are read and written in runs.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/device/shapes.h"
#include "core/plan.h"
#include "cuda/memory.h"

namespace mcpi::cuda {
using namespace device;

constexpr unsigned kUnit = 16; // plan rows side by side, of which groups are made; their narrow
                               // diagonal blocks are whole pieces

// Rows of a group, which a thread block takes; 0: bs is too large
constexpr unsigned group_rows(int bs)
{
  constexpr unsigned kComponents = 1024;
  return bs <= kMaxSmallBlock ? kComponents / static_cast<unsigned>(bs) / kUnit * kUnit : 0;
}

// Of all groups one after the other, patch_rows() rows each
struct GatherGroups {
  std::vector<std::uint32_t>
      units; // of kUnit plan rows, by number; those that the last group lacks are behind all rows
  std::vector<Row> rows; // of the user's array, ascending in a group; -1 where there are no more
  std::vector<std::uint16_t> slots; // where these are among the plan rows of the group's units
};
GatherGroups make_gather_groups(const ColorPlan &plan);

// On the device
struct GatherGroupArgs {
  const std::uint32_t *units;
  const Row *rows;
  const std::uint16_t *slots;
};

class DeviceGatherGroups {
public:
  explicit DeviceGatherGroups(const GatherGroups &groups)
      : units_(groups.units), rows_(groups.rows), slots_(groups.slots)
  {
  }

  GatherGroupArgs args() const { return {units_.data(), rows_.data(), slots_.data()}; }
  std::size_t bytes() const { return units_.bytes() + rows_.bytes() + slots_.bytes(); }

private:
  DeviceArray<std::uint32_t> units_;
  DeviceArray<Row> rows_;
  DeviceArray<std::uint16_t> slots_;
};

} // namespace mcpi::cuda
