// The halo for devices of one node that access each other's memory. A device stores rows directly
// into the memory of the neighbors (CUDA IPC over NVLink or PCIe). The neighbors' devices wait for
// the rows; the host does not.
#pragma once

#include <memory>
#include <string>

#include "halo/lists.h"
#include "sweep/halo.h"

namespace mcpi {

struct PeerOptions {
  bool shared_devices = false; // ranks may share a device; this is slow, and for tests only
  bool symmetric = false;      // a row that reads a row of another rank is also read by that row
  double patience = 0.0;       // longest time to wait for a neighbor, in seconds
};

// Creates the halo. remote: as for HaloListsCreate(). Collective. If the halo cannot be used, *halo
// stays empty on all ranks, and *reason says why.
PetscErrorCode CreatePeerHalo(MPI_Comm comm, const ColorPlan &plan,
                              const std::vector<PetscSFNode> &remote, const PeerOptions &options,
                              std::unique_ptr<Halo> *halo, std::string *reason);

} // namespace mcpi
