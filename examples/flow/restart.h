// This header declares restart files, which hold the state of a run. Any number of ranks can go on
// from such a file.
#pragma once

#include <petscvec.h>

#include "mesh.h"

namespace flow {

// What a run has reached.
struct Progress {
  PetscInt step = 0, order = 1; // steps made, and order of the discretization: 1 or 2
  // cfl: the CFL number. first, last: norms of residuals. last is 0 if none of this order is known
  double cfl = 0.0, first = 0.0, last = 0.0;
};

// Collective. Writes another file, then gives it this name. If the run is killed meanwhile, the old
// file remains.
PetscErrorCode WriteRestart(const Mesh &mesh, Vec U, const Progress &progress, const char *file);
// Collective. A file of another mesh is an error.
PetscErrorCode ReadRestart(const Mesh &mesh, const char *file, Vec U, Progress *progress);

} // namespace flow
