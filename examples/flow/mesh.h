// An unstructured mesh on DMPlex as a node-centered finite-volume solver sees it: the median dual,
// whose cells surround the vertices.
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

// What separates the dual cells of an edge's vertices, or a vertex's part of a boundary face
struct Face {
  PetscInt left, right; // local cells; right is -1 on a boundary
  int boundary;
  double area;
  std::array<double, 3> normal,
      center; // of unit length, from left to right; where fluxes are taken
};

// The dual cell of a vertex
struct Cell {
  double volume;
  std::array<double, 3> center; // the vertex
  PetscInt global;              // number over all ranks
  PetscInt number;              // in the mesh before it was distributed
  bool mine;
};

struct Mesh {
  DM dm = nullptr;        // bs unknowns a vertex, one layer of other ranks' vertices
  DM gradients = nullptr; // the same with bs*dim
  int dim = 0;
  std::vector<Cell> cells;
  std::vector<PetscInt> mine; // local numbers of a rank's own cells, in the order of global vectors
  std::vector<Face> faces;    // of all cells that are mine
  // Faces in blocks, and blocks in groups within which no two share a cell: each starts here, and
  // where the next does it ends
  std::vector<std::size_t> blocks, groups;
  int threads = 1; // -flow_threads, for what follows

  int bs() const { return dim + 2; }
  // visit(k) for all k below count, in any order
  template <class Visit> void each(std::size_t count, const Visit &visit) const
  {
#pragma omp parallel for num_threads(threads)
    for (std::size_t k = 0; k < count; ++k) visit(k);
  }
  // visit(number of the face), for no two faces of a cell at once
  template <class Visit> void each_face(const Visit &visit) const
  {
    for (std::size_t group = 0; group + 1 < groups.size(); ++group)
#pragma omp parallel for num_threads(threads) schedule(dynamic)
      for (std::size_t block = groups[group]; block < groups[group + 1]; ++block)
        for (std::size_t f = blocks[block]; f < blocks[block + 1]; ++f) visit(f);
  }
};

// The mesh of -dm_plex_filename. Collective.
PetscErrorCode ReadMesh(MPI_Comm comm, DM *dm);
// Which of the cells, from the first on, are a rank's own and no neighbor's
PetscErrorCode OwnCells(DM dm, std::vector<bool> *own);
// A field at the vertices
struct Field {
  const char *name;
  int components;
};
PetscErrorCode SetFields(DM dm, const std::vector<Field> &fields);
// Distributes a mesh that is on one rank, with one layer of neighbors, and takes it over.
// Collective; cells without volume, and boundaries that are no physical groups 1 (wall), 2 (far
// field), 3 (symmetry) are errors.
PetscErrorCode MeshCreate(DM *dm, Mesh *mesh);
PetscErrorCode MeshDestroy(Mesh *mesh);
// Cells and faces of a distributed mesh whose vertices had these numbers. Part of MeshCreate()
PetscErrorCode BuildMedianDual(const std::vector<PetscInt> &numbers, Mesh *mesh);

} // namespace flow
