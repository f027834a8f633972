// The gradients of the solver: least squares, symmetry, limiter.
#include <algorithm>

#include "solver.h"

namespace flow {

// Venkatakrishnan (AIAA 93-0880) at the middles of edges: no limit where differences are small beside (K h)^3
template <int dim> void Solver<dim>::find_shares(const std::vector<Range> &ranges)
{
  std::array<double, bs> scale2;

  for (std::array<double, bs> &share : shares_) share.fill(1.0);
  scale2.fill(std::pow(sound_speed<dim, double>(free_stream_), 2));
  scale2[0]        = std::pow(free_stream_.rho, 2);
  scale2[dim + 1]  = std::pow(kGamma * free_stream_.p, 2);
  const auto lower = [&](PetscInt cell, const Vector<dim> &point) {
    if (!mesh_.cells[cell].mine) return;
    const std::array<double, bs> q = list(w_[cell]), there = linear(cell, point);
    const double                 room3 = std::pow(conditions_.limiter, 3) * std::pow(mesh_.cells[cell].volume, 3.0 / dim);
    for (int k = 0; k < bs; ++k) {
      const double change = there[k] - q[k], eps2 = room3 * scale2[k];
      if (change == 0.0) continue;
      const double room  = ranges[cell][change > 0.0][k] - q[k];
      const double share = (room * room + eps2 + 2.0 * change * room) / (room * room + 2.0 * change * change + room * change + eps2);
      shares_[cell][k]   = std::min(shares_[cell][k], share);
    }
  };
  for (const Face &face : mesh_.faces) {
    if (face.right < 0) continue;
    lower(face.left, vector(face.center));
    lower(face.right, vector(face.center));
  }
}

// At a plane of symmetry: the mirror images of the neighbors. Without them a flow that jumps from one side of a single layer of cells to the other looks linear,
// and nothing damps it.
template <int dim>
void Solver<dim>::add_mirrored(PetscInt cell, const Vector<dim> &n, const Vector<dim> &steps,
                               std::array<std::array<double, dim>, dim> &matrix, Gradient &rhs) const
{
  const auto mirror = [&](Vector<dim> v) {
    const double out = dot<dim, double>(v, n);
    for (int d = 0; d < dim; ++d) v[d] -= 2.0 * out * n[d];
    return v;
  };
  const double out  = dot<dim, double>(w_[cell].u, n);
  auto         half = matrix, images = matrix; // with mirrors on one side, on both
  for (int i = 0; i < dim; ++i) half[i] = mirror(matrix[i]);
  for (int j = 0; j < dim; ++j) {
    Vector<dim> column;
    for (int i = 0; i < dim; ++i) column[i] = half[i][j];
    column = mirror(column);
    for (int i = 0; i < dim; ++i) images[i][j] = column[i];
  }
  for (int i = 0; i < dim; ++i)
    for (int j = 0; j < dim; ++j) matrix[i][j] += images[i][j];
  Gradient mirrored = rhs; // differences of mirrored velocities along the steps themselves
  for (int d = 0; d < dim; ++d) {
    Vector<dim> u;
    for (int i = 0; i < dim; ++i) u[i] = rhs[1 + i][d];
    u = mirror(u);
    for (int i = 0; i < dim; ++i) mirrored[1 + i][d] = u[i] - 2.0 * out * n[i] * steps[d];
  }
  for (int k = 0; k < bs; ++k) {
    const Vector<dim> image = mirror(mirrored[k]);
    for (int d = 0; d < dim; ++d) rhs[k][d] += image[d];
  }
}

// Least squares over the vertices that edges lead to
template <int dim> PetscErrorCode Solver<dim>::find_gradients()
{
  struct Sums {
    std::array<std::array<double, dim>, dim> matrix{};
    Gradient                                 rhs{};
    Vector<dim>                              steps{};
  };
  std::vector<Sums>  sums(mesh_.cells.size());
  std::vector<Range> ranges(mesh_.cells.size());
  const auto         add = [&](PetscInt cell, PetscInt other) {
    const std::array<double, bs> mine = list(w_[cell]), theirs = list(w_[other]);
    const Vector<dim>            from = center(cell), to = center(other);
    Sums                        &sum = sums[cell];
    Vector<dim>                  step;
    double                       length = 0.0;
    for (int d = 0; d < dim; ++d) {
      step[d] = to[d] - from[d];
      length += step[d] * step[d];
    }
    for (int i = 0; i < dim; ++i) {
      sum.steps[i] += step[i] / length;
      for (int j = 0; j < dim; ++j) sum.matrix[i][j] += step[i] * step[j] / length;
    }
    for (int k = 0; k < bs; ++k) {
      for (int d = 0; d < dim; ++d) sum.rhs[k][d] += step[d] * (theirs[k] - mine[k]) / length;
      ranges[cell][0][k] = std::min(ranges[cell][0][k], theirs[k]);
      ranges[cell][1][k] = std::max(ranges[cell][1][k], theirs[k]);
    }
  };

  PetscFunctionBeginUser;
  for (std::size_t c = 0; c < sums.size(); ++c) ranges[c][0] = ranges[c][1] = list(w_[c]);
  for (const Face &face : mesh_.faces) {
    if (face.right < 0) continue;
    add(face.left, face.right);
    add(face.right, face.left);
  }
  for (const auto &[c, normal] : symmetric_) add_mirrored(c, normal, sums[c].steps, sums[c].matrix, sums[c].rhs);
  for (const PetscInt c : mesh_.mine) {
    auto &a = sums[c].matrix;
    // Cholesky; a vertex has edges in all directions, so the matrix is regular
    for (int j = 0; j < dim; ++j) {
      for (int k = 0; k < j; ++k) a[j][j] -= a[j][k] * a[j][k];
      a[j][j] = std::sqrt(a[j][j]);
      for (int i = j + 1; i < dim; ++i) {
        for (int k = 0; k < j; ++k) a[i][j] -= a[i][k] * a[j][k];
        a[i][j] /= a[j][j];
      }
    }
    for (int q = 0; q < bs; ++q) {
      Vector<dim> x = sums[c].rhs[q];
      for (int i = 0; i < dim; ++i) {
        for (int k = 0; k < i; ++k) x[i] -= a[i][k] * x[k];
        x[i] /= a[i][i];
      }
      for (int i = dim - 1; i >= 0; --i) {
        for (int k = i + 1; k < dim; ++k) x[i] -= a[k][i] * x[k];
        x[i] /= a[i][i];
      }
      gradients_[c][q] = x;
    }
  }
  if (conditions_.limiter >= 0.0) {
    if (!frozen_) find_shares(ranges);
    for (const PetscInt c : mesh_.mine)
      for (int k = 0; k < bs; ++k)
        for (double &slope : gradients_[c][k]) slope *= shares_[c][k];
  }
  PetscCall(exchange_gradients());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::exchange_gradients()
{
  Vec          local, global;
  PetscScalar *g;

  PetscFunctionBeginUser;
  PetscCall(DMGetLocalVector(mesh_.gradients, &local));
  PetscCall(DMGetGlobalVector(mesh_.gradients, &global));
  PetscCall(VecGetArray(local, &g));
  for (std::size_t c = 0; c < gradients_.size(); ++c)
    for (int k = 0; k < bs; ++k) std::copy_n(gradients_[c][k].begin(), dim, g + (c * bs + k) * dim);
  PetscCall(VecRestoreArray(local, &g));
  PetscCall(DMLocalToGlobal(mesh_.gradients, local, INSERT_VALUES, global));
  PetscCall(DMGlobalToLocal(mesh_.gradients, global, INSERT_VALUES, local));
  PetscCall(VecGetArray(local, &g));
  for (std::size_t c = 0; c < gradients_.size(); ++c)
    for (int k = 0; k < bs; ++k) std::copy_n(g + (c * bs + k) * dim, dim, gradients_[c][k].begin());
  PetscCall(VecRestoreArray(local, &g));
  PetscCall(DMRestoreGlobalVector(mesh_.gradients, &global));
  PetscCall(DMRestoreLocalVector(mesh_.gradients, &local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template PetscErrorCode Solver<2>::find_gradients();
template PetscErrorCode Solver<3>::find_gradients();

} // namespace flow
