// This file computes residuals, Jacobians and forces.
#include "solver.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "dual.h"

namespace flow {

PetscErrorCode ReadConditions(Conditions *conditions)
{
  Conditions &c = *conditions;
  PetscInt order = c.second_order ? 2 : 1, units = 0;
  const char *const names[] = {"none", "si"};

  PetscFunctionBeginUser;
  PetscOptionsBegin(PETSC_COMM_WORLD, nullptr, "Flow: conditions", nullptr);
  PetscCall(PetscOptionsReal("-flow_mach", "Mach number of the free stream", nullptr, c.mach,
                             &c.mach, nullptr));
  PetscCall(PetscOptionsReal("-flow_angle", "Angle of attack, degrees", nullptr, c.angle, &c.angle,
                             nullptr));
  PetscCall(PetscOptionsReal("-flow_area", "Area of reference", nullptr, c.area, &c.area, nullptr));
  PetscCall(PetscOptionsRangeInt("-flow_order", "Order of the discretization", nullptr, order,
                                 &order, nullptr, 1, 2));
  PetscCall(PetscOptionsReal("-flow_limiter", "K of Venkatakrishnan's limiter", nullptr, c.limiter,
                             &c.limiter, nullptr));
  PetscCall(
      PetscOptionsEList("-flow_units", "Units", nullptr, names, 2, names[0], &units, nullptr));
  PetscOptionsEnd();
  c.second_order = order == 2;
  if (units == 1) { // air at sea level
    c.rho = 1.225;
    c.pressure = 101325.0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim>
Solver<dim>::Solver(const Mesh &mesh, const Conditions &conditions)
    : mesh_(mesh), conditions_(conditions), w_(mesh.cells.size()), gradients_(mesh.cells.size()),
      wave_areas_(mesh.cells.size()), shares_(mesh.cells.size()), rooms_(mesh.cells.size()),
      rows_(mesh), second_order_(conditions.second_order)
{
  constexpr double kDegrees = M_PI / 180.0;
  const double speed = conditions.mach * std::sqrt(kGamma * conditions.pressure / conditions.rho);
  free_stream_.rho = conditions.rho;
  free_stream_.p = conditions.pressure;
  free_stream_.u.fill(0.0);
  free_stream_.u[0] = speed * std::cos(conditions.angle * kDegrees);
  free_stream_.u[1] = speed * std::sin(conditions.angle * kDegrees);
  factor();
}

template <int dim> Primitive<dim> Solver<dim>::far_state(const std::array<double, 3> &point) const
{
  if (!conditions_.far_state) return free_stream_;
  const Primitive<3> there = conditions_.far_state(point);
  Primitive<dim> w;
  w.rho = there.rho;
  std::copy_n(there.u.begin(), dim, w.u.begin());
  w.p = there.p;
  return w;
}

template <int dim> PetscErrorCode Solver<dim>::fill_free_stream(Vec U) const
{
  PetscScalar *u;

  PetscFunctionBeginUser;
  PetscCall(VecGetArray(U, &u));
  for (std::size_t k = 0; k < mesh_.mine.size(); ++k) {
    const State<dim> state = conserved<dim, double>(far_state(mesh_.cells[mesh_.mine[k]].center));
    std::copy(state.begin(), state.end(), u + k * bs);
  }
  PetscCall(VecRestoreArray(U, &u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> void Solver<dim>::set_second_order(bool second_order)
{
  second_order_ = second_order;
  std::fill(gradients_.begin(), gradients_.end(), Gradient{});
}

template <int dim> PetscErrorCode Solver<dim>::load(Vec U)
{
  Vec local;
  const PetscScalar *u;

  PetscFunctionBeginUser;
  PetscCall(DMGetLocalVector(mesh_.dm, &local));
  PetscCall(DMGlobalToLocal(mesh_.dm, U, INSERT_VALUES, local));
  PetscCall(VecGetArrayRead(local, &u));
  mesh_.each(w_.size(), [&](std::size_t c) {
    State<dim> state;
    std::copy_n(u + c * bs, bs, state.begin());
    w_[c] = primitive<dim, double>(state);
  });
  PetscCall(VecRestoreArrayRead(local, &u));
  PetscCall(DMRestoreLocalVector(mesh_.dm, &local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Extrapolates a cell's state to a point. For first order the gradients are zero. The cell's own
// state is returned if the extrapolated density or pressure is near zero.
template <int dim> Primitive<dim> Solver<dim>::at(PetscInt cell, const Vector<dim> &point) const
{
  constexpr double kLeast = 0.1; // share of density and pressure that must be left
  const std::array<double, bs> q = linear(cell, point);
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
  Vec local;
  PetscScalar *r;

  PetscFunctionBeginUser;
  PetscCall(load(U));
  if (second_order_) PetscCall(find_gradients());
  PetscCall(DMGetLocalVector(mesh_.dm, &local));
  PetscCall(VecZeroEntries(local));
  PetscCall(VecGetArray(local, &r));
  mesh_.each_face([&](std::size_t f) {
    const Face &face = mesh_.faces[f];
    const Vector<dim> n = vector(face.normal), point = vector(face.center);
    const auto side = [&](PetscInt cell) { return at(cell, point); };
    State<dim> F;
    if (face.right >= 0)
      F = roe_flux<dim, double>(side(face.left), side(face.right), n);
    else if (face.boundary == kFarField)
      F = roe_flux<dim, double>(side(face.left), far_state(face.center), n);
    else
      F = wall_flux<dim, double>(wall_pressure(face), n);
    for (int k = 0; k < bs; ++k) {
      r[face.left * bs + k] += F[k] * face.area;
      if (face.right >= 0) r[face.right * bs + k] -= F[k] * face.area;
    }
  });
  PetscCall(VecRestoreArray(local, &r));
  // Values are inserted, not added: all faces of a rank's own cells are on this rank.
  PetscCall(DMLocalToGlobal(mesh_.dm, local, INSERT_VALUES, R));
  PetscCall(DMRestoreLocalVector(mesh_.dm, &local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::jacobian(Vec U, double shift, Mat J)
{
  using Number = Dual<2 * bs>;

  PetscFunctionBeginUser;
  PetscCall(load(U));
  rows_.clear();
  // The state of a cell as variables with the numbers from first on.
  const auto variable = [&](PetscInt cell, int first) {
    const std::array<double, bs> values = list(w_[cell]);
    Primitive<dim, Number> w;
    w.rho = Number::variable(values[0], first);
    for (int d = 0; d < dim; ++d) w.u[d] = Number::variable(values[1 + d], first + 1 + d);
    w.p = Number::variable(values[dim + 1], first + dim + 1);
    return w;
  };
  // area times the derivatives of F by the conserved variables of a cell.
  const auto slopes = [&](PetscInt cell, const State<dim, Number> &F, int first, double area) {
    std::array<State<dim>, bs> block;
    for (int a = 0; a < bs; ++a) {
      block[a] = by_conserved<dim>(w_[cell], F[a].slope.data() + first);
      for (double &slope : block[a]) slope *= area;
    }
    return block;
  };
  mesh_.each_face([&](std::size_t f) {
    const Face &face = mesh_.faces[f];
    const Vector<dim> n = vector(face.normal);
    const Primitive<dim, Number> left = variable(face.left, 0);
    State<dim, Number> F;
    if (face.right >= 0) {
      F = roe_flux<dim, Number>(left, variable(face.right, bs), n);
      const auto by_right = slopes(face.right, F, bs, face.area);
      rows_.add(face.left, rows_.places(f).right, by_right, 1.0);
      rows_.add(face.right, rows_.diagonal(face.right), by_right, -1.0);
    } else if (face.boundary == kFarField) {
      const Primitive<dim> there = far_state(face.center);
      Primitive<dim, Number> outside;
      outside.rho = there.rho;
      outside.p = there.p;
      std::copy(there.u.begin(), there.u.end(), outside.u.begin());
      F = roe_flux<dim, Number>(left, outside, n);
    } else {
      F = wall_flux<dim, Number>(left.p, n);
    }
    const auto by_left = slopes(face.left, F, 0, face.area);
    rows_.add(face.left, rows_.diagonal(face.left), by_left, 1.0);
    if (face.right >= 0) rows_.add(face.right, rows_.places(f).left, by_left, -1.0);
  });
  for (const PetscInt c : mesh_.mine) rows_.add_to_diagonal(c, shift * wave_areas_[c]);
  PetscCall(rows_.assemble(J));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> void Solver<dim>::stabilize()
{
  std::fill(wave_areas_.begin(), wave_areas_.end(), 0.0);
  mesh_.each_face([&](std::size_t f) {
    const Face &face = mesh_.faces[f];
    const Vector<dim> n = vector(face.normal);
    const auto speed = [&](PetscInt cell) {
      return std::abs(dot<dim, double>(w_[cell].u, n)) + sound_speed<dim, double>(w_[cell]);
    };
    const double waves =
        face.area *
        (face.right >= 0 ? std::max(speed(face.left), speed(face.right)) : speed(face.left));
    wave_areas_[face.left] += waves;
    if (face.right >= 0) wave_areas_[face.right] += waves;
  });
}

template <int dim> PetscErrorCode Solver<dim>::longest_step(Vec U, Vec step, double *share) const
{
  constexpr double kLeast = 0.3; // share of density and pressure that must be left
  const PetscScalar *u, *s;
  PetscInt n;

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
      *share *= 0.5; // also if a value is NaN
    }
  }
  PetscCall(VecRestoreArrayRead(step, &s));
  PetscCall(VecRestoreArrayRead(U, &u));
  PetscCallMPI(
      MPI_Allreduce(MPI_IN_PLACE, share, 1, MPI_DOUBLE, MPI_MIN, PetscObjectComm((PetscObject)U)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::forces(Forces *forces) const
{
  double sums[2] = {0.0, 0.0}; // along x and y

  PetscFunctionBeginUser;
  for (const Face &face : mesh_.faces)
    if (face.boundary == kWall && mesh_.cells[face.left].mine)
      for (int d = 0; d < 2; ++d)
        sums[d] += (wall_pressure(face) - free_stream_.p) * face.normal[d] * face.area;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM,
                             PetscObjectComm((PetscObject)mesh_.dm)));
  const double unit = dynamic_pressure() * conditions_.area,
               speed = std::sqrt(2.0 * dynamic_pressure() / free_stream_.rho),
               c = free_stream_.u[0] / speed, s = free_stream_.u[1] / speed;
  forces->lift = (c * sums[1] - s * sums[0]) / unit;
  forces->drag = (c * sums[0] + s * sums[1]) / unit;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::write_walls(const char *file) const
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)mesh_.dm);
  std::string text;
  PetscViewer viewer;

  PetscFunctionBeginUser;
  for (const Face &face : mesh_.faces) {
    if (face.boundary != kWall || !mesh_.cells[face.left].mine) continue;
    char number[32];
    for (int d = 0; d < dim; ++d) {
      (void)std::snprintf(number, sizeof number, "%.8g,", face.center[d]);
      text += number;
    }
    (void)std::snprintf(number, sizeof number, "%.8g\n",
                        (wall_pressure(face) - free_stream_.p) / dynamic_pressure());
    text += number;
  }
  PetscCall(PetscViewerASCIIOpen(comm, file, &viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, dim == 2 ? "x,y,cp\n" : "x,y,z,cp\n"));
  PetscCall(PetscViewerASCIIPushSynchronized(viewer));
  // Lines are printed one by one, since PETSc prints no more than some kilobytes at a time.
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin) + 1;
    PetscCall(
        PetscViewerASCIISynchronizedPrintf(viewer, "%s", text.substr(begin, end - begin).c_str()));
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
