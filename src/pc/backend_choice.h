// Which backend runs the sweeps, decided by all ranks together.
#pragma once

#include <petscmat.h>

#include <functional>
#include <memory>
#include <string>

#include "cuda/device_guard.h"
#include "sweep/backend.h"

namespace mcpi {

struct BackendChoice {
  PCMCPIBackendType type = PC_MCPI_BACKEND_HOST; // never auto
  std::string reason;                            // auto did not take a device that is in use
  std::string space;                             // Kokkos' execution space
  bool kokkos_on_device = false;                 // which has memory of its own,
  bool kokkos_on_cuda = false;                   // that of a CUDA device
  int device = kNoDevice;                        // of CUDA
};

// Collective. wanted may be auto: CUDA if the matrix or its vectors live on a CUDA device or PETSc
// uses one, and every rank has a device; Kokkos if PETSc has it and uses a HIP or SYCL device.
PetscErrorCode BackendDecide(Mat pmat, PCMCPIBackendType wanted, BackendChoice *choice);
// Collective.
PetscErrorCode BackendCreate(MPI_Comm comm, PCMCPIBackendType type, const ColorPlan &plan,
                             const BackendConfig &config, std::unique_ptr<Backend> *backend);

// What is in the way of CUDA where some rank's GPU has this compute capability (times 10) and the
// library no code for it. 0: nothing
std::string BackendLacksCode(int capability);

// Where a program ends Kokkos before PETSc, what a backend holds of it must go first: release is
// called then. An empty one takes it back.
void ReleaseWithKokkos(const void *owner, const std::function<void()> &release);

// Whether a matrix's own vectors, and so its products, are on a CUDA device
PetscErrorCode HasCudaVectors(Mat mat, PetscBool *cuda);

// The stream on which PETSc's objects on a device work now, as ApplyArgs::stream; null without a
// device
PetscErrorCode UserStream(void **stream);

} // namespace mcpi
