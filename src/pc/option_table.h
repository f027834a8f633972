// This header declares the table of options, which has one row for each option. The table is the
// source of PCSetFromOptions(), of -help, of the functions composed on the PC, of the checks of
// values and of agreement between ranks, and of the tables in the manual.
#pragma once

#include <petsc/private/pcimpl.h>

#include <span>
#include <type_traits>

#include "pc/settings.h"
#include "petsc/compat.h"

namespace mcpi {

// When a new value acts: at the next application, at the next KSPSolve(), at the next set-up, or
// after a new set-up of the values or of the plan. Only the last two make a new set-up necessary.
enum class Effect { next_apply, next_solve, next_setup, values, plan };

struct Allowed {
  const char *text = nullptr;         // completes "must be", for numbers
  bool (*test)(double) = nullptr;     // whether a number is allowed; null: any value
  const char *const *names = nullptr; // names of an enumeration's values; null: no enumeration
};

using ComposedFunction = void (*)();

// One row. The examples are those of -pc_mcpi_its.
struct Option {
  const char *name; // its
  // The public functions, null for an option that only the database sets
  const char *setter, *getter;             // PCMCPISetIts, PCMCPIGetIts
  const char *set_composed, *get_composed; // PCMCPISetIts_C, PCMCPIGetIts_C
  ComposedFunction set, get;
  // Sets the option if the options database holds it.
  PetscErrorCode (*read)(PC, CompatOptionItems, const Option &);
  // Equal values give equal numbers. Ranks compare these numbers.
  double (*number)(const Settings &);
  Effect effect;
  Allowed allowed;
  const char *help;
};

std::span<const Option> Options();

// Drops the parts of the set-up that an option with this effect has made obsolete. The next set-up
// makes them again.
void Invalidate(PC pc, Effect effect);

// An error if the value is not allowed for the option, or for that of this setter.
PetscErrorCode CheckOption(PC pc, const Option &option, double value);
PetscErrorCode CheckOption(PC pc, const char *setter, double value);
// Sets composed to what pc has composed for a public function. null: pc has another type
PetscErrorCode QueryOption(PC pc, const char *function, ComposedFunction *composed);

// An error if ranks give different values. Only a PETSc configured for debugging makes this check.
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

// The body of a public setter. A PC of another type ignores the value.
template <class Value> PetscErrorCode SetOption(PC pc, const char *setter, Value value)
{
  ComposedFunction set;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCall(CheckCollective(pc, value));
  PetscCall(CheckOption(pc, setter, static_cast<double>(value)));
  PetscCall(QueryOption(pc, setter, &set));
  if (set) PetscCall(reinterpret_cast<PetscErrorCode (*)(PC, Value)>(set)(pc, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The body of a public getter. A PC of another type is an error.
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

} // namespace mcpi
