// An unstructured mesh on DMPlex as a finite-volume solver sees it: cells, and faces between them.
#pragma once

#include <petscdmplex.h>

#include <array>
#include <vector>

#if PETSC_VERSION_LT(3, 19, 0)
constexpr PetscErrorCode PETSC_SUCCESS = 0;
#endif

namespace flow {

// Physical groups of the .msh file
enum Boundary { kInside = 0, kWall = 1, kFarField = 2, kSymmetry = 3 };

struct Face {
  PetscInt              left, right; // local cells; right is -1 on a boundary
  int                   boundary;
  double                area;
  std::array<double, 3> normal, center; // of unit length, from left to right
};

struct Cell {
  double                volume;
  std::array<double, 3> center;
  PetscInt              global; // number over all ranks
  PetscInt              number; // in the mesh before it was distributed
  bool                  mine;
};

struct Mesh {
  DM                dm        = nullptr; // bs unknowns a cell, one layer of other ranks' cells
  DM                gradients = nullptr; // the same with bs*dim
  int               dim       = 0;
  std::vector<Cell> cells;
  std::vector<Face> faces; // of all cells that are mine
  // Cells that share a vertex with cell c that is mine: near[near_begin[c]], ..., near[near_begin[c + 1] - 1]
  std::vector<std::size_t> near_begin;
  std::vector<PetscInt>    near;

  int bs() const { return dim + 2; }
};

// The mesh of -dm_plex_filename. Collective.
PetscErrorCode ReadMesh(MPI_Comm comm, DM *dm);
// Distributes a mesh that is on one rank, with the cells that share a vertex with a rank's own, and takes it over. Collective; cells without volume, and
// boundaries that are no physical groups 1 (wall), 2 (far field), 3 (symmetry) are errors.
PetscErrorCode MeshCreate(DM *dm, Mesh *mesh);
PetscErrorCode MeshDestroy(Mesh *mesh);

} // namespace flow
