// This file holds the table of all options and the functions that set, get, read and check them.
#include "pc/option_table.h"

#include <functional>
#include <string_view>

#include "pc/mcpi.h"
#include "petsc/prefix.h"
#include "petscmcpi.h"

// Names of the enumerations' values. The layout is PETSc's: names, name of the type, prefix,
// nullptr.
const char *const PCMCPISweepTypes[] = {"forward",         "backward",       "symmetric",
                                        "PCMCPISweepType", "PC_MCPI_SWEEP_", nullptr};
const char *const PCMCPISchedules[] = {"color", "wave",           "cluster",           "level",
                                       "auto",  "PCMCPISchedule", "PC_MCPI_SCHEDULE_", nullptr};
const char *const PCMCPIMethods[] = {"point",           "dilu", "ilu0", "PCMCPIMethod",
                                     "PC_MCPI_METHOD_", nullptr};
const char *const PCMCPIPrecisions[] = {
    "fp64", "fp32", "fp16", "bf16", "int8", "int4", "PCMCPIPrecision", "PC_MCPI_PRECISION_",
    nullptr};
const char *const PCMCPIVectorPrecisions[] = {
    "fp64", "fp32", "auto", "PCMCPIVectorPrecision", "PC_MCPI_VECTOR_PRECISION_", nullptr};
const char *const PCMCPIGatherPrecisions[] = {"fp32", "bfp16", "PCMCPIGatherPrecision",
                                              "PC_MCPI_GATHER_PRECISION_", nullptr};
const char *const PCMCPIForms[] = {"prescaled",  "factored",      "auto",
                                   "PCMCPIForm", "PC_MCPI_FORM_", nullptr};
const char *const PCMCPIScalings[] = {"none",          "global",           "balanced",
                                      "PCMCPIScaling", "PC_MCPI_SCALING_", nullptr};
const char *const PCMCPIBackendTypes[] = {
    "auto", "host", "cuda", "kokkos", "reference", "PCMCPIBackendType", "PC_MCPI_BACKEND_",
    nullptr};
const char *const PCMCPIHaloTypes[] = {"auto",          "sf",   "nccl", "peer", "PCMCPIHaloType",
                                       "PC_MCPI_HALO_", nullptr};
const char *const PCMCPIHaloFrequencies[] = {"color", "sweep", "PCMCPIHaloFrequency",
                                             "PC_MCPI_HALO_FREQUENCY_", nullptr};
const char *const PCMCPIOrderingTypes[] = {
    "auto", "natural", "rcm", "nd", "coordinates", "PCMCPIOrderingType", "PC_MCPI_ORDERING_",
    nullptr};

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

PetscErrorCode ask(CompatOptionItems PetscOptionsObject, const Option &option, const char *key,
                   const char *help, PetscInt *value, Text, PetscBool *given)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsInt(key, help, option.setter, *value, value, given));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ask(CompatOptionItems PetscOptionsObject, const Option &option, const char *key,
                   const char *help, PetscReal *value, Text, PetscBool *given)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsReal(key, help, option.setter, *value, value, given));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ask(CompatOptionItems PetscOptionsObject, const Option &option, const char *key,
                   const char *help, PetscBool *value, Text, PetscBool *given)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsBool(key, help, option.setter, *value, value, given));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ask(CompatOptionItems PetscOptionsObject, const Option &option, const char *key,
                   const char *help, MatColoringType *value, Text text, PetscBool *given)
{
  PetscFunctionBegin;
  PetscCall(MatInitializePackage());
  PetscCall(PetscOptionsFList(key, help, option.setter, MatColoringList, *value, text, sizeof(Text),
                              given));
  *value = text;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class Value>
PetscErrorCode ask(CompatOptionItems PetscOptionsObject, const Option &option, const char *key,
                   const char *help, Value *value, Text, PetscBool *given)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsEnum(key, help, option.setter, option.allowed.names,
                             static_cast<PetscEnum>(*value), reinterpret_cast<PetscEnum *>(value),
                             given));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Hands a value from the options database to the option's setter. Values from the database and from
// calls thus go through the same checks and have the same effects.
template <class Value>
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
  PetscCall(GetOption(pc, option.getter, &value));
  PetscCall(ask(items, option, key, help, &value, text, &given));
  if (given) PetscCall(SetOption(pc, option.setter, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// ---- The table

template <class F> ComposedFunction composed(F function)
{
  return reinterpret_cast<ComposedFunction>(function);
}

constexpr Allowed Numbers(const char *text, bool (*test)(double))
{
  return {text, test, nullptr};
}
constexpr Allowed Names(const char *const *names)
{
  return {nullptr, nullptr, names};
}
constexpr Allowed Anything()
{
  return {};
}

#define OPTION(name, Name, member, Value, effect, allowed, help)                                   \
  {                                                                                                \
    name, "PCMCPISet" #Name, "PCMCPIGet" #Name, "PCMCPISet" #Name "_C", "PCMCPIGet" #Name "_C",    \
        composed(set_value<&Settings::member, Effect::effect, Value>),                             \
        composed(get_value<&Settings::member, Value>), read_value<Value>,                          \
        number<&Settings::member>, Effect::effect, allowed, help                                   \
  }

// tools/manual reads these rows, and the defaults in pc/settings.h. The columns of a row are: the
// name behind -pc_mcpi_, the name in PCMCPISet...() and PCMCPIGet...(), the member of Settings, the
// type in the public interface, when a new value acts, the allowed values, and the help.
const Option kOptions[] = {
    OPTION("its", Its, its, PetscInt, next_apply,
           Numbers("from 1 to 2^29", [](double v) { return v >= 1 && v <= kMaxSweeps; }),
           "Sweeps of one application"),
    OPTION("sweep", Sweep, sweep, PCMCPISweepType, next_apply, Names(PCMCPISweepTypes),
           "Order of the colors in a sweep"),
    OPTION("omega", Omega, omega, PetscReal, next_apply,
           Numbers("above 0 and below 2", [](double v) { return v > 0 && v < 2; }),
           "Relaxation factor"),
    OPTION("restart", Restart, restart, PetscInt, next_apply,
           Numbers("at least 0 (0: never), or -1 (decide)",
                   [](double v) { return v >= 0 || v == PETSC_DECIDE; }),
           "Number of sweeps after which the residual is recomputed in double precision"),
    OPTION("method", Method, method, PCMCPIMethod, values, Names(PCMCPIMethods),
           "Method: block Gauss-Seidel, DILU or ILU(0)"),
    OPTION("offdiag_precision", OffdiagPrecision, offdiag, PCMCPIPrecision, values,
           Names(PCMCPIPrecisions), "Storage of the off-diagonal blocks"),
    OPTION("vector_precision", VectorPrecision, vector, PCMCPIVectorPrecision, values,
           Names(PCMCPIVectorPrecisions), "Precision of the vectors inside the sweeps"),
    OPTION("gather_precision", GatherPrecision, gather, PCMCPIGatherPrecision, values,
           Names(PCMCPIGatherPrecisions),
           "Precision in which off-diagonal products read the vector"),
    OPTION("form", Form, form, PCMCPIForm, values, Names(PCMCPIForms),
           "Store D^{-1}O, or O and apply D^{-1} in every sweep"),
    OPTION("scaling", Scaling, scaling, PCMCPIScaling, values, Names(PCMCPIScalings),
           "Powers of two by which blocks are scaled before they are rounded"),
    OPTION("scaling_keep", ScalingKeep, keep_scaling, PetscBool, values, Anything(),
           "Keep the scaling while the values of the matrix change little"),
    OPTION(
        "setup_threads", SetUpThreads, setup_threads, PetscInt, next_setup,
        Numbers("at least 1, or -1 (decide)", [](double v) { return v >= 1 || v == PETSC_DECIDE; }),
        "Largest number of threads of a rank in a set-up"),
    OPTION("block_product", BlockProduct, block_product, PetscBool, next_setup, Anything(),
           "Products with an AIJCUSPARSE matrix read one column index per block"),
    OPTION("gram_schmidt", GramSchmidt, gram_schmidt, PetscBool, next_solve, Anything(),
           "Classical Gram-Schmidt of the KSP takes several vectors at a time on a CUDA device"),
    OPTION("backend", Backend, backend, PCMCPIBackendType, values, Names(PCMCPIBackendTypes),
           "Hardware and code that run the sweeps"),
    OPTION("halo", Halo, halo, PCMCPIHaloType, plan, Names(PCMCPIHaloTypes),
           "Exchange of ghost values between ranks"),
    OPTION("halo_timeout", HaloTimeout, halo_timeout, PetscReal, plan,
           Numbers("above 0 and at most 1e9", [](double v) { return v > 0 && v <= 1e9; }),
           "Seconds that a device waits for another rank"),
    OPTION("halo_frequency", HaloFrequency, frequency, PCMCPIHaloFrequency, next_apply,
           Names(PCMCPIHaloFrequencies), "How often ghost values are exchanged"),
    OPTION("overlap", Overlap, overlap, PetscBool, next_apply, Anything(),
           "Overlap the ghost exchange with the relaxation of interior rows"),
    OPTION("schedule", Schedule, schedule, PCMCPISchedule, plan, Names(PCMCPISchedules),
           "Which block rows are relaxed at the same time"),
    OPTION("chunk_rows", ChunkRows, chunk_rows, PetscInt, plan,
           Numbers("at least 0 (0: no chunks), or -1 (decide)",
                   [](double v) { return v >= 0 || v == PETSC_DECIDE; }),
           "Block rows of a chunk, on a CPU"),
    OPTION("cluster_rows", ClusterRows, cluster_rows, PetscInt, plan,
           Numbers("from 1 to 1024, or -1 (decide)",
                   [](double v) { return (v >= 1 && v <= 1024) || v == PETSC_DECIDE; }),
           "Most block rows of a cluster"),
    OPTION("cluster_refresh", ClusterRefresh, cluster_refresh, PetscBool, plan, Anything(),
           "Make clusters anew for new values of the matrix"),
    OPTION("mat_coloring_type", MatColoringType, coloring, MatColoringType, plan, Anything(),
           "Coloring of the block rows"),
    OPTION("ordering", Ordering, ordering, PCMCPIOrderingType, plan, Names(PCMCPIOrderingTypes),
           "Order of the rows inside a color"),
};

#undef OPTION

const Option *find(std::string_view setter)
{
  for (const Option &option : kOptions)
    if (option.setter == setter) return &option;
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
  if (effect != Effect::values && effect != Effect::plan) return;
  if (effect == Effect::plan) Data(pc).smoother.invalidate_plan();
  Data(pc).smoother.invalidate_values();
  pc->setupcalled = {}; // an integer or a PetscBool, by PETSc's version
}

PetscErrorCode CheckOption(PC pc, const char *setter, double value)
{
  const Option *option = find(setter);

  PetscFunctionBegin;
  PetscCheck(option, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s() has no row in the table of options",
             setter);
  const Allowed &allowed = option->allowed;
  PetscCheck(!allowed.names || names_value(allowed.names, value), PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE,
             "Unknown value %d, use one that -help lists for -%spc_mcpi_%s", (int)value,
             prefix_of((PetscObject)pc), option->name);
  PetscCheck(!allowed.test || allowed.test(value), PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "-%spc_mcpi_%s must be %s, not %.10g",
             prefix_of((PetscObject)pc), option->name, allowed.text, value);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CheckOption(PC pc, const char *setter, const char *value)
{
  const Option *option = find(setter);

  PetscFunctionBegin;
  PetscCheck(value, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_NULL,
             "%s() was given no name: -%spc_mcpi_%s %s is the default", setter,
             prefix_of((PetscObject)pc), option ? option->name : "", Settings().coloring.c_str());
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
