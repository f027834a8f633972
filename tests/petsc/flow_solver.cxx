// Tests the flow solver of examples/flow on boxes: properties that a finite-volume scheme must have
// on any mesh.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "flow/solver.h"

#include "flow_box.h"
#include "support/petsc.h"

using namespace mcpi::test;

namespace {

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
flow::Boundary boundary_for(const flow::Conditions &one, flow::Boundary of_euler)
{
  return one.reynolds > 0.0 ? flow::kWall : of_euler;
}

std::vector<flow::Conditions> conditions()
{
  std::vector<flow::Conditions> all(4);
  all[1].second_order = false;
  all[2].rho = 1.225; // SI
  all[2].pressure = 101325.0;
  all[3].reynolds = 100.0;
  for (flow::Conditions &one : all) one.angle = 20.0;
  return all;
}

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

// Compares products with an AIJ matrix, filled by coordinates, and with a BAIJ matrix. A second
// flow tests whether all values are replaced.
template <int dim> PetscErrorCode check_matrix_types(MatType list_type)
{
  constexpr double kShift = 0.3;
  flow::Conditions one;
  Case<dim> list, blocks;
  OwnedVec of_list, of_blocks;
  PetscInt bs;

  PetscFunctionBeginUser;
  PetscCall(list.create(PETSC_COMM_WORLD, flow::kFarField, one, {}, list_type));
  PetscCall(blocks.create(PETSC_COMM_WORLD, flow::kFarField, one, {}, MATBAIJ));
  for (const Case<dim> *box : {&list, &blocks}) {
    PetscCall(MatGetBlockSize(box->J, &bs));
    EXPECT_EQ(bs, dim + 2);
  }
  PetscCall(VecDuplicate(list.U, of_list.out()));
  PetscCall(VecDuplicate(list.U, of_blocks.out()));
  for (const double change : {0.2, 0.4}) {
    for (Case<dim> *box : {&list, &blocks}) {
      PetscCall(fill(box->mesh, box->solver->free_stream(), change, box->U));
      PetscCall(box->solver->residual(box->U, box->R));
      PetscCall(box->solver->stabilize());
      PetscCall(box->solver->jacobian(box->U, kShift, box->J));
    }
    PetscReal error, size;
    PetscCall(VecSet(of_list, NAN));
    PetscCall(VecSet(of_blocks, NAN));
    PetscCall(MatMult(list.J, list.R, of_list));
    PetscCall(MatMult(blocks.J, list.R, of_blocks));
    PetscCall(VecNorm(of_blocks, NORM_2, &size));
    PetscCall(VecAXPY(of_list, -1.0, of_blocks));
    PetscCall(VecNorm(of_list, NORM_2, &error));
    EXPECT_LT(0.0, size);
    EXPECT_LT(error / size, 1e-14);
  }
  of_list.reset();
  of_blocks.reset();
  PetscCall(list.destroy());
  PetscCall(blocks.destroy());
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Compares forces and the longest step of two places where loops run.
template <int dim> PetscErrorCode check_scalars(Case<dim> *here, Case<dim> *there, double scale)
{
  flow::Forces mine, theirs;
  double share, other_share;

  PetscFunctionBeginUser;
  PetscCall(here->solver->forces(&mine));
  PetscCall(there->solver->forces(&theirs));
  // Forces are small differences of pressures.
  const double tolerance = scale > 0.0 ? 1e-9 * std::abs(mine.drag) : 0.0;
  EXPECT_LE(std::abs(mine.lift - theirs.lift), tolerance);
  EXPECT_LE(std::abs(mine.drag - theirs.drag), tolerance);
  for (Case<dim> *box : {here, there}) { // a step that would leave a fifth of the density
    PetscCall(VecCopy(box->U, box->R));
    PetscCall(VecScale(box->R, -0.8));
  }
  PetscCall(here->solver->longest_step(here->U, here->R, &share));
  PetscCall(there->solver->longest_step(there->U, there->R, &other_share));
  EXPECT_EQ(share, 0.5);
  EXPECT_EQ(other_share, share);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Compares a case with another place where loops run. scale: of rounding errors
template <int dim>
PetscErrorCode check_places(flow::Boundary boundary, const char *vectors, const char *threads,
                            double scale)
{
  PetscFunctionBeginUser;
  for (const flow::Conditions &one : conditions()) {
    Case<dim> here, there;
    Box other;
    PetscReal size, error;
    PetscCall(here.create(PETSC_COMM_WORLD, boundary_for(one, boundary), one));
    other.vectors = vectors;
    PetscCall(PetscOptionsSetValue(nullptr, "-flow_threads", threads));
    PetscCall(there.create(PETSC_COMM_WORLD, boundary_for(one, boundary), one, other,
                           std::string(vectors) == "cuda" ? MATAIJCUSPARSE : MATBAIJ));
    PetscCall(PetscOptionsClearValue(nullptr, "-flow_threads"));
    for (Case<dim> *box : {&here, &there}) {
      PetscCall(VecSet(box->R, NAN));
      PetscCall(fill(box->mesh, box->solver->free_stream(), 0.2, box->U));
      PetscCall(box->solver->residual(box->U, box->R));
      PetscCall(box->solver->stabilize());
      PetscCall(box->solver->jacobian(box->U, 0.3, box->J));
      PetscCall(MatMult(box->J, box->U, box->other));
    }
    for (const auto &[mine, theirs] :
         {std::pair<Vec, Vec>(here.R, there.R), std::pair<Vec, Vec>(here.other, there.other)}) {
      OwnedVec copy;
      PetscCall(VecDuplicate(mine, copy.out()));
      PetscCall(VecCopy(theirs, copy));
      PetscCall(VecNorm(mine, NORM_2, &size));
      PetscCall(VecAXPY(copy, -1.0, mine));
      PetscCall(VecNorm(copy, NORM_2, &error));
      EXPECT_LT(0.0, size);
      // Products with matrices on a device are rounded in another way from run to run.
      EXPECT_LE(error, (std::string(vectors) == "cuda" && mine != here.R ? 1e-14 : scale) * size);
    }
    PetscCall(check_scalars<dim>(&here, &there, scale));
    PetscCall(here.destroy());
    PetscCall(there.destroy());
  }
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

PETSC_TEST(FlowSolver, stresses_of_a_linear_flow_only_heat_it)
{
  PetscFunctionBeginUser;
  check_traction<2>();
  check_traction<3>();
  PetscCall(check_dissipation<2>());
  PetscCall(check_dissipation<3>());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(FlowSolver, viscous_flow_rests_on_walls)
{
  PetscFunctionBeginUser;
  PetscCall(check_rest<2>());
  PetscCall(check_rest<3>());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(FlowSolver, jacobian_is_the_same_in_matrices_of_all_types)
{
  const char *type = nullptr;

  PetscFunctionBeginUser;
  PetscCall(on_test_device(MATAIJCUSPARSE, MATAIJ, &type));
  for (const char *list : {type, MATAIJ}) { // vectors on a device go with matrices on the host, too
    PetscCall(check_matrix_types<2>(list));
    PetscCall(check_matrix_types<3>(list));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(FlowSolver, threads_and_devices_give_the_same_flow)
{
  const char *vectors = nullptr;

  PetscFunctionBeginUser;
  PetscCall(on_test_device("cuda", VECSTANDARD, &vectors));
  const bool device = std::string(vectors) == "cuda";
  // Loops on a device may round differently. Threads give the same bits.
  for (const flow::Boundary boundary : {flow::kSymmetry, flow::kWall}) {
    PetscCall(check_places<2>(boundary, VECSTANDARD, "3", device ? 1e-13 : 0.0));
    PetscCall(check_places<3>(boundary, VECSTANDARD, "3", device ? 1e-13 : 0.0));
    if (device) PetscCall(check_places<3>(boundary, "cuda", "1", 0.0));
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
