// Patches of rows that lie at like places of their colors: neighbors in the mesh, whose entries in a user's array lie side by side as well. A right-hand
// side goes to plan order by patches, so that both are read and written in runs.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/device/shapes.h"
#include "core/plan.h"
#include "cuda/memory.h"

namespace mcpi::cuda {
using namespace device;

constexpr unsigned kUnit = 16; // plan rows side by side, of which patches are made; their narrow diagonal blocks are whole pieces

// Rows of a patch, which a thread block takes; 0: bs is too large
constexpr unsigned patch_rows(int bs)
{
  constexpr unsigned kComponents = 1024;
  return bs <= kMaxSmallBlock ? kComponents / static_cast<unsigned>(bs) / kUnit * kUnit : 0;
}

// Of all patches one after the other, patch_rows() rows each
struct Patches {
  std::vector<std::uint32_t> units; // of kUnit plan rows, by number; those that the last patch lacks are behind all rows
  std::vector<Row>           rows;  // of the user's array, ascending in a patch; -1 where there are no more
  std::vector<std::uint16_t> slots; // where these are among the plan rows of the patch's units
};
Patches make_patches(const ColorPlan &plan);

// On the device
struct PatchArgs {
  const std::uint32_t *units;
  const Row           *rows;
  const std::uint16_t *slots;
};

class DevicePatches {
public:
  explicit DevicePatches(const Patches &patches) : units_(patches.units), rows_(patches.rows), slots_(patches.slots) {}

  PatchArgs   args() const { return {units_.data(), rows_.data(), slots_.data()}; }
  std::size_t bytes() const { return units_.bytes() + rows_.bytes() + slots_.bytes(); }

private:
  DeviceArray<std::uint32_t> units_;
  DeviceArray<Row>           rows_;
  DeviceArray<std::uint16_t> slots_;
};

} // namespace mcpi::cuda
