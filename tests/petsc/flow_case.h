// Flows in boxes for the tests of examples/flow
#pragma once

#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "flow/solver.h"

#include "flow_box.h"
#include "support/petsc.h"

namespace mcpi::test {

// A smooth flow that depends on the position only
template <int dim>
flow::State<dim> state_at(const std::array<double, 3> &p, const flow::Primitive<dim> &around,
                          double change)
{
  flow::Primitive<dim> w = around;
  w.rho *= 1.0 + change * std::sin(3.0 * p[0] + p[1]);
  w.p *= 1.0 + change * std::cos(2.0 * p[1] - p[0] + p[2]);
  for (int d = 0; d < dim; ++d) w.u[d] += change * std::sin(2.0 * p[d] + d);
  return flow::conserved<dim, double>(w);
}

template <int dim>
PetscErrorCode fill(const flow::Mesh &mesh, const flow::Primitive<dim> &around, double change,
                    Vec U)
{
  PetscScalar *u;
  PetscInt k = 0;

  PetscFunctionBeginUser;
  PetscCall(VecGetArray(U, &u));
  for (const flow::Cell &cell : mesh.cells)
    if (cell.mine)
      for (const double value : state_at<dim>(cell.center, around, change)) u[k++] = value;
  PetscCall(VecRestoreArray(U, &u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// One mesh, its solver and some vectors
template <int dim> struct Case {
  flow::Mesh mesh;
  std::unique_ptr<flow::Solver<dim>> solver;
  OwnedVec U, R, other;
  OwnedMat J;

  PetscErrorCode create(MPI_Comm comm, flow::Boundary boundary, const flow::Conditions &conditions,
                        Box box = {}, MatType type = nullptr)
  {
    PetscFunctionBeginUser;
    box.boundaries.fill(boundary);
    PetscCall(create_box(comm, dim, box, &mesh));
    if (!type) PetscCall(on_test_device(MATAIJCUSPARSE, MATBAIJ, &type));
    PetscCall(DMSetMatType(mesh.dm, type));
    PetscCall(DMCreateGlobalVector(mesh.dm, U.out()));
    PetscCall(VecDuplicate(U, R.out()));
    PetscCall(VecDuplicate(U, other.out()));
    solver = std::make_unique<flow::Solver<dim>>(mesh, conditions);
    PetscCall(solver->create_jacobian(J.out()));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode destroy()
  {
    PetscFunctionBeginUser;
    U.reset();
    R.reset();
    other.reset();
    J.reset();
    PetscCall(solver->destroy());
    PetscCall(flow::MeshDestroy(&mesh));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

// The boundary that most loops differ at
inline flow::Boundary boundary_for(const flow::Conditions &one, flow::Boundary of_euler)
{
  return one.reynolds > 0.0 ? flow::kWall : of_euler;
}

inline std::vector<flow::Conditions> conditions()
{
  std::vector<flow::Conditions> all(4);
  all[1].second_order = false;
  all[2].rho = 1.225; // SI
  all[2].pressure = 101325.0;
  all[3].reynolds = 100.0;
  for (flow::Conditions &one : all) one.angle = 20.0;
  return all;
}

} // namespace mcpi::test
