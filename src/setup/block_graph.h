// From a Mat to its block graph: which block rows read which.
#pragma once

#include <petscmat.h>
#include <petscsf.h>

#include <vector>

#include "core/plan.h"

namespace mcpi {

// The sequential pieces of a supported matrix. diag and offdiag are borrowed; copy, if there is
// one, is owned (SBAIJ is converted).
struct MatrixParts {
  Mat diag = nullptr, offdiag = nullptr; // offdiag is null on one rank
  // global columns of offdiag: block columns if blocked, else scalar ones
  const PetscInt *garray = nullptr;
  bool blocked = false; // BAIJ
  PetscInt bs = 1;
  Mat copy = nullptr;
};

// Collective. Errors name what to do for matrices that are not supported.
PetscErrorCode MatrixPartsGet(Mat mat, MatrixParts *parts);
PetscErrorCode MatrixPartsDestroy(MatrixParts *parts);

// Structure of one sequential piece: block rows or scalar rows. close() gives it back.
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

// Off-diagonal blocks of the local rows, and the blocks of other ranks' rows that lie in our
// columns.
struct BlockGraph {
  MPI_Comm comm = MPI_COMM_NULL;
  PetscInt bs = 0, row_start = 0, global_rows = 0;
  Row rows = 0;
  std::vector<Offset> ptr; // rows + 1
  std::vector<Row> col;    // per row: local columns ascending, then rows + ghost ascending
  std::vector<PetscInt>
      ghosts; // global block rows, ascending: neighbors in the symmetrised pattern
  std::vector<Row>
      ghost_of_column;         // offdiag's (block or scalar) column -> ghost, -1 if it has no entry
  std::vector<Offset> in_ptr;  // rows + 1: blocks (remote row, this row)
  std::vector<Row> in_col;     // the remote row as rows + ghost, ascending
  std::vector<Offset> in_slot; // its place in the root buffer of a gather over edges
  PetscSF edges = nullptr; // leaves: off-process blocks in the order of col; roots: the rows that
                           // own their columns
  PetscSF ghost_sf = nullptr; // leaves: ghosts; roots: the rows that own them

  PetscInt global_row(Row column) const
  {
    return column < rows ? row_start + column : ghosts[column - rows];
  }
};

// Collective. A row without diagonal block is an error on all ranks.
PetscErrorCode BlockGraphCreate(Mat mat, const MatrixParts &parts, BlockGraph *graph);
PetscErrorCode BlockGraphDestroy(BlockGraph *graph);
// Whether every local row that reads a row of another rank is read by it, and the reverse
bool BlockGraphIsSymmetric(const BlockGraph &graph);
// The symmetrised pattern: neighbors of the local rows as rows or rows + ghost, ascending by global
// row, without the diagonal
void BlockGraphSymmetrised(const BlockGraph &graph, std::vector<Offset> *ptr,
                           std::vector<Row> *col);

} // namespace mcpi
