// Files of a flow.
#pragma once

#include <petscviewer.h>

#include "mesh.h"

namespace flow {

// Density, velocity, pressure and Mach number of every vertex, for ParaView. Collective.
PetscErrorCode WriteVTU(const Mesh &mesh, Vec U, const char *file);

} // namespace flow
