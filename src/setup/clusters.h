// Clusters of strongly coupled block rows. A cluster is colored as a whole, and its rows are
// relaxed one after the other. So a sweep carries information along strong couplings, as a sweep in
// the order of the matrix does.
#pragma once

#include "setup/block_graph.h"
#include "setup/block_values.h"

namespace mcpi {

// The couplings between the local rows in both directions, with their strengths
struct StrengthGraph {
  std::vector<Offset> ptr; // rows + 1
  std::vector<Row> col;    // local rows, ascending
  std::vector<double> strength;
};

// Not collective. The strength of a coupling is |D_i^{-1} A_ij| + |D_j^{-1} A_ji| in the Frobenius
// norm, after the components have been balanced. So it does not depend on units. values: open
StrengthGraph make_strengths(const BlockGraph &graph, const MatrixValues &values);

// Not collective. Divides the rows into clusters of at most most_rows rows, and returns the cluster
// of each row. A cluster starts at the first row of `order` that is free. It takes the row that is
// coupled most strongly to its rows, until it is full. Clusters are numbered by their first rows.
std::vector<Row> grow_clusters(const StrengthGraph &graph, const std::vector<Row> &order,
                               Row most_rows);

} // namespace mcpi
