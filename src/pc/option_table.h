// The options: one row each. PCSetFromOptions(), -help, the functions composed on the object, the
// checks of values and of agreement between ranks, and the tables of the manual are made from it.
#pragma once

#include <petsc/private/pcimpl.h>

#include <span>
#include <type_traits>

#include "pc/settings.h"
#include "petsc/compat.h"

namespace mcpi {

// When a value that is set acts. No set-up follows from the first two.
enum class Effect { next_apply, next_setup, values, plan };

struct Allowed {
  const char *text = nullptr;         // completes "must be"
  bool (*test)(double) = nullptr;     // of numbers
  const char *const *names = nullptr; // of an enumeration
};

using ComposedFunction = void (*)();

struct Option {
  const char *name;                        // its
  const char *setter, *getter;             // PCMCPISetIts, PCMCPIGetIts
  const char *set_composed, *get_composed; // PCMCPISetIts_C, PCMCPIGetIts_C
  ComposedFunction set, get;
  PetscErrorCode (*read)(PC, CompatOptionItems, const Option &); // from the options database
  double (*number)(const Settings &);                            // the same for the same value
  Effect effect;
  Allowed allowed;
  const char *help;
};

std::span<const Option> Options();

// Forgets what has to be set up again.
void Invalidate(PC pc, Effect effect);

// Is the value allowed for the option of this setter? Else an error
PetscErrorCode CheckOption(PC pc, const char *setter, double value);
PetscErrorCode CheckOption(PC pc, const char *setter, const char *value);
// The composed function of a public one
PetscErrorCode QueryOption(PC pc, const char *function, ComposedFunction *composed);

// In a PETSc for debugging, an error where ranks give different values
template <class Value> PetscErrorCode CheckCollective(PC pc, Value value)
{
  PetscFunctionBegin;
  if constexpr (std::is_same_v<Value, PetscBool>) {
    PetscValidLogicalCollectiveBool(pc, value, 2);
  } else if constexpr (std::is_enum_v<Value>) {
    PetscValidLogicalCollectiveEnum(pc, value, 2);
  } else if constexpr (std::is_integral_v<Value>) {
    PetscValidLogicalCollectiveInt(pc, value, 2);
  } else if constexpr (std::is_floating_point_v<Value>) {
    PetscValidLogicalCollectiveReal(pc, value, 2);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// What a public setter does. A preconditioner of another type ignores the value.
template <class Value> PetscErrorCode SetOption(PC pc, const char *setter, Value value)
{
  ComposedFunction set;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCall(CheckCollective(pc, value));
  if constexpr (std::is_pointer_v<Value>)
    PetscCall(CheckOption(pc, setter, value));
  else
    PetscCall(CheckOption(pc, setter, static_cast<double>(value)));
  PetscCall(QueryOption(pc, setter, &set));
  if (set) PetscCall(reinterpret_cast<PetscErrorCode (*)(PC, Value)>(set)(pc, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// What a public getter does
template <class Value> PetscErrorCode GetOption(PC pc, const char *getter, Value *value)
{
  ComposedFunction get;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  CompatAssertPointer(value, 2);
  PetscCall(QueryOption(pc, getter, &get));
  PetscCheck(get, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "%s() needs a preconditioner of type mcpi: call PCSetType() first", getter);
  PetscCall(reinterpret_cast<PetscErrorCode (*)(PC, Value *)>(get)(pc, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Names of the enumerations for options and views, PETSc's layout: values, type name, prefix,
// nullptr
extern const char *const SweepNames[];
extern const char *const PrecisionNames[];
extern const char *const VectorNames[];
extern const char *const GatherNames[];
extern const char *const FormNames[];
extern const char *const ScalingNames[];
extern const char *const BackendNames[];
extern const char *const HaloNames[];
extern const char *const FrequencyNames[];
extern const char *const OrderingNames[];

} // namespace mcpi
