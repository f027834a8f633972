// The block graph of a Mat, for tests of what the set-up makes of it.
#pragma once

#include "setup/block_graph.h"
#include "support/petsc.h"

namespace mcpi::test {

// Calls use(portions, graph), which returns a PetscErrorCode. Both live as long as the call.
template <class Use> PetscErrorCode with_graph(Mat mat, const Use &use)
{
  MatrixPortions portions;
  BlockGraph graph;

  PetscFunctionBeginUser;
  PetscCall(MatrixPortionsGet(mat, &portions));
  PetscCall(BlockGraphCreate(mat, portions, 1, &graph));
  PetscCall(use(portions, graph));
  PetscCall(BlockGraphDestroy(&graph));
  PetscCall(MatrixPortionsDestroy(&portions));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi::test
