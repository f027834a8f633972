// Tests a Mat whose nonzeros move to other places, while their number stays the same. The result is
// always that of a new preconditioner.
#include <algorithm>
#include <cstdio>

#include "support/petsc.h"

using namespace mcpi::test;

namespace {

constexpr PetscInt bs = 3, n = 40;

// A matrix whose rows read the rows at this distance on both sides
BlockMatrix shifted(PetscInt distance)
{
  Recipe recipe;
  Pattern pattern(n);
  recipe.symmetric = true;
  for (PetscInt i = 0; i < n; ++i) {
    for (const PetscInt j : {(i + distance) % n, (i + n - distance) % n}) pattern[i].push_back(j);
    std::sort(pattern[i].begin(), pattern[i].end());
  }
  return make_matrix(bs, pattern, recipe);
}

// This rank's rows of an even layout, as arrays. Vector are ordered by rows: by rows of each block
// if the arrays are blocked.
struct Arrays {
  std::vector<PetscInt> i{0}, j, row; // row: of every entry
  Vector values;

  Arrays(const BlockMatrix &matrix, bool blocked)
  {
    const std::vector<PetscInt> rows = block_rows_of_ranks(Layout::even, n, world_size());
    PetscInt begin = 0;
    for (int rank = 0; rank < world_rank(); ++rank) begin += rows[rank];
    for (PetscInt block = begin; block < begin + rows[world_rank()]; ++block)
      for (PetscInt p = 0; p < (blocked ? 1 : bs); ++p) {
        for (PetscInt k = matrix.ptr[block]; k < matrix.ptr[block + 1]; ++k) {
          const double *column_major = matrix.values.data() + k * bs * bs;
          if (blocked) {
            j.push_back(matrix.col[k]);
            for (PetscInt at = 0; at < bs * bs; ++at)
              values.push_back(column_major[at % bs * bs + at / bs]);
            continue;
          }
          for (PetscInt q = 0; q < bs; ++q) {
            row.push_back(block * bs + p);
            j.push_back(matrix.col[k] * bs + q);
            values.push_back(column_major[q * bs + p]);
          }
        }
        i.push_back(static_cast<PetscInt>(j.size()));
      }
  }
};

enum class Renewal { preallocated, arrays, coordinates, loaded };
constexpr const char *names[] = {"preallocated", "from arrays", "from coordinates", "loaded"};

PetscErrorCode load(const BlockMatrix &matrix, Mat mat)
{
  const std::string file = "new_pattern." + std::to_string(world_size()) + ".bin";
  OwnedMat other;
  PetscViewer viewer;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATAIJ, &other));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file.c_str(), FILE_MODE_WRITE, &viewer));
  PetscCall(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE));
  PetscCall(MatView(other, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file.c_str(), FILE_MODE_READ, &viewer));
  PetscCall(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE));
  PetscCall(MatLoad(mat, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  if (world_rank() == 0) (void)std::remove(file.c_str());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode renew(const BlockMatrix &matrix, const std::string &type, Renewal how, Mat mat)
{
  const bool blocked = type != MATAIJ;

  PetscFunctionBeginUser;
  switch (how) {
  case Renewal::preallocated: {
    const std::vector<PetscInt> three(n, 3); // the diagonal block and two others, wherever they lie
    PetscCall(
        MatXAIJSetPreallocation(mat, bs, three.data(), three.data(), three.data(), three.data()));
    PetscCall(set_values(matrix, mat));
    break;
  }
  case Renewal::arrays: {
    const Arrays arrays(matrix, blocked);
    if (type == MATAIJ) {
      PetscCall(MatSeqAIJSetPreallocationCSR(mat, arrays.i.data(), arrays.j.data(),
                                             arrays.values.data()));
      PetscCall(MatMPIAIJSetPreallocationCSR(mat, arrays.i.data(), arrays.j.data(),
                                             arrays.values.data()));
    } else {
      PetscCall(MatSeqBAIJSetPreallocationCSR(mat, bs, arrays.i.data(), arrays.j.data(),
                                              arrays.values.data()));
      PetscCall(MatMPIBAIJSetPreallocationCSR(mat, bs, arrays.i.data(), arrays.j.data(),
                                              arrays.values.data()));
    }
    break;
  }
  case Renewal::coordinates: {
    Arrays arrays(matrix, blocked);
    PetscCall(MatSetPreallocationCOO(mat, static_cast<PetscCount>(arrays.j.size()),
                                     arrays.row.data(), arrays.j.data()));
    PetscCall(MatSetValuesCOO(mat, arrays.values.data(), INSERT_VALUES));
    break;
  }
  case Renewal::loaded:
    PetscCall(load(matrix, mat));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode check_renewals(const std::string &type, Renewal how)
{
  OwnedMat mat;
  Preconditioner pc;
  PetscBool used = PETSC_FALSE;

  PetscFunctionBeginUser;
  describe(type + " " + names[static_cast<int>(how)]);
  const std::vector<PetscInt> rows = block_rows_of_ranks(Layout::even, n, world_size());
  PetscCall(MatCreate(PETSC_COMM_WORLD, mat.out()));
  PetscCall(MatSetSizes(mat, rows[world_rank()] * bs, rows[world_rank()] * bs, n * bs, n * bs));
  PetscCall(MatSetBlockSize(mat, bs));
  PetscCall(MatSetType(mat, type.c_str()));
  for (const PetscInt distance : {1, 2, 7, 1}) {
    const BlockMatrix matrix = shifted(distance);
    const Vector b = random_vector(matrix.size(), 7);
    OwnedMat right;
    Preconditioner fresh;
    Vector x, expected;
    PetscCall(renew(matrix, type, how, mat));
    if (!used) PetscCall(create_pc(mat, "-pc_mcpi_its 2", &pc));
    used = PETSC_TRUE;
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, type.c_str(), &right));
    PetscCall(create_pc(right, "-pc_mcpi_its 2", &fresh));
    PetscCall(apply(fresh, b, &expected));
    PetscCall(apply(pc, b, &x));
    EXPECT_TRUE(x == expected);
    PetscCall(apply_transpose(fresh, b, &expected));
    PetscCall(apply_transpose(pc, b, &x));
    EXPECT_TRUE(x == expected);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(NewPattern, matrix_preallocated_again_is_set_up_again)
{
  PetscFunctionBeginUser;
  for (const char *type : {MATAIJ, MATBAIJ, MATSBAIJ})
    PetscCall(check_renewals(type, Renewal::preallocated));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(NewPattern, matrix_from_other_arrays_is_set_up_again)
{
  PetscFunctionBeginUser;
  for (const char *type : {MATAIJ, MATBAIJ}) PetscCall(check_renewals(type, Renewal::arrays));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(NewPattern, matrix_from_other_coordinates_is_set_up_again)
{
  PetscFunctionBeginUser;
  PetscCall(check_renewals(MATAIJ, Renewal::coordinates));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(NewPattern, matrix_from_another_file_is_set_up_again)
{
  PetscFunctionBeginUser;
  for (const char *type : {MATAIJ, MATBAIJ, MATSBAIJ})
    PetscCall(check_renewals(type, Renewal::loaded));
  PetscFunctionReturn(PETSC_SUCCESS);
}
