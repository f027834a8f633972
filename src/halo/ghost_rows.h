// Finds which blocks of other ranks' rows a factorization of the local rows needs, and exchanges
// them.
#pragma once

#include <memory>

#include "core/ghost_rows.h"
#include "halo/lists.h"
#include "sweep/block_exchange.h"

namespace mcpi {

struct BuiltGhostRows {
  bool fill = false;
  GhostRows rows;
  // Ranges of GhostRows::sent and of the blocks of ghosts. The lists of rows are empty.
  HaloLists parts;
};

// The global rows of a rank's columns
struct GlobalRows {
  PetscInt first;                      // of the local rows
  const std::vector<PetscInt> &ghosts; // ascending
  const std::vector<Row> &place;       // of these ghosts in the plan
};

// Collective. remote: for every ghost of the plan, its owner and its plan row there. fill: whether
// the factorization changes off-diagonal blocks. If it does, a local row needs those blocks of an
// earlier neighbor whose columns it has blocks for. Otherwise it needs the block whose column it
// is.
PetscErrorCode GhostRowsBuild(MPI_Comm comm, const ColorPlan &plan,
                              const std::vector<PetscSFNode> &remote, const GlobalRows &global,
                              bool fill, BuiltGhostRows *ghost_rows);

// Collective. parts must outlive the exchange. event: the log event of exchanges
PetscErrorCode CreateBlockExchange(MPI_Comm comm, const HaloLists &parts, PetscLogEvent event,
                                   std::unique_ptr<BlockExchange> *exchange);

} // namespace mcpi
