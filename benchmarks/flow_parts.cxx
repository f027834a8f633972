static char help[] =
    "Time of the parts of a step of examples/flow beside its linear system, on a CUDA device and "
    "on the cores of the host.\n"
    "  -dm_plex_filename <file.msh>  -flow_mach  -flow_angle  -flow_threads  -flow_restart <file>: "
    "the flow, written by the program\n"
    "  -repeat <7>  -json <file>  -commit <text>\n"
    "On a device: -dm_mat_type aijcusparse -dm_vec_type cuda.\n";

#include <petscksp.h>

#include <functional>
#include <string>
#include <vector>

#include "common.h"
#include "flow_case.h"
#include "timing.h"

namespace {

using Json = nlohmann::json;

struct Options : bench::CommonOptions {
  Options() : CommonOptions{0, 0, 7, {}, "", {}, {}} {}

  std::string restart;
};

template <int dim>
PetscErrorCode time_parts(const Options &options, const flow::Mesh &mesh, flow::Solver<dim> &solver,
                          Vec U, Mat J, Json about, Json *rows)
{
  Vec R;
  PetscReal share;
  flow::Forces forces;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(U, &R));
  const auto residual = [&](bool second_order) {
    return [&, second_order]() {
      solver.set_second_order(second_order);
      return solver.residual(U, R);
    };
  };
  const std::pair<const char *, std::function<PetscErrorCode()>> parts[] = {
      {"residual, first order", residual(false)},
      {"residual, second order", residual(true)},
      {"time steps", [&] { return solver.stabilize(); }},
      {"Jacobian", [&] { return solver.jacobian(U, 1e-3, J); }},
      {"forces", [&] { return solver.forces(&forces); }},
      {"step control", [&] { return solver.longest_step(U, R, &share); }}};
  for (const auto &[name, work] : parts) {
    double milliseconds;
    PetscCall(bench::TimeMedian(2, options.repeat, work, &milliseconds));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-8s %-24s %9.3f ms\n",
                          about["place"].get<std::string>().c_str(), name, milliseconds));
    Json row = about;
    row["part"] = name;
    row["ms"] = milliseconds;
    row["vertices"] = mesh.mine.size();
    rows->push_back(row);
  }
  PetscCall(VecDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Runs the loops where vectors of this type live, on a matrix of the mesh's or this type.
template <int dim>
PetscErrorCode run_place(const Options &options, const flow::Mesh &mesh,
                         const flow::Conditions &conditions, VecType vectors, MatType matrix,
                         const Json &about, Json *rows)
{
  Vec U;
  Mat J;

  PetscFunctionBegin;
  PetscCall(DMSetVecType(mesh.dm, vectors));
  PetscCall(DMSetVecType(mesh.gradients, vectors));
  PetscCall(DMSetMatType(mesh.dm, matrix));
  flow::Solver<dim> solver(mesh, conditions);
  PetscCall(bench::CreateFlow<dim>(mesh, options.restart, &solver, &U, &J));
  PetscCall(time_parts<dim>(options, mesh, solver, U, J, about, rows));
  PetscCall(solver.destroy());
  PetscCall(MatDestroy(&J));
  PetscCall(VecDestroy(&U));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim>
PetscErrorCode run_places(const Options &options, const flow::Mesh &mesh,
                          const flow::Conditions &conditions, Json *document)
{
  VecType type;
  PetscBool cuda;

  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%zu vertices\n", mesh.mine.size()));
  PetscCall(DMGetVecType(mesh.dm, &type));
  PetscCall(PetscStrendswith(type, "cuda", &cuda));
  if (cuda) {
    PetscCall(run_place<dim>(options, mesh, conditions, VECCUDA, MATAIJCUSPARSE,
                             {{"place", "device"}}, bench::Rows(document)));
    PetscCall(bench::AddDevice(document)); // which the run has initialized
  }
  PetscCall(run_place<dim>(options, mesh, conditions, VECSTANDARD, MATBAIJ,
                           {{"place", "cores"}, {"threads", mesh.threads}}, bench::Rows(document)));
  PetscCall(bench::WriteDocument(options, *document));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run(int argc, char **argv)
{
  Options options;
  Json document;

  PetscFunctionBegin;
  PetscCall(bench::ReadCommonOptions(&options));
  PetscCall(bench::ReadText("-flow_restart", &options.restart));
  PetscCall(bench::StartDocument("flow_parts", options, argc, argv, &document));
  PetscCall(bench::WithMesh([&](const auto &mesh, const auto &conditions, auto dim) {
    return run_places<dim>(options, mesh, conditions, &document);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

int main(int argc, char **argv)
{
  return bench::Main(argc, argv, help, run);
}
