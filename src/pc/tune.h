// This header declares -pc_mcpi_tune: the choice of settings by measurements of the user's system.
#pragma once

#include <petscksp.h>

namespace mcpi {

// Collective. Measures settings that the options leave open, by solutions of the system of ksp with
// right-hand side b, which uses pc. Prints a table, and gives pc the fastest settings. pc then
// needs a set-up.
PetscErrorCode Tune(PC pc, KSP ksp, Vec b);

} // namespace mcpi
