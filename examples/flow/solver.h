// This header declares the residual of the Euler equations on a mesh, and the Jacobian of the
// residual's first-order part.
#pragma once

#include <petscsnes.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "euler.h"
#include "mesh.h"
#include "rows.h"

namespace flow {

struct Conditions {
  double mach = 0.8, angle = 1.25;           // of the free stream; degrees, from x towards y
  double rho = 1.0, pressure = 1.0 / kGamma; // of the free stream; these give a speed of sound of 1
  double area = 1.0;                         // of reference, for the coefficients of forces
  bool second_order = true;
  double limiter = 5.0; // K of Venkatakrishnan's limiter; negative: no limiter
  // The state outside at a point of the far field. Empty: the free stream
  std::function<Primitive<3>(const std::array<double, 3> &point)> far_state;
};

// Collective. Reads -flow_mach, -flow_angle, -flow_area, -flow_order, -flow_limiter and
// -flow_units, which is none or si.
PetscErrorCode ReadConditions(Conditions *conditions);

struct Forces {
  double lift = 0.0, drag = 0.0; // coefficients, relative to dynamic pressure times area
};

template <int dim> class Solver {
public:
  static constexpr int bs = dim + 2;

  Solver(const Mesh &mesh, const Conditions &conditions);

  const Mesh &mesh() const { return mesh_; }
  Primitive<dim> free_stream() const { return free_stream_; }
  // Sets U to the free stream, or to the far state if one is given.
  PetscErrorCode fill_free_stream(Vec U) const;
  // Chooses the order of the residuals that follow. Conditions::second_order is the first choice.
  void set_second_order(bool second_order);
  // Keeps the limiter's shares of the last residual from now on.
  void freeze_limiter() { frozen_ = true; }
  // Collective. Computes the net flux out of every cell.
  PetscErrorCode residual(Vec U, Vec R);
  // Computes the exact derivatives of the first-order residual, plus shift times wave_areas() on
  // the diagonal. J is a matrix of create_jacobian().
  PetscErrorCode create_jacobian(Mat *J) const { return rows_.create(J); }
  PetscErrorCode jacobian(Vec U, double shift, Mat J);
  // Collective. Sets share to 1, or halves it until the step leaves density and pressure positive
  // by a margin.
  PetscErrorCode longest_step(Vec U, Vec step, double *share) const;
  // The functions below use the flow of the last residual.

  // Computes wave_areas(): for each cell, the sum of wave speed times area over its faces. This is
  // the cell's volume divided by the time step of CFL number 1.
  void stabilize();
  const std::vector<double> &wave_areas() const { return wave_areas_; }
  PetscErrorCode forces(Forces *forces) const;
  // Collective. Writes the pressure coefficient on the walls, with a line "x,y[,z],cp" for each
  // face.
  PetscErrorCode write_walls(const char *file) const;

private:
  using Gradient = std::array<Vector<dim>, bs>; // of density, velocity, pressure
  using Matrix = std::array<Vector<dim>, dim>;
  // A rank's own vertex on a plane of symmetry.
  struct Symmetric {
    PetscInt cell;
    Vector<dim> normal, steps; // of the plane; the sum of weighted steps to the neighbors
  };

  Primitive<dim> far_state(const std::array<double, 3> &point) const;
  PetscErrorCode load(Vec U); // sets w_
  void factor();
  PetscErrorCode find_gradients();
  PetscErrorCode exchange_gradients();
  Vector<dim> weighted_step(const Face &face) const;
  static void add_mirrored(const Vector<dim> &normal, Matrix *matrix);
  void add_mirrored(const Symmetric &at, Gradient *sums) const;
  using Range = std::array<std::array<double, bs>, 2>; // least and largest value around a cell
  void find_shares(const std::vector<Range> &ranges);
  Primitive<dim> at(PetscInt cell, const Vector<dim> &point) const;
  double wall_pressure(const Face &face) const;
  double dynamic_pressure() const; // of the free stream

  // Density, velocity and pressure as a list.
  static std::array<double, bs> list(const Primitive<dim> &w)
  {
    std::array<double, bs> q;
    q[0] = w.rho;
    std::copy_n(w.u.begin(), dim, q.begin() + 1);
    q[dim + 1] = w.p;
    return q;
  }
  static Primitive<dim> from_list(const std::array<double, bs> &q)
  {
    Primitive<dim> w;
    w.rho = q[0];
    std::copy_n(q.begin() + 1, dim, w.u.begin());
    w.p = q[dim + 1];
    return w;
  }
  static Vector<dim> vector(const std::array<double, 3> &v)
  {
    Vector<dim> result;
    std::copy_n(v.begin(), dim, result.begin());
    return result;
  }
  Vector<dim> center(PetscInt cell) const { return vector(mesh_.cells[cell].center); }
  // Extrapolates a cell's state linearly to a point.
  std::array<double, bs> linear(PetscInt cell, const Vector<dim> &point) const
  {
    std::array<double, bs> q = list(w_[cell]);
    const Vector<dim> from = center(cell);
    for (int k = 0; k < bs; ++k)
      for (int d = 0; d < dim; ++d) q[k] += gradients_[cell][k][d] * (point[d] - from[d]);
    return q;
  }

  const Mesh &mesh_;
  const Conditions conditions_;
  Primitive<dim> free_stream_;
  std::vector<Symmetric> symmetric_;
  // All of these have an entry for each local cell.
  std::vector<Matrix> factors_;   // Cholesky factors of the least squares, for a rank's own cells
  std::vector<Primitive<dim>> w_; // states
  std::vector<Gradient> gradients_;
  std::vector<double> wave_areas_;
  std::vector<std::array<double, bs>> shares_; // shares of the gradients that the limiter leaves
  std::vector<double> rooms_;                  // (K h)^3 of the limiter
  Rows<bs> rows_;
  bool second_order_, frozen_ = false;
};

} // namespace flow
