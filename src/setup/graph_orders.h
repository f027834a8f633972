// Reverse Cuthill-McKee order of the rows of a rank, made without a matrix. It is the order that
// PETSc's MATORDERINGRCM gives where PETSc does not order groups of rows with equal neighbors.
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

// order: as long as the graph has rows
void order_by_rcm(const RowGraph &graph, std::vector<Row> *order);

} // namespace mcpi
