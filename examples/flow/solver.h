// The residual of the Euler equations on a mesh, and the Jacobian of its first-order part.
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
  double mach = 0.8, angle = 1.25;           // degrees
  double rho = 1.0, pressure = 1.0 / kGamma; // of the free stream: speed of sound 1
  double area = 1.0;                         // of reference
  bool second_order = true;
  double limiter = 5.0; // K of Venkatakrishnan; negative: no limiter
  // What flows in at a point of the far field; empty: the free stream
  std::function<Primitive<3>(const std::array<double, 3> &point)> far_state;
};

// -flow_mach, -flow_angle (degrees, from x towards y), -flow_area (of reference), -flow_order,
// -flow_limiter, -flow_units none | si. Collective
PetscErrorCode ReadConditions(Conditions *conditions);

struct Forces {
  double lift = 0.0, drag = 0.0; // coefficients
};

template <int dim> class Solver {
public:
  static constexpr int bs = dim + 2;

  Solver(const Mesh &mesh, const Conditions &conditions);

  const Mesh &mesh() const { return mesh_; }
  Primitive<dim> free_stream() const { return free_stream_; }
  PetscErrorCode fill_free_stream(Vec U) const; // or the far state, where one is given
  // For the residuals that follow; conditions give the first one
  void set_second_order(bool second_order);
  // Limit no longer by the flow but as the last residual did
  void freeze_limiter() { frozen_ = true; }
  // Net flux out of every cell. Collective
  PetscErrorCode residual(Vec U, Vec R);
  // Derivatives of the first-order residual, exact, plus shift times what stabilize() has found. J
  // is one of create_jacobian()
  PetscErrorCode create_jacobian(Mat *J) const { return rows_.create(J); }
  PetscErrorCode jacobian(Vec U, double shift, Mat J);
  // The largest share of a step that leaves density and pressure positive, by a margin
  PetscErrorCode longest_step(Vec U, Vec step, double *share) const;
  // The rest belongs to the flow whose residual was found last.
  // Sum of wave speed times area over the faces of each cell: volume over a time step of CFL number
  // 1
  void stabilize();
  const std::vector<double> &wave_areas() const { return wave_areas_; }
  PetscErrorCode forces(Forces *forces) const;
  // Pressure coefficient on the walls: a line "x,y[,z],cp" each. Collective
  PetscErrorCode write_walls(const char *file) const;

private:
  using Gradient = std::array<Vector<dim>, bs>; // of density, velocity, pressure
  using Matrix = std::array<Vector<dim>, dim>;
  // A rank's own vertex on a plane of symmetry, with the plane's normal
  struct Symmetric {
    PetscInt cell;
    Vector<dim> normal, steps; // sum of weighted steps to its neighbors
  };

  Primitive<dim> far_state(const std::array<double, 3> &point) const;
  PetscErrorCode load(Vec U); // primitives of all local cells
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
  std::array<double, bs> linear(PetscInt cell, const Vector<dim> &point) const // extrapolated
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
  std::vector<Matrix> factors_; // of a rank's own cells' least squares
  std::vector<Primitive<dim>> w_;
  std::vector<Gradient> gradients_;
  std::vector<double> wave_areas_;
  std::vector<std::array<double, bs>> shares_; // of the gradients, that the limiter leaves
  std::vector<double> rooms_;                  // (K h)^3 of the limiter
  Rows<bs> rows_;
  bool second_order_, frozen_ = false;
};

} // namespace flow
