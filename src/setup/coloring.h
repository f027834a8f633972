// A distance-1 coloring of the symmetrized block graph, which PETSc's MatColoring computes.
#pragma once

#include <string>

#include "setup/block_graph.h"

namespace mcpi {

struct Coloring {
  int colors = 0;
  std::vector<int> color;       // local rows
  std::vector<int> ghost_color; // ghosts
  ISColoring iscoloring = nullptr;
};

// Collective. options is the PC: the MatColoring uses its options prefix and options database. An
// invalid coloring is an error.
PetscErrorCode ColoringCreate(const BlockGraph &graph, const std::string &type, PetscObject options,
                              Coloring *coloring);
PetscErrorCode ColoringDestroy(Coloring *coloring);

} // namespace mcpi
