// A program that links the library is refused by words where its PETSc is another one.
#include "support.h"

using namespace test;

namespace {

bool other_version = false;

} // namespace

// Stands before PETSc's own, in this program only.
PETSC_EXTERN PetscErrorCode PetscGetVersionNumber(PetscInt *major, PetscInt *minor,
                                                  PetscInt *subminor, PetscInt *release)
{
  *major = PETSC_VERSION_MAJOR;
  *minor = PETSC_VERSION_MINOR + (other_version ? 3 : 0);
  if (subminor) *subminor = PETSC_VERSION_SUBMINOR;
  if (release) *release = PETSC_VERSION_RELEASE;
  return PETSC_SUCCESS;
}

TEST(another_version_of_petsc_is_refused)
{
  PetscFunctionBeginUser;
  other_version = true;
  CHECK_ERROR(PETSC_ERR_LIB, "was built for PETSc", PCMCPIRegister());
  other_version = false;
  PetscCall(PCMCPIRegister());
  PetscFunctionReturn(PETSC_SUCCESS);
}
