#include "petsc/stream.h"

#include "petsc/compat.h"

#if defined(PETSC_HAVE_CUDA) || defined(PETSC_HAVE_HIP) || defined(PETSC_HAVE_SYCL)
#include <petscdevice.h>
#endif

namespace mcpi {

PetscErrorCode UserStream(void **stream)
{
  PetscFunctionBegin;
  *stream = nullptr;
#if defined(PETSC_HAVE_CUDA) || defined(PETSC_HAVE_HIP) || defined(PETSC_HAVE_SYCL)
  PetscDeviceContext context;
  void *handle;
  PetscCall(PetscDeviceContextGetCurrentContext(&context));
  PetscCall(PetscDeviceContextGetStreamHandle(context, &handle));
#if defined(PETSC_HAVE_SYCL)
  *stream = handle; // the handle is the SYCL queue itself
#else
  *stream = *static_cast<void **>(handle);
#endif
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
