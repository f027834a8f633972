// This file implements PCSetFromOptions().
#include "pc/mcpi.h"
#include "pc/unknown_options.h"

namespace mcpi {

PetscErrorCode PCSetFromOptions_MCPI(PC pc, CompatOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject,
                        "Multicolor point-implicit relaxation (PCMCPI) options");
  for (const Option &option : Options()) PetscCall(option.read(pc, PetscOptionsObject, option));
  PetscOptionsHeadEnd();
  PetscCall(Guarded([&] { return WarnOfUnknownOptions(pc); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
