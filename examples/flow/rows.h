// The rows of a Jacobian that are a rank's own: what faces add to, and the way into a matrix.
#pragma once

#include <petscmat.h>

#include <algorithm>
#include <array>
#include <vector>

#include "mesh.h"

namespace flow {

// Values lie as in an AIJ matrix, each row's columns in ascending order: AIJ matrices, those on
// devices too, take them all at once, by a list of coordinates that is given once
// (MatSetValuesCOO), and block matrices take the rows of one vertex at a time.
template <int bs> class Rows {
public:
  explicit Rows(const Mesh &mesh);

  // Of -dm_mat_type, with the pattern of the mesh. Collective
  PetscErrorCode create(Mat *J) const;
  // The values into a matrix of create(). Collective
  PetscErrorCode assemble(Mat J) const;

  void clear()
  {
    mesh_.each(mesh_.mine.size(), [&](std::size_t k) {
      std::fill(values_.begin() + begin_[k] * bs * bs, values_.begin() + begin_[k + 1] * bs * bs,
                0.0);
    });
  }
  // Where in the row of a cell the blocks of its neighbors stand
  struct Places {
    PetscInt right = -1, left = -1; // of the right cell in the left one's row, and the other way
  };
  Places places(std::size_t face) const { return places_[face]; }
  PetscInt diagonal(PetscInt cell) const { return diagonals_[cell]; }
  // sign times a block; rows of other ranks' cells are left out
  void add(PetscInt cell, PetscInt place, const std::array<std::array<double, bs>, bs> &block,
           double sign)
  {
    const PetscInt row = rows_[cell];
    if (row < 0) return;
    PetscScalar *first = values_.data() + begin_[row] * bs * bs + place * bs;
    for (int a = 0; a < bs; ++a, first += (begin_[row + 1] - begin_[row]) * bs)
      for (int b = 0; b < bs; ++b) first[b] += sign * block[a][b];
  }
  void add_to_diagonal(PetscInt cell, double value)
  {
    std::array<std::array<double, bs>, bs> block{};
    for (int a = 0; a < bs; ++a) block[a][a] = value;
    add(cell, diagonals_[cell], block, 1.0);
  }

private:
  const Mesh &mesh_;
  std::vector<PetscInt> rows_;      // which of a rank's own each local cell is, or -1
  std::vector<std::size_t> begin_;  // blocks of each row
  std::vector<PetscInt> columns_;   // of the blocks, over all ranks
  std::vector<PetscInt> diagonals_; // of each local cell
  std::vector<Places> places_;      // of each face
  std::vector<PetscScalar> values_;
};

} // namespace flow
