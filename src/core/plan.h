// The symbolic result of a set-up: which rows are relaxed when, and which blocks they read. Plain
// data.
#pragma once

#include <cstdint>
#include <vector>

namespace mcpi {

using Row = std::int32_t;    // local block row or block column
using Offset = std::int64_t; // position in an array of blocks

// Blocks of one triangle (earlier or later colors), row by row in plan order.
struct Triangle {
  std::vector<Offset> ptr;    // rows + 1
  std::vector<Row> col;       // plan columns: < rows local, else a ghost
  std::vector<Offset> source; // where the block's values come from, see ColorPlan
};

// Plan rows are sorted by color; inside a color the rows with an off-process neighbor come first.
// Inside a row the blocks of a triangle are sorted by global column, so sums do not depend on the
// partition. In a forward plan source counts the off-diagonal blocks of the matrix row in BlockRows
// order; in a transposed plan it counts stored blocks of the forward plan: lower, then upper, then
// those received from other ranks.
struct ColorPlan {
  int bs = 0;
  Row rows = 0; // local block rows
  Row ghosts = 0;
  int colors = 0;
  std::vector<Row> color_begin;  // colors + 1
  std::vector<Row> boundary_end; // colors: boundary rows are [color_begin[c], boundary_end[c])
  std::vector<Row> ghost_begin; // colors + 1: ghosts of color c are columns rows + [ghost_begin[c],
                                // ghost_begin[c+1])
  std::vector<Row> row_of;      // plan row -> local block row of the matrix
  Triangle lower, upper;

  Offset blocks() const { return static_cast<Offset>(lower.col.size() + upper.col.size()); }
};

} // namespace mcpi
