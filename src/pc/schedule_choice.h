// This header declares the choice of the schedule: which block rows are relaxed at the same time.
#pragma once

#include <string>

#include "pc/settings.h"

namespace mcpi {

// What runs the sweeps: a CPU, the CUDA backend, or Kokkos on a device
enum class Target { cpu, cuda, other_device };

struct ScheduleChoice {
  PCMCPISchedule type = PC_MCPI_SCHEDULE_COLOR; // never PC_MCPI_SCHEDULE_AUTO
  std::string coloring;                         // MatColoringType of the rows, or of the clusters
  std::string reason;                           // why auto took the type, else empty
  PetscInt cluster_rows = 1;                    // most block rows of a cluster
};

// Chooses the schedule. All ranks choose alike if their arguments are the same. rows_per_rank: the
// mean number of block rows of a rank
ScheduleChoice ScheduleChoose(const Settings &settings, Target target, PetscInt64 rows_per_rank);
// Collective. An error if the schedule and the type of coloring, or the order of rows, do not go
// together.
PetscErrorCode ScheduleCheck(MPI_Comm comm, const Settings &settings);

} // namespace mcpi
