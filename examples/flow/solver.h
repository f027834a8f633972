// The residual of the Euler equations on a mesh, and the Jacobian of its first-order part.
#pragma once

#include <petscsnes.h>

#include <functional>
#include <vector>

#include "euler.h"
#include "mesh.h"

namespace flow {

struct Conditions {
  double mach = 0.8, angle = 1.25;           // degrees
  double rho = 1.0, pressure = 1.0 / kGamma; // of the free stream: speed of sound 1
  double area         = 1.0;                 // of reference
  bool   second_order = true;
  double limiter      = 10.0; // K of Venkatakrishnan; negative: no limiter
  // State at a point outside of the far field's faces, or on them; empty: the free stream
  std::function<Primitive<3>(const std::array<double, 3> &point)> far_state;
};

struct Forces {
  double lift = 0.0, drag = 0.0; // coefficients
};

template <int dim> class Solver {
public:
  static constexpr int bs = dim + 2;

  Solver(const Mesh &mesh, const Conditions &conditions);

  Primitive<dim> free_stream() const { return free_stream_; }
  PetscErrorCode fill_free_stream(Vec U) const; // or with the far state where one is given
  // Net flux out of every cell. Collective
  PetscErrorCode residual(Vec U, Vec R);
  // Derivatives of the first-order residual, exact, plus shift times what stabilize() has found
  PetscErrorCode jacobian(Vec U, double shift, Mat J);
  // The largest share of a step that leaves density and pressure positive, by a margin
  PetscErrorCode longest_step(Vec U, Vec step, double *share) const;
  // The rest belongs to the flow whose residual was found last.
  // Sum of wave speed times area over the faces of each cell: volume over a time step of CFL number 1
  void                       stabilize();
  const std::vector<double> &wave_areas() const { return wave_areas_; }
  PetscErrorCode             forces(Forces *forces) const;
  // Pressure coefficient on the walls: a line "x,y[,z],cp" each. Collective
  PetscErrorCode write_walls(const char *file) const;

private:
  using Gradient = std::array<Vector<dim>, bs>; // of density, velocity, pressure

  PetscErrorCode load(Vec U); // primitives of all local cells
  PetscErrorCode find_gradients();
  PetscErrorCode exchange_gradients();
  void           limit(PetscInt cell, const std::array<double, bs> &low, const std::array<double, bs> &high, Gradient &gradient) const;
  Primitive<dim> at(PetscInt cell, const Vector<dim> &point) const;
  double         wall_pressure(const Face &face) const;
  double         dynamic_pressure() const; // of the free stream

  static std::array<double, bs> list(const Primitive<dim> &w);
  static Primitive<dim>         from_list(const std::array<double, bs> &q);
  Vector<dim>                   center(PetscInt cell) const;
  static Vector<dim>            vector(const std::array<double, 3> &v);
  Primitive<dim>                mirrored(PetscInt cell, const Face &face) const;
  Primitive<dim>                far_state(const Vector<dim> &point) const;

  const Mesh                 &mesh_;
  const Conditions            conditions_;
  Primitive<dim>              free_stream_;
  std::vector<Primitive<dim>> w_;
  std::vector<Gradient>       gradients_;
  std::vector<double>         wave_areas_;
};

} // namespace flow
