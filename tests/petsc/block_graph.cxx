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
  PetscCall(with_graph(mat, [&](const MatrixParts &, const BlockGraph &graph) -> PetscErrorCode {
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
      MatrixParts parts;
      BlockGraph graph;
      PetscInt columns = 0, useless = 0;
      describe(std::string(type) + " bs " + std::to_string(bs));
      PetscCall(create_mat(PETSC_COMM_WORLD, make_matrix(bs, random_pattern(60, 2, true)),
                           Layout::uneven, type, &mat));
      PetscCall(clear_rows(mat, bs));
      PetscCall(MatrixPartsGet(mat, &parts));
      PetscCall(BlockGraphCreate(mat, parts, 1, &graph));
      std::set<Row> edges;
      for (const std::vector<Row> *of : {&graph.col, &graph.in_col})
        std::copy_if(of->begin(), of->end(), std::inserter(edges, edges.end()),
                     [&](Row column) { return column >= graph.rows; });
      EXPECT_EQ(edges.size(), graph.ghosts.size());
      PetscCall(sent_for_nothing(mat, graph, &useless));
      EXPECT_EQ(useless, 0);
      if (parts.offdiag) PetscCall(MatGetLocalSize(parts.offdiag, nullptr, &columns));
      unused += columns / bs - static_cast<PetscInt>(graph.ghosts.size());
      PetscCall(BlockGraphDestroy(&graph));
      PetscCall(MatrixPartsDestroy(&parts));
    }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &unused, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
  if (world_size() > 1) {
    EXPECT_LT(0, unused); // Otherwise the test would have tested nothing.
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
