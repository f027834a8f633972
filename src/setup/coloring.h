// A distance-1 coloring of the symmetrised block graph, by PETSc's MatColoring.
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

// Collective. options: the PC, whose prefix and options database the MatColoring takes over. Errors
// if the type gives an invalid coloring.
PetscErrorCode ColoringCreate(const BlockGraph &graph, const std::string &type, PetscObject options,
                              Coloring *coloring);
PetscErrorCode ColoringDestroy(Coloring *coloring);

} // namespace mcpi
