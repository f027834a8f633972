// This header declares the choice of the schedule: which block rows are relaxed at the same time.
#pragma once

#include <string>

#include "pc/backend_choice.h"
#include "pc/settings.h"
#include "setup/block_graph.h"

namespace mcpi {

struct ScheduleChoice {
  PCMCPISchedule type = PC_MCPI_SCHEDULE_COLOR; // never PC_MCPI_SCHEDULE_AUTO
  std::string coloring;                         // MatColoringType of the rows, or of the clusters
  std::string reason;                           // why auto took the type, else empty
  PetscInt cluster_rows = 1;                    // most block rows of a cluster
};

struct SystemShape {
  PetscInt64 rows_per_rank = 0; // block rows, in the mean
  int ranks = 1;
  // On one rank: rows that are relaxed one after the other in the order of the matrix. 0: not known
  PetscInt64 levels = 0;
  PetscInt bs = 1;
};

// Chooses the schedule. All ranks choose alike if their arguments are the same.
ScheduleChoice ScheduleChoose(const Settings &settings, Target target, const SystemShape &shape);
// The levels of a graph of one rank
PetscInt64 CountLevels(const BlockGraph &graph);
// Collective. An error if the schedule and the type of coloring, or the order of rows, do not go
// together.
PetscErrorCode ScheduleCheck(MPI_Comm comm, const Settings &settings);

} // namespace mcpi
