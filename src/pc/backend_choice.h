// This header declares the choice of the backend that runs the sweeps. All ranks choose together.
#pragma once

#include <petscmat.h>

#include <functional>
#include <memory>
#include <string>

#include "cuda/device_guard.h"
#include "method/method.h"
#include "pc/settings.h"
#include "sweep/backend.h"

namespace mcpi {

// What runs the sweeps: a CPU, the CUDA backend, or Kokkos on a device
enum class Target { cpu, cuda, other_device };

struct BackendChoice {
  PCMCPIBackendType type = PC_MCPI_BACKEND_HOST; // never PC_MCPI_BACKEND_AUTO
  std::string reason;            // why auto did not take a device that is in use, else empty
  std::string space;             // name of Kokkos' execution space, empty for other backends
  bool kokkos_on_device = false; // the execution space works in memory that the host cannot reach
  bool kokkos_on_cuda = false;   // the memory of the execution space belongs to a CUDA device
  int device = kNoDevice;        // number of the CUDA device, for the CUDA backend only

  bool on_device() const { return type == PC_MCPI_BACKEND_CUDA || kokkos_on_device; }
  Target target() const
  {
    if (type == PC_MCPI_BACKEND_CUDA) return Target::cuda;
    return kokkos_on_device ? Target::other_device : Target::cpu;
  }
};

// Collective. Chooses the backend. settings.backend may be PC_MCPI_BACKEND_AUTO, which takes:
// - CUDA if the matrix or its vectors live on a CUDA device or PETSc uses one, and every rank can
//   use a CUDA device;
// - Kokkos if PETSc has Kokkos and uses a device of HIP or SYCL;
// - the host in all other cases.
PetscErrorCode BackendDecide(Mat pmat, const Settings &settings, BackendChoice *choice);
// Collective.
PetscErrorCode BackendCreate(MPI_Comm comm, PCMCPIBackendType type, const ColorPlan &plan,
                             const BackendConfig &config, std::unique_ptr<Backend> *backend);

// Makes a method that works in the memory in which this backend does. Kokkos has none for devices,
// so its methods work on the host. The call is local and may throw.
std::unique_ptr<Method> MethodCreate(PCMCPIBackendType backend, PCMCPIMethod method,
                                     const ColorPlan &plan, const GhostRows &ghosts);

// Says why CUDA cannot be used: the library has no code for a GPU of some rank. capability: 10
// times the compute capability of that GPU. 0: there is no such GPU, and the result is empty
std::string BackendLacksCode(int capability);

// Registers a function that is called when Kokkos ends. A program may end Kokkos before PETSc, and
// a backend must give up its Kokkos objects before that. An empty release removes the function of
// this owner.
void ReleaseWithKokkos(const void *owner, const std::function<void()> &release);

// Sets cuda if the vectors of MatCreateVecs(), and so the matrix's products, are on a CUDA device.
PetscErrorCode HasCudaVectors(Mat mat, PetscBool *cuda);

} // namespace mcpi
