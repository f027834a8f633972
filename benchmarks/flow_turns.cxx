#include <ctime>

#include "compat.h"
#include "flow_system.h"
#include "timing.h"

namespace bench {
namespace {

using Json = nlohmann::json;

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
  PetscCall(TimeOnce(counted, &wall));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &cpu, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  times->wall.push_back(wall);
  times->cpu.push_back(cpu);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode take_turn(const FlowSystem &system, Vec x, TurnSolver *solver)
{
  PetscFunctionBegin;
  PetscCall(RenewValues(system, solver->ksp));
  PetscCall(time_turn([&] { return SetUpSolver(solver->ksp); }, &solver->setup));
  PetscCall(time_turn([&] { return KSPSolve(solver->ksp, system.b, x); }, &solver->solve));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode record_turns(const FlowOptions &options, const FlowSystem &system, Vec x,
                            TurnSolver *solver, Json *results)
{
  PetscInt iterations;
  PetscReal residual;
  KSPConvergedReason reason;
  Json record = system.about;

  PetscFunctionBegin;
  PetscCall(KSPSolve(solver->ksp, system.b, x));
  PetscCall(KSPGetIterationNumber(solver->ksp, &iterations));
  PetscCall(KSPGetConvergedReason(solver->ksp, &reason));
  PetscCall(TrueResidual(system, x, &residual));
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

PetscErrorCode create_turn_solvers(const FlowOptions &options, const FlowSystem &system,
                                   std::vector<TurnSolver> *solvers)
{
  PetscFunctionBegin;
  for (const std::string &named : options.solvers) {
    const std::size_t colon = named.find(':');
    PetscCheck(colon != std::string::npos, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
               "-solvers: no colon after a name in '%s'", named.c_str());
    TurnSolver solver{named.substr(0, colon), named.substr(colon + 1), nullptr, nullptr, {}, {}};
    PetscCall(CreateSystemSolver(options, system, solver.chosen, &solver.mine, &solver.ksp));
    solvers->push_back(solver);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode RunTurns(const FlowOptions &options, const FlowSystem &system, Json *results)
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

} // namespace bench
