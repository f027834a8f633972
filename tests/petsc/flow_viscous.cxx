// Tests viscous flows of examples/flow on boxes: stresses, heat and walls.
#include <array>
#include <vector>

#include "flow_case.h"

using namespace mcpi::test;

namespace {

// Gradients of the velocity that depend on no position
constexpr double kSlopes[3][3] = {{0.3, -0.5, 0.2}, {0.7, 0.4, -0.1}, {0.25, 0.35, -0.6}};

// The stress of kSlopes with viscosity 1
template <int dim> double stress_of_slopes(int i, int j)
{
  double divergence = 0.0;
  for (int d = 0; d < dim; ++d) divergence += kSlopes[d][d];
  return kSlopes[i][j] + kSlopes[j][i] - (i == j ? 2.0 / 3.0 * divergence : 0.0);
}

// Computes the residual of a flow with a linear velocity in box.R.
template <int dim> PetscErrorCode linear_residual(double reynolds, Case<dim> *box)
{
  flow::Conditions one;
  PetscScalar *u;

  PetscFunctionBeginUser;
  one.reynolds = reynolds;
  PetscCall(box->create(PETSC_COMM_WORLD, flow::kFarField, one));
  PetscCall(VecGetArray(box->U, &u));
  for (const PetscInt c : box->mesh.mine) {
    flow::Primitive<dim> w = box->solver->free_stream();
    const auto &x = box->mesh.cells[static_cast<std::size_t>(c)].center;
    for (int i = 0; i < dim; ++i)
      for (int j = 0; j < dim; ++j) w.u[i] += kSlopes[i][j] * x[j];
    for (const double value : flow::conserved<dim, double>(w)) *u++ = value;
  }
  PetscCall(VecRestoreArray(box->U, &u));
  PetscCall(box->solver->residual(box->U, box->R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Whether each local cell has a face at the boundary
std::vector<bool> at_boundary(const flow::Mesh &mesh)
{
  std::vector<bool> result(mesh.cells.size(), false);
  for (const flow::Face &face : mesh.faces)
    if (face.right < 0) result[static_cast<std::size_t>(face.left)] = true;
  return result;
}

// Inside a flow whose velocity is linear, stresses are the same everywhere. They exert no force on
// a cell, and heat it by the dissipation. The difference of residuals with and without viscosity is
// their effect.
template <int dim> PetscErrorCode check_dissipation()
{
  constexpr double kReynolds = 50.0;
  double dissipation = 0.0;
  Case<dim> viscous, inviscid;
  const PetscScalar *change;
  PetscInt inner = 0;

  PetscFunctionBeginUser;
  for (int i = 0; i < dim; ++i)
    for (int j = 0; j < dim; ++j)
      dissipation +=
          flow::Conditions().mach / kReynolds * kSlopes[i][j] * stress_of_slopes<dim>(i, j);
  PetscCall(linear_residual(kReynolds, &viscous));
  PetscCall(linear_residual(0.0, &inviscid));
  const std::vector<bool> outer = at_boundary(viscous.mesh);
  PetscCall(VecAXPY(viscous.R, -1.0, inviscid.R));
  PetscCall(VecGetArrayRead(viscous.R, &change));
  for (std::size_t k = 0; k < viscous.mesh.mine.size(); ++k) {
    const auto c = static_cast<std::size_t>(viscous.mesh.mine[k]);
    const PetscScalar *of_cell = change + k * (dim + 2);
    const double heat = dissipation * viscous.mesh.cells[c].volume;
    if (outer[c]) continue;
    for (int i = 0; i < dim + 1; ++i) EXPECT_NEAR(of_cell[i], 0.0, 1e-14);
    EXPECT_NEAR(of_cell[dim + 1], -heat, 1e-14);
    EXPECT_LT(1e-12, heat);
    ++inner;
  }
  PetscCall(VecRestoreArrayRead(viscous.R, &change));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &inner, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  EXPECT_LT(0, inner);
  PetscCall(viscous.destroy());
  PetscCall(inviscid.destroy());
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Gradients along an edge and the rest of them together give the traction of the whole gradients.
template <int dim> void check_traction()
{
  const flow::Viscosity viscosity{0.3};
  const std::array<double, 3> normal{2.0 / 3.0, -1.0 / 3.0, 2.0 / 3.0}, edge{0.5, 0.2, -0.1};
  flow::Vector<dim> n, step;
  flow::ViscousGradient<dim> whole;
  flow::Primitive<dim> left{1.0, {}, 2.0}, right = left;
  for (int i = 0; i < dim; ++i) {
    n[i] = normal[i];
    step[i] = edge[i];
    whole.heat[i] = kSlopes[2][i];
  }
  for (int i = 0; i < dim; ++i)
    for (int j = 0; j < dim; ++j) {
      whole.u[i][j] = kSlopes[i][j];
      right.u[i] += kSlopes[i][j] * step[j];
    }
  right.p += flow::dot<dim, double>(whole.heat, step);
  flow::ViscousGradient<dim> rest = whole;
  flow::remove_along<dim>(step, &rest);
  const auto along = flow::edge_traction<dim>(left, right, viscosity, step, n);
  const auto across = flow::traction<dim>(rest, viscosity, n);
  for (int i = 0; i < dim; ++i) {
    double stress = 0.0;
    for (int j = 0; j < dim; ++j) stress += 0.3 * n[j] * stress_of_slopes<dim>(i, j);
    EXPECT_NEAR(along.stress[i] + across.stress[i], stress, 1e-14);
  }
  const double heat = 0.3 * 1.4 / 0.4 / 0.72 * flow::dot<dim, double>(whole.heat, n);
  EXPECT_NEAR(along.heat + across.heat, heat, 1e-14);
}

// At the start, a viscous flow rests on walls, and a step keeps it at rest: its equation there has
// neither a residual nor couplings.
template <int dim> PetscErrorCode check_rest()
{
  flow::Conditions one;
  Case<dim> box;
  const PetscScalar *u, *r, *product;
  PetscInt walls = 0;

  PetscFunctionBeginUser;
  one.reynolds = 100.0;
  PetscCall(box.create(PETSC_COMM_WORLD, flow::kWall, one));
  PetscCall(box.solver->fill_free_stream(box.U));
  PetscCall(box.solver->residual(box.U, box.R));
  PetscCall(box.solver->stabilize());
  PetscCall(box.solver->jacobian(box.U, 1.0, box.J));
  PetscCall(MatMult(box.J, box.U, box.other));
  const std::vector<bool> at_wall = at_boundary(box.mesh);
  PetscCall(VecGetArrayRead(box.U, &u));
  PetscCall(VecGetArrayRead(box.R, &r));
  PetscCall(VecGetArrayRead(box.other, &product));
  for (std::size_t c = 0; c < box.mesh.mine.size(); ++c) {
    const bool rests = at_wall[static_cast<std::size_t>(box.mesh.mine[c])];
    walls += rests;
    EXPECT_EQ(u[c * (dim + 2) + 1] == 0.0, rests);
    for (int d = 0; rests && d < dim; ++d)
      for (const PetscScalar *zero : {u, r, product}) EXPECT_EQ(zero[c * (dim + 2) + 1 + d], 0.0);
  }
  PetscCall(VecRestoreArrayRead(box.other, &product));
  PetscCall(VecRestoreArrayRead(box.R, &r));
  PetscCall(VecRestoreArrayRead(box.U, &u));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &walls, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  EXPECT_GT(walls, 0);
  PetscCall(box.destroy());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(FlowViscous, stresses_of_a_linear_flow_only_heat_it)
{
  PetscFunctionBeginUser;
  check_traction<2>();
  check_traction<3>();
  PetscCall(check_dissipation<2>());
  PetscCall(check_dissipation<3>());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(FlowViscous, viscous_flow_rests_on_walls)
{
  PetscFunctionBeginUser;
  PetscCall(check_rest<2>());
  PetscCall(check_rest<3>());
  PetscFunctionReturn(PETSC_SUCCESS);
}
