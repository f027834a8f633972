// The stream on which PETSc's objects on a device work.
#pragma once

#include <petscsys.h>

namespace mcpi {

// Sets stream to the CUDA or HIP stream, or the SYCL queue, on which PETSc works now. null: PETSc
// was configured without a device
PetscErrorCode UserStream(void **stream);

} // namespace mcpi
