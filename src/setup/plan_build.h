// Makes the plan of the sweeps from a colored block graph.
#pragma once

#include "setup/coloring.h"

namespace mcpi {

struct BuiltPlan {
  ColorPlan plan;
  // for each ghost in the plan's order: its owner's rank, and its plan row there
  std::vector<PetscSFNode> ghost_owner;
  std::vector<Row> ghost_place; // ghost of the graph -> ghost of the plan
};

// The arrangement of the rows of a color
struct Arrangement {
  // For a CPU, rows with equally many blocks come together, because branch prediction then knows
  // where the loop over a row's blocks ends. For a GPU, rows stay as ordered, because rows of one
  // tile should be near each other in the mesh.
  bool equal_rows_together = false;
  // Stages take rows of neighboring clusters that have at most so many rows, unless one cluster has
  // more. 0: rows of all clusters of a color
  Row rows_together = 0;
  Row chunk_rows = 0; // of a chunk; 0: no chunks
};

// Collective. order: all local rows; the rows of a color come in the order in which the color takes
// them. Rows of a cluster are relaxed in that order, too.
PetscErrorCode PlanBuild(const BlockGraph &graph, const Coloring &coloring,
                         const std::vector<Row> &order, const Arrangement &arrangement,
                         BuiltPlan *built);

// Not collective. Makes the plan of the transposed matrix, which has the same rows, colors and
// ghosts, and the transposed blocks. outgoing: the stored blocks of the original plan whose records
// other ranks need, in the order of the leaves of graph.edges.
void PlanBuildTransposed(const BlockGraph &graph, const BuiltPlan &built, ColorPlan *transposed,
                         std::vector<Offset> *outgoing);

} // namespace mcpi
