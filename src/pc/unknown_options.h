// This header declares the search for misspelled options.
#pragma once

#include <petscpc.h>

namespace mcpi {

// Collective. Names options for this PC that do not exist, each once in a program, and the option
// that is most like each. They are printed to stderr, and by -info. PETSc itself ignores them.
PetscErrorCode WarnOfUnknownOptions(PC pc);

} // namespace mcpi
