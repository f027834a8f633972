// The entry point of the plugin, for -dll_append.
#include <petscsys.h>

#include "petsc/compat.h"
#include "petscmcpi.h"

// PETSc calls this function after it has opened the library. PETSc derives its name from the name
// of the library file.
extern "C" PETSC_VISIBILITY_PUBLIC PetscErrorCode PetscDLLibraryRegister_petscmcpi(void);

extern "C" PETSC_VISIBILITY_PUBLIC PetscErrorCode PetscDLLibraryRegister_petscmcpi(void)
{
  PetscFunctionBegin;
  PetscCall(PCMCPIRegister());
  PetscFunctionReturn(PETSC_SUCCESS);
}
