// The block graph of a Mat, for tests of what the set-up makes of it.
#pragma once

#include "setup/block_graph.h"
#include "support/petsc.h"

namespace mcpi::test {

// Calls use(parts, graph), which returns a PetscErrorCode. Both live as long as the call.
template <class Use> PetscErrorCode with_graph(Mat mat, const Use &use)
{
  MatrixParts parts;
  BlockGraph graph;

  PetscFunctionBeginUser;
  PetscCall(MatrixPartsGet(mat, &parts));
  PetscCall(BlockGraphCreate(mat, parts, 1, &graph));
  PetscCall(use(parts, graph));
  PetscCall(BlockGraphDestroy(&graph));
  PetscCall(MatrixPartsDestroy(&parts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi::test
