// Entry point of -dll_append.
#include <petscsys.h>

#include "petsc/compat.h"
#include "petscmcpi.h"

// Called by PETSc after it opened the library; the name follows from the file's.
extern "C" PETSC_VISIBILITY_PUBLIC PetscErrorCode PetscDLLibraryRegister_petscmcpi(void);

extern "C" PETSC_VISIBILITY_PUBLIC PetscErrorCode PetscDLLibraryRegister_petscmcpi(void)
{
  PetscFunctionBegin;
  PetscCall(PCMCPIRegister());
  PetscFunctionReturn(PETSC_SUCCESS);
}
