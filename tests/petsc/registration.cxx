// Tests a program that links the library. Its PETSc must be that of the build. The test also checks
// the library's version and its references for -citations, which ctest looks for in the output.
#include <sstream>

#include "support/petsc.h"

using namespace mcpi::test;

namespace {

bool other_version = false;

} // namespace

// Replaces PETSc's function, in this program only.
PETSC_EXTERN PetscErrorCode PetscGetVersionNumber(PetscInt *major, PetscInt *minor,
                                                  PetscInt *subminor, PetscInt *release)
{
  *major = PETSC_VERSION_MAJOR;
  *minor = PETSC_VERSION_MINOR + (other_version ? 3 : 0);
  if (subminor) *subminor = PETSC_VERSION_SUBMINOR;
  if (release) *release = PETSC_VERSION_RELEASE;
  return PETSC_SUCCESS;
}

PETSC_TEST(Registration, another_version_of_petsc_is_refused)
{
  PetscFunctionBeginUser;
  other_version = true;
  EXPECT_PETSC_ERROR(PETSC_ERR_LIB, "was built for PETSc", PCMCPIRegister());
  other_version = false;
  PetscCall(PCMCPIRegister());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Registration, view_begins_with_the_version)
{
  OwnedPC pc;
  std::string text;

  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc.out()));
  PetscCall(PCSetType(pc, PCMCPI));
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, "petsc-mcpi " PETSCMCPI_VERSION "\n");
  EXPECT_LT(text.find("petsc-mcpi"), text.find("sweeps:"));
  std::ostringstream version;
  version << PETSCMCPI_VERSION_MAJOR << '.' << PETSCMCPI_VERSION_MINOR << '.'
          << PETSCMCPI_VERSION_SUBMINOR;
  EXPECT_EQ(version.str(), PETSCMCPI_VERSION);
  PetscFunctionReturn(PETSC_SUCCESS);
}
