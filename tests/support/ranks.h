// Plans of several ranks, and the rows of a matrix as the code reads them
#pragma once

#include "core/stored_matrix.h"
#include "support/models.h"

namespace mcpi::test {

class MatrixRows final : public BlockRows {
public:
  explicit MatrixRows(const BlockMatrix &matrix, Row first = 0) : matrix_(matrix), first_(first) {}
  void row(Row local_row, const double *&diagonal, const double *const *&offdiag) override;
  int reads = 0; // calls of row()

private:
  const BlockMatrix &matrix_;
  const Row first_;
  std::vector<const double *> blocks_;
};

struct GhostOwner {
  int rank;
  Row plan_row;
};
struct ReceivedBlock {
  int rank;
  Offset stored; // its number in that rank's forward plan: lower triangle, then upper triangle
};
// The plans of one matrix that is distributed to ranks: start[r] is the first row of rank r. The
// code does not use setup/plan_build.cxx, so it can test it.
struct Ranks {
  std::vector<Row> start;
  std::vector<ColorPlan> forward, transposed;
  std::vector<std::vector<GhostOwner>> ghosts; // per rank, in the plan's order
  std::vector<std::vector<Row>> global_ghosts;
  // per rank: the blocks that come from other ranks, to which the transposed plan's sources beyond
  // the own blocks refer
  std::vector<std::vector<ReceivedBlock>> received;

  int count() const { return static_cast<int>(forward.size()); }
};
// order: all rows; the rows of a color come in the order in which the color takes them. An empty
// order means the natural one.
Ranks build_ranks(const Pattern &pattern, const std::vector<int> &color, int bs,
                  const std::vector<Row> &start, const std::vector<Row> &order = {});

} // namespace mcpi::test
