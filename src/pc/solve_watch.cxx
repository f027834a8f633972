#include "pc/solve_watch.h"

#include <petsc/private/kspimpl.h>

#include <utility>

#include "petsc/compat.h"
#include "petsc/composed.h"

namespace mcpi {
namespace {

constexpr char kComposed[] = "mcpi solve";

using Method = PetscErrorCode (*)(KSP);

// What a KSP has composed. A call of the method sees the end of the solve, whatever that is. The
// KSP's method is therefore replaced between PCPreSolve() and its own call.
struct Watch {
  Method method = nullptr;
  std::shared_ptr<bool> underway;

  ~Watch() { end(); }
  void end()
  {
    if (underway) *underway = false;
  }
};

PetscErrorCode watched_method(KSP ksp)
{
  Watch *watch = nullptr;

  PetscFunctionBegin;
  PetscCall(QueryOwned((PetscObject)ksp, kComposed, &watch));
  PetscCheck(watch, PetscObjectComm((PetscObject)ksp), PETSC_ERR_PLIB,
             "The KSP has lost what PCMCPI has composed on it");
  ksp->ops->solve = watch->method;
  const std::shared_ptr<bool> underway = watch->underway;
  const PetscErrorCode error = (*ksp->ops->solve)(ksp);
  *underway = false;
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode WatchSolve(KSP ksp, std::shared_ptr<const bool> *underway)
{
  Watch *watch = nullptr;

  PetscFunctionBegin;
  PetscCall(QueryOwned((PetscObject)ksp, kComposed, &watch));
  if (!watch) {
    auto owned = std::make_unique<Watch>();
    watch = owned.get();
    PetscCall(ComposeOwned((PetscObject)ksp, kComposed, &owned));
  }
  watch->end();
  watch->underway = std::make_shared<bool>(true);
  if (ksp->ops->solve != watched_method)
    watch->method = std::exchange(ksp->ops->solve, watched_method);
  *underway = watch->underway;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A caller of PCPreSolve() other than KSPSolve() does not call the KSP's method.
PetscErrorCode EndSolve(KSP ksp)
{
  Watch *watch = nullptr;

  PetscFunctionBegin;
  PetscCall(QueryOwned((PetscObject)ksp, kComposed, &watch));
  if (!watch) PetscFunctionReturn(PETSC_SUCCESS);
  if (ksp->ops->solve == watched_method) ksp->ops->solve = watch->method;
  watch->end();
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
