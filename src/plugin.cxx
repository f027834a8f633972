// Entry point of -dll_append.
#include <petscsys.h>

#include "pc/compat.h"
#include "petscmcpi.h"

#if defined(PETSC_USE_COMPLEX)
#error "petsc-mcpi works with real scalars: use a PETSc configured with --with-scalar-type=real"
#endif
#if !defined(PETSC_USE_REAL_DOUBLE)
#error "petsc-mcpi works with double precision: use a PETSc configured with --with-precision=double"
#endif

namespace {

struct Facts {
  PetscInt      major, minor;
  size_t        index_bytes;
  PetscDataType scalar, real;
};

// Asked of the PETSc that runs, not of the one whose headers were compiled: symbols bind to the program's.
PetscErrorCode running(Facts *facts)
{
  PetscInt  subminor, release;
  PetscBool found;

  PetscFunctionBegin;
  PetscCall(PetscGetVersionNumber(&facts->major, &facts->minor, &subminor, &release));
  PetscCall(PetscDataTypeGetSize(PETSC_INT, &facts->index_bytes));
  PetscCall(PetscDataTypeFromString("scalar", &facts->scalar, &found));
  PetscCall(PetscDataTypeFromString("real", &facts->real, &found));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

// Called by PETSc after it opened the library; the name follows from the file's.
extern "C" PETSC_VISIBILITY_PUBLIC PetscErrorCode PetscDLLibraryRegister_petscmcpi(void);

extern "C" PETSC_VISIBILITY_PUBLIC PetscErrorCode PetscDLLibraryRegister_petscmcpi(void)
{
  Facts facts{};

  PetscFunctionBegin;
  PetscCall(running(&facts));
  PetscCheck(facts.major == PETSC_VERSION_MAJOR && facts.minor == PETSC_VERSION_MINOR, PETSC_COMM_SELF, PETSC_ERR_LIB,
             "libpetscmcpi.so was built for PETSc %d.%d, this program runs %d.%d. Build petsc-mcpi again with this program's PETSC_DIR",
             PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, (int)facts.major, (int)facts.minor);
  PetscCheck(facts.index_bytes == sizeof(PetscInt) && facts.scalar == PETSC_DOUBLE && facts.real == PETSC_DOUBLE, PETSC_COMM_SELF,
             PETSC_ERR_LIB,
             "libpetscmcpi.so was built for a PETSc with %d-bit indices and real double scalars, this program's PETSc is configured "
             "otherwise. Build petsc-mcpi "
             "again with this program's PETSC_DIR and PETSC_ARCH",
             (int)(8 * sizeof(PetscInt)));
  PetscCall(PCMCPIRegister());
  PetscFunctionReturn(PETSC_SUCCESS);
}
