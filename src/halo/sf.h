// Exchange by PetscSF: works everywhere, the reference of the others.
#pragma once

#include <petscsf.h>

#include <memory>

#include "core/plan.h"
#include "sweep/halo.h"

namespace mcpi {

// remote: for every ghost in plan order, the owner and its plan row. Collective.
PetscErrorCode CreateSFHalo(MPI_Comm comm, const ColorPlan &plan,
                            const std::vector<PetscSFNode> &remote, PetscLogEvent event,
                            std::unique_ptr<Halo> *halo);

} // namespace mcpi
