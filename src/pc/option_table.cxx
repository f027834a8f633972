// This file holds the table of all options and the functions that set, get, read and check them.
#include "pc/option_table.h"

#include <functional>
#include <string_view>

#include "pc/mcpi.h"
#include "petsc/prefix.h"
#include "petscmcpi.h"

// The layout of these arrays is PETSc's.
#define ENUMERATION(array, Type, PREFIX, ...)                                                      \
  const char *const array[] = {__VA_ARGS__, #Type, #PREFIX, nullptr};
#include "pc/options.def"

namespace mcpi {

namespace {

// ---- The functions of one option. Member is the option's member of Settings, Value the option's
// type in the public interface.

template <auto Member, Effect effect, class Value> PetscErrorCode set_value(PC pc, Value value)
{
  auto &member = Data(pc).settings.*Member;

  PetscFunctionBegin;
  PetscCall(Guarded((PetscObject)pc, [&]() -> PetscErrorCode {
    const auto chosen = static_cast<std::decay_t<decltype(member)>>(value);
    if (member != chosen) {
      member = chosen;
      Invalidate(pc, effect);
    }
    return PETSC_SUCCESS;
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <auto Member, class Value> PetscErrorCode get_value(PC pc, Value *value)
{
  PetscFunctionBegin;
  if constexpr (std::is_pointer_v<Value>)
    *value = (Data(pc).settings.*Member).c_str();
  else
    *value = static_cast<Value>(Data(pc).settings.*Member);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <auto Member> double number(const Settings &settings)
{
  const auto &value = settings.*Member;
  if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
    return static_cast<double>(std::hash<std::string>()(value));
  else
    return static_cast<double>(value);
}

// ---- Reading the options database. given: the database holds the option, and value is its value

using Text = char[256];

// The manual page that -help names
const char *page_of(const Option &option)
{
  return option.setter ? option.setter : "PCMCPI";
}

PetscErrorCode ask(CompatOptionItems PetscOptionsObject, const Option &option, const char *key,
                   const char *help, PetscInt *value, Text, PetscBool *given)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsInt(key, help, page_of(option), *value, value, given));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ask(CompatOptionItems PetscOptionsObject, const Option &option, const char *key,
                   const char *help, PetscReal *value, Text, PetscBool *given)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsReal(key, help, page_of(option), *value, value, given));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ask(CompatOptionItems PetscOptionsObject, const Option &option, const char *key,
                   const char *help, PetscBool *value, Text, PetscBool *given)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsBool(key, help, page_of(option), *value, value, given));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ask(CompatOptionItems PetscOptionsObject, const Option &option, const char *key,
                   const char *help, MatColoringType *value, Text text, PetscBool *given)
{
  PetscFunctionBegin;
  PetscCall(MatInitializePackage());
  PetscCall(PetscOptionsFList(key, help, page_of(option), MatColoringList, *value, text,
                              sizeof(Text), given));
  *value = text;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class Value>
PetscErrorCode ask(CompatOptionItems PetscOptionsObject, const Option &option, const char *key,
                   const char *help, Value *value, Text, PetscBool *given)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsEnum(key, help, page_of(option), option.allowed.names,
                             static_cast<PetscEnum>(*value), reinterpret_cast<PetscEnum *>(value),
                             given));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Sets the value that the options database holds. It goes through the same checks as the value of a
// call, and has the same effects.
template <auto Member, Effect effect, class Value>
PetscErrorCode read_value(PC pc, CompatOptionItems items, const Option &option)
{
  Value value;
  Text key, help, text;
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(key, sizeof(key), "-pc_mcpi_%s", option.name));
  PetscCall(PetscSNPrintf(help, sizeof(help), "%s%s%s", option.help,
                          option.allowed.text ? ", " : "",
                          option.allowed.text ? option.allowed.text : ""));
  PetscCall(get_value<Member>(pc, &value));
  PetscCall(ask(items, option, key, help, &value, text, &given));
  if (!given) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CheckCollective(pc, value));
  if constexpr (!std::is_pointer_v<Value>)
    PetscCall(CheckOption(pc, option, static_cast<double>(value)));
  PetscCall(set_value<Member, effect>(pc, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// ---- The table

template <class F> ComposedFunction composed(F function)
{
  return reinterpret_cast<ComposedFunction>(function);
}

constexpr const char *unless_empty(const char *name, const char *function)
{
  return *name ? function : nullptr;
}
constexpr Allowed Numbers(const char *text, bool (*test)(double))
{
  return {text, test, nullptr};
}
constexpr Allowed Names(const char *const *names)
{
  return {nullptr, nullptr, names};
}

#define NUMBERS(text, condition) Numbers(text, [](double v) { return condition; })
#define NAMES(array) Names(array)
#define ANYTHING Allowed()
#define OPTION(name, Name, member, effect, Value, preset, allowed, help)                           \
  {#name,                                                                                          \
   unless_empty(#Name, "PCMCPISet" #Name),                                                         \
   unless_empty(#Name, "PCMCPIGet" #Name),                                                         \
   unless_empty(#Name, "PCMCPISet" #Name "_C"),                                                    \
   unless_empty(#Name, "PCMCPIGet" #Name "_C"),                                                    \
   composed(set_value<&Settings::member, Effect::effect, Value>),                                  \
   composed(get_value<&Settings::member, Value>),                                                  \
   read_value<&Settings::member, Effect::effect, Value>,                                           \
   number<&Settings::member>,                                                                      \
   Effect::effect,                                                                                 \
   allowed,                                                                                        \
   help},

const Option kOptions[] = {
#include "pc/options.def"
};

#undef NUMBERS
#undef NAMES
#undef ANYTHING

const Option *find(std::string_view setter)
{
  for (const Option &option : kOptions)
    if (option.setter && option.setter == setter) return &option;
  return nullptr;
}

bool names_value(const char *const *names, double value)
{
  int count = 0; // includes the type's name and the prefix
  while (names[count]) ++count;
  return value >= 0 && value < count - 2;
}

} // namespace

std::span<const Option> Options()
{
  return kOptions;
}

void Invalidate(PC pc, Effect effect)
{
  Trials &trials = Data(pc).smoother.trials();
  trials.forget();
  if (trials.factors() && !SuitsFactors(Data(pc).settings)) {
    trials.set_factors(false);
    if (effect != Effect::plan) effect = Effect::values;
  }
  if (effect != Effect::values && effect != Effect::plan) return;
  if (effect == Effect::plan) Data(pc).smoother.invalidate_plan();
  Data(pc).smoother.invalidate_values();
  pc->setupcalled = {}; // an integer or a PetscBool, by PETSc's version
}

PetscErrorCode CheckOption(PC pc, const Option &option, double value)
{
  const Allowed &allowed = option.allowed;

  PetscFunctionBegin;
  PetscCheck(!allowed.names || names_value(allowed.names, value), PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE,
             "Unknown value %d, use one that -help lists for -%spc_mcpi_%s", (int)value,
             prefix_of((PetscObject)pc), option.name);
  PetscCheck(!allowed.test || allowed.test(value), PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "-%spc_mcpi_%s must be %s, not %.10g",
             prefix_of((PetscObject)pc), option.name, allowed.text, value);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CheckOption(PC pc, const char *setter, double value)
{
  const Option *option = find(setter);

  PetscFunctionBegin;
  PetscCheck(option, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s() has no row in the table of options",
             setter);
  PetscCall(CheckOption(pc, *option, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode QueryOption(PC pc, const char *function, ComposedFunction *composed)
{
  Text name;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s_C", function));
  PetscCall(PetscObjectQueryFunction((PetscObject)pc, name, composed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
