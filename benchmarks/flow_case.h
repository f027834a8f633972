// The mesh and the flow of benchmarks with examples/flow.
#pragma once

#include <string>
#include <type_traits>

#include "flow/restart.h"
#include "flow/solver.h"

namespace bench {

// Reads the mesh and the conditions of the options, and calls run(mesh, conditions, dimension). The
// dimension is a std::integral_constant.
template <class Run> PetscErrorCode WithMesh(const Run &run)
{
  flow::Conditions conditions;
  flow::Mesh mesh;
  DM dm;

  PetscFunctionBegin;
  PetscCall(flow::ReadConditions(&conditions));
  PetscCall(flow::ReadMesh(PETSC_COMM_WORLD, &dm));
  PetscCall(flow::MeshCreate(&dm, &mesh));
  PetscCall(mesh.dim == 2 ? run(mesh, conditions, std::integral_constant<int, 2>())
                          : run(mesh, conditions, std::integral_constant<int, 3>()));
  PetscCall(flow::MeshDestroy(&mesh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Creates a flow, which is that of a state file if one is named, and a matrix for its Jacobian.
template <int dim>
PetscErrorCode CreateFlow(const flow::Mesh &mesh, const std::string &restart,
                          flow::Solver<dim> *solver, Vec *U, Mat *J)
{
  flow::Progress progress;

  PetscFunctionBegin;
  PetscCall(DMCreateGlobalVector(mesh.dm, U));
  PetscCall(solver->create_jacobian(J));
  PetscCall(solver->fill_free_stream(*U));
  if (!restart.empty()) PetscCall(flow::ReadRestart(mesh, restart.c_str(), *U, &progress));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace bench
