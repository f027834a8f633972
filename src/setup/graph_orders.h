// Reverse Cuthill-McKee order and nested dissection of the rows of a rank. They are the orders that
// PETSc's MATORDERINGRCM and MATORDERINGND give, made without a matrix and with threads.
#pragma once

#include <span>
#include <vector>

#include "core/plan.h"

namespace mcpi {

// A symmetric graph without edges from a row to itself. The neighbors of a row are ascending.
struct RowGraph {
  std::span<const Offset> ptr; // rows + 1
  std::span<const Row> col;

  Row rows() const { return static_cast<Row>(ptr.size()) - 1; }
  std::span<const Row> neighbors(Row row) const
  {
    return col.subspan(static_cast<std::size_t>(ptr[row]),
                       static_cast<std::size_t>(ptr[row + 1] - ptr[row]));
  }
};

// One row at an end of each connected component, in the order of the components' first rows. Both
// orders begin there.
std::vector<Row> end_rows(const RowGraph &graph);

// Reverse Cuthill-McKee. ends: end_rows(graph)
void order_by_rcm(const RowGraph &graph, const std::vector<Row> &ends, std::vector<Row> *order);

// Nested dissection (A. George, Nested dissection of a regular finite element mesh, SIAM J. Numer.
// Anal. 10, 1973). ends: end_rows(graph)
void order_by_dissection(const RowGraph &graph, const std::vector<Row> &ends, int threads,
                         std::vector<Row> *order);

// Whether PETSc would order groups of rows with equal neighbors (inodes) instead of rows. The
// functions above do not.
bool has_equal_rows(const RowGraph &graph);

} // namespace mcpi
