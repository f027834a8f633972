// This file implements the rows of a Jacobian.
#include "rows.h"

#include <algorithm>
#include <utility>

namespace flow {

template <int bs>
Rows<bs>::Rows(const Mesh &mesh)
    : mesh_(mesh), rows_(mesh.cells.size(), -1), diagonals_(mesh.cells.size(), -1),
      places_(mesh.faces.size())
{
  for (std::size_t k = 0; k < mesh.mine.size(); ++k) rows_[mesh.mine[k]] = static_cast<PetscInt>(k);
  begin_.assign(mesh.mine.size() + 1, 0);
  const auto each_block =
      [&](const auto &visit) { // visit(row, cell of the column), for all own rows
        for (const PetscInt c : mesh.mine) visit(rows_[c], c);
        for (const Face &face : mesh.faces) {
          if (face.right < 0) continue;
          if (rows_[face.left] >= 0) visit(rows_[face.left], face.right);
          if (rows_[face.right] >= 0) visit(rows_[face.right], face.left);
        }
      };
  each_block([&](PetscInt row, PetscInt) { ++begin_[row + 1]; });
  for (std::size_t k = 1; k < begin_.size(); ++k) begin_[k] += begin_[k - 1];
  columns_.resize(begin_.back());
  std::vector<std::size_t> end(begin_.begin(), begin_.end() - 1);
  each_block([&](PetscInt row, PetscInt cell) { columns_[end[row]++] = mesh.cells[cell].global; });
  for (std::size_t k = 0; k < mesh.mine.size(); ++k)
    std::sort(columns_.begin() + begin_[k], columns_.begin() + begin_[k + 1]);

  // The place of a cell's block in the row of another cell; -1 if the row is another rank's.
  const auto place = [&](PetscInt cell, PetscInt of) -> PetscInt {
    const PetscInt row = rows_[cell];
    if (row < 0) return -1;
    const auto first = columns_.begin() + begin_[row];
    return static_cast<PetscInt>(
        std::lower_bound(first, columns_.begin() + begin_[row + 1], mesh.cells[of].global) - first);
  };
  for (const PetscInt c : mesh.mine) diagonals_[c] = place(c, c);
  for (std::size_t f = 0; f < mesh.faces.size(); ++f)
    if (const Face &face = mesh.faces[f]; face.right >= 0)
      places_[f] = {place(face.left, face.right), place(face.right, face.left)};
}

template <int bs> PetscErrorCode Rows<bs>::way(Mat J, Way *way) const
{
  MatType type;
  PetscBool in_place, copied, list, cusparse, kokkos;

  PetscFunctionBeginUser;
  PetscCall(MatGetType(J, &type));
  PetscCall(PetscObjectTypeCompare((PetscObject)J, MATSEQAIJCUSPARSE, &in_place));
  PetscCall(PetscObjectTypeCompare((PetscObject)J, MATSEQAIJ, &copied));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)J, &list, MATSEQAIJ, MATMPIAIJ, ""));
  PetscCall(PetscStrendswith(type, "cusparse", &cusparse));
  PetscCall(PetscStrendswith(type, "kokkos", &kokkos));
  *way = in_place && PetscDefined(HAVE_CUDA) ? Way::in_place
         : cusparse || kokkos                ? Way::at_once
         : copied                            ? Way::copied
         : list                              ? Way::from_host
                                             : Way::by_row;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Gives a sequential matrix its pattern.
template <int bs> PetscErrorCode Rows<bs>::set_pattern(Mat J) const
{
  std::vector<PetscInt> begin{0}, columns;

  PetscFunctionBeginUser;
  PetscCheck(columns_.size() <= static_cast<std::size_t>(PETSC_MAX_INT) / (bs * bs),
             PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "the Jacobian of a rank has more values than PetscInt counts: use more ranks");
  begin.reserve(mesh_.mine.size() * bs + 1);
  columns.reserve(columns_.size() * bs * bs);
  for (std::size_t k = 0; k < mesh_.mine.size(); ++k)
    for (PetscInt a = 0; a < bs; ++a) {
      for (std::size_t block = begin_[k]; block < begin_[k + 1]; ++block)
        for (PetscInt b = 0; b < bs; ++b) columns.push_back(columns_[block] * bs + b);
      begin.push_back(static_cast<PetscInt>(columns.size()));
    }
  PetscCall(MatSeqAIJSetPreallocationCSR(J, begin.data(), columns.data(), nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Tells a matrix the lengths of its rows.
template <int bs> PetscErrorCode Rows<bs>::set_lengths(Mat J) const
{
  const std::size_t count = mesh_.mine.size();
  const PetscInt first = count ? mesh_.cells[mesh_.mine[0]].global : 0;
  std::vector<PetscInt> diagonal(count, 0), other(count, 0);

  PetscFunctionBeginUser;
  for (std::size_t k = 0; k < count; ++k)
    for (std::size_t block = begin_[k]; block < begin_[k + 1]; ++block) {
      const PetscInt column = columns_[block] - first;
      ++(column >= 0 && column < static_cast<PetscInt>(count) ? diagonal : other)[k];
    }
  PetscCall(MatXAIJSetPreallocation(J, bs, diagonal.data(), other.data(), nullptr, nullptr));
  PetscCall(MatSetUp(J));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Tells a matrix the coordinates of all values.
template <int bs> PetscErrorCode Rows<bs>::set_coordinates(Mat J) const
{
  const std::size_t count = columns_.size() * bs * bs;
  std::vector<PetscInt> i, j;

  PetscFunctionBeginUser;
  i.reserve(count);
  j.reserve(count);
  for (std::size_t k = 0; k < mesh_.mine.size(); ++k)
    for (PetscInt a = 0; a < bs; ++a)
      for (std::size_t block = begin_[k]; block < begin_[k + 1]; ++block)
        for (PetscInt b = 0; b < bs; ++b) {
          i.push_back(mesh_.cells[mesh_.mine[k]].global * bs + a);
          j.push_back(columns_[block] * bs + b);
        }
  PetscCall(MatSetPreallocationCOO(J, static_cast<PetscCount>(count), i.data(), j.data()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int bs> PetscErrorCode Rows<bs>::create(Mat *J) const
{
  const PetscInt size = static_cast<PetscInt>(mesh_.mine.size()) * bs;
  MatType type;
  PetscBool symmetric;
  Way taken;

  PetscFunctionBeginUser;
  // DMPlex would search for the pattern, a minute for half a million vertices.
  PetscCall(MatCreate(PetscObjectComm((PetscObject)mesh_.dm), J));
  PetscCall(MatSetSizes(*J, size, size, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSize(*J, bs));
  PetscCall(DMGetMatType(mesh_.dm, &type));
  PetscCall(MatSetType(*J, type));
  PetscCall(MatSetFromOptions(*J));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)*J, &symmetric, MATSEQSBAIJ, MATMPISBAIJ, ""));
  PetscCheck(!symmetric, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "the Jacobian is not symmetric: use -dm_mat_type baij, aij or aijcusparse");
  PetscCall(way(*J, &taken));
  if (taken == Way::by_row)
    PetscCall(set_lengths(*J));
  else
    PetscCall(taken == Way::in_place || taken == Way::copied ? set_pattern(*J)
                                                             : set_coordinates(*J));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int bs> PetscErrorCode Rows<bs>::assemble(const PetscScalar *values, Mat J) const
{
  Way taken;

  PetscFunctionBeginUser;
  PetscCall(way(J, &taken));
  if (taken == Way::at_once || taken == Way::from_host) {
    PetscCall(MatSetValuesCOO(J, values, INSERT_VALUES));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (taken == Way::copied) {
    PetscScalar *array;
    PetscCall(MatSeqAIJGetArray(J, &array));
    std::copy_n(values, columns_.size() * bs * bs, array);
    PetscCall(MatSeqAIJRestoreArray(J, &array));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (std::size_t k = 0; k < mesh_.mine.size(); ++k) {
    const std::size_t first = begin_[k];
    PetscCall(MatSetValuesBlocked(J, 1, &mesh_.cells[mesh_.mine[k]].global,
                                  static_cast<PetscInt>(begin_[k + 1] - first), &columns_[first],
                                  &values[first * bs * bs], INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(J, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(J, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template class Rows<4>;
template class Rows<5>;

} // namespace flow
