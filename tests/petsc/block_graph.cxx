// Tests the block graph, which holds the part of the block pattern that a rank knows.
#include "setup/block_graph.h"
#include "graph_of.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "halo/lists.h"
#include "setup/coloring.h"
#include "setup/plan_build.h"
#include "support/petsc.h"

using namespace mcpi::test;
using namespace mcpi;

namespace {

// Finds whether, on some rank, a row reads a row of another rank that does not read it.
PetscErrorCode one_sided_between_ranks(const Pattern &pattern, Layout layout, bool *found)
{
  const BlockMatrix matrix = make_matrix(2, pattern);
  OwnedMat mat;
  PetscMPIInt one_sided = 0;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, layout, MATBAIJ, &mat));
  PetscCall(with_graph(mat, [&](const MatrixPortions &, const BlockGraph &graph) -> PetscErrorCode {
    one_sided = !BlockGraphIsSymmetric(graph);
    return PETSC_SUCCESS;
  }));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &one_sided, 1, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  *found = one_sided != 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The rank that owns each row
std::vector<int> owners(Layout layout, PetscInt n)
{
  const std::vector<PetscInt> counts = block_rows_of_ranks(layout, n, world_size());
  std::vector<int> owner;
  for (int rank = 0; rank < world_size(); ++rank)
    owner.insert(owner.end(), static_cast<std::size_t>(counts[rank]), rank);
  return owner;
}

// Sets boundary conditions in every second block row.
PetscErrorCode clear_rows(Mat mat, PetscInt bs)
{
  std::vector<PetscInt> rows;
  PetscInt begin, end;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(mat, &begin, &end));
  for (PetscInt row = begin; row < end; ++row)
    if (row / bs % 2 == 0) rows.push_back(row);
  PetscCall(
      MatZeroRows(mat, static_cast<PetscInt>(rows.size()), rows.data(), 1.0, nullptr, nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Counts the rows that are sent although they are not coupled to the receiving rank.
PetscErrorCode sent_for_nothing(Mat mat, const BlockGraph &graph, PetscInt *count)
{
  Coloring coloring;
  BuiltPlan built;
  HaloLists lists;
  std::vector<Row> order(static_cast<std::size_t>(graph.rows));

  PetscFunctionBeginUser;
  std::iota(order.begin(), order.end(), 0);
  PetscCall(ColoringCreate(graph, "jplf", (PetscObject)mat, &coloring));
  PetscCall(PlanBuild(graph, coloring, order, {}, &built));
  PetscCall(HaloListsCreate(PETSC_COMM_WORLD, built.plan, built.ghost_owner, &lists));
  const auto interior = [&](Row row) {
    const auto color =
        std::upper_bound(built.plan.color_begin.begin(), built.plan.color_begin.end(), row) -
        built.plan.color_begin.begin();
    return row >= built.plan.boundary_end[static_cast<std::size_t>(color) - 1];
  };
  *count = std::count_if(lists.rows.begin(), lists.rows.end(), interior);
  PetscCall(ColoringDestroy(&coloring));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(BlockGraph, symmetry_between_ranks_is_seen_and_that_inside_a_rank_does_not_matter)
{
  constexpr PetscInt kRows = 60;

  PetscFunctionBeginUser;
  for (const Layout layout : {Layout::even, Layout::uneven, Layout::empty_ranks}) {
    const std::vector<int> owner = owners(layout, kRows);
    Pattern pattern = random_pattern(kRows, 3, true);
    bool found = true;
    describe(name_of(layout));
    PetscCall(one_sided_between_ranks(pattern, layout, &found));
    EXPECT_FALSE(found);
    for (PetscInt row = 0; row < kRows; ++row)
      std::erase_if(pattern[row],
                    [&](PetscInt column) { return column > row && owner[column] == owner[row]; });
    PetscCall(one_sided_between_ranks(pattern, layout, &found));
    EXPECT_FALSE(found);
    for (PetscInt row = 0; row < kRows; ++row) {
      const auto between =
          std::find_if(pattern[row].begin(), pattern[row].end(),
                       [&](PetscInt column) { return owner[column] != owner[row]; });
      if (between == pattern[row].end()) continue;
      Pattern broken = pattern;
      broken[row].erase(broken[row].begin() + (between - pattern[row].begin()));
      PetscCall(one_sided_between_ranks(broken, layout, &found));
      EXPECT_TRUE(found);
      if (row > 20) break;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// PETSc leaves the columns of cleared rows in its lists.
PETSC_TEST(BlockGraph, columns_that_cleared_rows_have_left_are_no_ghosts)
{
  PetscInt unused = 0;

  PetscFunctionBeginUser;
  for (const PetscInt bs : {1, 3})
    for (const char *type : {MATAIJ, MATBAIJ}) {
      OwnedMat mat;
      MatrixPortions portions;
      BlockGraph graph;
      PetscInt columns = 0, useless = 0;
      describe(std::string(type) + " bs " + std::to_string(bs));
      PetscCall(create_mat(PETSC_COMM_WORLD, make_matrix(bs, random_pattern(60, 2, true)),
                           Layout::uneven, type, &mat));
      PetscCall(clear_rows(mat, bs));
      PetscCall(MatrixPortionsGet(mat, &portions));
      PetscCall(BlockGraphCreate(mat, portions, 1, &graph));
      std::set<Row> edges;
      for (const std::vector<Row> *of : {&graph.col, &graph.in_col})
        std::copy_if(of->begin(), of->end(), std::inserter(edges, edges.end()),
                     [&](Row column) { return column >= graph.rows; });
      EXPECT_EQ(edges.size(), graph.ghosts.size());
      PetscCall(sent_for_nothing(mat, graph, &useless));
      EXPECT_EQ(useless, 0);
      if (portions.offdiag) PetscCall(MatGetLocalSize(portions.offdiag, nullptr, &columns));
      unused += columns / bs - static_cast<PetscInt>(graph.ghosts.size());
      PetscCall(BlockGraphDestroy(&graph));
      PetscCall(MatrixPortionsDestroy(&portions));
    }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &unused, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
  if (world_size() > 1) {
    EXPECT_LT(0, unused); // Otherwise the test would have tested nothing.
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

namespace {

// The same matrix with smaller blocks
BlockMatrix with_block_size(const BlockMatrix &matrix, int bs)
{
  const int parts = matrix.bs / bs;
  BlockMatrix small;
  small.bs = bs;
  for (Row row = 0; row < matrix.rows(); ++row)
    for (int part = 0; part < parts; ++part) {
      for (Row k = matrix.ptr[row]; k < matrix.ptr[row + 1]; ++k)
        for (int other = 0; other < parts; ++other) {
          small.col.push_back(matrix.col[k] * parts + other);
          for (int j = 0; j < bs; ++j)
            for (int i = 0; i < bs; ++i)
              small.values.push_back(
                  matrix.values[(static_cast<std::size_t>(k) * matrix.bs + other * bs + j) *
                                    matrix.bs +
                                part * bs + i]);
        }
      small.ptr.push_back(static_cast<Row>(small.col.size()));
    }
  return small;
}

// The matrix with smaller blocks. Each rank owns whole blocks of the given matrix.
PetscErrorCode create_with_block_size(const BlockMatrix &matrix, int bs, Layout layout,
                                      MatType type, OwnedMat *mat)
{
  const BlockMatrix small = with_block_size(matrix, bs);
  const std::vector<PetscInt> counts = block_rows_of_ranks(layout, matrix.rows(), world_size());
  const PetscInt rows = counts[world_rank()] * matrix.bs;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, mat->out()));
  PetscCall(MatSetSizes(*mat, rows, rows, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSize(*mat, bs));
  PetscCall(MatSetType(*mat, type));
  PetscCall(MatSetUp(*mat));
  PetscCall(MatSetOption(*mat, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(set_values(small, *mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Checks the advice of PCView(). expected: the block size that it names, or 0 for no advice
PetscErrorCode check_advice(Mat mat, int bs, int expected)
{
  Preconditioner pc;
  std::string text;

  PetscFunctionBeginUser;
  PetscCall(create_pc(mat, "", &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(view(pc, &text));
  if (expected == 0)
    EXPECT_EQ(text.find("rows come in groups"), text.npos) << text;
  else
    EXPECT_CONTAINS(text, "the block size is " + std::to_string(bs) +
                              ", but rows come in groups of " + std::to_string(expected) +
                              " with the same columns: call MatSetBlockSize(A, " +
                              std::to_string(expected) + ")");
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(BlockGraph, a_block_size_that_is_too_small_is_seen)
{
  PetscFunctionBeginUser;
  for (const Layout layout :
       {Layout::even, Layout::uneven, Layout::empty_ranks, Layout::all_on_last})
    for (const int size : {1, 2, 3, 4, 6})
      for (const int bs : {1, 2, 3})
        for (const MatType type : {MATAIJ, MATBAIJ}) {
          if (size % bs != 0) continue;
          OwnedMat mat;
          describe(std::string(name_of(layout)) + " " + std::to_string(size) + " as " +
                   std::to_string(bs) + " " + type);
          PetscCall(create_with_block_size(make_matrix(size, random_pattern(40, 4, false)), bs,
                                           layout, type, &mat));
          PetscCall(check_advice(mat, bs, size == bs ? 0 : size));
        }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Rows of boundary conditions keep their diagonal entry only.
PETSC_TEST(BlockGraph, boundary_conditions_do_not_hide_the_block_size)
{
  OwnedMat mat;

  PetscFunctionBeginUser;
  PetscCall(create_with_block_size(make_matrix(4, random_pattern(40, 4, true)), 1, Layout::even,
                                   MATAIJ, &mat));
  PetscCall(clear_rows(mat, 4));
  PetscCall(check_advice(mat, 1, 4));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(BlockGraph, rows_without_groups_are_not_taken_for_blocks)
{
  Pattern full(12);

  PetscFunctionBeginUser;
  for (Row row = 0; row < 12; ++row)
    for (Row column = 0; column < 12; ++column)
      if (row != column) full[row].push_back(column);
  for (const Pattern &pattern :
       {diagonal_pattern(12), full, tetrahedral_pattern(4, 3, 3), random_pattern(40, 4, false),
        ring_pattern(30, 1, 5), arrow_pattern(20), one_way_pattern(20, 3)})
    for (const int bs : {1, 3}) {
      OwnedMat mat;
      PetscCall(create_mat(PETSC_COMM_WORLD, make_matrix(bs, pattern), Layout::even, MATAIJ, &mat));
      PetscCall(check_advice(mat, bs, 0));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// On one rank rows come in groups of 4, on the next of 6, and on the third of 9.
PETSC_TEST(BlockGraph, groups_of_rows_are_those_of_all_ranks)
{
  constexpr Row kRows = 36; // of a rank
  constexpr Row kSizes[] = {4, 6, 9};
  constexpr int kCommon[] = {4, 2, 0};
  const int ranks = std::min(world_size(), 3);
  Pattern pattern(static_cast<std::size_t>(kRows) * world_size());
  OwnedMat mat;

  PetscFunctionBeginUser;
  for (Row row = 0; row < static_cast<Row>(pattern.size()); ++row) {
    const Row rank = row / kRows, size = kSizes[std::min(rank, Row{2})];
    const auto group = [&](Row r) { return rank * kRows + (r - rank * kRows) / size; };
    for (Row column = rank * kRows; column < (rank + 1) * kRows; ++column)
      if (column != row && std::abs(group(column) - group(row)) <= 1)
        pattern[row].push_back(column);
  }
  PetscCall(create_mat(PETSC_COMM_WORLD, make_matrix(1, pattern), Layout::even, MATAIJ, &mat));
  PetscCall(check_advice(mat, 1, kCommon[ranks - 1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
