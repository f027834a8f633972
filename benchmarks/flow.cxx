static char help[] =
    "Linear systems of a step of examples/flow: time and iterations of PCMCPI in all its "
    "precisions and of PETSc's preconditioners.\n"
    "  -dm_plex_filename <file.msh>  -flow_mach  -flow_angle  -flow_units  -flow_restart <file>: "
    "the flow, written by the program\n"
    "  -cfl <10,100,1000,10000>  -rtol <1e-2>  -repeat <3>  -json <file>  -commit <text>\n"
    "  -experiment <solvers,stationary,turns>\n"
    "  -precision <fp64,fp32,fp16,int8,int4>  -its <1,2,3,4,6,8,12,16>: sweeps of an application\n"
    "  -outer <fgmres>  -gather <fp32>  -theirs <true>\n"
    "  -solvers <name: options,name: options>: of turns, which times new values and their solution "
    "by one solver after the other, -repeat times\n"
    "On a device: -dm_mat_type aijcusparse -dm_vec_type cuda; else -dm_mat_type baij.\n";

#include <petscksp.h>

#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "common.h"
#include "flow_case.h"
#include "timing.h"

namespace {

using Json = nlohmann::json;

struct Options : bench::CommonOptions {
  Options() : CommonOptions{0, 0, 3, {}, "", {}, {}} {}

  std::vector<std::string> cfl = {"10", "100", "1000", "10000"},
                           its = {"1", "2", "3", "4", "6", "8", "12", "16"};
  std::vector<std::string> precisions = {"fp64", "fp32", "fp16", "int8", "int4"},
                           outer = {"fgmres"}, solvers;
  std::string experiment = "solvers", gather = "fp32", restart;
  PetscReal rtol = 1e-2;
  PetscBool theirs = PETSC_TRUE;
};

// PETSc's own preconditioners, with usual options
constexpr const char *kTheirs[] = {
    "-ksp_type gmres -pc_type sor",     "-ksp_type gmres -pc_type pbjacobi",
    "-ksp_type gmres -pc_type bjacobi", "-ksp_type gmres -pc_type asm",
    "-ksp_type bcgs -pc_type sor",      "-ksp_type bcgs -pc_type pbjacobi",
    "-ksp_type bcgs -pc_type bjacobi"};

struct System {
  Mat J;
  Vec b;
  Json about; // what its records begin with
};

PetscErrorCode true_residual(const System &system, Vec x, PetscReal *relative)
{
  Vec r;
  PetscReal size;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(x, &r));
  PetscCall(MatMult(system.J, x, r));
  PetscCall(VecAYPX(r, -1.0, system.b));
  PetscCall(VecNorm(r, NORM_2, relative));
  PetscCall(VecNorm(system.b, NORM_2, &size));
  *relative /= size;
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

PetscErrorCode create_solver(const Options &options, const System &system,
                             const std::string &chosen, PetscOptions *mine, KSP *ksp)
{
  PetscFunctionBegin;
  PetscCall(bench::CreateSolver(
      system.J,
      "-ksp_gmres_restart 50 -ksp_max_it 1000 -ksp_pc_side right -ksp_norm_type unpreconditioned " +
          chosen,
      mine, ksp));
  PetscCall(KSPSetTolerances(*ksp, options.rtol, PETSC_DEFAULT, 1e10, PETSC_DEFAULT));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The median time of set-ups for new values
PetscErrorCode time_setups(const Options &options, const System &system, KSP ksp, double *median)
{
  std::vector<double> setups;

  PetscFunctionBegin;
  const auto renew = [&]() -> PetscErrorCode {
    PetscFunctionBegin;
    PetscCall(KSPSetUp(ksp));
    PetscCall(KSPSetUpOnBlocks(ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
  };
  for (PetscInt r = 0; r < options.repeat; ++r) {
    double time;
    PetscCall(MatAssemblyBegin(system.J,
                               MAT_FINAL_ASSEMBLY)); // The preconditioner takes the values as new.
    PetscCall(MatAssemblyEnd(system.J, MAT_FINAL_ASSEMBLY));
    PetscCall(KSPSetOperators(ksp, system.J, system.J));
    PetscCall(bench::TimeOnce(renew, &time));
    setups.push_back(time);
  }
  *median = bench::Median(setups);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure(const Options &options, const System &system, KSP ksp,
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
  PetscCall(true_residual(system, x, &residual));
  PetscCall(bench::TimeMedian(
      1, options.repeat, [&] { return KSPSolve(ksp, system.b, x); }, &solve));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(bench::TimeMedian(
      1, 1, bench::Many(kMany, [&] { return MatMult(system.J, system.b, y); }), &product));
  PetscCall(bench::TimeMedian(1, 1, bench::Many(kMany, [&] { return PCApply(pc, system.b, y); }),
                              &apply));
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
PetscErrorCode run_solver(const Options &options, const System &system, const std::string &chosen,
                          const std::vector<std::string> &its, Json *results)
{
  PetscOptions mine;
  KSP ksp;
  double first = 0;

  PetscFunctionBegin;
  PetscCall(create_solver(options, system, chosen, &mine, &ksp));
  PetscCall(bench::TimeOnce([&] { return KSPSetUp(ksp); }, &first));
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

std::string mcpi(const Options &options, const std::string &precision)
{
  return "-pc_type mcpi -pc_mcpi_sweep forward -pc_mcpi_offdiag_precision " + precision +
         (precision == "fp64"
              ? ""
              : " -pc_mcpi_vector_precision fp32 -pc_mcpi_gather_precision " + options.gather);
}

PetscErrorCode run_solvers(const Options &options, const System &system, Json *results)
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

// Records the residual after several numbers of sweeps in one application. It shows the floor that
// rounded blocks cause, and how restarts lower it.
PetscErrorCode run_stationary(const Options &options, const System &system, Json *results)
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
      PetscCall(create_solver(options, system, chosen, &mine, &ksp));
      PetscCall(KSPSetUp(ksp));
      PetscCall(KSPGetPC(ksp, &pc));
      for (const int its : kSweeps) {
        PetscReal residual;
        PetscCall(PetscOptionsSetValue(mine, "-pc_mcpi_its", std::to_string(its).c_str()));
        PetscCall(PCSetFromOptions(pc));
        PetscCall(PCApply(pc, system.b, x));
        PetscCall(true_residual(system, x, &residual));
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

// Milliseconds of each turn
struct Times {
  std::vector<double> wall, cpu; // CPU time of the rank that took most
};

struct TurnSolver {
  std::string name, chosen;
  PetscOptions mine;
  KSP ksp;
  Times setup, solve;
};

double cpu_milliseconds()
{
  std::timespec now{};

  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

template <class Work> PetscErrorCode time_turn(const Work &work, Times *times)
{
  double wall, cpu;
  const auto counted = [&]() -> PetscErrorCode {
    const double begin = cpu_milliseconds();
    PetscFunctionBegin;
    PetscCall(work());
    cpu = cpu_milliseconds() - begin;
    PetscFunctionReturn(PETSC_SUCCESS);
  };

  PetscFunctionBegin;
  PetscCall(bench::TimeOnce(counted, &wall));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &cpu, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  times->wall.push_back(wall);
  times->cpu.push_back(cpu);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode take_turn(const System &system, Vec x, TurnSolver *solver)
{
  const auto set_up = [&]() -> PetscErrorCode {
    PetscFunctionBegin;
    PetscCall(KSPSetUp(solver->ksp));
    PetscCall(KSPSetUpOnBlocks(solver->ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
  };

  PetscFunctionBegin;
  PetscCall(MatAssemblyBegin(system.J, MAT_FINAL_ASSEMBLY)); // new values, for the preconditioner
  PetscCall(MatAssemblyEnd(system.J, MAT_FINAL_ASSEMBLY));
  PetscCall(KSPSetOperators(solver->ksp, system.J, system.J));
  PetscCall(time_turn(set_up, &solver->setup));
  PetscCall(time_turn([&] { return KSPSolve(solver->ksp, system.b, x); }, &solver->solve));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode record_turns(const Options &options, const System &system, Vec x, TurnSolver *solver,
                            Json *results)
{
  PetscInt iterations;
  PetscReal residual;
  KSPConvergedReason reason;
  Json record = system.about;

  PetscFunctionBegin;
  PetscCall(KSPSolve(solver->ksp, system.b, x));
  PetscCall(KSPGetIterationNumber(solver->ksp, &iterations));
  PetscCall(KSPGetConvergedReason(solver->ksp, &reason));
  PetscCall(true_residual(system, x, &residual));
  record.update({{"rtol", options.rtol},
                 {"name", solver->name},
                 {"options", solver->chosen},
                 {"iterations", iterations},
                 {"converged", reason > 0},
                 {"true_residual", residual},
                 {"turns_ms_setup", solver->setup.wall},
                 {"turns_ms_solve", solver->solve.wall},
                 {"turns_cpu_ms_setup", solver->setup.cpu},
                 {"turns_cpu_ms_solve", solver->solve.cpu}});
  results->push_back(record);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode create_turn_solvers(const Options &options, const System &system,
                                   std::vector<TurnSolver> *solvers)
{
  PetscFunctionBegin;
  for (const std::string &named : options.solvers) {
    const std::size_t colon = named.find(':');
    PetscCheck(colon != std::string::npos, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
               "-solvers: no colon after a name in '%s'", named.c_str());
    TurnSolver solver{named.substr(0, colon), named.substr(colon + 1), nullptr, nullptr, {}, {}};
    PetscCall(create_solver(options, system, solver.chosen, &solver.mine, &solver.ksp));
    solvers->push_back(solver);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Runs the solvers in turns, so that a changing load of the machine affects all of them. The first
// turn is not counted.
PetscErrorCode run_turns(const Options &options, const System &system, Json *results)
{
  std::vector<TurnSolver> solvers;
  Vec x;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(system.b, &x));
  PetscCall(create_turn_solvers(options, system, &solvers));
  for (PetscInt turn = 0; turn <= options.repeat; ++turn)
    for (TurnSolver &solver : solvers) {
      PetscCall(take_turn(system, x, &solver));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "turn %d: set-up %8.2f solve %9.2f ms  %s\n",
                            (int)turn, solver.setup.wall.back(), solver.solve.wall.back(),
                            solver.name.c_str()));
      if (turn == 0) solver.setup = solver.solve = {};
    }
  for (TurnSolver &solver : solvers) {
    PetscCall(record_turns(options, system, x, &solver, results));
    PetscCall(KSPDestroy(&solver.ksp));
    PetscCall(PetscOptionsDestroy(&solver.mine));
  }
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_experiment(const Options &options, const System &system, Json *results)
{
  PetscFunctionBegin;
  if (options.experiment == "stationary")
    PetscCall(run_stationary(options, system, results));
  else if (options.experiment == "turns")
    PetscCall(run_turns(options, system, results));
  else
    PetscCall(run_solvers(options, system, results));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim>
PetscErrorCode run_flow(const Options &options, const flow::Mesh &mesh,
                        const flow::Conditions &conditions, Json *document)
{
  flow::Solver<dim> solver(mesh, conditions);
  System system;
  Vec U;
  PetscInt rows;
  PetscMPIInt ranks;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(bench::CreateFlow<dim>(mesh, options.restart, &solver, &U, &system.J));
  PetscCall(VecDuplicate(U, &system.b));
  PetscCall(VecGetSize(U, &rows));
  PetscCall(solver.residual(U, system.b));
  PetscCall(VecScale(system.b, -1.0));
  PetscCall(solver.stabilize());
  PetscCall(bench::AddDevice(document));
  for (const std::string &cfl : options.cfl) {
    double assembly = 0;
    PetscCall(bench::TimeOnce([&] { return solver.jacobian(U, 1.0 / std::stod(cfl), system.J); },
                              &assembly));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "CFL %s: assembly %g ms\n", cfl.c_str(), assembly));
    system.about = {{"vertices", rows / solver.bs}, {"cfl", std::stod(cfl)}};
    PetscCall(run_experiment(options, system, bench::Rows(document)));
    bench::AddToRows({{"ranks", ranks}}, document);
    // The document is written after every part, so that results survive a later error.
    PetscCall(bench::WriteDocument(options, *document));
  }
  PetscCall(VecDestroy(&system.b));
  PetscCall(VecDestroy(&U));
  PetscCall(MatDestroy(&system.J));
  PetscCall(solver.destroy());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run(int argc, char **argv)
{
  Options options;
  Json document;

  PetscFunctionBegin;
  PetscCall(bench::ReadCommonOptions(&options));
  PetscCall(bench::ReadList("-cfl", &options.cfl));
  PetscCall(bench::ReadList("-its", &options.its));
  PetscCall(bench::ReadList("-precision", &options.precisions));
  PetscCall(bench::ReadList("-outer", &options.outer));
  PetscCall(bench::ReadList("-solvers", &options.solvers));
  PetscCall(bench::ReadText("-experiment", &options.experiment));
  PetscCall(bench::ReadText("-gather", &options.gather));
  PetscCall(bench::ReadText("-flow_restart", &options.restart));
  PetscCall(PetscOptionsGetReal(nullptr, nullptr, "-rtol", &options.rtol, nullptr));
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-theirs", &options.theirs, nullptr));
  PetscCall(PetscLogDefaultBegin());
  PetscCall(bench::StartDocument("flow", options, argc, argv, &document));
  PetscCall(bench::WithMesh([&](const auto &mesh, const auto &conditions, auto dim) {
    return run_flow<dim>(options, mesh, conditions, &document);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

int main(int argc, char **argv)
{
  return bench::Main(argc, argv, help, run);
}
