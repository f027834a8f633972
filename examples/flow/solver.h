// This header declares the residual of the Euler or Navier-Stokes equations on a mesh, and the
// Jacobian of the residual's first-order part.
#pragma once

#include <petscsnes.h>

#include <functional>
#include <memory>

#include "loops.h"

namespace flow {

struct Conditions {
  double mach = 0.8, angle = 1.25;           // of the free stream; degrees, from x towards y
  double rho = 1.0, pressure = 1.0 / kGamma; // of the free stream; these give a speed of sound of 1
  double reynolds = 0.0; // of the free stream, by length 1; 0: the Euler equations
  double area = 1.0;     // of reference, for the coefficients of forces
  bool second_order = true;
  double limiter = 5.0; // K of Venkatakrishnan's limiter; negative: no limiter
  // The state outside at a point of the far field. Empty: the free stream
  std::function<Primitive<3>(const std::array<double, 3> &point)> far_state;
};

// Collective. Reads -flow_mach, -flow_angle, -flow_reynolds, -flow_area, -flow_order, -flow_limiter
// and -flow_units, which is none or si.
PetscErrorCode ReadConditions(Conditions *conditions);

struct Forces {
  double lift = 0.0, drag = 0.0; // coefficients, relative to dynamic pressure times area
};

// The loops of the solver run where the vectors of the mesh live: on a CUDA device with
// -dm_vec_type cuda, else on the cores of a rank.
template <int dim> class Solver {
public:
  static constexpr int bs = dim + 2;

  Solver(const Mesh &mesh, const Conditions &conditions);
  PetscErrorCode destroy();

  const Mesh &mesh() const { return mesh_; }
  Primitive<dim> free_stream() const { return scheme_.free_stream; }
  // Sets U to the free stream, or to the far state if one is given. A viscous flow rests on walls.
  PetscErrorCode fill_free_stream(Vec U) const;
  // Chooses the order of the residuals that follow. Conditions::second_order is the first choice.
  void set_second_order(bool second_order) { scheme_.second_order = second_order; }
  // Keeps the limiter's shares of the last residual from now on.
  void freeze_limiter() { scheme_.frozen = true; }
  // Collective. Computes the net flux out of every cell. On walls of a viscous flow, the equation
  // "momentum = 0" replaces the balance of momentum.
  PetscErrorCode residual(Vec U, Vec R);
  // Computes the exact derivatives of the first-order residual, plus shift times the wave areas on
  // the diagonal, but for the momentum of a viscous flow on walls. J is a matrix of
  // create_jacobian().
  PetscErrorCode create_jacobian(Mat *J);
  PetscErrorCode jacobian(Vec U, double shift, Mat J);
  // Adds shift times the wave areas times (U - before) to F, which is the last residual and that of
  // U. The momentum of a viscous flow on walls has no time term.
  PetscErrorCode add_time_term(double shift, Vec U, Vec before, Vec F);
  // Collective. Sets share to 1, or halves it until the step leaves density and pressure positive
  // by a margin.
  PetscErrorCode longest_step(Vec U, Vec step, double *share);
  // Waits until all that was started has been computed, for measurements of time.
  PetscErrorCode wait();
  // The functions below use the flow of the last residual.

  // Computes the wave areas: for each cell, the sum of wave speed times area over its faces. This
  // is the cell's volume divided by the time step of CFL number 1.
  PetscErrorCode stabilize();
  PetscErrorCode forces(Forces *forces);
  // Collective. Writes the coefficients of pressure and, in a viscous flow, of friction on the
  // walls, with a line "x,y[,z],cp[,cf]" for each face.
  PetscErrorCode write_walls(const char *file);

private:
  Primitive<dim> far_state(const std::array<double, 3> &point) const;
  PetscErrorCode set_up(); // makes loops_ and gradients_, once
  PetscErrorCode load(Vec U);
  PetscErrorCode find_gradients();
  PetscErrorCode create_halo();
  // Takes the values of other ranks' cells in a local vector of gradients from their owners.
  PetscErrorCode exchange(Vec gradients) const;
  double dynamic_pressure() const; // of the free stream
  // Addresses of a vector's values where the loops run.
  PetscErrorCode read(Vec v, const double **values) const;
  PetscErrorCode restore_read(Vec v, const double **values) const;
  PetscErrorCode write(Vec v, double **values) const;
  PetscErrorCode restore_write(Vec v, double **values) const;
  // The gradients of the last residual of second order. Null: first order
  PetscErrorCode read_gradients(const double **gradients) const;
  PetscErrorCode restore_gradients(const double **gradients) const;
  bool keeps_unlimited() const { return scheme_.viscosity.on() && scheme_.second_order; }

  const Mesh &mesh_;
  const Conditions conditions_;
  Scheme<dim> scheme_;
  Rows<bs> rows_;
  std::unique_ptr<Loops<dim>> loops_;
  bool on_device_ = false;
  // Local vectors. unlimited_: gradients without the limiter, for viscous terms
  Vec gradients_ = nullptr, unlimited_ = nullptr;
  PetscSF halo_ = nullptr; // from owners to local vectors of gradients. Null: one rank
};

} // namespace flow
