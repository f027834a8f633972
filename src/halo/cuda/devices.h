// The CUDA devices of the ranks.
#pragma once

#include <petscsys.h>

#include <string>
#include <vector>

namespace mcpi {

struct RankDevice {
  char uuid[16];
  int capability; // major
};

// Of every rank of comm. Collective. problem: why they are not known, on all ranks, else empty
PetscErrorCode DevicesOfRanks(MPI_Comm comm, std::vector<RankDevice> *devices,
                              std::string *problem);
// Whether two ranks have the same one
bool any_shared(const std::vector<RankDevice> &devices);
// Those that this process sees, by their numbers. The call is slow.
std::vector<RankDevice> VisibleDevices();
// Whether this rank's device reaches another's memory, with atomic access of 16 bytes; itself too
bool reaches(const std::vector<RankDevice> &visible, const RankDevice &device);

} // namespace mcpi
