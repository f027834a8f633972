// Bundles of clusters (ColorPlan::bundled) as a device stores small blocks of them. A block inside
// a bundle couples two of its rows; all other blocks are outside. A relaxation first multiplies the
// blocks outside, which lie in the tiles of tiles.h. Then a team takes each bundle, and relaxes its
// rows step by step with the blocks inside, which lie in one tile for each bundle.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/device/tiles.h"

namespace mcpi::device {

// Most rows of a cluster in a bundled plan
constexpr Row kMostClusterRows = 128;
// Slices that a round may have, unless it has one row
constexpr Offset kRoundSlices = 512;

// The most of something by the triangles that a relaxation reads
struct ByTriangles {
  std::uint32_t lower = 0, upper = 0, both = 0;

  void raise(std::uint32_t in_lower, std::uint32_t in_upper)
  {
    lower = std::max(lower, in_lower);
    upper = std::max(upper, in_upper);
    both = std::max(both, in_lower + in_upper);
  }
  std::uint32_t of(bool reads_lower, bool reads_upper) const
  {
    return reads_lower ? (reads_upper ? both : lower) : reads_upper ? upper : 0;
  }
};

// Where a row's slices inside its bundle end in the bundle's tile, counted from the first slice of
// the triangle
struct alignas(8) InsideEnds {
  std::uint32_t lower, upper;
};

// What the largest bundles of a part need
struct BundleNeeds {
  std::uint32_t rows = 0, rounds = 0;
  ByTriangles slices;          // of a bundle
  ByTriangles slices_of_round; // of a round
};

// The bundles of a plan. Their tiles follow the other tiles in TileLayout::tiles.
struct BundleLayout {
  ColorPlan outside;            // the plan without the blocks inside; its triangles have no columns
  std::size_t first_tile;       // of the bundles
  std::vector<InsideEnds> ends; // by plan row
  // A round is some rows of a step. rounds: the end of each round, counted from the bundle's first
  // row. round_begin: the first round of each bundle, and the number of rounds
  std::vector<std::uint16_t> rounds;
  std::vector<std::uint32_t> round_begin;
  std::vector<std::uint32_t> part_begin; // first bundle of each part, and the number of bundles
  std::vector<BundleNeeds> needs;        // by part
};

// Whether a block couples rows of the same bundle. bundle: the number of the row's bundle
inline bool inside_bundle(const ColorPlan &plan, std::size_t bundle, Row column)
{
  const bool last = bundle + 1 == plan.bundle_begin.size();
  return column >= plan.bundle_begin[bundle] &&
         column < (last ? plan.rows : plan.bundle_begin[bundle + 1]);
}

// The plan without the blocks inside bundles
ColorPlan plan_outside_bundles(const ColorPlan &plan);
// Appends a tile for each bundle to the layout, which has the tiles of `outside`.
BundleLayout make_bundles(const ColorPlan &plan, ColorPlan outside, TileLayout &layout);

} // namespace mcpi::device
