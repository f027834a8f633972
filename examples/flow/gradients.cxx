// This file computes the gradients of the solver, with planes of symmetry and with the limiter.
#include <algorithm>
#include <map>

#include "solver.h"

namespace flow {

// Finds the share of each gradient that Venkatakrishnan's limiter (AIAA 93-0880) leaves. The
// limiter looks at the middles of edges. It leaves gradients whole where the squares of differences
// are small beside (K h)^3, in units of the free stream.
template <int dim> void Solver<dim>::find_shares(const std::vector<Range> &ranges)
{
  std::array<double, bs> scale2;

  for (std::array<double, bs> &share : shares_) share.fill(1.0);
  scale2.fill(std::pow(sound_speed<dim, double>(free_stream_), 2));
  scale2[0] = std::pow(free_stream_.rho, 2);
  scale2[dim + 1] = std::pow(kGamma * free_stream_.p, 2);
  const auto lower = [&](PetscInt cell, const Vector<dim> &point) {
    if (!mesh_.cells[cell].mine) return;
    const std::array<double, bs> q = list(w_[cell]), there = linear(cell, point);
    for (int k = 0; k < bs; ++k) {
      const double change = there[k] - q[k], eps2 = rooms_[cell] * scale2[k];
      if (change == 0.0) continue;
      const double room = ranges[cell][change > 0.0][k] - q[k];
      const double share = (room * room + eps2 + 2.0 * change * room) /
                           (room * room + 2.0 * change * change + room * change + eps2);
      shares_[cell][k] = std::min(shares_[cell][k], share);
    }
  };
  mesh_.each_face([&](std::size_t f) {
    const Face &face = mesh_.faces[f];
    if (face.right < 0) return;
    lower(face.left, vector(face.center));
    lower(face.right, vector(face.center));
  });
}

// Returns the mirror image of v at a plane with unit normal n.
template <int dim> static Vector<dim> mirror(Vector<dim> v, const Vector<dim> &n)
{
  const double out = dot<dim, double>(v, n);
  for (int d = 0; d < dim; ++d) v[d] -= 2.0 * out * n[d];
  return v;
}

// Adds the mirror images of the neighbors of a vertex on a plane of symmetry. Without them, a flow
// that jumps from one side of a single layer of cells to the other would look linear, and nothing
// would damp it.
template <int dim> void Solver<dim>::add_mirrored(const Vector<dim> &n, Matrix *matrix)
{
  Matrix half, images; // A M and M A M, where A is the matrix and M the reflection
  for (int i = 0; i < dim; ++i) half[i] = mirror<dim>((*matrix)[i], n);
  for (int j = 0; j < dim; ++j) {
    Vector<dim> column;
    for (int i = 0; i < dim; ++i) column[i] = half[i][j];
    column = mirror<dim>(column, n);
    for (int i = 0; i < dim; ++i) images[i][j] = column[i];
  }
  for (int i = 0; i < dim; ++i)
    for (int j = 0; j < dim; ++j) (*matrix)[i][j] += images[i][j];
}

// Adds the same mirror images to the sums of differences.
template <int dim> void Solver<dim>::add_mirrored(const Symmetric &at, Gradient *sums) const
{
  const Vector<dim> &n = at.normal;
  const double out = dot<dim, double>(w_[at.cell].u, n);
  // Velocities are mirrored first: these are differences along steps that are not mirrored.
  Gradient mirrored = *sums;
  for (int d = 0; d < dim; ++d) {
    Vector<dim> u;
    for (int i = 0; i < dim; ++i) u[i] = (*sums)[1 + i][d];
    u = mirror<dim>(u, n);
    for (int i = 0; i < dim; ++i) mirrored[1 + i][d] = u[i] - 2.0 * out * n[i] * at.steps[d];
  }
  for (int k = 0; k < bs; ++k) {
    const Vector<dim> image = mirror<dim>(mirrored[k], n);
    for (int d = 0; d < dim; ++d) (*sums)[k][d] += image[d];
  }
}

// The step from the vertex at the left of a face to the vertex at its right, divided by the square
// of the step's length.
template <int dim> Vector<dim> Solver<dim>::weighted_step(const Face &face) const
{
  const Vector<dim> from = center(face.left), to = center(face.right);
  Vector<dim> step;
  double length2 = 0.0;
  for (int d = 0; d < dim; ++d) {
    step[d] = to[d] - from[d];
    length2 += step[d] * step[d];
  }
  for (double &s : step) s /= length2;
  return step;
}

// Computes the parts of gradients and limiter that depend on the mesh only.
template <int dim> void Solver<dim>::factor()
{
  std::map<PetscInt, Symmetric> symmetric;

  factors_.assign(mesh_.cells.size(), Matrix{});
  for (const Face &face : mesh_.faces) {
    const Vector<dim> n = vector(face.normal);
    if (face.boundary != kSymmetry || !mesh_.cells[face.left].mine) continue;
    const auto [known, is_first] = symmetric.emplace(face.left, Symmetric{face.left, n, {}});
    if (!is_first && dot<dim, double>(known->second.normal, n) < 0.999)
      known->second.normal.fill(0.0); // planes meet here, and there is no single mirror
  }
  for (const Face &face : mesh_.faces) {
    if (face.right < 0) continue;
    const Vector<dim> step = weighted_step(face), from = center(face.left), to = center(face.right);
    for (const PetscInt cell : {face.left, face.right}) {
      const auto known = symmetric.find(cell);
      for (int i = 0; i < dim; ++i) {
        if (known != symmetric.end())
          known->second.steps[i] += cell == face.left ? step[i] : -step[i];
        for (int j = 0; j < dim; ++j) factors_[cell][i][j] += step[i] * (to[j] - from[j]);
      }
    }
  }
  for (const auto &[cell, at] : symmetric) {
    if (dot<dim, double>(at.normal, at.normal) == 0.0) continue;
    add_mirrored(at.normal, &factors_[cell]);
    symmetric_.push_back(at);
  }
  // Cholesky factors. A vertex has edges in all directions, so its matrix is regular.
  for (const PetscInt c : mesh_.mine) {
    Matrix &a = factors_[c];
    for (int j = 0; j < dim; ++j) {
      for (int k = 0; k < j; ++k) a[j][j] -= a[j][k] * a[j][k];
      a[j][j] = std::sqrt(a[j][j]);
      for (int i = j + 1; i < dim; ++i) {
        for (int k = 0; k < j; ++k) a[i][j] -= a[i][k] * a[j][k];
        a[i][j] /= a[j][j];
      }
    }
  }
  for (std::size_t c = 0; c < rooms_.size(); ++c)
    rooms_[c] = std::pow(conditions_.limiter, 3) * std::pow(mesh_.cells[c].volume, 3.0 / dim);
}

// Finds the gradients by least squares over the vertices to which edges lead.
template <int dim> PetscErrorCode Solver<dim>::find_gradients()
{
  std::vector<Range> ranges(mesh_.cells.size());

  PetscFunctionBeginUser;
  mesh_.each(ranges.size(), [&](std::size_t c) {
    ranges[c][0] = ranges[c][1] = list(w_[c]);
    gradients_[c] = {};
  });
  mesh_.each_face([&](std::size_t f) {
    const Face &face = mesh_.faces[f];
    if (face.right < 0) return;
    const std::array<double, bs> left = list(w_[face.left]), right = list(w_[face.right]);
    const Vector<dim> step = weighted_step(face);
    Gradient &at_left = gradients_[face.left], &at_right = gradients_[face.right]; // sums for now
    Range &range_left = ranges[face.left], &range_right = ranges[face.right];
    for (int k = 0; k < bs; ++k) {
      for (int d = 0; d < dim; ++d) {
        const double product = step[d] * (right[k] - left[k]);
        at_left[k][d] += product;
        at_right[k][d] += product;
      }
      range_left[0][k] = std::min(range_left[0][k], right[k]);
      range_left[1][k] = std::max(range_left[1][k], right[k]);
      range_right[0][k] = std::min(range_right[0][k], left[k]);
      range_right[1][k] = std::max(range_right[1][k], left[k]);
    }
  });
  for (const Symmetric &at : symmetric_) add_mirrored(at, &gradients_[at.cell]);
  mesh_.each(mesh_.mine.size(), [&](std::size_t own) {
    const PetscInt c = mesh_.mine[own];
    const Matrix &a = factors_[c];
    for (Vector<dim> &x : gradients_[c]) {
      for (int i = 0; i < dim; ++i) {
        for (int k = 0; k < i; ++k) x[i] -= a[i][k] * x[k];
        x[i] /= a[i][i];
      }
      for (int i = dim - 1; i >= 0; --i) {
        for (int k = i + 1; k < dim; ++k) x[i] -= a[k][i] * x[k];
        x[i] /= a[i][i];
      }
    }
  });
  if (conditions_.limiter >= 0.0) {
    if (!frozen_) find_shares(ranges);
    mesh_.each(gradients_.size(), [&](std::size_t c) {
      for (int k = 0; k < bs; ++k)
        for (double &slope : gradients_[c][k]) slope *= shares_[c][k];
    });
  }
  PetscCall(exchange_gradients());
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Takes the gradients of other ranks' cells from their owners.
template <int dim> PetscErrorCode Solver<dim>::exchange_gradients()
{
  Vec local, global;
  PetscScalar *g;

  PetscFunctionBeginUser;
  PetscCall(DMGetLocalVector(mesh_.gradients, &local));
  PetscCall(DMGetGlobalVector(mesh_.gradients, &global));
  PetscCall(VecGetArray(local, &g));
  mesh_.each(gradients_.size(), [&](std::size_t c) {
    for (int k = 0; k < bs; ++k) std::copy_n(gradients_[c][k].begin(), dim, g + (c * bs + k) * dim);
  });
  PetscCall(VecRestoreArray(local, &g));
  PetscCall(DMLocalToGlobal(mesh_.gradients, local, INSERT_VALUES, global));
  PetscCall(DMGlobalToLocal(mesh_.gradients, global, INSERT_VALUES, local));
  PetscCall(VecGetArray(local, &g));
  mesh_.each(gradients_.size(), [&](std::size_t c) {
    for (int k = 0; k < bs; ++k) std::copy_n(g + (c * bs + k) * dim, dim, gradients_[c][k].begin());
  });
  PetscCall(VecRestoreArray(local, &g));
  PetscCall(DMRestoreGlobalVector(mesh_.gradients, &global));
  PetscCall(DMRestoreLocalVector(mesh_.gradients, &local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template void Solver<2>::factor();
template void Solver<3>::factor();
template PetscErrorCode Solver<2>::find_gradients();
template PetscErrorCode Solver<3>::find_gradients();

} // namespace flow
