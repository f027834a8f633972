// Tests that every MatColoring type of PETSc gives a valid smoother. The iterate is that of the
// formula with the coloring in use.
#include <algorithm>

#include "most_of_one_rank.h"
#include "support/petsc.h"

using namespace mcpi::test;

namespace {

struct Choice {
  const char *options;
  bool one_rank_only = false;
};

constexpr Choice choices[] = {
    {"-pc_mcpi_mat_coloring_type jplf"},
    {"-pc_mcpi_mat_coloring_type jp"},
    {"-pc_mcpi_mat_coloring_type greedy"},
    // Distance 2 gives more colors than needed, but the coloring is valid.
    {"-pc_mcpi_mat_coloring_type greedy -pc_mcpi_mat_coloring_distance 2"},
    {"-pc_mcpi_mat_coloring_type sl", true},
    {"-pc_mcpi_mat_coloring_type lf", true},
    {"-pc_mcpi_mat_coloring_type id", true},
    {"-pc_mcpi_mat_coloring_type natural"},
    {"-pc_mcpi_mat_coloring_type power"},
};

bool valid(const BlockMatrix &matrix, const std::vector<int> &color)
{
  for (PetscInt i = 0; i < matrix.rows(); ++i)
    for (PetscInt k = matrix.ptr[i]; k < matrix.ptr[i + 1]; ++k)
      if (matrix.col[k] != i && color[matrix.col[k]] == color[i]) return false;
  return std::all_of(color.begin(), color.end(), [](int c) { return c >= 0; });
}

} // namespace

PETSC_TEST(Colorings, every_coloring_type_works)
{
  PetscFunctionBeginUser;
  for (const bool symmetric : {true, false})
    for (const Layout layout : {Layout::even, Layout::empty_ranks})
      for (const Choice &choice : choices) {
        if (choice.one_rank_only && world_size() > 1) continue;
        const BlockMatrix matrix = make_matrix(2, random_pattern(45, 2, symmetric));
        const Vector b = random_vector(matrix.size(), 1);
        OwnedMat mat;
        Preconditioner pc;
        std::vector<int> color;
        Vector x;
        describe(std::string(choice.options) + (symmetric ? ", symmetric, " : ", nonsymmetric, ") +
                 name_of(layout));
        PetscCall(create_mat(PETSC_COMM_WORLD, matrix, layout, MATBAIJ, &mat));
        PetscCall(
            create_pc(mat,
                      std::string("-pc_mcpi_offdiag_precision fp64 -pc_mcpi_sweep symmetric ") +
                          choice.options,
                      &pc));
        PetscCall(PCSetUp(pc));
        PetscCall(gather_colors(pc, &color));
        EXPECT_TRUE(valid(matrix, color));
        PetscCall(apply(pc, b, &x));
        Sweeps sweeps;
        sweeps.type = PC_MCPI_SWEEP_SYMMETRIC;
        EXPECT_LE(difference(x, DenseIteration(matrix, color).run(sweeps, b)), 1e-12);
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Colorings, options_of_the_coloring_reach_it)
{
  const BlockMatrix matrix = make_matrix(1, random_pattern(60, 3, true));
  OwnedMat mat;
  int colors[2];

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATAIJ, &mat));
  for (const int distance : {1, 2}) {
    Preconditioner pc;
    std::vector<int> color;
    PetscCall(create_pc(mat,
                        "-pc_mcpi_mat_coloring_type greedy -pc_mcpi_mat_coloring_distance " +
                            std::to_string(distance),
                        &pc));
    PetscCall(PCSetUp(pc));
    PetscCall(gather_colors(pc, &color));
    colors[distance - 1] = *std::max_element(color.begin(), color.end());
  }
  EXPECT_LT(colors[0], colors[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A band matrix whose flag MAT_SYMMETRIC is no longer true, since MatZeroRows() has taken entries
// away. PETSc keeps the flag.
static PetscErrorCode create_stale(OwnedMat *mat)
{
  constexpr PetscInt n = 20;
  const PetscInt gone[] = {0, 5, 11};
  PetscInt begin, end;

  PetscFunctionBeginUser;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 5, nullptr, 4, nullptr,
                         mat->out()));
  PetscCall(MatGetOwnershipRange(*mat, &begin, &end));
  for (PetscInt i = begin; i < end; ++i)
    for (PetscInt j = std::max<PetscInt>(i - 2, 0); j <= std::min(i + 2, n - 1); ++j)
      PetscCall(MatSetValue(*mat, i, j, 1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*mat, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*mat, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(*mat, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatZeroRows(*mat, world_rank() == 0 ? 3 : 0, gone, 1.0, nullptr, nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Checks that no two rows with an entry between them have the same color.
static PetscErrorCode check_colors(Mat mat, ISColoring coloring)
{
  PetscInt n, begin, end;
  const ISColoringValue *own;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(mat, &n, nullptr));
  PetscCall(MatGetOwnershipRange(mat, &begin, &end));
  PetscCall(ISColoringGetColors(coloring, nullptr, nullptr, &own));
  std::vector<int> color(static_cast<std::size_t>(n), -1);
  for (PetscInt i = begin; i < end; ++i) color[i] = own[i - begin];
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, color.data(), static_cast<PetscMPIInt>(n), MPI_INT,
                             MPI_MAX, PETSC_COMM_WORLD));
  for (PetscInt i = begin; i < end; ++i) {
    PetscInt count;
    const PetscInt *columns;
    PetscCall(MatGetRow(mat, i, &count, &columns, nullptr));
    for (PetscInt k = 0; k < count; ++k) {
      if (columns[k] != i) {
        EXPECT_NE(color[columns[k]], color[i]);
      }
    }
    PetscCall(MatRestoreRow(mat, i, &count, &columns, nullptr));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Colorings, flags_of_users_matrices_are_not_trusted)
{
  PetscFunctionBeginUser;
  PetscCall(PCMCPIRegister());
  for (const char *type : {"jplf", "wave", "levels"})
    for (const PetscInt64 most : {0, 1000000}) {
      const MostOfOneRank limit(most);
      OwnedMat mat;
      MatColoring coloring;
      ISColoring colors;
      describe(std::string(type) + ", one rank colors at most " + std::to_string(most));
      PetscCall(create_stale(&mat));
      PetscCall(MatColoringCreate(mat, &coloring));
      PetscCall(MatColoringSetType(coloring, type));
      PetscCall(MatColoringSetDistance(coloring, 1));
      PetscCall(MatColoringSetFromOptions(coloring));
      PetscCall(MatColoringApply(coloring, &colors));
      PetscCall(check_colors(mat, colors));
      PetscCall(ISColoringDestroy(&colors));
      PetscCall(MatColoringDestroy(&coloring));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}
