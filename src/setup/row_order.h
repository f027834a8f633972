// Orders of rows that colorings follow. None depends on the partition.
#pragma once

#include "setup/visit_in_order.h"

namespace mcpi::coloring {

enum class RowOrder {
  front,   // by the distance from one end of the graph, then by the distance from one side
  natural, // as in the matrix
  rcm      // reverse Cuthill-McKee, made by the first rank alone
};
inline constexpr const char *kRowOrders[] = {"front", "natural", "rcm"};

// Collective. Sets the keys of all vertices.
PetscErrorCode order_rows(const Graph &graph, RowOrder order, Keys &key);

} // namespace mcpi::coloring
