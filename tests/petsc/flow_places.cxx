// Tests whether the flow solver of examples/flow computes the same with matrices of all types, by
// threads and on devices.
#include <cmath>
#include <string>
#include <utility>

#include "flow_case.h"

using namespace mcpi::test;

namespace {

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

} // namespace

PETSC_TEST(FlowPlaces, jacobian_is_the_same_in_matrices_of_all_types)
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

PETSC_TEST(FlowPlaces, threads_and_devices_give_the_same_flow)
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
