// The graph that a MatColoring type of this library colors: the symmetrized pattern of a Mat.
// Neighbors that other ranks own are ghosts.
#pragma once

#include <petscmat.h>
#include <petscsf.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mcpi::coloring {

// The vertices are the local rows, followed by the ghosts in ascending order of global row. A ghost
// lists its local neighbors only.
struct Graph {
  // For messages: the MatColoring type, and what its options begin with, such as -mat_coloring_
  std::string coloring, options;
  MPI_Comm comm = MPI_COMM_NULL;
  PetscMPIInt ranks = 1;
  int threads = 1; // with which a rank colors
  int nlocal = 0, nghost = 0;
  std::vector<std::size_t> ptr;    // nlocal + nghost + 1
  std::vector<int> adj;            // without the diagonal, in no particular order
  std::vector<PetscInt> row;       // global row
  std::vector<std::uint64_t> hash; // mix(row), which differs for any two vertices
  PetscInt64 global_rows = 0, global_entries = 0, global_max_degree = 0;
  PetscSF sf = nullptr; // leaves: ghosts, roots: the local rows of their owners

  int size() const { return nlocal + nghost; }
  // For a ghost, only the local neighbors count.
  int degree(int v) const { return static_cast<int>(ptr[v + 1] - ptr[v]); }
  std::span<const int> neighbors(int v) const { return {adj.data() + ptr[v], ptr[v + 1] - ptr[v]}; }
};

// The graph knows its names and its number of threads already. own: whether an AIJ matrix that
// PETSc calls structurally symmetric is taken as such
PetscErrorCode graph_create(Mat mat, bool own, Graph &graph);
PetscErrorCode graph_destroy(Graph &graph);

// Collective. Copies the values of local rows, values[0, nlocal), to the ghosts of other ranks that
// are copies of these rows, values[nlocal, size()).
PetscErrorCode update_ghosts(const Graph &graph, MPI_Datatype unit, int *values);
PetscErrorCode update_ghosts(const Graph &graph, MPI_Datatype unit, PetscInt64 *values);

} // namespace mcpi::coloring
