// This header declares an unstructured mesh on DMPlex, as a node-centered finite-volume solver sees
// it. The solver sees the median dual, whose cells surround the vertices.
#pragma once

#include <petscdmplex.h>

#include <array>
#include <vector>

#include "space.h"

namespace flow {

// Kinds of faces. All but kInside are physical groups of the .msh file.
enum Boundary { kInside = 0, kWall = 1, kFarField = 2, kSymmetry = 3 };

// A face of the dual mesh. An inner face separates the dual cells of an edge's two vertices. A face
// at the boundary is the part of the mesh's boundary face that belongs to one vertex.
struct Face {
  PetscInt left, right; // local cells; right is -1 on a boundary
  int boundary;         // a Boundary
  double area;
  // normal: of unit length, from left to right. center: where fluxes are taken
  std::array<double, 3> normal, center;
};

// The dual cell of a vertex.
struct Cell {
  double volume;
  std::array<double, 3> center; // the vertex
  PetscInt global;              // number over all ranks
  PetscInt number;              // of the vertex, the same for any number of ranks
  bool mine;                    // this rank owns the cell
};

struct Mesh {
  DM dm = nullptr;        // bs() unknowns at each vertex; one layer of other ranks' vertices
  DM gradients = nullptr; // the same mesh with bs() * dim unknowns at each vertex
  int dim = 0;
  // All points of dm in the order that cells and faces have here. Those of a stratum lie together.
  std::vector<PetscInt> order;
  PetscInt used = 0;          // vertices, the first in their order, that have unknowns on this rank
  std::vector<Cell> cells;    // of the vertices, in their order
  std::vector<PetscInt> mine; // local numbers of a rank's own cells, in the order of global vectors
  std::vector<Face> faces;    // of all cells that this rank owns
  int threads = 1;            // -flow_threads, for loops on cores

  int bs() const { return dim + 2; }
};

// Numbers of a mesh's points that do not depend on the number of ranks. Those of points of one type
// begin with 0.
struct Numbers {
  std::vector<PetscInt> of;                        // each local point
  std::array<PetscInt, DM_NUM_POLYTOPES> counts{}; // points of each type on all ranks
};

// Collective. Reads the mesh of -dm_plex_filename.
PetscErrorCode ReadMesh(MPI_Comm comm, DM *dm);
// Sets own, for each local cell from the first on, to whether this rank owns the cell.
PetscErrorCode OwnCells(DM dm, std::vector<bool> *own);
// A field at the vertices.
struct Field {
  const char *name;
  int components;
};
// Gives the first vertices of the order of a mesh these fields. dm: mesh.dm or a clone
PetscErrorCode SetFields(const Mesh &mesh, DM dm, PetscInt vertices,
                         const std::vector<Field> &fields);
// Collective. Orders and distributes a mesh that is on one rank, with one layer of neighbors,
// refines it -flow_refine times, and takes *dm over. Cells without volume are an error. Boundary
// faces must be in the physical groups 1 (wall), 2 (far field) or 3 (symmetry); others are an
// error.
PetscErrorCode MeshCreate(DM *dm, Mesh *mesh);
PetscErrorCode MeshDestroy(Mesh *mesh);
// Part of MeshCreate(). Builds the cells and faces of a distributed mesh. numbers: of its points
PetscErrorCode BuildMedianDual(const Numbers &numbers, Mesh *mesh);

} // namespace flow
