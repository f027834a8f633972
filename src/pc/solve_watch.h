// This header tells whether a solve is under way. PETSc calls PCPostSolve() at the end of a solve,
// but not after an error. A program may catch the error and go on.
#pragma once

#include <petscksp.h>

#include <memory>

namespace mcpi {

// Called by PCPreSolve(). *underway becomes true, and false when the solve ends, also by an error.
// A KSP that is destroyed or begins another solve has ended its last one.
PetscErrorCode WatchSolve(KSP ksp, std::shared_ptr<const bool> *underway);
// Called by PCPostSolve().
PetscErrorCode EndSolve(KSP ksp);

} // namespace mcpi
