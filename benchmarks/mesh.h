// Vertex graphs of meshes, and random block matrices on them.
//   tet   Kuhn's subdivision of an n x n x n grid into tetrahedra, 14 neighbors inside
//   mix   the same with random edges to near vertices until a row has as many off-diagonal blocks
//   as a mixed-element mesh of the literature
//         (Walden et al. 2020: 18,998,518 blocks in 1,123,718 rows)
//   grid  the grid alone, 6 neighbors inside
#pragma once

#include <petscmat.h>

#include <string>
#include <vector>

namespace bench {

struct VertexGraph {
  PetscInt n = 0;                 // vertices along an edge
  std::vector<PetscInt> ptr, col; // neighbors, ascending, without the vertex itself
  std::vector<PetscInt> place;    // on the grid, of each vertex; empty: as numbered

  PetscInt rows() const { return n * n * n; }
  PetscInt edges() const { return ptr.back(); }
};

// Makes the whole graph, on each rank.
VertexGraph MakeGraph(const std::string &kind, PetscInt n);
// Renumbers the graph so that each of the ranks owns a box of about equal edges, by recursive
// bisection.
VertexGraph InBoxes(const VertexGraph &graph, PetscInt ranks);
// x, y and z of the local rows of a matrix on the graph, for PCSetCoordinates()
std::vector<PetscReal> Coordinates(const VertexGraph &graph, Mat mat);

// Collective. Creates a random matrix with full, diagonally dominant diagonal blocks: BAIJ, or AIJ
// of the given type.
PetscErrorCode CreateMatrix(MPI_Comm comm, const VertexGraph &graph, PetscInt bs, MatType type,
                            Mat *mat);
// Collective. Creates the graph as a point matrix of type SEQAIJ or MPIAIJ, for colorings.
PetscErrorCode CreateGraph(MPI_Comm comm, const VertexGraph &graph, Mat *mat);

} // namespace bench
