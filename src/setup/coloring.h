// A distance-1 coloring of the symmetrized block graph, which PETSc's MatColoring computes.
#pragma once

#include <string>

#include "setup/block_graph.h"

namespace mcpi {

struct Coloring {
  int colors = 0;
  std::vector<int> color;       // local rows
  std::vector<int> ghost_color; // ghosts
  // Whether neighbors may have the same color if they belong to the same cluster; the same on all
  // ranks. cluster is then the cluster of each local row, numbered from 0.
  bool clustered = false;
  std::vector<Row> cluster;
  ISColoring iscoloring = nullptr;
};

// Collective. options is the PC: the MatColoring uses its options prefix and options database. An
// invalid coloring is an error.
PetscErrorCode ColoringCreate(const BlockGraph &graph, const std::string &type, PetscObject options,
                              Coloring *coloring);
// Collective. The same for clusters: neighbors in different clusters get different colors. cluster:
// of each local row, numbered from 0
PetscErrorCode ColoringCreateOfClusters(const BlockGraph &graph, const std::string &type,
                                        PetscObject options, std::vector<Row> cluster,
                                        Coloring *coloring);
PetscErrorCode ColoringDestroy(Coloring *coloring);

} // namespace mcpi
