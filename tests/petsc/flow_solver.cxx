// Tests the flow solver of examples/flow on boxes: properties that a finite-volume scheme must have
// on any mesh.
#include <cmath>
#include <string>

#include "flow_case.h"

using namespace mcpi::test;

namespace {

// Edges are straight, so the dual cells fill the box exactly.
template <int dim> PetscErrorCode check_volumes(const Box &shape)
{
  Case<dim> box;
  double volume = 0.0, whole = 1.0;

  PetscFunctionBeginUser;
  for (int d = 0; d < dim; ++d) whole *= shape.edges[d] * shape.edge;
  PetscCall(box.create(PETSC_COMM_WORLD, flow::kWall, flow::Conditions(), shape));
  for (const PetscInt c : box.mesh.mine)
    volume += box.mesh.cells[static_cast<std::size_t>(c)].volume;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &volume, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  EXPECT_LT(std::abs(volume / whole - 1.0), 1e-14);
  PetscCall(box.destroy());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode check_free_stream(const Box &shape)
{
  PetscFunctionBeginUser;
  for (const flow::Conditions &one : conditions()) {
    Case<dim> box;
    PetscReal residual;
    PetscCall(box.create(PETSC_COMM_WORLD, flow::kFarField, one, shape));
    PetscCall(box.solver->fill_free_stream(box.U));
    PetscCall(box.solver->residual(box.U, box.R));
    PetscCall(VecNorm(box.R, NORM_INFINITY, &residual));
    const double energy = flow::conserved<dim, double>(box.solver->free_stream())[dim + 1] *
                          flow::sound_speed<dim, double>(box.solver->free_stream());
    EXPECT_LT(residual / energy, 1e-14);
    PetscCall(box.destroy());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Inside slip walls, the total mass and energy do not change.
template <int dim> PetscErrorCode check_conservation(const Box &shape = {})
{
  PetscFunctionBeginUser;
  for (const flow::Conditions &one : conditions()) {
    Case<dim> box;
    double sums[2] = {0.0, 0.0}, sizes[2] = {0.0, 0.0};
    const PetscScalar *r;
    PetscInt n;
    PetscCall(box.create(PETSC_COMM_WORLD, flow::kWall, one, shape));
    PetscCall(fill(box.mesh, box.solver->free_stream(), 0.1, box.U));
    PetscCall(box.solver->residual(box.U, box.R));
    PetscCall(VecGetLocalSize(box.R, &n));
    PetscCall(VecGetArrayRead(box.R, &r));
    for (PetscInt c = 0; c < n / (dim + 2); ++c)
      for (int k = 0; k < 2; ++k) {
        sums[k] += r[c * (dim + 2) + (k == 0 ? 0 : dim + 1)];
        sizes[k] += std::abs(r[c * (dim + 2) + (k == 0 ? 0 : dim + 1)]);
      }
    PetscCall(VecRestoreArrayRead(box.R, &r));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sizes, 2, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
    for (int k = 0; k < 2; ++k) {
      EXPECT_LT(0.0, sizes[k]);
      EXPECT_LT(std::abs(sums[k]) / sizes[k], 1e-13);
    }
    PetscCall(box.destroy());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode check_jacobian(flow::Boundary boundary, double reynolds)
{
  constexpr double kStep = 1e-6, kShift = 0.3;
  flow::Conditions one;
  Case<dim> box;
  OwnedVec direction, product, moved;
  PetscReal size;

  PetscFunctionBeginUser;
  one.second_order = false;
  one.angle = 20.0;
  one.reynolds = reynolds;
  PetscCall(box.create(PETSC_COMM_WORLD, boundary, one));
  PetscCall(VecDuplicate(box.U, direction.out()));
  PetscCall(VecDuplicate(box.U, product.out()));
  PetscCall(VecDuplicate(box.U, moved.out()));
  PetscCall(fill(box.mesh, box.solver->free_stream(), 0.2, box.U));
  PetscCall(fill(box.mesh, box.solver->free_stream(), 0.7, direction));
  PetscCall(box.solver->residual(box.U, box.R));
  PetscCall(box.solver->stabilize());
  PetscCall(box.solver->jacobian(box.U, kShift, box.J));
  PetscCall(MatMult(box.J, direction, product));
  PetscCall(VecWAXPY(moved, kStep, direction, box.U));
  PetscCall(box.solver->residual(moved, box.R));
  PetscCall(box.solver->add_time_term(kShift, moved, box.U, box.R));
  PetscCall(VecWAXPY(moved, -kStep, direction, box.U));
  PetscCall(box.solver->residual(moved, box.other));
  PetscCall(box.solver->add_time_term(kShift, moved, box.U, box.other));
  PetscCall(VecAXPY(box.R, -1.0, box.other));
  PetscCall(VecScale(box.R, 0.5 / kStep));
  PetscCall(VecNorm(product, NORM_2, &size));
  PetscCall(VecAXPY(product, -1.0, box.R));
  PetscReal error;
  PetscCall(VecNorm(product, NORM_2, &error));
  EXPECT_LT(0.0, size);
  EXPECT_LT(error / size, 1e-8);
  product.reset();
  direction.reset();
  moved.reset();
  PetscCall(box.destroy());
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The residual weighted with a function of the position
template <int dim>
PetscErrorCode weighted_residual(MPI_Comm comm, const flow::Conditions &one, double *sum)
{
  Case<dim> box;
  const PetscScalar *r;
  PetscInt k = 0;

  PetscFunctionBeginUser;
  *sum = 0.0;
  PetscCall(box.create(comm, boundary_for(one, flow::kFarField), one));
  PetscCall(fill(box.mesh, box.solver->free_stream(), 0.2, box.U));
  PetscCall(box.solver->residual(box.U, box.R));
  PetscCall(VecGetArrayRead(box.R, &r));
  for (const flow::Cell &cell : box.mesh.cells)
    for (int i = 0; cell.mine && i < dim + 2; ++i)
      *sum += r[k++] * std::sin(5.0 * cell.center[0] + 3.0 * cell.center[1] + cell.center[2] + i);
  PetscCall(VecRestoreArrayRead(box.R, &r));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_DOUBLE, MPI_SUM, comm));
  PetscCall(box.destroy());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode check_ranks()
{
  PetscFunctionBeginUser;
  for (const flow::Conditions &one : conditions()) {
    double all, alone;
    PetscCall(weighted_residual<dim>(PETSC_COMM_WORLD, one, &all));
    PetscCall(weighted_residual<dim>(PETSC_COMM_SELF, one, &alone));
    EXPECT_LT(std::abs(all - alone), 1e-12 * std::abs(alone));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(FlowSolver, dual_cells_fill_the_mesh)
{
  Box squares;

  PetscFunctionBeginUser;
  squares.simplices = false;
  PetscCall(check_volumes<2>({}));
  PetscCall(check_volumes<3>({}));
  PetscCall(check_volumes<2>(squares));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(FlowSolver, free_stream_is_preserved_on_any_mesh)
{
  PetscFunctionBeginUser;
  for (const bool simplices : {true, false})
    for (const double thickness : {1.0, 1e-3}) {
      Box shape;
      shape.simplices = simplices;
      shape.bend = [thickness](PetscScalar *x) { x[1] *= thickness; };
      describe((simplices ? "simplices, thickness " : "squares or cubes, thickness ") +
               std::to_string(thickness) + ": ");
      PetscCall(check_free_stream<2>(shape));
      if (simplices || thickness == 1.0)
        PetscCall(check_free_stream<3>(shape)); // the sides of flat cubes would be far from plane
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(FlowSolver, mass_and_energy_are_conserved_between_walls)
{
  PetscFunctionBeginUser;
  PetscCall(check_conservation<2>());
  PetscCall(check_conservation<3>());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(FlowSolver, two_triangles_conserve_mass_and_energy)
{
  Box pair;

  PetscFunctionBeginUser;
  pair.edges = {1, 1, 1};
  pair.bend = [](PetscScalar *x) { x[0] *= 2.0; };
  PetscCall(check_conservation<2>(pair));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(FlowSolver, jacobian_is_the_derivative_of_the_first_order_residual)
{
  PetscFunctionBeginUser;
  for (const flow::Boundary boundary : {flow::kFarField, flow::kWall, flow::kSymmetry})
    for (const double reynolds : {0.0, 100.0}) {
      PetscCall(check_jacobian<2>(boundary, reynolds));
      PetscCall(check_jacobian<3>(boundary, reynolds));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(FlowSolver, residual_is_that_of_one_rank)
{
  PetscFunctionBeginUser;
  PetscCall(check_ranks<2>());
  PetscCall(check_ranks<3>());
  PetscFunctionReturn(PETSC_SUCCESS);
}
