// The rows of other ranks, as far as a factorization of this rank's rows reads them.
#pragma once

#include <vector>

#include "core/plan.h"

namespace mcpi {

// The blocks of ghosts that a factorization receives. A ghost that earlier than a local row is
// eliminated from it sends its inverse diagonal block, then blocks of its upper triangle.
struct GhostRows {
  std::vector<Offset> ptr; // ghosts + 1 entries: number of blocks before a ghost of the plan
  std::vector<Row> col;    // the block's plan column, which is the ghost's own for its first block
  // By ghost: its plan row on its rank. Rows of a cluster of another rank are eliminated in this
  // order.
  std::vector<Row> place;
};

} // namespace mcpi
