// Tests settings and coordinates that change between applications. The result is that of a
// preconditioner that had them from the start.
#include <algorithm>
#include <array>

#include "support/petsc.h"

using namespace mcpi::test;

namespace {

const BlockMatrix &sample()
{
  static const BlockMatrix matrix = make_matrix(3, tetrahedral_pattern(5, 4, 3));
  return matrix;
}

struct Change {
  const char *option;
  PetscErrorCode (*set)(PC);
};

constexpr Change changes[] = {
    {"-pc_mcpi_its 3", [](PC pc) { return PCMCPISetIts(pc, 3); }},
    {"-pc_mcpi_sweep backward", [](PC pc) { return PCMCPISetSweep(pc, PC_MCPI_SWEEP_BACKWARD); }},
    {"-pc_mcpi_omega 0.75", [](PC pc) { return PCMCPISetOmega(pc, 0.75); }},
    {"-pc_mcpi_restart 2", [](PC pc) { return PCMCPISetRestart(pc, 2); }},
    {"-pc_mcpi_offdiag_precision int8",
     [](PC pc) { return PCMCPISetOffdiagPrecision(pc, PC_MCPI_PRECISION_INT8); }},
    {"-pc_mcpi_vector_precision fp32",
     [](PC pc) { return PCMCPISetVectorPrecision(pc, PC_MCPI_VECTOR_PRECISION_FP32); }},
    {"-pc_mcpi_gather_precision bfp16",
     [](PC pc) { return PCMCPISetGatherPrecision(pc, PC_MCPI_GATHER_PRECISION_BFP16); }},
    {"-pc_mcpi_gather_precision fp32",
     [](PC pc) { return PCMCPISetGatherPrecision(pc, PC_MCPI_GATHER_PRECISION_FP32); }},
    {"-pc_mcpi_vector_precision fp64",
     [](PC pc) { return PCMCPISetVectorPrecision(pc, PC_MCPI_VECTOR_PRECISION_FP64); }},
    {"-pc_mcpi_form factored", [](PC pc) { return PCMCPISetForm(pc, PC_MCPI_FORM_FACTORED); }},
    {"-pc_mcpi_backend reference",
     [](PC pc) { return PCMCPISetBackend(pc, PC_MCPI_BACKEND_REFERENCE); }},
    {"-pc_mcpi_mat_coloring_type greedy",
     [](PC pc) { return set_options(pc, "-pc_mcpi_mat_coloring_type greedy"); }},
    {"-pc_mcpi_ordering rcm", [](PC pc) { return PCMCPISetOrdering(pc, PC_MCPI_ORDERING_RCM); }},
    {"-pc_mcpi_halo_frequency sweep",
     [](PC pc) { return PCMCPISetHaloFrequency(pc, PC_MCPI_HALO_FREQUENCY_SWEEP); }},
    {"-pc_mcpi_halo sf", [](PC pc) { return PCMCPISetHalo(pc, PC_MCPI_HALO_SF); }},
    {"-pc_mcpi_offdiag_precision fp64 -pc_mcpi_backend host",
     [](PC pc) -> PetscErrorCode {
       PetscFunctionBeginUser;
       PetscCall(PCMCPISetOffdiagPrecision(pc, PC_MCPI_PRECISION_FP64));
       PetscCall(PCMCPISetBackend(pc, PC_MCPI_BACKEND_HOST));
       PetscFunctionReturn(PETSC_SUCCESS);
     }},
};

// The coordinates of the vertices of sample(), in any number of dimensions
PetscErrorCode points_of_rank(Mat mat, int dim, std::vector<PetscReal> *points)
{
  PetscInt begin, end;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(mat, &begin, &end));
  points->clear();
  for (PetscInt i = begin / 3; i < end / 3; ++i) {
    const std::array<PetscInt, 3> at{i % 5, i / 5 % 4, i / 20};
    for (int d = 0; d < dim; ++d)
      points->push_back(static_cast<PetscReal>(at[static_cast<std::size_t>(d)]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode set_points(PC pc, int dim, std::vector<PetscReal> points)
{
  PetscFunctionBeginUser;
  PetscCall(PCSetCoordinates(pc, dim, static_cast<PetscInt>(points.size()) / dim, points.data()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(Changes, setters_after_an_application_act_like_options_from_the_start)
{
  const Vector b = random_vector(sample().size(), 1);
  OwnedMat mat;
  Preconditioner changed;
  std::string options;
  Vector x, expected;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, sample(), Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, "", &changed));
  PetscCall(apply(changed, b, &x));
  for (const Change &change : changes) {
    Preconditioner fresh;
    options = options + change.option + " ";
    describe(options);
    PetscCall(change.set(changed));
    PetscCall(apply(changed, b, &x));
    PetscCall(create_pc(mat, options, &fresh));
    PetscCall(apply(fresh, b, &expected));
    EXPECT_TRUE(x == expected);
    PetscCall(apply_transpose(changed, b, &x));
    PetscCall(apply_transpose(fresh, b, &expected));
    EXPECT_TRUE(x == expected);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Changes, setters_of_one_preconditioner_leave_others_alone)
{
  const Vector b = random_vector(sample().size(), 1);
  OwnedMat mat;
  Preconditioner first, second;
  Vector x, before;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, sample(), Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, "", &first));
  PetscCall(create_pc(mat, "", &second));
  PetscCall(apply(second, b, &before));
  for (const Change &change : changes) {
    PetscCall(change.set(first));
    PetscCall(apply(first, b, &x));
    PetscCall(apply(second, b, &x));
    EXPECT_TRUE(x == before);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The MatColoring reads the database of the preconditioner at the set-up, too.
PETSC_TEST(Changes, coloring_type_that_was_set_last_is_the_one_in_use)
{
  OwnedMat mat;
  Preconditioner pc, expected_pc;
  std::vector<int> color, expected;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, sample(), Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, "-pc_mcpi_mat_coloring_type greedy", &pc));
  PetscCall(set_options(pc, "-pc_mcpi_mat_coloring_type natural"));
  PetscCall(PCSetUp(pc));
  PetscCall(gather_colors(pc, &color));
  PetscCall(create_pc(mat, "-pc_mcpi_mat_coloring_type natural", &expected_pc));
  PetscCall(PCSetUp(expected_pc));
  PetscCall(gather_colors(expected_pc, &expected));
  EXPECT_TRUE(color == expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Changes, order_of_rows_inside_a_color_never_changes_the_answer)
{
  const Vector b = random_vector(sample().size(), 1);
  OwnedMat mat;
  Preconditioner natural;
  Vector expected;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, sample(), Layout::uneven, MATBAIJ, &mat));
  PetscCall(create_pc(mat, "-pc_mcpi_ordering natural", &natural));
  PetscCall(apply(natural, b, &expected));
  for (const char *ordering : {"auto", "rcm", "coordinates"})
    for (const int dim : {1, 2, 3}) {
      Preconditioner pc;
      std::vector<PetscReal> points;
      Vector x;
      describe(std::string(ordering) + " in " + std::to_string(dim) + " dimensions");
      PetscCall(create_pc(mat, std::string("-pc_mcpi_ordering ") + ordering, &pc));
      if (dim == 2 && std::string(ordering) != "coordinates")
        PetscCall(PCSetUp(pc)); // The first plan is then made without coordinates.
      PetscCall(points_of_rank(mat, dim, &points));
      PetscCall(set_points(pc, dim, points));
      PetscCall(apply(pc, b, &x));
      EXPECT_TRUE(x == expected);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Changes, coordinates_can_be_given_before_the_matrix_and_again_later)
{
  const Vector b = random_vector(sample().size(), 1);
  OwnedMat mat;
  OwnedPC pc;
  Preconditioner plain;
  std::vector<PetscReal> points;
  Vector x, expected;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, sample(), Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, "", &plain));
  PetscCall(apply(plain, b, &expected));
  PetscCall(points_of_rank(mat, 3, &points));
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc.out()));
  PetscCall(PCSetType(pc, PCMCPI));
  PetscCall(set_options(pc, kPinned));
  PetscCall(set_points(pc, 3, points));
  PetscCall(PCSetOperators(pc, mat, mat));
  PetscCall(apply(pc, b, &x));
  EXPECT_TRUE(x == expected);
  for (PetscReal &coordinate : points) coordinate = -coordinate;
  PetscCall(set_points(pc, 3, points));
  PetscCall(apply(pc, b, &x));
  EXPECT_TRUE(x == expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Changes, ordering_by_coordinates_without_coordinates_is_refused)
{
  OwnedMat mat;
  Preconditioner pc;
  std::vector<PetscReal> points;
  Vector x;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, sample(), Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, "-pc_mcpi_ordering coordinates", &pc));
  EXPECT_PETSC_ERROR(PETSC_ERR_ORDER, "PCSetCoordinates", PCSetUp(pc));
  PetscCall(points_of_rank(mat, 3, &points));
  PetscCall(set_points(pc, 3, points));
  PetscCall(apply(pc, random_vector(sample().size(), 1), &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The number of points differs from the number of block rows, on every rank or on one. The points
// are given before or after the matrix. No rank hangs or reads past the end, and the result does
// not change.
PETSC_TEST(Changes, coordinates_of_something_else_do_no_harm)
{
  const Vector b = random_vector(sample().size(), 1);
  OwnedMat mat;
  Preconditioner plain;
  Vector expected;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, sample(), Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, "", &plain));
  PetscCall(apply(plain, b, &expected));
  for (const bool before : {true, false})
    for (const bool one_rank : {true, false})
      for (const std::size_t count : {std::size_t{0}, std::size_t{2}, std::size_t{500}}) {
        OwnedPC pc;
        std::vector<PetscReal> points;
        Vector x;
        std::string text;
        describe(std::to_string(count) + " points " + (one_rank ? "on one rank " : "") +
                 (before ? "before" : "after") + " the matrix");
        PetscCall(points_of_rank(mat, 3, &points));
        if (!one_rank || world_rank() == world_size() - 1) points.assign(3 * count, 0.5);
        PetscCall(PCCreate(PETSC_COMM_WORLD, pc.out()));
        PetscCall(PCSetType(pc, PCMCPI));
        PetscCall(set_options(pc, kPinned));
        if (before) {
          PetscCall(set_points(pc, 3, points));
          PetscCall(PCSetOperators(pc, mat, mat));
        } else {
          PetscCall(PCSetOperators(pc, mat, mat));
          PetscCall(apply(pc, b, &x));
          PetscCall(set_points(pc, 3, points));
        }
        PetscCall(apply(pc, b, &x));
        EXPECT_TRUE(x == expected);
        PetscCall(view(pc, &text));
        EXPECT_CONTAINS(text, "PCSetCoordinates");
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Changes, coordinates_do_not_outlive_their_matrix)
{
  const BlockMatrix larger = make_matrix(2, random_pattern(90, 2, false));
  OwnedMat mat, other;
  Preconditioner pc, plain;
  std::vector<PetscReal> points;
  Vector x, expected;
  const Vector b = random_vector(larger.size(), 1);

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, sample(), Layout::even, MATBAIJ, &mat));
  PetscCall(create_mat(PETSC_COMM_WORLD, larger, Layout::even, MATBAIJ,
                       &other)); // as many unknowns, 1.5 times the block rows
  PetscCall(create_pc(mat, "", &pc));
  PetscCall(points_of_rank(mat, 3, &points));
  PetscCall(set_points(pc, 3, points));
  PetscCall(PCSetUp(pc));
  PetscCall(create_pc(other, "", &plain));
  PetscCall(apply(plain, b, &expected));
  if (world_size() != 1) PetscCall(PCReset(pc)); // The local sizes differ.
  PetscCall(PCSetOperators(pc, other, other));
  PetscCall(apply(pc, b, &x));
  EXPECT_TRUE(x == expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}
