// Where a run has come to, in a file that any number of ranks can go on from.
#pragma once

#include <petscvec.h>

#include "mesh.h"

namespace flow {

struct Progress {
  PetscInt step = 0, order = 1;
  double cfl = 0.0, first = 0.0, last = 0.0; // residuals
};

// Written beside the file and renamed, so that a run that is killed leaves the file before.
// Collective.
PetscErrorCode WriteRestart(const Mesh &mesh, Vec U, const Progress &progress, const char *file);
// A file of another mesh is an error. Collective.
PetscErrorCode ReadRestart(const Mesh &mesh, const char *file, Vec U, Progress *progress);

} // namespace flow
