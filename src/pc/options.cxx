#include "pc/mcpi.h"
#include "petscmcpi.h"

namespace mcpi {

const char *const SweepNames[] = {"forward",         "backward",       "symmetric",
                                  "PCMCPISweepType", "PC_MCPI_SWEEP_", nullptr};
const char *const PrecisionNames[] = {
    "fp64", "fp32", "fp16", "bf16", "int8", "int4", "PCMCPIPrecision", "PC_MCPI_PRECISION_",
    nullptr};
const char *const VectorNames[] = {
    "fp64", "fp32", "auto", "PCMCPIVectorPrecision", "PC_MCPI_VECTOR_PRECISION_", nullptr};
const char *const GatherNames[] = {"fp32", "bfp16", "PCMCPIGatherPrecision",
                                   "PC_MCPI_GATHER_PRECISION_", nullptr};
const char *const FormNames[] = {"prescaled", "factored", "PCMCPIForm", "PC_MCPI_FORM_", nullptr};
const char *const ScalingNames[] = {"none",          "global",           "balanced",
                                    "PCMCPIScaling", "PC_MCPI_SCALING_", nullptr};
const char *const BackendNames[] = {
    "auto", "host", "cuda", "kokkos", "reference", "PCMCPIBackendType", "PC_MCPI_BACKEND_",
    nullptr};
const char *const HaloNames[] = {"auto",          "sf",   "nccl", "peer", "PCMCPIHaloType",
                                 "PC_MCPI_HALO_", nullptr};
const char *const FrequencyNames[] = {"color", "sweep", "PCMCPIHaloFrequency",
                                      "PC_MCPI_HALO_FREQUENCY_", nullptr};
const char *const OrderingNames[] = {
    "auto", "natural", "rcm", "nd", "coordinates", "PCMCPIOrderingType", "PC_MCPI_ORDERING_",
    nullptr};

namespace {

// Only a value that was given goes through the setter: its checks and effects are one place for
// options and calls.
template <class Value>
PetscErrorCode enumeration(PC pc, CompatOptionItems PetscOptionsObject, const char *option,
                           const char *text, const char *function, const char *const *names,
                           PetscErrorCode (*get)(PC, Value *), PetscErrorCode (*set)(PC, Value))
{
  Value value, chosen;
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(get(pc, &value));
  PetscCall(PetscOptionsEnum(option, text, function, names, static_cast<PetscEnum>(value),
                             reinterpret_cast<PetscEnum *>(&chosen), &given));
  if (given) PetscCall(set(pc, chosen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode numbers(PC pc, CompatOptionItems PetscOptionsObject)
{
  const Settings &settings = Data(pc).settings;
  PetscInt integer;
  PetscReal real;
  PetscBool flag, given;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInt("-pc_mcpi_its", "Sweeps per application", "PCMCPISetIts", settings.its,
                            &integer, &given));
  if (given) PetscCall(PCMCPISetIts(pc, integer));
  PetscCall(PetscOptionsReal("-pc_mcpi_omega", "Relaxation factor, 0 < omega < 2", "PCMCPISetOmega",
                             settings.omega, &real, &given));
  if (given) PetscCall(PCMCPISetOmega(pc, real));
  PetscCall(PetscOptionsInt("-pc_mcpi_restart",
                            "Sweeps between two residuals, 0: never, -1: decide",
                            "PCMCPISetRestart", settings.restart, &integer, &given));
  if (given) PetscCall(PCMCPISetRestart(pc, integer));
  PetscCall(PetscOptionsReal("-pc_mcpi_halo_timeout",
                             "Seconds that a device waits for another rank", "PCMCPISetHaloTimeout",
                             settings.halo_timeout, &real, &given));
  if (given) PetscCall(PCMCPISetHaloTimeout(pc, real));
  PetscCall(PetscOptionsInt("-pc_mcpi_setup_threads",
                            "Threads of a rank in a set-up, -1: its share of the node's cores",
                            "PCMCPISetSetUpThreads", settings.setup_threads, &integer, &given));
  if (given) PetscCall(PCMCPISetSetUpThreads(pc, integer));
  PetscCall(PetscOptionsBool("-pc_mcpi_scaling_keep", "Keep the scaling while values change little",
                             "PCMCPISetScalingKeep",
                             settings.keep_scaling ? PETSC_TRUE : PETSC_FALSE, &flag, &given));
  if (given) PetscCall(PCMCPISetScalingKeep(pc, flag));
  PetscCall(PetscOptionsBool("-pc_mcpi_overlap", "Hide the exchange behind interior rows",
                             "PCMCPISetOverlap", settings.overlap ? PETSC_TRUE : PETSC_FALSE, &flag,
                             &given));
  if (given) PetscCall(PCMCPISetOverlap(pc, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode coloring_type(PC pc, CompatOptionItems PetscOptionsObject)
{
  char name[256];
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(MatInitializePackage());
  PetscCall(PetscOptionsFList("-pc_mcpi_mat_coloring_type", "Coloring of the block rows",
                              "PCMCPISetMatColoringType", MatColoringList,
                              Data(pc).settings.coloring.c_str(), name, sizeof(name), &given));
  if (given) PetscCall(PCMCPISetMatColoringType(pc, name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode PCSetFromOptions_MCPI(PC pc, CompatOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject,
                        "Multicolor point-implicit relaxation (PCMCPI) options");
  PetscCall(numbers(pc, PetscOptionsObject));
  PetscCall(enumeration(pc, PetscOptionsObject, "-pc_mcpi_sweep", "Order of the colors",
                        "PCMCPISetSweep", SweepNames, PCMCPIGetSweep, PCMCPISetSweep));
  PetscCall(enumeration(pc, PetscOptionsObject, "-pc_mcpi_offdiag_precision",
                        "Storage of the off-diagonal blocks", "PCMCPISetOffdiagPrecision",
                        PrecisionNames, PCMCPIGetOffdiagPrecision, PCMCPISetOffdiagPrecision));
  PetscCall(enumeration(pc, PetscOptionsObject, "-pc_mcpi_vector_precision",
                        "Vectors inside the sweeps", "PCMCPISetVectorPrecision", VectorNames,
                        PCMCPIGetVectorPrecision, PCMCPISetVectorPrecision));
  PetscCall(enumeration(pc, PetscOptionsObject, "-pc_mcpi_gather_precision",
                        "What off-diagonal products read of x", "PCMCPISetGatherPrecision",
                        GatherNames, PCMCPIGetGatherPrecision, PCMCPISetGatherPrecision));
  PetscCall(enumeration(pc, PetscOptionsObject, "-pc_mcpi_form",
                        "Store D^{-1}O, or O and apply D^{-1} in every sweep", "PCMCPISetForm",
                        FormNames, PCMCPIGetForm, PCMCPISetForm));
  PetscCall(enumeration(pc, PetscOptionsObject, "-pc_mcpi_scaling",
                        "Scaling before blocks are rounded", "PCMCPISetScaling", ScalingNames,
                        PCMCPIGetScaling, PCMCPISetScaling));
  PetscCall(enumeration(pc, PetscOptionsObject, "-pc_mcpi_backend", "What runs the sweeps",
                        "PCMCPISetBackend", BackendNames, PCMCPIGetBackend, PCMCPISetBackend));
  PetscCall(enumeration(pc, PetscOptionsObject, "-pc_mcpi_halo", "How ghost values travel",
                        "PCMCPISetHalo", HaloNames, PCMCPIGetHalo, PCMCPISetHalo));
  PetscCall(enumeration(pc, PetscOptionsObject, "-pc_mcpi_halo_frequency",
                        "When ghost values travel", "PCMCPISetHaloFrequency", FrequencyNames,
                        PCMCPIGetHaloFrequency, PCMCPISetHaloFrequency));
  PetscCall(enumeration(pc, PetscOptionsObject, "-pc_mcpi_ordering",
                        "Order of the rows inside a color", "PCMCPISetOrdering", OrderingNames,
                        PCMCPIGetOrdering, PCMCPISetOrdering));
  PetscCall(coloring_type(pc, PetscOptionsObject));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
