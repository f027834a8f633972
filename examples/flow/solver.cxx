// This file computes residuals, Jacobians and forces.
#include "solver.h"

#include <petscsf.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

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
  PetscCall(PetscOptionsReal("-flow_reynolds", "Reynolds number by length 1; 0: no viscosity",
                             nullptr, c.reynolds, &c.reynolds, nullptr));
  PetscCall(PetscOptionsReal("-flow_area", "Area of reference", nullptr, c.area, &c.area, nullptr));
  PetscCall(PetscOptionsRangeInt("-flow_order", "Order of the discretization", nullptr, order,
                                 &order, nullptr, 1, 2));
  PetscCall(PetscOptionsReal("-flow_limiter", "K of Venkatakrishnan's limiter", nullptr, c.limiter,
                             &c.limiter, nullptr));
  PetscCall(
      PetscOptionsEList("-flow_units", "Units", nullptr, names, 2, names[0], &units, nullptr));
  PetscOptionsEnd();
  PetscCheck(c.reynolds >= 0.0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
             "-flow_reynolds must be 0 or a positive number");
  PetscCheck(c.reynolds == 0.0 || c.mach > 0.0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
             "-flow_reynolds needs a positive -flow_mach");
  c.second_order = order == 2;
  if (units == 1) { // air at sea level
    c.rho = 1.225;
    c.pressure = 101325.0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim>
Solver<dim>::Solver(const Mesh &mesh, const Conditions &conditions)
    : mesh_(mesh), conditions_(conditions), rows_(mesh)
{
  constexpr double kDegrees = M_PI / 180.0;
  const double speed = conditions.mach * std::sqrt(kGamma * conditions.pressure / conditions.rho);
  Primitive<dim> &stream = scheme_.free_stream;
  stream.rho = conditions.rho;
  stream.p = conditions.pressure;
  stream.u.fill(0.0);
  stream.u[0] = speed * std::cos(conditions.angle * kDegrees);
  stream.u[1] = speed * std::sin(conditions.angle * kDegrees);
  scheme_.second_order = conditions.second_order;
  scheme_.limited = conditions.limiter >= 0.0;
  if (conditions.reynolds > 0.0)
    scheme_.viscosity.dynamic = conditions.rho * speed / conditions.reynolds;
}

template <int dim> PetscErrorCode Solver<dim>::set_up()
{
  VecType type;
  PetscBool cuda;

  PetscFunctionBeginUser;
  if (loops_) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMCreateLocalVector(mesh_.gradients, &gradients_));
  if (scheme_.viscosity.on()) PetscCall(VecDuplicate(gradients_, &unlimited_));
  PetscCall(create_halo());
  PetscCall(VecGetType(gradients_, &type));
  PetscCall(PetscStrendswith(type, "cuda", &cuda));
  const auto arrays = make_arrays<dim>(mesh_, rows_, conditions_.limiter,
                                       [this](const auto &point) { return far_state(point); });
#ifdef FLOW_CUDA
  on_device_ = cuda;
  if (cuda) PetscCall(MakeLoopsOnDevice<dim>(arrays, &loops_));
#endif
  if (!on_device_) PetscCall(MakeLoopsOnCores<dim>(arrays, mesh_.threads, &loops_));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::destroy()
{
  PetscFunctionBeginUser;
  PetscCall(VecDestroy(&gradients_));
  PetscCall(VecDestroy(&unlimited_));
  PetscCall(PetscSFDestroy(&halo_));
  loops_.reset();
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::read(Vec v, const double **values) const
{
  PetscFunctionBeginUser;
  if (on_device_)
    PetscCall(VecGetArrayReadAndMemType(v, values, nullptr));
  else
    PetscCall(VecGetArrayRead(v, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::restore_read(Vec v, const double **values) const
{
  PetscFunctionBeginUser;
  if (on_device_)
    PetscCall(VecRestoreArrayReadAndMemType(v, values));
  else
    PetscCall(VecRestoreArrayRead(v, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::write(Vec v, double **values) const
{
  PetscFunctionBeginUser;
  if (on_device_)
    PetscCall(VecGetArrayAndMemType(v, values, nullptr));
  else
    PetscCall(VecGetArray(v, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::restore_write(Vec v, double **values) const
{
  PetscFunctionBeginUser;
  if (on_device_)
    PetscCall(VecRestoreArrayAndMemType(v, values));
  else
    PetscCall(VecRestoreArray(v, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::read_gradients(const double **gradients) const
{
  PetscFunctionBeginUser;
  *gradients = nullptr;
  if (scheme_.second_order) PetscCall(read(gradients_, gradients));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::restore_gradients(const double **gradients) const
{
  PetscFunctionBeginUser;
  if (*gradients) PetscCall(restore_read(gradients_, gradients));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> Primitive<dim> Solver<dim>::far_state(const std::array<double, 3> &point) const
{
  if (!conditions_.far_state) return scheme_.free_stream;
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
  std::vector<bool> rests(mesh_.cells.size(), false);

  PetscFunctionBeginUser;
  if (scheme_.viscosity.on())
    for (const Face &face : mesh_.faces)
      if (face.boundary == kWall) rests[face.left] = true;
  PetscCall(VecGetArray(U, &u));
  for (std::size_t k = 0; k < mesh_.mine.size(); ++k) {
    Primitive<dim> w = far_state(mesh_.cells[mesh_.mine[k]].center);
    if (rests[mesh_.mine[k]]) w.u.fill(0.0);
    const State<dim> state = conserved<dim, double>(w);
    std::copy(state.begin(), state.end(), u + k * bs);
  }
  PetscCall(VecRestoreArray(U, &u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::load(Vec U)
{
  Vec local;
  const PetscScalar *u;

  PetscFunctionBeginUser;
  PetscCall(set_up());
  PetscCall(DMGetLocalVector(mesh_.dm, &local));
  PetscCall(DMGlobalToLocal(mesh_.dm, U, INSERT_VALUES, local));
  PetscCall(read(local, &u));
  PetscCall(loops_->load(u));
  PetscCall(restore_read(local, &u));
  PetscCall(DMRestoreLocalVector(mesh_.dm, &local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> double Solver<dim>::dynamic_pressure() const
{
  const Primitive<dim> &stream = scheme_.free_stream;
  double speed2 = 0.0;
  for (const double u : stream.u) speed2 += u * u;
  return 0.5 * stream.rho * speed2;
}

// DMLocalToGlobal() with INSERT_VALUES would copy whole vectors to the host.
template <int dim> PetscErrorCode Solver<dim>::create_halo()
{
  PetscSF points;
  PetscSection section;
  PetscInt *offsets;
  PetscMPIInt ranks;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)mesh_.gradients), &ranks));
  if (ranks == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMGetPointSF(mesh_.gradients, &points));
  PetscCall(DMGetLocalSection(mesh_.gradients, &section));
  PetscCall(PetscSFCreateRemoteOffsets(points, section, section, &offsets));
  PetscCall(PetscSFCreateSectionSF(points, section, offsets, section, &halo_));
  PetscCall(PetscFree(offsets));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::exchange(Vec gradients) const
{
  PetscScalar *values;
  PetscMemType where;

  PetscFunctionBeginUser;
  PetscCall(VecGetArrayAndMemType(gradients, &values, &where));
  PetscCall(
      PetscSFBcastWithMemTypeBegin(halo_, MPIU_SCALAR, where, values, where, values, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(halo_, MPIU_SCALAR, values, values, MPI_REPLACE));
  PetscCall(VecRestoreArrayAndMemType(gradients, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Computes the gradients of own cells, and takes those of other cells from their owners.
template <int dim> PetscErrorCode Solver<dim>::find_gradients()
{
  PetscScalar *g, *u = nullptr;

  PetscFunctionBeginUser;
  PetscCall(write(gradients_, &g));
  if (keeps_unlimited()) PetscCall(write(unlimited_, &u));
  PetscCall(loops_->gradients(scheme_, g, u));
  if (u) PetscCall(restore_write(unlimited_, &u));
  PetscCall(restore_write(gradients_, &g));
  if (!halo_) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(exchange(gradients_));
  if (keeps_unlimited()) PetscCall(exchange(unlimited_));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::residual(Vec U, Vec R)
{
  const PetscScalar *gradients, *unlimited = nullptr;
  PetscScalar *r;

  PetscFunctionBeginUser;
  PetscCall(load(U));
  if (scheme_.second_order) PetscCall(find_gradients());
  PetscCall(read_gradients(&gradients));
  if (keeps_unlimited()) PetscCall(read(unlimited_, &unlimited));
  PetscCall(write(R, &r));
  PetscCall(loops_->residual(scheme_, gradients, unlimited, r));
  PetscCall(restore_write(R, &r));
  if (unlimited) PetscCall(restore_read(unlimited_, &unlimited));
  PetscCall(restore_gradients(&gradients));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::create_jacobian(Mat *J)
{
  PetscFunctionBeginUser;
  PetscCall(set_up());
  PetscCall(rows_.create(J));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::jacobian(Vec U, double shift, Mat J)
{
  typename Rows<bs>::Way way;
  const PetscScalar *values;

  PetscFunctionBeginUser;
  PetscCall(load(U));
  PetscCall(rows_.way(J, &way));
#if PetscDefined(HAVE_CUDA)
  if (way == Rows<bs>::Way::in_place && on_device_) {
    PetscScalar *in_place;
    PetscCall(MatSeqAIJCUSPARSEGetArray(J, &in_place));
    PetscCall(loops_->jacobian(scheme_, shift, in_place));
    PetscCall(MatSeqAIJCUSPARSERestoreArray(J, &in_place));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  PetscCall(loops_->jacobian(scheme_, shift, nullptr));
  PetscCall(loops_->values(way != Rows<bs>::Way::at_once, &values));
  PetscCall(rows_.assemble(values, J));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::add_time_term(double shift, Vec U, Vec before, Vec F)
{
  const PetscScalar *u, *b;
  PetscScalar *f;

  PetscFunctionBeginUser;
  PetscCall(read(U, &u));
  PetscCall(read(before, &b));
  PetscCall(write(F, &f));
  PetscCall(loops_->add_time_term(scheme_, shift, u, b, f));
  PetscCall(restore_write(F, &f));
  PetscCall(restore_read(before, &b));
  PetscCall(restore_read(U, &u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::stabilize()
{
  PetscFunctionBeginUser;
  PetscCall(loops_->waves(scheme_));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::wait()
{
  PetscFunctionBeginUser;
  if (loops_) PetscCall(loops_->wait());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::longest_step(Vec U, Vec step, double *share)
{
  const PetscScalar *u, *s;

  PetscFunctionBeginUser;
  PetscCall(set_up());
  PetscCall(read(U, &u));
  PetscCall(read(step, &s));
  PetscCall(loops_->longest_step(u, s, share));
  PetscCall(restore_read(step, &s));
  PetscCall(restore_read(U, &u));
  PetscCallMPI(
      MPI_Allreduce(MPI_IN_PLACE, share, 1, MPI_DOUBLE, MPI_MIN, PetscObjectComm((PetscObject)U)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::forces(Forces *forces)
{
  double sums[2]; // along x and y
  const PetscScalar *gradients;

  PetscFunctionBeginUser;
  PetscCall(read_gradients(&gradients));
  PetscCall(loops_->forces(scheme_, gradients, sums));
  PetscCall(restore_gradients(&gradients));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM,
                             PetscObjectComm((PetscObject)mesh_.dm)));
  const Primitive<dim> &stream = scheme_.free_stream;
  const double unit = dynamic_pressure() * conditions_.area,
               speed = std::sqrt(2.0 * dynamic_pressure() / stream.rho), c = stream.u[0] / speed,
               s = stream.u[1] / speed;
  forces->lift = (c * sums[1] - s * sums[0]) / unit;
  forces->drag = (c * sums[0] + s * sums[1]) / unit;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int dim> PetscErrorCode Solver<dim>::write_walls(const char *file)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)mesh_.dm);
  const bool viscous = scheme_.viscosity.on();
  std::vector<double> pressures, frictions;
  const PetscScalar *gradients;
  std::string text;
  PetscViewer viewer;
  std::size_t k = 0;

  PetscFunctionBeginUser;
  PetscCall(read_gradients(&gradients));
  PetscCall(loops_->wall_pressures(gradients, &pressures));
  PetscCall(restore_gradients(&gradients));
  if (viscous) PetscCall(loops_->wall_frictions(scheme_, &frictions));
  for (const Face &face : mesh_.faces) {
    if (face.boundary != kWall || !mesh_.cells[face.left].mine) continue;
    char number[32];
    for (int d = 0; d < dim; ++d) {
      (void)std::snprintf(number, sizeof number, "%.8g,", face.center[d]);
      text += number;
    }
    (void)std::snprintf(number, sizeof number, "%.8g",
                        (pressures[k] - scheme_.free_stream.p) / dynamic_pressure());
    text += number;
    if (viscous) {
      (void)std::snprintf(number, sizeof number, ",%.8g", frictions[k] / dynamic_pressure());
      text += number;
    }
    text += '\n';
    ++k;
  }
  PetscCall(PetscViewerASCIIOpen(comm, file, &viewer));
  PetscCall(
      PetscViewerASCIIPrintf(viewer, "x,y%s,cp%s\n", dim == 3 ? ",z" : "", viscous ? ",cf" : ""));
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
