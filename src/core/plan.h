// The plan, which is the result of a symbolic set-up: the order in which rows are relaxed, and the
// blocks that they read. It is plain data.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mcpi {

using Row = std::int32_t;    // local block row or block column
using Offset = std::int64_t; // position in an array of blocks

// The blocks of one triangle (couplings to earlier or to later rows), row by row in plan order
struct Triangle {
  std::vector<Offset> ptr;    // rows + 1 entries: number of blocks before a plan row
  std::vector<Row> col;       // plan columns: local rows if < rows, else rows + ghost
  std::vector<Offset> source; // the source of the block's values, see ColorPlan
};

// The number of blocks of the longest row. ptr: blocks before each row, and that of all blocks
template <class Number> std::size_t longest_row(const std::vector<Number> &ptr)
{
  Number longest = 0;
  for (std::size_t row = 0; row + 1 < ptr.size(); ++row)
    longest = std::max(longest, ptr[row + 1] - ptr[row]);
  return static_cast<std::size_t>(longest);
}

// The place of each row in an order of all rows
inline std::vector<Row> inverse_order(const std::vector<Row> &order)
{
  std::vector<Row> place(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) place[order[k]] = static_cast<Row>(k);
  return place;
}

// The plan of one rank. Plan rows are sorted by color. Inside a color, boundary rows come first.
// Rows of a color are independent, or form clusters. Rows of a cluster are coupled and are relaxed
// one stage after the other; different clusters of a color are not coupled.
// Inside a row, the blocks of a triangle are sorted by global column, so that sums do not depend on
// the partition. The meaning of source depends on the plan:
// - in a forward plan, it is the number of the block among the off-diagonal blocks of the matrix
//   row, in the order of BlockRows;
// - in a transposed plan, it is the number of a stored block of the forward plan. Blocks of the
//   lower triangle come first, then those of the upper, then those received from other ranks.
struct ColorPlan {
  int bs = 0;   // block size
  Row rows = 0; // local block rows
  Row ghosts = 0;
  int colors = 0;
  std::vector<Row> color_begin;  // colors + 1 entries: first plan row of a color
  std::vector<Row> boundary_end; // by color: boundary rows are [color_begin[c], boundary_end[c])
  // colors + 1 entries: ghosts of color c are the columns rows + [ghost_begin[c], ghost_begin[c+1])
  std::vector<Row> ghost_begin;
  // Whether the rows of colors form clusters; the same on all ranks. stage_begin is then the first
  // plan row of each stage, ascending. Rows of a stage are independent. The boundary rows of a
  // color are whole stages, and so are its interior rows.
  bool clustered = false;
  std::vector<Row> stage_begin;
  // The interior rows of a color lie chunk by chunk (setup/chunks.h). Boundary rows belong to chunk
  // 0, which is not coupled with the chunks [1, near_begin). chunk_begin: the first plan row of
  // chunk k of color c is at c * chunks + k. It is empty if there is one chunk.
  int chunks = 1, near_begin = 1;
  std::vector<Row> chunk_begin;
  std::vector<Row> row_of; // by plan row: local block row of the matrix
  // Couplings to earlier and to later rows. Rows of earlier colors and of earlier stages of the
  // same cluster are earlier.
  Triangle lower, upper;

  Offset blocks() const { return static_cast<Offset>(lower.col.size() + upper.col.size()); }
};

// Blocks before each matrix row, and the number of all blocks. Diagonal blocks count.
inline std::vector<Offset> block_begins(const ColorPlan &plan)
{
  std::vector<Offset> begins(static_cast<std::size_t>(plan.rows) + 1, 0);
  for (Row row = 0; row < plan.rows; ++row)
    begins[plan.row_of[row] + 1] = 1 + plan.lower.ptr[row + 1] - plan.lower.ptr[row] +
                                   plan.upper.ptr[row + 1] - plan.upper.ptr[row];
  for (Row row = 0; row < plan.rows; ++row) begins[row + 1] += begins[row];
  return begins;
}

} // namespace mcpi
