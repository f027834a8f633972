// Tests of the MatColoring types wave and levels: the colorings are valid and the same on any
// number of ranks, and a sweep by levels is Gauss-Seidel in the order of the matrix.
#include <algorithm>
#include <numeric>
#include <string_view>

#include "coloring_problem.h"
#include "most_of_one_rank.h"
#include "petscmcpi.h"
#include "support/petsc.h"

using namespace mcpi::test;
using coloring_problem::Case;
using coloring_problem::Problem;

namespace {

// A block size above 1 needs rows that are a multiple of it.
PetscErrorCode create_matrix(MPI_Comm comm, const Case &c, Mat *mat)
{
  const Problem problem(c);
  const bool upper_only = std::string_view(c.type) == MATSBAIJ;
  PetscInt start, end, local = PETSC_DECIDE, blocks = PETSC_DECIDE, all = problem.rows() / c.bs;

  PetscFunctionBegin;
  PetscCall(PetscSplitOwnership(comm, &blocks, &all));
  local = blocks * c.bs;
  PetscCall(MatCreate(comm, mat));
  PetscCall(MatSetSizes(*mat, local, local, problem.rows(), problem.rows()));
  PetscCall(MatSetBlockSize(*mat, c.bs));
  PetscCall(MatSetType(*mat, c.type));
  PetscCall(MatSetUp(*mat));
  PetscCall(MatSetOption(*mat, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(*mat, &start, &end));
  for (PetscInt row = start; row < end; ++row)
    for (const PetscInt column : problem.columns(row))
      if (column >= row || !upper_only)
        PetscCall(MatSetValue(*mat, row, column, row == column ? 20.0 : -1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*mat, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*mat, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode create_iscoloring(Mat mat, const char *type, PetscInt distance,
                                 ISColoring *iscoloring)
{
  MatColoring mc;

  PetscFunctionBegin;
  PetscCall(MatColoringCreate(mat, &mc));
  PetscCall(MatColoringSetDistance(mc, distance));
  PetscCall(MatColoringSetType(mc, type));
  PetscCall(MatColoringSetFromOptions(mc));
  const PetscErrorCode applied = MatColoringApply(mc, iscoloring);
  PetscCall(MatColoringDestroy(&mc));
  PetscCall(applied);
  PetscFunctionReturn(PETSC_SUCCESS);
}

struct Colors {
  PetscInt colors = 0;
  std::vector<int> of_row; // of all rows
};

PetscErrorCode color(Mat mat, const char *type, Colors *result)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)mat);
  ISColoring iscoloring;
  PetscInt n;
  const ISColoringValue *values;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(create_iscoloring(mat, type, 1, &iscoloring));
  PetscCall(ISColoringGetColors(iscoloring, &n, &result->colors, &values));
  const std::vector<int> mine(values, values + n);
  PetscCallMPI(MPI_Comm_size(comm, &size));
  const auto count = static_cast<PetscMPIInt>(n);
  std::vector<PetscMPIInt> counts(static_cast<std::size_t>(size)), starts(counts.size(), 0);
  PetscCallMPI(MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, comm));
  std::exclusive_scan(counts.begin(), counts.end(), starts.begin(), 0);
  result->of_row.resize(static_cast<std::size_t>(starts.back() + counts.back()));
  PetscCallMPI(MPI_Allgatherv(mine.data(), count, MPI_INT, result->of_row.data(), counts.data(),
                              starts.data(), MPI_INT, comm));
  PetscCall(ISColoringDestroy(&iscoloring));
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool valid(const Problem &problem, const Colors &colors)
{
  std::vector<char> used(static_cast<std::size_t>(colors.colors), 0);
  for (PetscInt row = 0; row < problem.rows(); ++row) {
    const int own = colors.of_row[row];
    if (own < 0 || own >= colors.colors) return false;
    used[own] = 1;
    for (const PetscInt column : problem.columns(row))
      if (column != row && colors.of_row[column] == own) return false;
  }
  return problem.rows() == 0 || std::find(used.begin(), used.end(), 0) == used.end();
}

const Case cases[] = {
    {.kind = "tet", .n = 8},
    {.kind = "tet", .n = 8, .permute = true},
    {.kind = "mix", .n = 8, .permute = true},
    {.kind = "star", .n = 9},
    {.kind = "chain", .n = 12, .permute = true},
    {.kind = "ring", .n = 9, .permute = true},
    {.kind = "random", .n = 6},
    {.kind = "arrow", .n = 7},
    {.kind = "complete", .n = 6},
    {.kind = "diagonal", .n = 4},
    {.kind = "none", .n = 4},
    {.kind = "zero"},
    {.kind = "tet", .n = 1}, // more ranks than rows
    {.kind = "tet", .n = 6, .permute = true, .type = MATBAIJ, .bs = 3},
    {.kind = "tet", .n = 6, .permute = true, .type = MATSBAIJ},
};

// Sets an option for the life of the object.
class Option {
public:
  Option(std::string name, const std::string &value) : name_(std::move(name))
  {
    PetscCallAbort(PETSC_COMM_SELF, PetscOptionsSetValue(nullptr, name_.c_str(), value.c_str()));
  }
  Option(const Option &) = delete;
  Option &operator=(const Option &) = delete;
  ~Option() { PetscCallAbort(PETSC_COMM_SELF, PetscOptionsClearValue(nullptr, name_.c_str())); }

private:
  std::string name_;
};

PetscErrorCode check_case(const Case &c, const std::string &type)
{
  const Problem problem(c);
  OwnedMat mat, whole;
  Colors alone, together, again, gathered;

  PetscFunctionBegin;
  PetscCall(create_matrix(PETSC_COMM_SELF, c, whole.out()));
  PetscCall(create_matrix(PETSC_COMM_WORLD, c, mat.out()));
  PetscCall(color(whole, type.c_str(), &alone));
  PetscCall(color(mat, type.c_str(), &gathered));
  const MostOfOneRank none(0);
  PetscCall(color(mat, type.c_str(), &together));
  PetscCall(color(mat, type.c_str(), &again));
  EXPECT_TRUE(valid(problem, alone));
  EXPECT_EQ(alone.colors, together.colors);
  EXPECT_TRUE(alone.of_row == together.of_row);
  EXPECT_TRUE(alone.of_row == again.of_row);
  EXPECT_TRUE(alone.of_row == gathered.of_row);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(Waves, colorings_are_valid_and_the_same_on_any_number_of_ranks)
{
  PetscFunctionBeginUser;
  for (const char *type : {MATCOLORINGWAVE, MATCOLORINGLEVELS})
    for (const char *order : {"front", "natural", "rcm"})
      for (const Case &c : cases) {
        const Option chosen("-mat_coloring_" + std::string(type) + "_order", order);
        describe(std::string(type) + ", " + order + ", " + c.kind + " " + std::to_string(c.n) +
                 " " + c.type + (c.permute ? ", permuted" : ""));
        PetscCall(check_case(c, type));
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Waves, a_wave_has_as_many_colors_as_it_is_told)
{
  OwnedMat tet, complete;
  Colors colors;

  PetscFunctionBeginUser;
  PetscCall(create_matrix(PETSC_COMM_WORLD, {.kind = "tet", .n = 16}, tet.out()));
  PetscCall(create_matrix(PETSC_COMM_WORLD, {.kind = "complete", .n = 6}, complete.out()));
  PetscCall(color(tet, MATCOLORINGWAVE, &colors));
  EXPECT_EQ(colors.colors, 16);
  const Option few("-mat_coloring_wave_colors", "12");
  PetscCall(color(tet, MATCOLORINGWAVE, &colors));
  EXPECT_EQ(colors.colors, 12);
  // More colors than that only where the neighbors of a row have them all
  PetscCall(color(complete, MATCOLORINGWAVE, &colors));
  EXPECT_EQ(colors.colors, 36);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Waves, neighbors_follow_the_order_but_where_the_wave_begins_anew)
{
  const Case c{.kind = "tet", .n = 16, .permute = true};
  const Problem problem(c);
  OwnedMat mat;
  Colors levels, wave;

  PetscFunctionBeginUser;
  PetscCall(create_matrix(PETSC_COMM_WORLD, c, mat.out()));
  const Option levels_order("-mat_coloring_levels_order", "front");
  const Option wave_order("-mat_coloring_wave_order", "front");
  PetscCall(color(mat, MATCOLORINGLEVELS, &levels));
  const auto against = [&](const char *colors) -> double {
    const Option option("-mat_coloring_wave_colors", colors);
    PetscCallAbort(PETSC_COMM_SELF, color(mat, MATCOLORINGWAVE, &wave));
    PetscInt edges = 0, reversed = 0;
    for (PetscInt row = 0; row < problem.rows(); ++row)
      for (const PetscInt column : problem.columns(row))
        if (levels.of_row[column] < levels.of_row[row]) {
          ++edges;
          reversed += wave.of_row[column] > wave.of_row[row];
        }
    return static_cast<double>(reversed) / static_cast<double>(edges);
  };
  EXPECT_LE(against("16"), 0.4); // 0.5: no order at all
  EXPECT_LE(against("64"), 0.25);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Waves, a_level_is_one_more_than_the_largest_of_earlier_neighbors)
{
  const Case c{.kind = "random", .n = 7};
  const Problem problem(c);
  OwnedMat mat;
  Colors colors;

  PetscFunctionBeginUser;
  std::vector<std::vector<PetscInt>> neighbors(static_cast<std::size_t>(problem.rows()));
  for (PetscInt row = 0; row < problem.rows(); ++row)
    for (const PetscInt column : problem.columns(row)) {
      neighbors[row].push_back(column);
      neighbors[column].push_back(row);
    }
  std::vector<int> expected(neighbors.size(), 0);
  for (PetscInt row = 0; row < problem.rows(); ++row)
    for (const PetscInt column : neighbors[row])
      if (column < row) expected[row] = std::max(expected[row], expected[column] + 1);
  PetscCall(create_matrix(PETSC_COMM_WORLD, c, mat.out()));
  PetscCall(color(mat, MATCOLORINGLEVELS, &colors));
  EXPECT_TRUE(colors.of_row == expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// PCSOR on one rank is the oracle: symmetric Gauss-Seidel in the order of the rows.
PETSC_TEST(Waves, a_sweep_by_levels_is_gauss_seidel_in_the_order_of_the_matrix)
{
  const Case c{.kind = "mix", .n = 8, .permute = true};
  OwnedMat mat, whole;
  Preconditioner mcpi;
  PC sor;
  Vector x, expected;

  PetscFunctionBeginUser;
  PetscCall(create_matrix(PETSC_COMM_WORLD, c, mat.out()));
  PetscCall(create_matrix(PETSC_COMM_SELF, c, whole.out()));
  const Vector b = random_vector(Problem(c).rows(), 1);
  PetscCall(create_pc(mat,
                      "-pc_mcpi_mat_coloring_type levels -pc_mcpi_offdiag_precision fp64 "
                      "-pc_mcpi_vector_precision fp64 -pc_mcpi_sweep symmetric -pc_mcpi_its 1",
                      &mcpi));
  PetscCall(apply(mcpi, b, &x));
  PetscCall(PCCreate(PETSC_COMM_SELF, &sor));
  PetscCall(PCSetType(sor, PCSOR));
  PetscCall(PCSORSetSymmetric(sor, SOR_LOCAL_SYMMETRIC_SWEEP));
  PetscCall(PCSetOperators(sor, whole, whole));
  PetscCall(apply(sor, b, &expected));
  PetscCall(PCDestroy(&sor));
  EXPECT_LE(difference(x, expected), 1e-13);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Waves, another_distance_is_refused)
{
  OwnedMat mat;
  ISColoring iscoloring;

  PetscFunctionBeginUser;
  PetscCall(create_matrix(PETSC_COMM_WORLD, {.kind = "tet", .n = 4}, mat.out()));
  for (const char *type : {MATCOLORINGWAVE, MATCOLORINGLEVELS})
    EXPECT_PETSC_ERROR(PETSC_ERR_SUP, "-mat_coloring_distance 1",
                       create_iscoloring(mat, type, 2, &iscoloring));
  PetscFunctionReturn(PETSC_SUCCESS);
}
