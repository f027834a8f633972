// What a factorization exchanges with other ranks: the rows of theirs that it reads, and what they
// read of this rank's rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/plan.h"

namespace mcpi {

// The blocks of ghosts that a factorization receives. A ghost that earlier than a local row is
// eliminated from it sends its inverse diagonal block, then blocks of its upper triangle.
struct GhostRows {
  std::vector<Offset> ptr; // ghosts + 1 entries: number of blocks before a ghost of the plan
  // The block's plan column, which is the ghost's own for its first block. The others of a ghost
  // are sorted by global column.
  std::vector<Row> col;
  // By ghost: its plan row on its rank. Rows of a cluster of another rank are eliminated in this
  // order.
  std::vector<Row> place;
  // By ghost: its number among the columns of this rank in the order of global columns. Local rows
  // come as one piece, after the ghosts of lower ranks, of which there are `before`.
  std::vector<Row> order;
  Row before = 0;

  // The blocks that are sent, by color and rank. A negative number r is the inverse diagonal block
  // of plan row -1 - r. A number n after it is block n of the upper triangle of this row.
  std::vector<Row> sent;
  std::vector<Offset> sent_begin; // colors + 1 entries: number of sent blocks before a color
};

// The most blocks of a color that are sent
inline std::size_t most_sent(const GhostRows &rows)
{
  Offset most = 0;
  for (std::size_t color = 0; color + 1 < rows.sent_begin.size(); ++color)
    most = std::max(most, rows.sent_begin[color + 1] - rows.sent_begin[color]);
  return static_cast<std::size_t>(most);
}

} // namespace mcpi
