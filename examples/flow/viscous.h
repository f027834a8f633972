// This header defines the viscous terms of the Navier-Stokes equations of a perfect gas with
// constant viscosity: fluxes of momentum and energy through faces. Functions of states take any
// type T of numbers, as in euler.h.
#pragma once

#include "euler.h"

namespace flow {

constexpr double kPrandtl = 0.72;

struct Viscosity {
  double dynamic = 0.0; // 0: the Euler equations

  FLOW_HD bool on() const { return dynamic > 0.0; }
  // Heat flows by this number times the gradient of pressure over density.
  FLOW_HD double conductivity() const { return dynamic * kGamma / ((kGamma - 1.0) * kPrandtl); }
};

// Gradients of the velocity's components, and of pressure over density.
template <int dim> struct ViscousGradient {
  std::array<Vector<dim>, dim> u;
  Vector<dim> heat;
};

// What viscosity does through a face with unit normal n, per area: the stress on the side that n
// leaves, and the heat that flows to this side.
template <int dim, class T = double> struct Traction {
  std::array<T, dim> stress;
  T heat;
};

// The traction of given gradients.
template <int dim>
FLOW_HD Traction<dim> traction(const ViscousGradient<dim> &gradient, const Viscosity &viscosity,
                               const Vector<dim> &n)
{
  Traction<dim> result;
  double divergence = 0.0;
  for (int d = 0; d < dim; ++d) divergence += gradient.u[d][d];
  for (int i = 0; i < dim; ++i) {
    double sum = -2.0 / 3.0 * divergence * n[i];
    for (int j = 0; j < dim; ++j) sum += (gradient.u[i][j] + gradient.u[j][i]) * n[j];
    result.stress[i] = viscosity.dynamic * sum;
  }
  result.heat = viscosity.conductivity() * dot<dim, double>(gradient.heat, n);
  return result;
}

// The traction of gradients along the edge from l to r. They are the differences of l and r over
// the edge's length. step: from l to r. L, R: numbers on both sides
template <int dim, class L, class R>
FLOW_HD auto edge_traction(const Primitive<dim, L> &l, const Primitive<dim, R> &r,
                           const Viscosity &viscosity, const Vector<dim> &step,
                           const Vector<dim> &n)
{
  using T = decltype(l.rho * r.rho);
  const double inverse = 1.0 / dot<dim, double>(step, step),
               across = dot<dim, double>(step, n) * inverse;
  Traction<dim, T> result;
  std::array<T, dim> change;
  for (int d = 0; d < dim; ++d) change[d] = r.u[d] - l.u[d];
  const T outward = inverse * dot<dim, T>(change, n),
          divergence = (2.0 / 3.0 * inverse) * dot<dim, T>(change, step);
  for (int d = 0; d < dim; ++d)
    result.stress[d] =
        viscosity.dynamic * (change[d] * across + outward * step[d] - divergence * n[d]);
  result.heat = (viscosity.conductivity() * across) * (r.p / r.rho - l.p / l.rho);
  return result;
}

// Removes the gradients' components along an edge.
template <int dim>
FLOW_HD void remove_along(const Vector<dim> &step, ViscousGradient<dim> *gradient)
{
  const double inverse = 1.0 / dot<dim, double>(step, step);
  const auto remove = [&](Vector<dim> *g) {
    const double along = dot<dim, double>(*g, step) * inverse;
    for (int d = 0; d < dim; ++d) (*g)[d] -= along * step[d];
  };
  for (Vector<dim> &g : gradient->u) remove(&g);
  remove(&gradient->heat);
}

// The viscous flux through a face where the velocity is u. It adds to the flux of euler.h.
template <int dim, class T>
FLOW_HD State<dim, T> viscous_flux(const Traction<dim, T> &traction, const std::array<T, dim> &u)
{
  State<dim, T> F;
  T energy = traction.heat;
  F[0] = 0.0;
  for (int d = 0; d < dim; ++d) {
    energy = energy + u[d] * traction.stress[d];
    F[1 + d] = -traction.stress[d];
  }
  F[dim + 1] = -energy;
  return F;
}

template <int dim, class L, class R>
FLOW_HD auto mean_velocity(const Primitive<dim, L> &l, const Primitive<dim, R> &r)
{
  std::array<decltype(l.rho * r.rho), dim> u;
  for (int d = 0; d < dim; ++d) u[d] = 0.5 * (l.u[d] + r.u[d]);
  return u;
}

// How fast viscosity and heat smooth differences between neighbors, at most: a speed. distance:
// between the neighbors. least: the smaller density of them
FLOW_HD inline double viscous_speed(const Viscosity &viscosity, double least, double distance)
{
  constexpr double kHeat = kGamma / kPrandtl, kStress = 4.0 / 3.0;
  return (kHeat > kStress ? kHeat : kStress) * viscosity.dynamic / (least * distance);
}

} // namespace flow
