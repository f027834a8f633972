// This header holds the values of all options, and their defaults. pc/option_table.cxx describes
// the options.
#pragma once

#include <petscsys.h>

#include <string>

#include "petscmcpitypes.h"

namespace mcpi {

constexpr PetscInt kMaxSweeps = 1 << 29; // of one application, since an int counts the passes

struct Settings {
  PetscInt its = 1;
  PetscReal omega = 1.0;
  PetscInt restart = PETSC_DECIDE; // sweeps between two residuals; 0: never
  PCMCPISweepType sweep = PC_MCPI_SWEEP_SYMMETRIC;
  PCMCPIMethod method = PC_MCPI_METHOD_POINT;
  PCMCPIPrecision offdiag = PC_MCPI_PRECISION_FP32;
  PCMCPIVectorPrecision vector = PC_MCPI_VECTOR_PRECISION_AUTO;
  PCMCPIGatherPrecision gather = PC_MCPI_GATHER_PRECISION_FP32;
  PCMCPIForm form = PC_MCPI_FORM_AUTO;
  PCMCPIScaling scaling = PC_MCPI_SCALING_BALANCED;
  PCMCPIBackendType backend = PC_MCPI_BACKEND_AUTO;
  PCMCPIHaloType halo = PC_MCPI_HALO_AUTO;
  PetscReal halo_timeout = 1800.0; // seconds
  PCMCPIHaloFrequency frequency = PC_MCPI_HALO_FREQUENCY_COLOR;
  bool overlap = true;
  bool keep_scaling = true;
  PetscInt setup_threads = PETSC_DECIDE;
  bool block_product = false;
  bool gram_schmidt = false;
  PCMCPIOrderingType ordering = PC_MCPI_ORDERING_AUTO;
  PCMCPISchedule schedule = PC_MCPI_SCHEDULE_COLOR;
  PetscInt chunk_rows = PETSC_DECIDE; // 0: no chunks
  PetscInt cluster_rows = PETSC_DECIDE;
  bool cluster_refresh = false;
  std::string coloring = "jplf";
};

// Collective. An error if ranks have different settings. Such ranks would wait for exchanges that
// others never begin.
PetscErrorCode SettingsCheckAgreement(MPI_Comm comm, const Settings &settings);
// Collective. An error if the precisions that were asked for do not go together.
PetscErrorCode SettingsCheckPrecisions(MPI_Comm comm, const Settings &settings);
// Collective. An error if the sweeps are not those that the method defines.
PetscErrorCode SettingsCheckMethod(MPI_Comm comm, const Settings &settings);

} // namespace mcpi
