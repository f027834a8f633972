// Information about the CUDA devices of all ranks.
#pragma once

#include <petscsys.h>

#include <string>
#include <vector>

namespace mcpi {

struct RankDevice {
  char uuid[16];
  int capability; // major compute capability
};

// Finds the devices of all ranks of comm. Collective. If that fails, problem holds the reason on
// all ranks, else it is empty.
PetscErrorCode DevicesOfRanks(MPI_Comm comm, std::vector<RankDevice> *devices,
                              std::string *problem);
// Whether two ranks have the same device
bool any_shared(const std::vector<RankDevice> &devices);
// The devices that this process sees, by device number. The call is slow.
std::vector<RankDevice> VisibleDevices();
// Whether the current device can access the memory of a device, with native atomics, so that 16
// bytes are stored as a whole. A device can always access its own memory. visible: the result of
// VisibleDevices().
bool reaches(const std::vector<RankDevice> &visible, const RankDevice &device);

} // namespace mcpi
