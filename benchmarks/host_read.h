#pragma once

#include <petscsys.h>

namespace bench {

// Measures how many bytes per second all ranks read together, each with this number of threads, by
// the widest vectors of this CPU. No cache holds what they read. The time is the median of several
// reads of the slowest rank.
PetscErrorCode HostReadBandwidth(PetscInt threads, PetscInt repeat, double *rate);

} // namespace bench
