// Finds which blocks of other ranks' rows a factorization of the local rows needs.
#pragma once

#include "core/ghost_rows.h"
#include "setup/plan_build.h"

namespace mcpi {

struct BuiltGhostRows {
  bool fill = false;
  GhostRows rows;
  // The blocks that this rank offers to others: of each boundary row, in plan order, its inverse
  // diagonal block, then its upper triangle. color_begin: colors + 1 entries, the number of these
  // blocks before a color
  std::vector<PetscInt> color_begin;
  // for each block of rows: the rank that offers it, and its number among the blocks offered there
  std::vector<PetscSFNode> owner;
};

// Collective. fill: whether the factorization changes off-diagonal blocks. If it does, a local row
// needs those blocks of an earlier neighbor whose columns it has blocks for. Otherwise it needs the
// block whose column it is.
PetscErrorCode GhostRowsBuild(const BlockGraph &graph, const BuiltPlan &built, bool fill,
                              BuiltGhostRows *ghost_rows);

} // namespace mcpi
