// The halo that uses PetscSF. It works everywhere. The other halos are compared with it.
#pragma once

#include <petscsf.h>

#include <memory>

#include "core/plan.h"
#include "sweep/halo.h"

namespace mcpi {

// Creates the halo. remote: for every ghost in plan order, its owner and its plan row there. event:
// the log event of exchanges. Collective.
PetscErrorCode CreateSFHalo(MPI_Comm comm, const ColorPlan &plan,
                            const std::vector<PetscSFNode> &remote, PetscLogEvent event,
                            std::unique_ptr<Halo> *halo);

} // namespace mcpi
