// What an incomplete factorization without fill does to the blocks of one rank. It depends on the
// pattern of the matrix and on the order of its rows alone.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ghost_rows.h"

namespace mcpi {

// A block in the working memory of a factorization. That is an array of blocks:
// - the blocks of the matrix, one matrix row after the other. Of a row, the diagonal block is the
//   first, and the off-diagonal blocks follow in the order of BlockRows;
// - the negative inverse diagonal blocks, by plan row;
// - the blocks that this rank offers to others, color by color, and those that it receives
//   (GhostRows).
using BlockNumber = std::uint32_t;

// Row i is made by elimination of its earlier neighbors j, one after the other:
//   L_ij E_j^{-1} U_j* is subtracted from row i, where row i has blocks (ILU(0)),
//   or from its diagonal block alone (DILU).
// What is left of row i then is L_i*, E_i and U_i*.
struct Elimination {
  // The elimination of one neighbor: L_ij, -E_j^{-1}, and the number of updates before its own
  struct Step {
    BlockNumber lower, inverse, first;
  };
  // Adds the product of L_ij, -E_j^{-1} and U_jk to the target, which is block (i, k).
  struct Update {
    BlockNumber upper, target;
  };

  std::vector<BlockNumber> row_begin;  // matrix rows + 1 entries: number of blocks before a row
  std::vector<BlockNumber> step_begin; // plan rows + 1 entries: number of steps before a row
  std::vector<Step> steps; // one more than there are, which ends the updates of the last
  std::vector<Update> updates;
  // Which blocks are copied to the offered ones, and how many there are before a color (colors + 1
  // entries). Of a boundary row: the inverse, then the upper triangle
  std::vector<BlockNumber> offered, offered_begin;
  BlockNumber first_inverse = 0, first_offered = 0, first_ghost = 0, blocks = 0;
};

// fill: whether off-diagonal blocks change, too, as in ILU(0). Neighbors are eliminated in the
// order in which they are relaxed. Those of the same color, and of the same step, follow one
// another by ascending global columns, so that the sums do not depend on the partition.
Elimination make_elimination(const ColorPlan &plan, const GhostRows &ghosts, bool fill);

double memory_bytes(const Elimination &elimination);

} // namespace mcpi
