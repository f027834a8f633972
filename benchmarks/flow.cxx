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

#include <string>

#include "common.h"
#include "flow_case.h"
#include "flow_system.h"
#include "timing.h"

namespace {

using Json = nlohmann::json;
using bench::FlowOptions;
using bench::FlowSystem;

PetscErrorCode run_experiment(const FlowOptions &options, const FlowSystem &system, Json *results)
{
  PetscFunctionBegin;
  if (options.experiment == "stationary")
    PetscCall(bench::RunStationary(options, system, results));
  else if (options.experiment == "turns")
    PetscCall(bench::RunTurns(options, system, results));
  else
    PetscCall(bench::RunSolvers(options, system, results));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim>
PetscErrorCode run_flow(const FlowOptions &options, const flow::Mesh &mesh,
                        const flow::Conditions &conditions, Json *document)
{
  flow::Solver<dim> solver(mesh, conditions);
  FlowSystem system;
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
  FlowOptions options;
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
