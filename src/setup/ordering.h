// The order of the rows inside a color: it changes how x is gathered, never the answer.
#pragma once

#include "petscmcpitypes.h"
#include "setup/coloring.h"

namespace mcpi {

struct Coordinates {
  int dim = 0;                // 0: none were given
  std::vector<double> points; // dim numbers a local block row
};

struct OrderingUsed {
  PCMCPIOrderingType type = PC_MCPI_ORDERING_NATURAL; // what auto chose on this rank
  bool misfit = false; // points were given, but on some rank not one for each block row
};

// order: local rows in the order in which each color takes them. Collective.
PetscErrorCode OrderingCreate(const BlockGraph &graph, const Coloring &coloring,
                              PCMCPIOrderingType type, const Coordinates &coordinates,
                              std::vector<Row> *order, OrderingUsed *used);

} // namespace mcpi
