// Finds the empty unknowns of a matrix: those whose row and column are zero.
#pragma once

#include <cstdint>
#include <vector>

#include "setup/block_values.h"

namespace mcpi {

struct EmptyUnknowns {
  std::vector<std::uint8_t> flags; // see BlockRows::empty(); none if count is 0
  PetscInt64 count = 0;            // on all ranks

  const std::uint8_t *data() const { return count > 0 ? flags.data() : nullptr; }
};

// Collective. values: open, in host memory
PetscErrorCode EmptyUnknownsFind(const BlockGraph &graph, MatrixValues &values,
                                 EmptyUnknowns *empty);

} // namespace mcpi
