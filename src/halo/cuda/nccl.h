// The halo that uses NCCL. Exchanges are launched to a stream, so a whole application can be
// recorded. Ranks may be on several nodes.
#pragma once

#include <memory>
#include <string>

#include "halo/lists.h"
#include "sweep/halo.h"

namespace mcpi {

// Creates the halo. remote: as for HaloListsCreate(). Collective. If NCCL cannot be used, *halo
// stays empty on all ranks, and *reason says why.
PetscErrorCode CreateNcclHalo(MPI_Comm comm, const ColorPlan &plan,
                              const std::vector<PetscSFNode> &remote, std::unique_ptr<Halo> *halo,
                              std::string *reason);

} // namespace mcpi
