// The block graph of a Mat: which block rows are coupled to which. A block row reads the columns of
// its blocks.
#pragma once

#include <petscmat.h>
#include <petscsf.h>

#include <span>
#include <vector>

#include "core/plan.h"

namespace mcpi {

// The sequential portions of a supported matrix. diag and offdiag are borrowed. copy is owned: it
// holds the BAIJ matrix to which an SBAIJ matrix is converted, and is null for other types.
struct MatrixPortions {
  Mat diag = nullptr, offdiag = nullptr; // offdiag is null for a sequential matrix
  // global columns of offdiag: block columns if blocked, otherwise scalar columns
  const PetscInt *garray = nullptr;
  bool blocked = false; // BAIJ, not AIJ
  PetscInt bs = 1;
  Mat copy = nullptr;
};

// Collective. For a matrix that is not supported, the error message says what to do.
PetscErrorCode MatrixPortionsGet(Mat mat, MatrixPortions *portions);
PetscErrorCode MatrixPortionsDestroy(MatrixPortions *portions);

// The nonzero structure of one sequential portion, by block rows or by scalar rows. close() gives
// the arrays back to PETSc.
class RowStructure {
public:
  PetscErrorCode open(Mat mat, bool blocked);
  PetscErrorCode close();
  PetscInt rows = 0;
  const PetscInt *i = nullptr, *j = nullptr;

private:
  Mat mat_ = nullptr;
  bool blocked_ = false;
};

// The off-diagonal blocks of the local rows, and the blocks of other ranks' rows whose columns this
// rank owns.
struct BlockGraph {
  MPI_Comm comm = MPI_COMM_NULL;
  PetscInt bs = 0, row_start = 0, global_rows = 0;
  Row rows = 0;
  int threads = 1;         // with which this rank makes things of the graph
  std::vector<Offset> ptr; // rows + 1
  // Per row: first the local columns, then the ghosts as rows + ghost. Both are ascending, except
  // in BAIJ matrices that a user made of arrays in another order.
  std::vector<Row> col;
  // Whether this is known: couplings of local rows exist in both directions, and columns ascend.
  bool locally_symmetric = false;
  // global block rows of the off-process neighbors in the symmetrized pattern, ascending
  std::vector<PetscInt> ghosts;
  // offdiag's (block or scalar) column -> ghost; -1 for a column without entries
  std::vector<Row> ghost_of_column;
  // Blocks of other ranks' rows, by the local row that is their column
  std::vector<Offset> in_ptr;  // rows + 1
  std::vector<Row> in_col;     // the other rank's row as rows + ghost, ascending
  std::vector<Offset> in_slot; // the block's place in the root buffer of a gather over edges
  // leaves: off-process blocks in the order of col; roots: the rows that are their columns
  PetscSF edges = nullptr;
  PetscSF ghost_sf = nullptr; // leaves: ghosts; roots: the rows that they are copies of

  PetscInt global_row(Row column) const
  {
    return column < rows ? row_start + column : ghosts[column - rows];
  }
};

// Collective. A block row without a diagonal block is an error on all ranks.
PetscErrorCode BlockGraphCreate(Mat mat, const MatrixPortions &portions, int threads,
                                BlockGraph *graph);
PetscErrorCode BlockGraphDestroy(BlockGraph *graph);
// True if the pattern between this rank and the others is symmetric: each coupling of a local row
// to a row of another rank exists in both directions. Couplings inside the rank are not examined.
bool BlockGraphIsSymmetric(const BlockGraph &graph);

// The pattern of A + A^T without the diagonal. Neighbors of the local rows are given as rows or as
// rows + ghost, in ascending order of their global rows. The graph must outlive the pattern, which
// uses its arrays where they are symmetric.
class SymmetrizedPattern {
public:
  explicit SymmetrizedPattern(const BlockGraph &graph);
  SymmetrizedPattern(const SymmetrizedPattern &) = delete;
  SymmetrizedPattern &operator=(const SymmetrizedPattern &) = delete;

  std::span<const Offset> ptr; // rows + 1
  std::span<const Row> col;

private:
  std::vector<Offset> own_ptr_;
  std::vector<Row> own_col_;
};

} // namespace mcpi
