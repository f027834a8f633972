// This header declares the rows of a Jacobian that a rank owns: their pattern, and the way of their
// values into a matrix.
#pragma once

#include <petscmat.h>

#include <vector>

#include "mesh.h"

namespace flow {

// The values lie as in an AIJ matrix, the columns of each row in ascending order.
template <int bs> class Rows {
public:
  explicit Rows(const Mesh &mesh);

  // Collective. Creates a matrix of -dm_mat_type with the pattern of the mesh.
  PetscErrorCode create(Mat *J) const;
  // How a matrix takes values.
  // - by_row: the rows of a vertex at a time, from the host.
  // - copied: all values, from the host. They lie in the same order.
  // - from_host: all values, by coordinates.
  // - at_once: the same. The values may be on a device.
  // - in_place: its values are in memory of the device, in the same order.
  enum class Way { by_row, copied, from_host, at_once, in_place };
  PetscErrorCode way(Mat J, Way *way) const;
  // Collective. Puts values into a matrix of create().
  PetscErrorCode assemble(const PetscScalar *values, Mat J) const;

  // Where the blocks of two neighbors stand in each other's rows, counted in blocks; -1: no such
  // row on this rank.
  struct Places {
    // right: the right cell's block in the left cell's row. left: the other way round
    PetscInt right = -1, left = -1;
  };
  Places places(std::size_t face) const { return places_[face]; }
  // The row of a local cell on this rank, or -1
  PetscInt row(PetscInt cell) const { return rows_[cell]; }
  // The place of the diagonal block of a local cell in its row, or -1
  PetscInt diagonal(PetscInt cell) const { return diagonals_[cell]; }
  // For each row its first block; at last the number of blocks
  const std::vector<std::size_t> &begin() const { return begin_; }

private:
  PetscErrorCode set_pattern(Mat J) const;
  PetscErrorCode set_lengths(Mat J) const;
  PetscErrorCode set_coordinates(Mat J) const;

  const Mesh &mesh_;
  std::vector<PetscInt> rows_;      // for each local cell: its row on this rank, or -1
  std::vector<std::size_t> begin_;  // for each row: its first block; at last the number of blocks
  std::vector<PetscInt> columns_;   // for each block: its column, a cell's number over all ranks
  std::vector<PetscInt> diagonals_; // for each local cell: the place of its diagonal block, or -1
  std::vector<Places> places_;      // for each face
};

} // namespace flow
