// The order of the rows inside each color. It changes how fast x is read, but never the result.
#pragma once

#include "petscmcpitypes.h"
#include "setup/coloring.h"

namespace mcpi {

struct Coordinates {
  int dim = 0;                // 0: no coordinates were given
  std::vector<double> points; // dim numbers for each local block row
};

struct OrderingUsed {
  PCMCPIOrderingType type = PC_MCPI_ORDERING_NATURAL; // for auto, the choice on this rank
  // Coordinates were given, but some rank does not have one point for each block row.
  bool misfit = false;
};

// Collective. order: all local rows; the rows of a color come in the order in which the color takes
// them.
PetscErrorCode OrderingCreate(const BlockGraph &graph, const Coloring &coloring,
                              PCMCPIOrderingType type, const Coordinates &coordinates,
                              std::vector<Row> *order, OrderingUsed *used);

// Not collective. order: the local rows in reverse Cuthill-McKee order
PetscErrorCode OrderingCreateRCM(const BlockGraph &graph, std::vector<Row> *order);

// Collective. Chooses the order in which rows of clusters follow one another: that of the matrix,
// unless reverse Cuthill-McKee order brings neighbors much closer together. Both orders are about
// as good then, but users often number rows along lines of strong couplings. type: AUTO, RCM or
// NATURAL
PetscErrorCode OrderingCreateForClusters(const BlockGraph &graph, PCMCPIOrderingType type,
                                         std::vector<Row> *order, OrderingUsed *used);

} // namespace mcpi
