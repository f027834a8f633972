// From a colored block graph to the plan of the sweeps.
#pragma once

#include "setup/coloring.h"

namespace mcpi {

struct BuiltPlan {
  ColorPlan plan;
  std::vector<PetscSFNode> ghost_owner; // per ghost in plan order: rank, and plan row there
  std::vector<Row> ghost_place;         // ghost of the graph -> ghost of the plan
};

// What the rows of a color are arranged for. A CPU foresees the ends of loops over equal rows; a
// GPU wants neighbors in one tile.
enum class Arrangement { equal_rows_together, as_ordered };

// order: local rows in the order in which each color takes them. Collective.
PetscErrorCode PlanBuild(const BlockGraph &graph, const Coloring &coloring,
                         const std::vector<Row> &order, Arrangement arrangement, BuiltPlan *built);

// The plan of the transposed matrix: same rows, colors and ghosts, the transposed blocks. outgoing:
// stored blocks of the forward plan whose records other ranks need, in the order of graph.edges'
// leaves. Not collective.
void PlanBuildTransposed(const BlockGraph &graph, const BuiltPlan &built, ColorPlan *transposed,
                         std::vector<Offset> *outgoing);

} // namespace mcpi
