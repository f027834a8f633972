// The halo that uses PetscSF. It works everywhere. The other halos are compared with it.
#pragma once

#include <petscsf.h>

#include <memory>
#include <vector>

#include "sweep/halo.h"

namespace mcpi {

// Creates the halo. begin: colors + 1 entries, the first row of each color; rows may also be other
// things that colors divide, such as blocks. remote: for every ghost, by colors, its owner and its
// row there. event: the log event of exchanges. Collective.
PetscErrorCode CreateSFHalo(MPI_Comm comm, const std::vector<PetscInt> &begin,
                            const std::vector<PetscSFNode> &remote, PetscLogEvent event,
                            std::unique_ptr<Halo> *halo);

} // namespace mcpi
