// The search for a block size that the matrix was not told.
#pragma once

#include <string>

#include "setup/block_graph.h"

namespace mcpi {

// Collective. Sets group to the number of consecutive block rows that have the same columns, if all
// of them come in groups of this number, else to 1. Rows without off-diagonal blocks, such as those
// of boundary conditions, are alike.
PetscErrorCode FindRowGroups(const BlockGraph &graph, PetscInt *group);

// Says what such groups mean for a matrix with this block size.
std::string AdviceForBlockSize(PetscInt bs, PetscInt group);

} // namespace mcpi
