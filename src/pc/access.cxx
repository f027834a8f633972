// Setters and getters composed on the object, from one table.
#include <type_traits>

#include "pc/mcpi.h"

namespace mcpi {
namespace {

enum class Effect { next_apply, values, plan };

void invalidate(PC pc, Effect effect)
{
  if (effect == Effect::next_apply) return;
  if (effect == Effect::plan) Data(pc).smoother.invalidate_plan();
  Data(pc).smoother.invalidate_values();
  pc->setupcalled = {}; // an integer or a PetscBool
}

template <auto Field, Effect effect, class Value> PetscErrorCode Set(PC pc, Value value)
{
  auto &field = Data(pc).settings.*Field;

  PetscFunctionBegin;
  if (field != static_cast<std::decay_t<decltype(field)>>(value)) {
    field = static_cast<std::decay_t<decltype(field)>>(value);
    invalidate(pc, effect);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <auto Field, class Value> PetscErrorCode Get(PC pc, Value *value)
{
  PetscFunctionBegin;
  *value = static_cast<Value>(Data(pc).settings.*Field);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SetMatColoringType(PC pc, MatColoringType type)
{
  PetscFunctionBegin;
  if (Data(pc).settings.coloring != type) {
    Data(pc).settings.coloring = type;
    invalidate(pc, Effect::plan);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GetMatColoringType(PC pc, MatColoringType *type)
{
  PetscFunctionBegin;
  *type = Data(pc).settings.coloring.c_str();
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

// The order inside a color changes with the points, so the plan is made again, on all ranks:
// whether the points fit is found out there.
PetscErrorCode SetCoordinates(PC pc, PetscInt dim, PetscInt count, PetscReal *points)
{
  Coordinates &coordinates = Data(pc).coordinates;

  PetscFunctionBegin;
  PetscCheck(dim >= 1 && count >= 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PCSetCoordinates() needs at least one dimension and no negative number of points, "
             "not %" PetscInt_FMT " and %" PetscInt_FMT,
             dim, count);
  PetscCall(Guarded([&]() -> PetscErrorCode {
    coordinates.dim = static_cast<int>(dim);
    coordinates.points.assign(points, points + static_cast<std::ptrdiff_t>(dim) * count);
    return PETSC_SUCCESS;
  }));
  if (Data(pc).settings.ordering == PC_MCPI_ORDERING_AUTO ||
      Data(pc).settings.ordering == PC_MCPI_ORDERING_COORDINATES)
    invalidate(pc, Effect::plan);
  PetscFunctionReturn(PETSC_SUCCESS);
}

using Function = void (*)();

struct Access {
  const char *name;
  Function function;
};

template <class F> Function erase(F function)
{
  return reinterpret_cast<Function>(function);
}

template <auto Field, Effect effect, class Value> Access setter(const char *name)
{
  return {name, erase(Set<Field, effect, Value>)};
}
template <auto Field, class Value> Access getter(const char *name)
{
  return {name, erase(Get<Field, Value>)};
}

#define ACCESS(Name, field, Value, effect)                                                         \
  setter<&Settings::field, Effect::effect, Value>("PCMCPISet" #Name "_C"),                         \
      getter<&Settings::field, Value>("PCMCPIGet" #Name "_C")

const Access table[] = {
    ACCESS(Its, its, PetscInt, next_apply),
    ACCESS(Sweep, sweep, PCMCPISweepType, next_apply),
    ACCESS(Omega, omega, PetscReal, next_apply),
    ACCESS(Restart, restart, PetscInt, next_apply),
    ACCESS(HaloFrequency, frequency, PCMCPIHaloFrequency, next_apply),
    ACCESS(Overlap, overlap, PetscBool, next_apply),
    ACCESS(OffdiagPrecision, offdiag, PCMCPIPrecision, values),
    ACCESS(VectorPrecision, vector, PCMCPIVectorPrecision, values),
    ACCESS(GatherPrecision, gather, PCMCPIGatherPrecision, values),
    ACCESS(Form, form, PCMCPIForm, values),
    ACCESS(Scaling, scaling, PCMCPIScaling, values),
    ACCESS(ScalingKeep, keep_scaling, PetscBool, values),
    ACCESS(SetUpThreads, setup_threads, PetscInt, next_apply),
    ACCESS(Backend, backend, PCMCPIBackendType, values),
    ACCESS(Halo, halo, PCMCPIHaloType, plan),
    ACCESS(HaloTimeout, halo_timeout, PetscReal, plan),
    ACCESS(Ordering, ordering, PCMCPIOrderingType, plan),
    {"PCMCPISetMatColoringType_C", erase(SetMatColoringType)},
    {"PCMCPIGetMatColoringType_C", erase(GetMatColoringType)},
    {"PCMCPIGetColoring_C", erase(GetColoring)},
    {"PCMCPIGetFailedBlock_C", erase(GetFailedBlock)},
    {"PCSetCoordinates_C", erase(SetCoordinates)},
};

#undef ACCESS

} // namespace

PetscErrorCode ComposeAccess(PC pc)
{
  PetscFunctionBegin;
  for (const Access &access : table)
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, access.name, access.function));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DecomposeAccess(PC pc)
{
  PetscFunctionBegin;
  for (const Access &access : table)
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, access.name, nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
