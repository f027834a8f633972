// Wall-clock times of work on all ranks and on their devices.
#pragma once

#include <petscsys.h>
#if PetscDefined(HAVE_CUDA)
#include <petscdevice_cuda.h>
#endif

#include <vector>

#include "common.h"
#include "compat.h"

namespace bench {

// Waits for the device, if one is in use.
inline PetscErrorCode Synchronize()
{
  PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA)
  if (PetscDeviceInitialized(PETSC_DEVICE_CUDA)) PetscCallCUDA(cudaDeviceSynchronize());
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Adds the name of the CUDA device to a document, if one is used.
inline PetscErrorCode AddDevice(nlohmann::json *document)
{
  PetscFunctionBegin;
  (void)document;
#if PetscDefined(HAVE_CUDA)
  if (PetscDeviceInitialized(PETSC_DEVICE_CUDA)) {
    cudaDeviceProp device;
    PetscCallCUDA(cudaGetDeviceProperties(&device, 0));
    (*document)["gpu"] = device.name;
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Measures the milliseconds from the time when all ranks begin to the time when the last rank's
// device is done.
template <class Work> PetscErrorCode TimeOnce(const Work &work, double *milliseconds)
{
  PetscFunctionBegin;
  PetscCall(Synchronize());
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  const double begin = MPI_Wtime();
  PetscCall(work());
  PetscCall(Synchronize());
  *milliseconds = 1e3 * (MPI_Wtime() - begin);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, milliseconds, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Measures the median of several times, after some that are not counted.
template <class Work>
PetscErrorCode TimeMedian(PetscInt uncounted, PetscInt repeat, const Work &work,
                          double *milliseconds)
{
  std::vector<double> times;

  PetscFunctionBegin;
  for (PetscInt r = -uncounted; r < repeat; ++r) {
    double time = 0.0;
    PetscCall(TimeOnce(work, &time));
    if (r >= 0) times.push_back(time);
  }
  *milliseconds = Median(times);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Work that repeats one kind of work count times
template <class Work> auto Many(PetscInt count, const Work &one)
{
  return [count, one]() -> PetscErrorCode {
    PetscFunctionBegin;
    for (PetscInt k = 0; k < count; ++k) PetscCall(one());
    PetscFunctionReturn(PETSC_SUCCESS);
  };
}

} // namespace bench
