// This file registers the types with the PETSc of the running program. That PETSc must be
// compatible with the PETSc whose headers were compiled.
#include "pc/mcpi.h"
#include "petscmcpi.h"

#if defined(PETSC_USE_COMPLEX)
#error "petsc-mcpi works with real scalars: use a PETSc configured with --with-scalar-type=real"
#endif
#if !defined(PETSC_USE_REAL_DOUBLE)
#error "petsc-mcpi works with double precision: use a PETSc configured with --with-precision=double"
#endif

namespace {

// Properties in which both PETScs must agree.
struct Facts {
  PetscInt major, minor;
  size_t index_bytes;
  PetscDataType scalar, real;
};

// Sets facts to those of the PETSc that runs. Functions of PETSc tell them, since symbols bind to
// the program's PETSc. Macros would tell those of the PETSc whose headers were compiled.
PetscErrorCode running(Facts *facts)
{
  PetscInt subminor, release;
  PetscBool found;

  PetscFunctionBegin;
  PetscCall(PetscGetVersionNumber(&facts->major, &facts->minor, &subminor, &release));
  PetscCall(PetscDataTypeGetSize(PETSC_INT, &facts->index_bytes));
  PetscCall(PetscDataTypeFromString("scalar", &facts->scalar, &found));
  PetscCall(PetscDataTypeFromString("real", &facts->real, &found));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode check_running()
{
  Facts facts{};

  PetscFunctionBegin;
  PetscCall(running(&facts));
  PetscCheck(facts.major == PETSC_VERSION_MAJOR && facts.minor == PETSC_VERSION_MINOR,
             PETSC_COMM_SELF, PETSC_ERR_LIB,
             "libpetscmcpi.so was built for PETSc %d.%d, this program runs %d.%d. Build petsc-mcpi "
             "again with this program's PETSC_DIR",
             PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, (int)facts.major, (int)facts.minor);
  PetscCheck(facts.scalar == PETSC_DOUBLE && facts.real == PETSC_DOUBLE, PETSC_COMM_SELF,
             PETSC_ERR_SUP,
             "petsc-mcpi supports real scalars in double precision only. Use a PETSc configured "
             "with --with-scalar-type=real and "
             "--with-precision=double");
  PetscCheck(facts.index_bytes == sizeof(PetscInt), PETSC_COMM_SELF, PETSC_ERR_LIB,
             "libpetscmcpi.so was built for a PETSc with %d-bit indices, this program's PETSc has "
             "%d-bit ones. Build petsc-mcpi again with "
             "this program's PETSC_DIR and PETSC_ARCH",
             (int)(8 * sizeof(PetscInt)), (int)(8 * facts.index_bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*@C
   PCMCPIRegister - Registers the type `PCMCPI` and this library's coloring types with PETSc

   Not Collective

   Level: intermediate

   Notes:
   A program that links the library calls it once, after `PetscInitialize()`. Another call does
   nothing. A program that does not link the library needs -dll_append /path/to/libpetscmcpi.so,
   which makes the call.

   The coloring types are `MATCOLORINGJPLF`, `MATCOLORINGWAVE` and `MATCOLORINGLEVELS`.

   It is the error `PETSC_ERR_LIB` if the PETSc of the running program has another version or
   another size of indices than the one that the library was built for. Other scalars than real ones
   in double precision are the error `PETSC_ERR_SUP`. Build petsc-mcpi again with the PETSc of the
   program.

.seealso: `PCMCPI`, `MatColoringRegisterJPLF()`, `MatColoringRegisterWave()`,
          `MatColoringRegisterLevels()`, `PCRegister()`
@*/
PetscErrorCode PCMCPIRegister(void)
{
  PetscFunctionBegin;
  PetscCall(check_running());
  PetscCall(PCInitializePackage());
  PetscCall(PCRegister(PCMCPI, mcpi::PCCreate_MCPI));
  PetscCall(MatColoringRegisterJPLF());
  PetscCall(MatColoringRegisterWave());
  PetscCall(MatColoringRegisterLevels());
  PetscCall(mcpi::RegisterEvents());
  PetscFunctionReturn(PETSC_SUCCESS);
}
