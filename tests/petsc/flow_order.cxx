// Tests the order of accuracy of examples/flow: errors against an exact solution, on meshes whose
// edges are halved.
#include <array>
#include <cmath>
#include <initializer_list>

#include "flow/solver.h"

#include "flow_box.h"
#include "support/petsc.h"

using namespace mcpi::test;

namespace {

// Isentropic vortex around the z axis (Aftosmis, Gaitonde and Tavares, AIAA J. 33, 1995), here with
// a constant velocity along it. Where the radius is 1, density and the speed of sound are 1.
flow::Primitive<3> vortex(const std::array<double, 3> &x, double mach)
{
  const double r2 = x[0] * x[0] + x[1] * x[1],
               c2 = 1.0 + 0.5 * (flow::kGamma - 1.0) * mach * mach * (1.0 - 1.0 / r2);
  flow::Primitive<3> w;
  w.rho = std::pow(c2, 1.0 / (flow::kGamma - 1.0));
  w.u = {-mach * x[1] / r2, mach * x[0] / r2, 0.5};
  w.p = w.rho * c2 / flow::kGamma;
  return w;
}

// Solves from a flow near the solution, by steps with the Jacobian of first order.
template <int dim> PetscErrorCode solve(flow::Solver<dim> &solver, Vec U)
{
  constexpr int kSteps = 100;
  constexpr PetscReal kFall = 1e-6;
  OwnedMat J;
  OwnedVec R, step;
  OwnedKSP ksp;
  PC pc;
  PetscReal first, residual;

  PetscFunctionBeginUser;
  PetscCall(solver.create_jacobian(J.out()));
  PetscCall(VecDuplicate(U, R.out()));
  PetscCall(VecDuplicate(U, step.out()));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)U), ksp.out()));
  PetscCall(KSPSetOperators(ksp, J, J));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCMCPI));
  PetscCall(PCMCPISetMethod(pc, PC_MCPI_METHOD_ILU0));
  PetscCall(KSPSetTolerances(ksp, 1e-2, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(solver.residual(U, R));
  PetscCall(VecNorm(R, NORM_2, &first));
  residual = first;
  for (int k = 0; k < kSteps && residual > kFall * first; ++k) {
    PetscCall(solver.jacobian(U, 0.0, J));
    PetscCall(KSPSolve(ksp, R, step));
    PetscCall(VecAXPY(U, -1.0, step));
    PetscCall(solver.residual(U, R));
    PetscCall(VecNorm(R, NORM_2, &residual));
  }
  EXPECT_LT(0.0, first);
  EXPECT_LE(residual, kFall * first);
  PetscFunctionReturn(PETSC_SUCCESS);
}

struct Errors {
  double l1 = NAN, l2 = NAN; // of density, means over the volume
};

template <int dim>
PetscErrorCode find_errors(const Box &box, const flow::Conditions &conditions, Errors *errors)
{
  flow::Mesh mesh;
  OwnedVec U;
  const PetscScalar *u;
  double sums[3] = {0.0, 0.0, 0.0};
  const char *matrices = nullptr;

  PetscFunctionBeginUser;
  PetscCall(create_box(PETSC_COMM_WORLD, dim, box, &mesh));
  PetscCall(on_test_device(MATAIJCUSPARSE, MATBAIJ, &matrices));
  PetscCall(DMSetMatType(mesh.dm, matrices));
  PetscCall(DMCreateGlobalVector(mesh.dm, U.out()));
  flow::Solver<dim> solver(mesh, conditions);
  PetscCall(solver.fill_free_stream(U));
  PetscCall(solve<dim>(solver, U));
  PetscCall(VecGetArrayRead(U, &u));
  const PetscScalar *rho = u;
  for (const flow::Cell &cell : mesh.cells) {
    if (!cell.mine) continue;
    const double error = std::abs(*rho - conditions.far_state(cell.center).rho);
    sums[0] += cell.volume;
    sums[1] += cell.volume * error;
    sums[2] += cell.volume * error * error;
    rho += dim + 2;
  }
  PetscCall(VecRestoreArrayRead(U, &u));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  *errors = {sums[1] / sums[0], std::sqrt(sums[2] / sums[0])};
  U.reset();
  PetscCall(solver.destroy());
  PetscCall(flow::MeshDestroy(&mesh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The domain is a sector of a ring, with exact states at both ends, and in 3-D also above and
// below. The orders are the slopes between the two finest meshes.
template <int dim>
PetscErrorCode check_order(flow::Boundary arcs, std::initializer_list<int> meshes)
{
  constexpr double kLength = 0.5, kOrder = 1.8, kAtWalls = 1.5;

  PetscFunctionBeginUser;
  for (const double mach : {2.25, 0.5}) {
    flow::Conditions conditions;
    Errors errors;
    double l1 = 0.0, l2 = 0.0;
    conditions.limiter = -1.0;
    conditions.far_state = [mach](const std::array<double, 3> &x) { return vortex(x, mach); };
    for (const int edges : meshes) {
      const Errors before = errors;
      Box box{{arcs, flow::kFarField, flow::kFarField}, {edges, edges, edges / 2}, kLength / edges};
      box.bend = [](PetscScalar *x) {
        const double radius = 1.0 + x[0], angle = x[1];
        x[0] = radius * std::cos(angle);
        x[1] = radius * std::sin(angle);
      };
      PetscCall(find_errors<dim>(box, conditions, &errors));
      l1 = std::log2(before.l1 / errors.l1);
      l2 = std::log2(before.l2 / errors.l2);
      PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                            "%d dimensions, Mach %g, %2d edges: error of density L1 %.2e (order "
                            "%.2f), L2 %.2e (order %.2f)\n",
                            dim, mach, edges, errors.l1, l1, errors.l2, l2));
    }
    // A curved wall consists of flat pieces. Their normals are of first order, which affects the
    // errors at the wall's vertices.
    EXPECT_LE(arcs == flow::kWall ? kAtWalls : kOrder, l1);
    EXPECT_LE(arcs == flow::kWall ? kAtWalls : kOrder, l2);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(FlowOrder, second_order_on_triangles)
{
  return check_order<2>(flow::kFarField, {8, 16, 32, 64});
}

PETSC_TEST(FlowOrder, order_one_and_a_half_on_triangles_between_curved_walls)
{
  return check_order<2>(flow::kWall, {8, 16, 32, 64});
}

PETSC_TEST(FlowOrder, second_order_on_tetrahedra)
{
  return check_order<3>(flow::kFarField, {4, 8, 16});
}

PETSC_TEST(FlowOrder, order_one_and_a_half_on_tetrahedra_between_curved_walls)
{
  return check_order<3>(flow::kWall, {4, 8, 16});
}
