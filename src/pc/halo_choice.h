// Which exchange carries the ghost values.
#pragma once

#include <petscsf.h>

#include <memory>
#include <string>
#include <vector>

#include "core/plan.h"
#include "petscmcpitypes.h"
#include "sweep/halo.h"

namespace mcpi {

struct HaloRequest {
  PCMCPIHaloType type;
  double timeout; // seconds
  bool on_device, exchanges;
  bool symmetric; // whoever reads a row of another rank is read by it
  PetscLogEvent event;
};

struct HaloChoice {
  PCMCPIHaloType type = PC_MCPI_HALO_AUTO;
  std::string reason;            // not a faster one
  bool inside = false;           // the relaxations: no kernels of its own
  std::string reason_not_inside; // with peer
};

// remote: for every ghost in plan order, the owner and its plan row. Collective.
PetscErrorCode HaloCreate(MPI_Comm comm, const ColorPlan &plan,
                          const std::vector<PetscSFNode> &remote, const HaloRequest &request,
                          std::unique_ptr<Halo> *halo, HaloChoice *choice);

} // namespace mcpi
