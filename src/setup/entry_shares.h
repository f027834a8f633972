// The shares of the numbers of blocks that an AIJ matrix stores.
#pragma once

#include "setup/block_graph.h"

namespace mcpi {

struct EntryShares {
  double all = 1.0, diagonal = 1.0; // of all blocks, and of the diagonal blocks alone

  // Whether users are told that most numbers of large blocks are zero
  bool few() const;
  // Whether sweeps on a CPU that work on the entries are faster than those on whole blocks
  bool very_few(PetscInt bs) const;
};

// Collective. The shares of a matrix of blocks, and of small blocks, are not counted.
PetscErrorCode EntrySharesCount(const BlockGraph &graph, const MatrixPortions &portions,
                                EntryShares *shares);

} // namespace mcpi
