// The experiments of benchmark_flow with a linear system of the flow example.
#pragma once

#include <petscksp.h>

#include <string>
#include <vector>

#include "common.h"

namespace bench {

struct FlowOptions : CommonOptions {
  FlowOptions() : CommonOptions{0, 0, 3, {}, "", {}, {}} {}

  std::vector<std::string> cfl = {"10", "100", "1000", "10000"},
                           its = {"1", "2", "3", "4", "6", "8", "12", "16"};
  std::vector<std::string> precisions = {"fp64", "fp32", "fp16", "int8", "int4"},
                           outer = {"fgmres"}, solvers;
  std::string experiment = "solvers", gather = "fp32", restart;
  PetscReal rtol = 1e-2;
  PetscBool theirs = PETSC_TRUE;
};

struct FlowSystem {
  Mat J;
  Vec b;
  nlohmann::json about; // what its records begin with
};

// Collective. Computes the norm of b - J x relative to that of b.
PetscErrorCode TrueResidual(const FlowSystem &system, Vec x, PetscReal *relative);
// Collective. Creates a right-preconditioned solver that reads the options `chosen` and no others.
// mine must outlive it.
PetscErrorCode CreateSystemSolver(const FlowOptions &options, const FlowSystem &system,
                                  const std::string &chosen, PetscOptions *mine, KSP *ksp);
// Collective. Makes a solver take the values of the matrix as new at its next set-up.
PetscErrorCode RenewValues(const FlowSystem &system, KSP ksp);
// Collective. Sets up a solver and those of its blocks.
PetscErrorCode SetUpSolver(KSP ksp);

// The experiments. They are collective, and append rows to results.
// PCMCPI in all its precisions, and PETSc's preconditioners
PetscErrorCode RunSolvers(const FlowOptions &options, const FlowSystem &system,
                          nlohmann::json *results);
// The residual after several numbers of sweeps in one application. It shows the floor that rounded
// blocks cause, and how restarts lower it.
PetscErrorCode RunStationary(const FlowOptions &options, const FlowSystem &system,
                             nlohmann::json *results);
// The solvers of -solvers in turns, so that a changing load of the machine affects all of them. The
// first turn is not counted.
PetscErrorCode RunTurns(const FlowOptions &options, const FlowSystem &system,
                        nlohmann::json *results);

} // namespace bench
