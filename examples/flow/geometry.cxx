// This file makes the arrays of geometry.h.
#include "geometry.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace flow {
namespace {

template <int dim> Vector<dim> vector(const std::array<double, 3> &v)
{
  Vector<dim> result;
  std::copy_n(v.begin(), dim, result.begin());
  return result;
}

// Lists the sides of each cell in the order of the faces, so that sums over them have an order.
template <int dim>
void add_sides(const Mesh &mesh, const Rows<dim + 2> &rows, Arrays<dim, HostArray> *arrays)
{
  std::vector<int> &begin = arrays->begin;
  begin.assign(mesh.cells.size() + 1, 0);
  for (const Face &face : mesh.faces) {
    ++begin[face.left + 1];
    if (face.right >= 0) ++begin[face.right + 1];
  }
  for (std::size_t c = 1; c < begin.size(); ++c) begin[c] += begin[c - 1];
  arrays->sides.resize(begin.back());
  arrays->couplings.resize(begin.back());
  std::vector<int> end(begin.begin(), begin.end() - 1);
  for (std::size_t f = 0; f < mesh.faces.size(); ++f) {
    const Face &face = mesh.faces[f];
    const auto places = rows.places(f);
    const int number = static_cast<int>(f);
    const auto add = [&](PetscInt cell, const Side &side, PetscInt place) {
      arrays->sides[end[cell]] = side;
      arrays->couplings[end[cell]++] = {static_cast<int>(place), face.boundary};
    };
    add(face.left, {number, arrays->ends[f].right}, places.left);
    if (face.right >= 0) add(face.right, {-1 - number, static_cast<int>(face.left)}, places.right);
  }
}

template <int dim>
void add_faces(const Mesh &mesh,
               const std::function<Primitive<dim>(const std::array<double, 3> &)> &far_state,
               Arrays<dim, HostArray> *arrays)
{
  std::vector<bool> held(mesh.cells.size(), false);
  for (const Face &face : mesh.faces) {
    const int left = static_cast<int>(face.left);
    int right = static_cast<int>(face.right);
    if (right < 0) {
      right = -1 - static_cast<int>(arrays->outside.size());
      arrays->outside.push_back(far_state(face.center));
    }
    if (face.boundary == kWall && mesh.cells[face.left].mine) {
      arrays->walls.push_back(static_cast<int>(arrays->ends.size()));
      if (!held[face.left]) arrays->held.push_back(left);
      held[face.left] = true;
    }
    arrays->ends.push_back({left, right, face.boundary});
    arrays->surfaces.push_back({vector<dim>(face.normal), face.area});
    arrays->middles.push_back(vector<dim>(face.center));
  }
}

// Finds a rank's own cells on planes of symmetry. A cell where planes meet has no single mirror.
// Nor has a cell where a wall goes on as a plane of symmetry: friction is on the wall, and none
// behind.
template <int dim> std::map<int, Symmetric<dim>> find_symmetric(const Mesh &mesh)
{
  std::map<int, Symmetric<dim>> found;
  for (const Face &face : mesh.faces) {
    const int cell = static_cast<int>(face.left);
    const Vector<dim> n = vector<dim>(face.normal);
    if (face.boundary != kSymmetry || !mesh.cells[face.left].mine) continue;
    const auto [known, is_first] = found.emplace(cell, Symmetric<dim>{cell, n, {}});
    if (!is_first && dot<dim, double>(known->second.normal, n) < 0.999)
      known->second.normal.fill(0.0);
  }
  for (const Face &face : mesh.faces) {
    const auto known = found.find(face.left);
    if (face.boundary == kWall && known != found.end() &&
        std::abs(dot<dim, double>(known->second.normal, vector<dim>(face.normal))) > 0.9)
      known->second.normal.fill(0.0);
  }
  return found;
}

// Adds the mirror images of the neighbors of a vertex on a plane of symmetry. Without them, a flow
// that jumps from one side of a single layer of cells to the other would look linear, and nothing
// would damp it.
template <int dim> void add_mirrored(const Vector<dim> &n, Matrix<dim> *matrix)
{
  Matrix<dim> half, images; // A M and M A M, where A is the matrix and M the reflection
  for (int i = 0; i < dim; ++i) half[i] = mirrored<dim>((*matrix)[i], n);
  for (int j = 0; j < dim; ++j) {
    Vector<dim> column;
    for (int i = 0; i < dim; ++i) column[i] = half[i][j];
    column = mirrored<dim>(column, n);
    for (int i = 0; i < dim; ++i) images[i][j] = column[i];
  }
  for (int i = 0; i < dim; ++i)
    for (int j = 0; j < dim; ++j) (*matrix)[i][j] += images[i][j];
}

// Replaces a symmetric matrix by its Cholesky factor, which holds the inverse of its diagonal. A
// vertex has edges in all directions, so its matrix is regular.
template <int dim> void factor(Matrix<dim> *matrix)
{
  Matrix<dim> &a = *matrix;
  for (int j = 0; j < dim; ++j) {
    for (int k = 0; k < j; ++k) a[j][j] -= a[j][k] * a[j][k];
    a[j][j] = 1.0 / std::sqrt(a[j][j]);
    for (int i = j + 1; i < dim; ++i) {
      for (int k = 0; k < j; ++k) a[i][j] -= a[i][k] * a[j][k];
      a[i][j] *= a[j][j];
    }
  }
}

template <int dim> void add_factors(const Mesh &mesh, Arrays<dim, HostArray> *arrays)
{
  std::map<int, Symmetric<dim>> symmetric = find_symmetric<dim>(mesh);
  arrays->factors.assign(mesh.cells.size(), Matrix<dim>{});
  arrays->mirror.assign(mesh.cells.size(), -1);
  for (const Face &face : mesh.faces) {
    if (face.right < 0) continue;
    const Vector<dim> edge = minus<dim>(arrays->centers[face.right], arrays->centers[face.left]);
    const Vector<dim> step = weighted<dim>(edge);
    for (const int cell : {face.left, face.right}) {
      const auto known = symmetric.find(cell);
      for (int i = 0; i < dim; ++i) {
        if (known != symmetric.end())
          known->second.steps[i] += cell == face.left ? step[i] : -step[i];
        for (int j = 0; j < dim; ++j) arrays->factors[cell][i][j] += step[i] * edge[j];
      }
    }
  }
  for (const auto &[cell, at] : symmetric) {
    if (dot<dim, double>(at.normal, at.normal) == 0.0) continue;
    add_mirrored<dim>(at.normal, &arrays->factors[cell]);
    arrays->mirror[cell] = static_cast<int>(arrays->symmetric.size());
    arrays->symmetric.push_back(at);
  }
  for (const PetscInt c : mesh.mine) factor<dim>(&arrays->factors[c]);
}

} // namespace

template <int dim>
Arrays<dim, HostArray>
make_arrays(const Mesh &mesh, const Rows<dim + 2> &rows, double limiter,
            const std::function<Primitive<dim>(const std::array<double, 3> &)> &far_state)
{
  Arrays<dim, HostArray> arrays;
  arrays.mine.assign(mesh.mine.begin(), mesh.mine.end());
  for (std::size_t c = 0; c < mesh.cells.size(); ++c) {
    const Cell &cell = mesh.cells[c];
    arrays.centers.push_back(vector<dim>(cell.center));
    arrays.lengths3.push_back(std::pow(limiter, 3) * std::pow(cell.volume, 3.0 / dim));
    arrays.row.push_back(rows.row(static_cast<PetscInt>(c)));
    arrays.diagonal.push_back(rows.diagonal(static_cast<PetscInt>(c)));
  }
  arrays.row_begin.assign(rows.begin().begin(), rows.begin().end());
  add_faces<dim>(mesh, far_state, &arrays);
  add_sides<dim>(mesh, rows, &arrays);
  add_factors<dim>(mesh, &arrays);
  return arrays;
}

template Arrays<2, HostArray>
make_arrays<2>(const Mesh &, const Rows<4> &, double,
               const std::function<Primitive<2>(const std::array<double, 3> &)> &);
template Arrays<3, HostArray>
make_arrays<3>(const Mesh &, const Rows<5> &, double,
               const std::function<Primitive<3>(const std::array<double, 3> &)> &);

} // namespace flow
