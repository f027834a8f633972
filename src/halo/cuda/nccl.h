// Exchange by NCCL, launched to a stream: a whole application can be recorded, and ranks may be on
// several nodes.
#pragma once

#include <memory>
#include <string>

#include "halo/lists.h"
#include "sweep/halo.h"

namespace mcpi {

// remote: as for HaloListsCreate(). Collective. Where NCCL cannot be used, *halo stays empty on all
// ranks and *why says why.
PetscErrorCode CreateNcclHalo(MPI_Comm comm, const ColorPlan &plan,
                              const std::vector<PetscSFNode> &remote, std::unique_ptr<Halo> *halo,
                              std::string *reason);

} // namespace mcpi
