#include <cstring>

#include "compat.h"
#include "flow_system.h"
#include "timing.h"

namespace bench {
namespace {

using Json = nlohmann::json;

// PETSc's own preconditioners, with usual options
constexpr const char *kTheirs[] = {
    "-ksp_type gmres -pc_type sor",     "-ksp_type gmres -pc_type pbjacobi",
    "-ksp_type gmres -pc_type bjacobi", "-ksp_type gmres -pc_type asm",
    "-ksp_type bcgs -pc_type sor",      "-ksp_type bcgs -pc_type pbjacobi",
    "-ksp_type bcgs -pc_type bjacobi"};

// Counts the products with the matrix and the applications of the PC in a solve.
PetscErrorCode count_events(KSP ksp, Vec b, Vec x, PetscInt *products, PetscInt *applications)
{
  const char *const names[] = {"MatMult", "PCApply"};
  PetscInt *const counts[] = {products, applications};
  int before[2];

  PetscFunctionBegin;
  for (int pass = 0; pass < 2; ++pass) {
    if (pass == 1) PetscCall(KSPSolve(ksp, b, x));
    for (int k = 0; k < 2; ++k) {
      PetscLogEvent event;
      PetscEventPerfInfo info;
      PetscCall(PetscLogEventGetId(names[k], &event));
      PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
      if (pass == 0)
        before[k] = info.count;
      else
        *counts[k] = info.count - before[k];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The median time of set-ups for new values
PetscErrorCode time_setups(const FlowOptions &options, const FlowSystem &system, KSP ksp,
                           double *median)
{
  std::vector<double> setups;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < options.repeat; ++r) {
    double time;
    PetscCall(RenewValues(system, ksp));
    PetscCall(TimeOnce([&] { return SetUpSolver(ksp); }, &time));
    setups.push_back(time);
  }
  *median = Median(setups);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure(const FlowOptions &options, const FlowSystem &system, KSP ksp,
                       const std::string &chosen, double first, Json *results)
{
  constexpr PetscInt kMany = 20;
  PC pc;
  Vec x, y;
  PetscInt iterations, products, applications;
  KSPConvergedReason reason;
  PetscReal residual;
  double setup = 0, solve = 0, product = 0, apply = 0;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(system.b, &x));
  PetscCall(VecDuplicate(system.b, &y));
  PetscCall(time_setups(options, system, ksp, &setup));
  PetscCall(count_events(ksp, system.b, x, &products, &applications));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(TrueResidual(system, x, &residual));
  PetscCall(TimeMedian(
      1, options.repeat, [&] { return KSPSolve(ksp, system.b, x); }, &solve));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(
      TimeMedian(1, 1, Many(kMany, [&] { return MatMult(system.J, system.b, y); }), &product));
  PetscCall(TimeMedian(1, 1, Many(kMany, [&] { return PCApply(pc, system.b, y); }), &apply));
  product *= static_cast<double>(products) / kMany;
  apply *= static_cast<double>(applications) / kMany;
  Json record = system.about;
  record.update({{"rtol", options.rtol},
                 {"options", chosen},
                 {"iterations", iterations},
                 {"converged", reason > 0},
                 {"true_residual", residual},
                 {"ms_first_setup", first},
                 {"ms_setup", setup},
                 {"ms_solve", solve},
                 {"ms_matmult", product},
                 {"ms_pc", apply},
                 {"ms_rest", solve - product - apply}});
  results->push_back(record);
  PetscCall(PetscPrintf(
      PETSC_COMM_WORLD,
      "%4d%s %8.1e  set-up %8.2f  solve %9.2f ms: MatMult %8.2f  PC %8.2f  rest %8.2f  %s\n",
      (int)iterations, reason > 0 ? " " : "*", residual, setup, solve, product, apply,
      solve - product - apply, chosen.c_str()));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Runs the solver once for each number of sweeps, or once as chosen if no numbers are given.
PetscErrorCode run_solver(const FlowOptions &options, const FlowSystem &system,
                          const std::string &chosen, const std::vector<std::string> &its,
                          Json *results)
{
  PetscOptions mine;
  KSP ksp;
  double first = 0;

  PetscFunctionBegin;
  PetscCall(CreateSystemSolver(options, system, chosen, &mine, &ksp));
  PetscCall(TimeOnce([&] { return KSPSetUp(ksp); }, &first));
  PetscCall(KSPSetUpOnBlocks(ksp));
  if (its.empty()) PetscCall(measure(options, system, ksp, chosen, first, results));
  for (const std::string &sweeps : its) {
    PetscCall(PetscOptionsSetValue(mine, "-pc_mcpi_its", sweeps.c_str()));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(measure(options, system, ksp, chosen + " -pc_mcpi_its " + sweeps, first, results));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsDestroy(&mine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

std::string mcpi(const FlowOptions &options, const std::string &precision)
{
  return "-pc_type mcpi -pc_mcpi_sweep forward -pc_mcpi_offdiag_precision " + precision +
         (precision == "fp64"
              ? ""
              : " -pc_mcpi_vector_precision fp32 -pc_mcpi_gather_precision " + options.gather);
}

} // namespace

PetscErrorCode RunSolvers(const FlowOptions &options, const FlowSystem &system, Json *results)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)system.b, &device, VECSEQCUDA, VECMPICUDA, ""));
  for (const char *one : kTheirs)
    if (options.theirs && !(device && std::strstr(one, "sor")))
      PetscCall(run_solver(options, system, one, {}, results)); // PETSc's PCSOR runs on the host.
  for (const std::string &outer : options.outer)
    for (const std::string &precision : options.precisions)
      PetscCall(run_solver(options, system, "-ksp_type " + outer + " " + mcpi(options, precision),
                           options.its, results));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RunStationary(const FlowOptions &options, const FlowSystem &system, Json *results)
{
  constexpr int kSweeps[] = {1,  2,  3,  4,  5,  6,   8,   10,  12,  15,  20, 25,
                             30, 40, 50, 60, 80, 100, 130, 160, 200, 250, 300};
  Vec x;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(system.b, &x));
  for (const std::string &precision : options.precisions)
    for (const int restart : {0, 3, 5}) {
      PetscOptions mine;
      KSP ksp;
      PC pc;
      Json record = system.about, sweeps, residuals;
      if (restart > 0 && precision != "int8" && precision != "int4") continue;
      const std::string chosen = "-ksp_type preonly " + mcpi(options, precision) +
                                 " -pc_mcpi_restart " + std::to_string(restart);
      PetscCall(CreateSystemSolver(options, system, chosen, &mine, &ksp));
      PetscCall(KSPSetUp(ksp));
      PetscCall(KSPGetPC(ksp, &pc));
      for (const int its : kSweeps) {
        PetscReal residual;
        PetscCall(PetscOptionsSetValue(mine, "-pc_mcpi_its", std::to_string(its).c_str()));
        PetscCall(PCSetFromOptions(pc));
        PetscCall(PCApply(pc, system.b, x));
        PetscCall(TrueResidual(system, x, &residual));
        sweeps.push_back(its);
        residuals.push_back(residual);
        if (!(residual < 1e6) || residual < 1e-13) break;
      }
      record.update({{"options", chosen}, {"sweeps", sweeps}, {"true_residuals", residuals}});
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  after %3d sweeps %8.1e  %s\n",
                            sweeps.back().get<int>(), residuals.back().get<double>(),
                            chosen.c_str()));
      results->push_back(record);
      PetscCall(KSPDestroy(&ksp));
      PetscCall(PetscOptionsDestroy(&mine));
    }
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace bench
