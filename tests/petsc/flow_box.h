// Meshes of boxes for the tests of examples/flow
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "flow/mesh.h"

namespace mcpi::test {

struct Box {
  std::array<flow::Boundary, 3> boundaries{}; // at both ends of each axis
  std::array<int, 3> edges{6, 5, 4};
  double edge = 0.15;
  std::function<void(PetscScalar *x)> bend = [](PetscScalar *) {
  };                             // moves every vertex, if it is given
  bool simplices = true;         // a square is cut into two triangles, a cube into six tetrahedra
  const char *vectors = nullptr; // type of vectors; null: that of the device of -test_backend
};

// Labels the faces of the box with their kinds of boundaries.
inline PetscErrorCode label_boundaries(DM dm, int dim, const Box &box)
{
  DMLabel label;
  PetscInt begin, end;

  PetscFunctionBeginUser;
  PetscCall(DMCreateLabel(dm, "Face Sets"));
  PetscCall(DMGetLabel(dm, "Face Sets", &label));
  PetscCall(DMPlexGetHeightStratum(dm, 1, &begin, &end));
  for (PetscInt f = begin; f < end; ++f) {
    PetscInt cells;
    PetscReal center[3], normal[3];
    PetscCall(DMPlexGetSupportSize(dm, f, &cells));
    if (cells > 1) continue;
    PetscCall(DMPlexComputeCellGeometryFVM(dm, f, nullptr, center, normal));
    int axis = 0;
    for (int d = 1; d < dim; ++d)
      if (std::abs(normal[d]) > std::abs(normal[axis])) axis = d;
    PetscCall(DMLabelSetValue(label, f, box.boundaries[axis]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Vertices and cells of a box. Cells are named by their corners.
struct BoxCells {
  std::vector<PetscInt> cells;
  std::vector<PetscReal> x;
};

inline PetscInt vertex_number(const Box &box, const std::array<int, 3> &at)
{
  return static_cast<PetscInt>(at[0] + (box.edges[0] + 1) * (at[1] + (box.edges[1] + 1) * at[2]));
}

// Adds the square or cube whose first corner is at.
inline void add_cube(const Box &box, int dim, const std::array<int, 3> &at,
                     std::vector<PetscInt> *cells)
{
  const auto &[i, j, k] = at;
  for (int up = 0; up < (dim == 3 ? 2 : 1); ++up) // a hexahedron's lower face as seen from below
    for (const int corner : up == 0 && dim == 3 ? std::array{0, 2, 3, 1} : std::array{0, 1, 3, 2})
      cells->push_back(vertex_number(box, {i + corner % 2, j + corner / 2, k + up}));
}

// Adds the simplices of that square or cube. Each order of the axes is a way from one corner to the
// opposite one.
inline void add_simplices(const Box &box, int dim, const std::array<int, 3> &at,
                          std::vector<PetscInt> *cells)
{
  std::array<int, 3> axes{0, 1, 2};
  int parity = 0;
  do {
    std::array<int, 3> corner = at;
    std::vector<PetscInt> cell{vertex_number(box, corner)};
    for (int d = 0; d < dim; ++d) {
      ++corner[axes[d]];
      cell.push_back(vertex_number(box, corner));
    }
    if ((dim == 2) == (parity == 1 || parity == 2)) std::swap(cell[1], cell[2]);
    cells->insert(cells->end(), cell.begin(), cell.end());
    parity = (parity + 1) % 4;
  } while (std::next_permutation(axes.begin(), axes.begin() + dim));
}

inline BoxCells make_cells(int dim, const Box &box)
{
  constexpr double kMove = 0.2; // of an edge
  std::mt19937 random;          // the same everywhere
  BoxCells result;
  const int layers = dim == 3 ? box.edges[2] : 0;
  for (int k = 0; k <= layers; ++k)
    for (int j = 0; j <= box.edges[1]; ++j)
      for (int i = 0; i <= box.edges[0]; ++i) {
        const std::array<int, 3> at{i, j, k};
        for (int d = 0; d < dim; ++d) {
          const double move = at[d] > 0 && at[d] < box.edges[d]
                                  ? kMove * (2.0 * random() / std::mt19937::max() - 1.0)
                                  : 0.0;
          result.x.push_back(box.edge * (at[d] + move));
        }
        if (i == box.edges[0] || j == box.edges[1] || (dim == 3 && k == layers)) continue;
        (box.simplices ? add_simplices : add_cube)(box, dim, at, &result.cells);
      }
  return result;
}

// The type of vectors, or of matrices, for the device that -test_backend names; otherwise for
// cores.
inline PetscErrorCode on_test_device(const char *on_cuda, const char *on_cores, const char **type)
{
  char backend[32] = "";
  PetscBool cuda;

  PetscFunctionBeginUser;
  PetscCall(
      PetscOptionsGetString(nullptr, nullptr, "-test_backend", backend, sizeof backend, nullptr));
  PetscCall(PetscStrcmp(backend, "cuda", &cuda));
  *type = cuda ? on_cuda : on_cores;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Creates a mesh of squares or cubes with moved vertices, whole or cut into simplices.
inline PetscErrorCode create_box(MPI_Comm comm, int dim, const Box &box, flow::Mesh *mesh)
{
  PetscMPIInt rank;
  DM dm;
  Vec vertices;
  PetscScalar *v;
  PetscInt size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  const auto [cells, x] = rank == 0 ? make_cells(dim, box) : BoxCells();
  const int corners = box.simplices ? dim + 1 : 1 << dim;
  PetscCall(DMPlexCreateFromCellListPetsc(comm, dim, static_cast<PetscInt>(cells.size()) / corners,
                                          static_cast<PetscInt>(x.size()) / dim, corners,
                                          PETSC_TRUE, cells.data(), dim, x.data(), &dm));
  PetscCall(label_boundaries(dm, dim, box));
  PetscCall(DMGetCoordinatesLocal(dm, &vertices));
  PetscCall(VecGetLocalSize(vertices, &size));
  PetscCall(VecGetArray(vertices, &v));
  for (PetscInt k = 0; k < size; k += dim) box.bend(v + k);
  PetscCall(VecRestoreArray(vertices, &v));
  PetscCall(PetscOptionsSetValue(
      nullptr, "-petscpartitioner_type",
      "simple")); // others are not there everywhere, or fail with 64-bit indices
  const char *vectors = box.vectors;
  if (!vectors) PetscCall(on_test_device("cuda", VECSTANDARD, &vectors));
  PetscCall(DMSetVecType(dm, vectors));
  PetscCall(flow::MeshCreate(&dm, mesh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi::test
