// Exchange by the devices of one node: rows are stored straight into the neighbors' memory (CUDA
// IPC over NVLink or PCIe), and who needs them waits on the device.
#pragma once

#include <memory>
#include <string>

#include "halo/lists.h"
#include "sweep/halo.h"

namespace mcpi {

struct PeerOptions {
  bool shared_devices = false; // may ranks share one; slow, for tests
  bool symmetric = false;      // whoever reads a row of another rank is read by it
  double patience = 0.0;       // seconds
};

// remote: as for HaloListsCreate(). Collective. Where it cannot be used, *halo stays empty on all
// ranks and *why says why.
PetscErrorCode CreatePeerHalo(MPI_Comm comm, const ColorPlan &plan,
                              const std::vector<PetscSFNode> &remote, const PeerOptions &options,
                              std::unique_ptr<Halo> *halo, std::string *reason);

} // namespace mcpi
