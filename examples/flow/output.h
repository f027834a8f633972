// This header declares the files to which a flow is written.
#pragma once

#include <petscviewer.h>

#include "mesh.h"

namespace flow {

// Collective. An error if WriteVTU() cannot write this mesh.
PetscErrorCode CheckVTU(const Mesh &mesh);
// Collective. Writes density, velocity, pressure and Mach number of every vertex, for ParaView.
PetscErrorCode WriteVTU(const Mesh &mesh, Vec U, const char *file);

} // namespace flow
