// Which backend runs the sweeps, decided by all ranks together.
#pragma once

#include <petscmat.h>

#include <memory>
#include <string>

#include "backend/backend.h"

namespace mcpi {

struct BackendChoice {
  PCMCPIBackendType        type = PC_MCPI_BACKEND_HOST; // never auto
  std::string              why;                         // auto did not take a device that is in use
  std::unique_ptr<Backend> backend;
};

// Collective. wanted may be auto: CUDA if the matrix or its vectors live on a CUDA device or PETSc uses one, and every rank has a device.
PetscErrorCode BackendCreate(Mat pmat, PCMCPIBackendType wanted, const ColorPlan &plan, const BackendConfig &config, BackendChoice *choice);

// The stream on which PETSc's CUDA objects work now, as Application::stream; null without CUDA
PetscErrorCode UserStream(void **stream);

} // namespace mcpi
