// What a rank knows of the block pattern.
#include "setup/block_graph.h"

#include "support.h"

using namespace test;
using namespace mcpi;

namespace {

// Whether some rank finds that a row reads one of another rank and is not read by it
PetscErrorCode one_sided_between_ranks(const Pattern &pattern, Layout layout, bool *found)
{
  const BlockMatrix matrix = make_matrix(2, pattern);
  OwnedMat          mat;
  MatrixParts       parts;
  BlockGraph        graph;
  PetscMPIInt       one_sided;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, layout, MATBAIJ, &mat));
  PetscCall(MatrixPartsGet(mat, &parts));
  PetscCall(BlockGraphCreate(mat, parts, &graph));
  one_sided = !BlockGraphIsSymmetric(graph);
  PetscCall(BlockGraphDestroy(&graph));
  PetscCall(MatrixPartsDestroy(&parts));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &one_sided, 1, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  *found = one_sided != 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The rank of each row
std::vector<int> owners(Layout layout, PetscInt n)
{
  const std::vector<PetscInt> counts = block_rows_of_ranks(layout, n, world_size());
  std::vector<int>            owner;
  for (int rank = 0; rank < world_size(); ++rank) owner.insert(owner.end(), static_cast<std::size_t>(counts[rank]), rank);
  return owner;
}

} // namespace

TEST(symmetry_between_ranks_is_seen_and_that_inside_a_rank_does_not_matter)
{
  constexpr PetscInt kRows = 60;

  PetscFunctionBeginUser;
  for (const Layout layout : {Layout::even, Layout::uneven, Layout::empty_ranks}) {
    const std::vector<int> owner   = owners(layout, kRows);
    Pattern                pattern = random_pattern(kRows, 3, true);
    bool                   found   = true;
    describe(name_of(layout));
    PetscCall(one_sided_between_ranks(pattern, layout, &found));
    CHECK(!found);
    for (PetscInt row = 0; row < kRows; ++row)
      std::erase_if(pattern[row], [&](PetscInt column) { return column > row && owner[column] == owner[row]; });
    PetscCall(one_sided_between_ranks(pattern, layout, &found));
    CHECK(!found);
    for (PetscInt row = 0; row < kRows; ++row) {
      const auto between =
          std::find_if(pattern[row].begin(), pattern[row].end(), [&](PetscInt column) { return owner[column] != owner[row]; });
      if (between == pattern[row].end()) continue;
      Pattern broken = pattern;
      broken[row].erase(broken[row].begin() + (between - pattern[row].begin()));
      PetscCall(one_sided_between_ranks(broken, layout, &found));
      CHECK(found);
      if (row > 20) break;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
