#include "solver.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>

#include "dual.h"

namespace flow {

template <int dim> Vector<dim> Solver<dim>::vector(const std::array<double, 3> &v)
{
  Vector<dim> result;
  std::copy_n(v.begin(), dim, result.begin());
  return result;
}

template <int dim> Vector<dim> Solver<dim>::center(PetscInt cell) const
{
  return vector(mesh_.cells[cell].center);
}

template <int dim> std::array<double, Solver<dim>::bs> Solver<dim>::list(const Primitive<dim> &w)
{
  std::array<double, bs> q;
  q[0] = w.rho;
  std::copy_n(w.u.begin(), dim, q.begin() + 1);
  q[dim + 1] = w.p;
  return q;
}

template <int dim> Primitive<dim> Solver<dim>::from_list(const std::array<double, bs> &q)
{
  Primitive<dim> w;
  w.rho = q[0];
  std::copy_n(q.begin() + 1, dim, w.u.begin());
  w.p = q[dim + 1];
  return w;
}

template <int dim>
Solver<dim>::Solver(const Mesh &mesh, const Conditions &conditions)
    : mesh_(mesh), conditions_(conditions), w_(mesh.cells.size()), gradients_(mesh.cells.size()), wave_areas_(mesh.cells.size())
{
  constexpr double kDegrees = M_PI / 180.0;
  const double     speed    = conditions.mach * std::sqrt(kGamma * conditions.pressure / conditions.rho);
  free_stream_.rho          = conditions.rho;
  free_stream_.p            = conditions.pressure;
  free_stream_.u.fill(0.0);
  free_stream_.u[0] = speed * std::cos(conditions.angle * kDegrees);
  free_stream_.u[1] = speed * std::sin(conditions.angle * kDegrees);
}

template <int dim> PetscErrorCode Solver<dim>::fill_free_stream(Vec U) const
{
  PetscScalar *u;

  PetscFunctionBeginUser;
  PetscCall(VecGetArray(U, &u));
  PetscScalar *next = u;
  for (const Cell &cell : mesh_.cells) {
    if (!cell.mine) continue;
    const State<dim> state = conserved<dim, double>(far_state(vector(cell.center)));
    next                   = std::copy(state.begin(), state.end(), next);
  }
  PetscCall(VecRestoreArray(U, &u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::load(Vec U)
{
  Vec                local;
  const PetscScalar *u;

  PetscFunctionBeginUser;
  PetscCall(DMGetLocalVector(mesh_.dm, &local));
  PetscCall(DMGlobalToLocal(mesh_.dm, U, INSERT_VALUES, local));
  PetscCall(VecGetArrayRead(local, &u));
  for (std::size_t c = 0; c < w_.size(); ++c) {
    State<dim> state;
    std::copy_n(u + c * bs, bs, state.begin());
    w_[c] = primitive<dim, double>(state);
  }
  PetscCall(VecRestoreArrayRead(local, &u));
  PetscCall(DMRestoreLocalVector(mesh_.dm, &local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// What stands behind a plane of symmetry
template <int dim> Primitive<dim> Solver<dim>::mirrored(PetscInt cell, const Face &face) const
{
  const Vector<dim> n  = vector(face.normal);
  Primitive<dim>    w  = w_[cell];
  const double      un = dot<dim, double>(w.u, n);
  for (int d = 0; d < dim; ++d) w.u[d] -= 2.0 * un * n[d];
  return w;
}

template <int dim> Primitive<dim> Solver<dim>::far_state(const Vector<dim> &point) const
{
  if (!conditions_.far_state) return free_stream_;
  std::array<double, 3> at{};
  std::copy(point.begin(), point.end(), at.begin());
  const Primitive<3> given = conditions_.far_state(at);
  Primitive<dim>     w;
  w.rho = given.rho;
  w.p   = given.p;
  std::copy_n(given.u.begin(), dim, w.u.begin());
  return w;
}

// Venkatakrishnan (AIAA 93-0880): no limit where differences are small beside (K h)^3
template <int dim>
void Solver<dim>::limit(PetscInt cell, const std::array<double, bs> &low, const std::array<double, bs> &high, Gradient &gradient) const
{
  const std::array<double, bs> q      = list(w_[cell]);
  const double                 volume = mesh_.cells[cell].volume, h = std::pow(volume, 1.0 / dim);
  const std::array<double, bs> scale = [&] {
    const double           c = sound_speed<dim, double>(free_stream_);
    std::array<double, bs> s;
    s.fill(c);
    s[0]       = free_stream_.rho;
    s[dim + 1] = kGamma * free_stream_.p;
    return s;
  }();
  for (int k = 0; k < bs; ++k) {
    double steepest = 0.0; // the largest change inside the cell, roughly
    for (int d = 0; d < dim; ++d) steepest += gradient[k][d] * gradient[k][d];
    const double change = std::sqrt(steepest) * h * 0.5;
    if (change == 0.0) continue;
    const double room  = std::min(high[k] - q[k], q[k] - low[k]);
    const double eps2  = std::pow(conditions_.limiter * h, 3) * scale[k] * scale[k];
    const double share = (room * room + eps2 + 2.0 * change * room) / (room * room + 2.0 * change * change + room * change + eps2);
    for (int d = 0; d < dim; ++d) gradient[k][d] *= std::min(1.0, share);
  }
}

// Least squares over the cells that share a vertex (through faces alone a scheme on tetrahedra is unstable: Haider, Croisille and Courbet, Numer. Math. 113,
// 2009), ghosts of the far field, and mirror images. None of these behind walls: beside curved ones density and pressure are no mirror images.
template <int dim> PetscErrorCode Solver<dim>::find_gradients()
{
  constexpr double kFlat = 1e-10; // beside 1
  struct Sums {
    std::array<std::array<double, dim>, dim> matrix{};
    Gradient                                 rhs{};
    std::array<double, bs>                   low, high;
  };
  std::vector<Sums> sums(mesh_.cells.size());
  const auto        add = [&](PetscInt cell, const Vector<dim> &point, const Primitive<dim> &other) {
    const std::array<double, bs> mine = list(w_[cell]), theirs = list(other);
    const Vector<dim>            from = center(cell);
    Sums                        &sum  = sums[cell];
    Vector<dim>                  step;
    double                       length = 0.0;
    for (int d = 0; d < dim; ++d) {
      step[d] = point[d] - from[d];
      length += step[d] * step[d];
    }
    for (int i = 0; i < dim; ++i)
      for (int j = 0; j < dim; ++j) sum.matrix[i][j] += step[i] * step[j] / length;
    for (int k = 0; k < bs; ++k) {
      for (int d = 0; d < dim; ++d) sum.rhs[k][d] += step[d] * (theirs[k] - mine[k]) / length;
      sum.low[k]  = std::min(sum.low[k], theirs[k]);
      sum.high[k] = std::max(sum.high[k], theirs[k]);
    }
  };

  PetscFunctionBeginUser;
  for (std::size_t c = 0; c < sums.size(); ++c) sums[c].low = sums[c].high = list(w_[c]);
  for (std::size_t c = 0; c < sums.size(); ++c)
    for (std::size_t i = mesh_.near_begin[c]; i < mesh_.near_begin[c + 1]; ++i)
      add(static_cast<PetscInt>(c), center(mesh_.near[i]), w_[mesh_.near[i]]);
  for (const Face &face : mesh_.faces) {
    if (face.right >= 0 || face.boundary == kWall) continue;
    Vector<dim>       point = center(face.left);
    const Vector<dim> n     = vector(face.normal);
    double            depth = 0.0;
    for (int d = 0; d < dim; ++d) depth += (face.center[d] - point[d]) * n[d];
    for (int d = 0; d < dim; ++d) point[d] += 2.0 * depth * n[d];
    add(face.left, point, face.boundary == kFarField ? far_state(point) : mirrored(face.left, face));
  }
  for (std::size_t c = 0; c < sums.size(); ++c) {
    if (!mesh_.cells[c].mine) continue;
    auto &a = sums[c].matrix;
    // Cholesky; where all cells around are in a line or a plane, no slope across it
    for (int j = 0; j < dim; ++j) {
      for (int k = 0; k < j; ++k) a[j][j] -= a[j][k] * a[j][k];
      a[j][j] = a[j][j] > kFlat ? std::sqrt(a[j][j]) : std::numeric_limits<double>::infinity();
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
    if (conditions_.limiter >= 0.0) limit(static_cast<PetscInt>(c), sums[c].low, sums[c].high, gradients_[c]);
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

// Linear inside the cell (of first order: constant, with gradients of zero), unless that leaves density or pressure near zero
template <int dim> Primitive<dim> Solver<dim>::at(PetscInt cell, const Vector<dim> &point) const
{
  constexpr double       kLeast = 0.1;
  std::array<double, bs> q      = list(w_[cell]);
  const Vector<dim>      from   = center(cell);
  for (int k = 0; k < bs; ++k)
    for (int d = 0; d < dim; ++d) q[k] += gradients_[cell][k][d] * (point[d] - from[d]);
  if (q[0] < kLeast * w_[cell].rho || q[dim + 1] < kLeast * w_[cell].p) return w_[cell];
  return from_list(q);
}

template <int dim> double Solver<dim>::wall_pressure(const Face &face) const
{
  return at(face.left, vector(face.center)).p;
}

template <int dim> double Solver<dim>::dynamic_pressure() const
{
  double speed2 = 0.0;
  for (const double u : free_stream_.u) speed2 += u * u;
  return 0.5 * free_stream_.rho * speed2;
}

template <int dim> PetscErrorCode Solver<dim>::residual(Vec U, Vec R)
{
  Vec          local;
  PetscScalar *r;

  PetscFunctionBeginUser;
  PetscCall(load(U));
  if (conditions_.second_order) PetscCall(find_gradients());
  PetscCall(DMGetLocalVector(mesh_.dm, &local));
  PetscCall(VecZeroEntries(local));
  PetscCall(VecGetArray(local, &r));
  for (const Face &face : mesh_.faces) {
    const Vector<dim> n = vector(face.normal), point = vector(face.center);
    const auto        side = [&](PetscInt cell) { return at(cell, point); };
    State<dim>        F;
    if (face.right >= 0)
      F = roe_flux<dim, double>(side(face.left), side(face.right), n);
    else if (face.boundary == kFarField)
      F = roe_flux<dim, double>(side(face.left), far_state(point), n);
    else
      F = wall_flux<dim, double>(wall_pressure(face), n);
    for (int k = 0; k < bs; ++k) {
      r[face.left * bs + k] += F[k] * face.area;
      if (face.right >= 0) r[face.right * bs + k] -= F[k] * face.area;
    }
  }
  PetscCall(VecRestoreArray(local, &r));
  PetscCall(DMLocalToGlobal(mesh_.dm, local, INSERT_VALUES, R)); // of a rank's own cells all faces are here
  PetscCall(DMRestoreLocalVector(mesh_.dm, &local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::jacobian(Vec U, double shift, Mat J)
{
  using Number = Dual<2 * bs>;
  PetscScalar block[bs * bs];

  PetscFunctionBeginUser;
  PetscCall(load(U));
  PetscCall(MatZeroEntries(J));
  const auto variable = [&](PetscInt cell, int first) {
    const State<dim>   values = conserved<dim, double>(w_[cell]);
    State<dim, Number> state;
    for (int k = 0; k < bs; ++k) state[k] = Number::variable(values[k], first + k);
    return primitive<dim, Number>(state);
  };
  const auto add = [&](PetscInt row, PetscInt column, const State<dim, Number> &F, int first, double factor) -> PetscErrorCode {
    const PetscInt i = mesh_.cells[row].global, j = mesh_.cells[column].global;
    for (int a = 0; a < bs; ++a)
      for (int b = 0; b < bs; ++b) block[a * bs + b] = factor * F[a].slope[first + b];
    return mesh_.cells[row].mine ? MatSetValuesBlocked(J, 1, &i, 1, &j, block, ADD_VALUES) : PETSC_SUCCESS;
  };
  for (const Face &face : mesh_.faces) {
    const Vector<dim>            n    = vector(face.normal);
    const Primitive<dim, Number> left = variable(face.left, 0);
    State<dim, Number>           F;
    if (face.right >= 0) {
      F = roe_flux<dim, Number>(left, variable(face.right, bs), n);
      PetscCall(add(face.left, face.right, F, bs, face.area));
      PetscCall(add(face.right, face.left, F, 0, -face.area));
      PetscCall(add(face.right, face.right, F, bs, -face.area));
    } else if (face.boundary == kFarField) {
      const Primitive<dim>   state = far_state(vector(face.center));
      Primitive<dim, Number> outside;
      outside.rho = state.rho;
      outside.p   = state.p;
      std::copy(state.u.begin(), state.u.end(), outside.u.begin());
      F = roe_flux<dim, Number>(left, outside, n);
    } else {
      F = wall_flux<dim, Number>(left.p, n);
    }
    PetscCall(add(face.left, face.left, F, 0, face.area));
  }
  for (std::size_t c = 0; c < mesh_.cells.size(); ++c) {
    if (!mesh_.cells[c].mine) continue;
    std::fill_n(block, bs * bs, 0.0);
    for (int k = 0; k < bs; ++k) block[k * (bs + 1)] = shift * wave_areas_[c];
    PetscCall(MatSetValuesBlocked(J, 1, &mesh_.cells[c].global, 1, &mesh_.cells[c].global, block, ADD_VALUES));
  }
  PetscCall(MatAssemblyBegin(J, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(J, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> void Solver<dim>::stabilize()
{
  std::fill(wave_areas_.begin(), wave_areas_.end(), 0.0);
  for (const Face &face : mesh_.faces) {
    const Vector<dim> n     = vector(face.normal);
    const auto        speed = [&](PetscInt cell) { return std::abs(dot<dim, double>(w_[cell].u, n)) + sound_speed<dim, double>(w_[cell]); };
    const double      waves = face.area * (face.right >= 0 ? std::max(speed(face.left), speed(face.right)) : speed(face.left));
    wave_areas_[face.left] += waves;
    if (face.right >= 0) wave_areas_[face.right] += waves;
  }
}

template <int dim> PetscErrorCode Solver<dim>::longest_step(Vec U, Vec step, double *share) const
{
  constexpr double   kLeast = 0.3; // of density and pressure must be left
  const PetscScalar *u, *s;
  PetscInt           n;

  PetscFunctionBeginUser;
  *share = 1.0;
  PetscCall(VecGetLocalSize(U, &n));
  PetscCall(VecGetArrayRead(U, &u));
  PetscCall(VecGetArrayRead(step, &s));
  for (PetscInt c = 0; c < n / bs; ++c) {
    State<dim> state;
    std::copy_n(u + c * bs, bs, state.begin());
    const Primitive<dim> before = primitive<dim, double>(state);
    for (int halvings = 0; halvings < 20; ++halvings) {
      for (int k = 0; k < bs; ++k) state[k] = u[c * bs + k] + *share * s[c * bs + k];
      const Primitive<dim> after = primitive<dim, double>(state);
      if (after.rho >= kLeast * before.rho && after.p >= kLeast * before.p) break;
      *share *= 0.5; // NaN too
    }
  }
  PetscCall(VecRestoreArrayRead(step, &s));
  PetscCall(VecRestoreArrayRead(U, &u));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, share, 1, MPI_DOUBLE, MPI_MIN, PetscObjectComm((PetscObject)U)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::forces(Forces *forces) const
{
  double sums[2] = {0.0, 0.0}; // along x and y

  PetscFunctionBeginUser;
  for (const Face &face : mesh_.faces)
    if (face.boundary == kWall && mesh_.cells[face.left].mine)
      for (int d = 0; d < 2; ++d) sums[d] += (wall_pressure(face) - free_stream_.p) * face.normal[d] * face.area;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)mesh_.dm)));
  const double unit = dynamic_pressure() * conditions_.area, speed = std::sqrt(2.0 * dynamic_pressure() / free_stream_.rho),
               c = free_stream_.u[0] / speed, s = free_stream_.u[1] / speed;
  forces->lift = (c * sums[1] - s * sums[0]) / unit;
  forces->drag = (c * sums[0] + s * sums[1]) / unit;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::write_walls(const char *file) const
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)mesh_.dm);
  std::string    text;
  PetscViewer    viewer;

  PetscFunctionBeginUser;
  for (const Face &face : mesh_.faces) {
    if (face.boundary != kWall || !mesh_.cells[face.left].mine) continue;
    char number[32];
    for (int d = 0; d < dim; ++d) {
      (void)std::snprintf(number, sizeof number, "%.8g,", face.center[d]);
      text += number;
    }
    (void)std::snprintf(number, sizeof number, "%.8g\n", (wall_pressure(face) - free_stream_.p) / dynamic_pressure());
    text += number;
  }
  PetscCall(PetscViewerASCIIOpen(comm, file, &viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, dim == 2 ? "x,y,cp\n" : "x,y,z,cp\n"));
  PetscCall(PetscViewerASCIIPushSynchronized(viewer));
  for (std::size_t begin = 0; begin < text.size();) { // lines, since PETSc prints no more than some kilobytes at a time
    const std::size_t end = text.find('\n', begin) + 1;
    PetscCall(PetscViewerASCIISynchronizedPrintf(viewer, "%s", text.substr(begin, end - begin).c_str()));
    begin = end;
  }
  PetscCall(PetscViewerFlush(viewer));
  PetscCall(PetscViewerASCIIPopSynchronized(viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template class Solver<2>;
template class Solver<3>;

} // namespace flow
