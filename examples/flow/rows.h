// This header declares the rows of a Jacobian that a rank owns. Faces add blocks to the rows, and
// the rows are then put into a matrix.
#pragma once

#include <petscmat.h>

#include <algorithm>
#include <array>
#include <vector>

#include "mesh.h"

namespace flow {

// The values lie as in an AIJ matrix, the columns of each row in ascending order. An AIJ matrix,
// also one on a device, takes all values at once (MatSetValuesCOO()). The list of their coordinates
// is given only once. A block matrix takes the rows of one vertex at a time.
template <int bs> class Rows {
public:
  explicit Rows(const Mesh &mesh);

  // Collective. Creates a matrix of -dm_mat_type with the pattern of the mesh.
  PetscErrorCode create(Mat *J) const;
  // Collective. Puts the values into a matrix of create().
  PetscErrorCode assemble(Mat J) const;

  void clear()
  {
    mesh_.each(mesh_.mine.size(), [&](std::size_t k) {
      std::fill(values_.begin() + begin_[k] * bs * bs, values_.begin() + begin_[k + 1] * bs * bs,
                0.0);
    });
  }
  // Where the blocks of two neighbors stand in each other's rows, counted in blocks; -1: no such
  // row on this rank.
  struct Places {
    // right: the right cell's block in the left cell's row. left: the other way round
    PetscInt right = -1, left = -1;
  };
  Places places(std::size_t face) const { return places_[face]; }
  PetscInt diagonal(PetscInt cell) const { return diagonals_[cell]; }
  // Adds sign times a block to the row of a cell. Nothing happens for cells of other ranks.
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
  std::vector<PetscInt> rows_;      // for each local cell: its row on this rank, or -1
  std::vector<std::size_t> begin_;  // for each row: its first block; at last the number of blocks
  std::vector<PetscInt> columns_;   // for each block: its column, a cell's number over all ranks
  std::vector<PetscInt> diagonals_; // for each local cell: the place of its diagonal block, or -1
  std::vector<Places> places_;      // for each face
  std::vector<PetscScalar> values_;
};

} // namespace flow
