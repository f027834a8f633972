// This file composes functions on the PC object: the setters and getters of options, and the
// functions of the table `kOthers`.
#include "pc/mcpi.h"

namespace mcpi {
namespace {

PetscErrorCode GetColoring(PC pc, ISColoring *coloring)
{
  PetscFunctionBegin;
  PetscCheck(Data(pc).smoother.ready(), PetscObjectComm((PetscObject)pc), PETSC_ERR_ORDER,
             "There is no coloring before the set-up. Call PCSetUp() first");
  *coloring = Data(pc).smoother.iscoloring();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GetFailedBlock(PC pc, PetscInt *row)
{
  PetscFunctionBegin;
  *row = Data(pc).smoother.failure().row;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The coordinates change the order of the rows inside a color. All ranks therefore make the plan
// again. The set-up of the plan finds out whether the points fit the matrix.
PetscErrorCode SetCoordinates(PC pc, PetscInt dim, PetscInt count, PetscReal *points)
{
  Coordinates &coordinates = Data(pc).coordinates;

  PetscFunctionBegin;
  PetscCheck(dim >= 1 && count >= 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PCSetCoordinates() needs at least one dimension and no negative number of points, "
             "not %" PetscInt_FMT " and %" PetscInt_FMT,
             dim, count);
  PetscCall(Guarded((PetscObject)pc, [&]() -> PetscErrorCode {
    coordinates.dim = static_cast<int>(dim);
    coordinates.points.assign(points, points + static_cast<std::ptrdiff_t>(dim) * count);
    return PETSC_SUCCESS;
  }));
  if (Data(pc).settings.ordering == PC_MCPI_ORDERING_AUTO ||
      Data(pc).settings.ordering == PC_MCPI_ORDERING_COORDINATES)
    Invalidate(pc, Effect::plan);
  PetscFunctionReturn(PETSC_SUCCESS);
}

struct Access {
  const char *name;
  ComposedFunction function;
};

template <class F> ComposedFunction erase(F function)
{
  return reinterpret_cast<ComposedFunction>(function);
}

const Access kOthers[] = {
    {"PCMCPIGetColoring_C", erase(GetColoring)},
    {"PCMCPIGetFailedBlock_C", erase(GetFailedBlock)},
    {"PCSetCoordinates_C", erase(SetCoordinates)},
};

} // namespace

PetscErrorCode ComposeAccess(PC pc)
{
  PetscObject object = (PetscObject)pc;

  PetscFunctionBegin;
  for (const Option &option : Options()) {
    if (!option.setter) continue;
    PetscCall(PetscObjectComposeFunction(object, option.set_composed, option.set));
    PetscCall(PetscObjectComposeFunction(object, option.get_composed, option.get));
  }
  for (const Access &access : kOthers)
    PetscCall(PetscObjectComposeFunction(object, access.name, access.function));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DecomposeAccess(PC pc)
{
  PetscObject object = (PetscObject)pc;

  PetscFunctionBegin;
  for (const Option &option : Options()) {
    if (!option.setter) continue;
    PetscCall(PetscObjectComposeFunction(object, option.set_composed, nullptr));
    PetscCall(PetscObjectComposeFunction(object, option.get_composed, nullptr));
  }
  for (const Access &access : kOthers)
    PetscCall(PetscObjectComposeFunction(object, access.name, nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
