#include "setup/block_values.h"

#include <algorithm>

#include "pc/compat.h"

namespace mcpi {
namespace {

static_assert(sizeof(PetscScalar) == sizeof(double), "petsc-mcpi works with real double scalars");

// One sequential piece with its structure and values
struct Piece {
  RowStructure       structure;
  const PetscScalar *values = nullptr;
};

std::size_t longest_row(const BlockGraph &graph)
{
  Offset longest = 0;
  for (Row i = 0; i < graph.rows; ++i) longest = std::max(longest, graph.ptr[i + 1] - graph.ptr[i]);
  return static_cast<std::size_t>(longest);
}

// BAIJ holds column-major blocks: hand out pointers into it.
class BaijValues final : public MatrixValues {
public:
  explicit BaijValues(const BlockGraph &graph) : graph_(graph), blocks_(longest_row(graph)) {}

  PetscErrorCode open(const MatrixParts &parts) override
  {
    PetscFunctionBegin;
    PetscCall(open_piece(parts.diag, diag_));
    if (parts.offdiag) PetscCall(open_piece(parts.offdiag, offdiag_));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode close() override
  {
    PetscFunctionBegin;
    PetscCall(diag_.structure.close());
    PetscCall(offdiag_.structure.close());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  void row(Row local_row, const double *&diagonal, const double *const *&offdiag) override
  {
    const std::size_t size  = static_cast<std::size_t>(graph_.bs) * graph_.bs;
    std::size_t       count = 0;
    for (PetscInt k = diag_.structure.i[local_row]; k < diag_.structure.i[local_row + 1]; ++k) {
      const double *block = diag_.values + static_cast<std::size_t>(k) * size;
      if (diag_.structure.j[k] == local_row)
        diagonal = block;
      else
        blocks_[count++] = block;
    }
    if (offdiag_.values)
      for (PetscInt k = offdiag_.structure.i[local_row]; k < offdiag_.structure.i[local_row + 1]; ++k)
        blocks_[count++] = offdiag_.values + static_cast<std::size_t>(k) * size;
    offdiag = blocks_.data();
  }

private:
  // MatSeqBAIJRestoreArray() does no more than forget the pointer
  static PetscErrorCode open_piece(Mat mat, Piece &piece)
  {
    PetscScalar *array;

    PetscFunctionBegin;
    PetscCall(piece.structure.open(mat, true));
    PetscCall(MatSeqBAIJGetArray(mat, &array));
    piece.values = array;
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  const BlockGraph           &graph_;
  Piece                       diag_, offdiag_;
  std::vector<const double *> blocks_;
};

// AIJ: entries are gathered into dense blocks; those that are not stored are zero.
class AijValues final : public MatrixValues {
public:
  explicit AijValues(const BlockGraph &graph)
      : graph_(graph), size_(static_cast<std::size_t>(graph.bs) * graph.bs), dense_((longest_row(graph) + 1) * size_),
        blocks_(longest_row(graph))
  {
    for (std::size_t k = 0; k < blocks_.size(); ++k) blocks_[k] = dense_.data() + (k + 1) * size_;
  }

  PetscErrorCode open(const MatrixParts &parts) override
  {
    PetscFunctionBegin;
    parts_ = parts;
    PetscCall(diag_.structure.open(parts.diag, false));
    PetscCall(MatSeqAIJGetArrayRead(parts.diag, &diag_.values));
    if (parts.offdiag) {
      PetscCall(offdiag_.structure.open(parts.offdiag, false));
      PetscCall(MatSeqAIJGetArrayRead(parts.offdiag, &offdiag_.values));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode close() override
  {
    PetscFunctionBegin;
    PetscCall(MatSeqAIJRestoreArrayRead(parts_.diag, &diag_.values));
    PetscCall(diag_.structure.close());
    if (parts_.offdiag) {
      PetscCall(MatSeqAIJRestoreArrayRead(parts_.offdiag, &offdiag_.values));
      PetscCall(offdiag_.structure.close());
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  void row(Row local_row, const double *&diagonal, const double *const *&offdiag) override
  {
    const Offset begin = graph_.ptr[local_row], end = graph_.ptr[local_row + 1];
    std::fill_n(dense_.begin(), static_cast<std::size_t>(end - begin + 1) * size_, 0.0);
    const Row *columns = graph_.col.data() + begin;
    const Row *ghosts  = std::lower_bound(columns, graph_.col.data() + end, graph_.rows);
    for (int p = 0; p < graph_.bs; ++p) {
      gather_diag(local_row, p, columns);
      if (offdiag_.values) gather_offdiag(local_row, p, columns, ghosts);
    }
    diagonal = dense_.data();
    offdiag  = blocks_.data();
  }

private:
  void gather_diag(Row row, int p, const Row *columns)
  {
    const PetscInt scalar_row = static_cast<PetscInt>(row) * graph_.bs + p;
    const Row     *at         = columns;
    for (PetscInt k = diag_.structure.i[scalar_row]; k < diag_.structure.i[scalar_row + 1]; ++k) {
      const Row         block  = static_cast<Row>(diag_.structure.j[k] / graph_.bs);
      const std::size_t column = static_cast<std::size_t>(diag_.structure.j[k] - static_cast<PetscInt>(block) * graph_.bs);
      if (block == row) {
        dense_[column * graph_.bs + p] = diag_.values[k];
        continue;
      }
      while (*at != block) ++at; // both ascend
      entry(at - columns, column, p) = diag_.values[k];
    }
  }

  void gather_offdiag(Row row, int p, const Row *columns, const Row *ghosts)
  {
    const PetscInt scalar_row = static_cast<PetscInt>(row) * graph_.bs + p;
    const Row     *at         = ghosts;
    for (PetscInt k = offdiag_.structure.i[scalar_row]; k < offdiag_.structure.i[scalar_row + 1]; ++k) {
      const PetscInt    scalar_column = offdiag_.structure.j[k];
      const Row         block         = graph_.rows + graph_.ghost_of_column[scalar_column];
      const std::size_t column        = static_cast<std::size_t>(parts_.garray[scalar_column] % graph_.bs);
      while (*at != block) ++at;
      entry(at - columns, column, p) = offdiag_.values[k];
    }
  }

  double &entry(std::ptrdiff_t block, std::size_t column, int p)
  {
    return dense_[(static_cast<std::size_t>(block) + 1) * size_ + column * graph_.bs + p];
  }

  const BlockGraph           &graph_;
  const std::size_t           size_;
  MatrixParts                 parts_;
  Piece                       diag_, offdiag_;
  std::vector<double>         dense_; // the diagonal block, then the others
  std::vector<const double *> blocks_;
};

} // namespace

std::unique_ptr<MatrixValues> make_matrix_values(const MatrixParts &parts, const BlockGraph &graph)
{
  if (parts.blocked) return std::make_unique<BaijValues>(graph);
  return std::make_unique<AijValues>(graph);
}

} // namespace mcpi
