// This header declares the choice of the exchange that carries ghost values between ranks.
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
  double timeout; // seconds that a device waits for another rank
  // on_device: the sweeps run on a CUDA device. exchanges: some rank has a ghost
  bool on_device, exchanges;
  bool symmetric;      // rows of different ranks are coupled in both directions or not at all
  PetscLogEvent event; // logs the exchange by PetscSF
};

struct HaloChoice {
  PCMCPIHaloType type = PC_MCPI_HALO_AUTO;
  std::string reason;            // why no faster exchange is used, else empty
  bool inside = false;           // the relaxations exchange by themselves, without further kernels
  std::string reason_not_inside; // why the peer exchange does not run inside the relaxations
};

// Collective. Chooses and creates the exchange. remote: for every ghost in plan order, the rank
// that owns it and the plan row there
PetscErrorCode HaloCreate(MPI_Comm comm, const ColorPlan &plan,
                          const std::vector<PetscSFNode> &remote, const HaloRequest &request,
                          std::unique_ptr<Halo> *halo, HaloChoice *choice);

} // namespace mcpi
