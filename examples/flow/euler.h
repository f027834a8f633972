// This header defines the compressible Euler equations of a perfect gas: states, and fluxes through
// faces. The functions take any type T of numbers, for example flow::Dual, and mix numbers with and
// without derivatives.
#pragma once

#include <array>
#include <cmath>

#include "space.h"

namespace flow {

constexpr double kGamma = 1.4; // ratio of specific heats

// Conserved variables of a cell: mass, momentum and total energy, each per volume.
template <int dim, class T = double> using State = std::array<T, dim + 2>;
template <int dim> using Vector = std::array<double, dim>;

// Density, velocity and pressure.
template <int dim, class T = double> struct Primitive {
  T rho;
  std::array<T, dim> u;
  T p;
};

template <int dim, class T> FLOW_HD Primitive<dim, T> primitive(const State<dim, T> &U)
{
  Primitive<dim, T> w;
  T kinetic = 0.0;
  w.rho = U[0];
  for (int d = 0; d < dim; ++d) {
    w.u[d] = U[1 + d] / w.rho;
    kinetic = kinetic + 0.5 * (U[1 + d] * w.u[d]);
  }
  w.p = (kGamma - 1.0) * (U[dim + 1] - kinetic);
  return w;
}

template <int dim, class T> FLOW_HD State<dim, T> conserved(const Primitive<dim, T> &w)
{
  State<dim, T> U;
  T kinetic = 0.0;
  U[0] = w.rho;
  for (int d = 0; d < dim; ++d) {
    U[1 + d] = w.rho * w.u[d];
    kinetic = kinetic + 0.5 * (U[1 + d] * w.u[d]);
  }
  U[dim + 1] = w.p / (kGamma - 1.0) + kinetic;
  return U;
}

template <int dim, class T> FLOW_HD T dot(const std::array<T, dim> &u, const Vector<dim> &n)
{
  T sum = 0.0;
  for (int d = 0; d < dim; ++d) sum = sum + u[d] * n[d];
  return sum;
}

template <int dim, class T> FLOW_HD T sound_speed(const Primitive<dim, T> &w)
{
  using std::sqrt;
  return sqrt(kGamma * w.p / w.rho);
}

// The flux through a face with unit normal n. U: the conserved variables of w
template <int dim, class T>
FLOW_HD State<dim, T> flux(const Primitive<dim, T> &w, const State<dim, T> &U, const Vector<dim> &n)
{
  const T un = dot<dim, T>(w.u, n);
  State<dim, T> F;
  F[0] = U[0] * un;
  for (int d = 0; d < dim; ++d) F[1 + d] = U[1 + d] * un + w.p * n[d];
  F[dim + 1] = (U[dim + 1] + w.p) * un;
  return F;
}

// The flux through a wall with unit normal n.
template <int dim, class T> FLOW_HD State<dim, T> wall_flux(const T &p, const Vector<dim> &n)
{
  State<dim, T> F;
  F[0] = F[dim + 1] = 0.0;
  for (int d = 0; d < dim; ++d) F[1 + d] = p * n[d];
  return F;
}

// |a|, smoothed where |a| is below width. The kink of |a| at zero would let expansion shocks stand
// (Harten 1983).
template <class T> FLOW_HD T smooth_abs(const T &a, const T &width)
{
  using std::abs;
  const T magnitude = abs(a);
  return magnitude < width ? 0.5 * (a * a / width + width) : magnitude;
}

// Roe's flux (J. Comput. Phys. 43, 1981) through a face. Its unit normal n points from left to
// right. L, R: numbers on both sides
template <int dim, class L, class R>
FLOW_HD auto roe_flux(const Primitive<dim, L> &l, const Primitive<dim, R> &r, const Vector<dim> &n)
{
  using T = decltype(l.rho * r.rho);
  using std::sqrt;
  constexpr double kWidth = 0.1; // width of the entropy fix, in speeds of sound
  const State<dim, L> Ul = conserved<dim, L>(l);
  const State<dim, R> Ur = conserved<dim, R>(r);
  const T weight = sqrt(r.rho / l.rho), share = 1.0 / (1.0 + weight);
  const L Hl = (Ul[dim + 1] + l.p) / l.rho;
  const R Hr = (Ur[dim + 1] + r.p) / r.rho;
  const T rho = l.rho * weight, H = (Hl + weight * Hr) * share;
  std::array<T, dim> u, du;
  T q2 = 0.0, u_du = 0.0;
  for (int d = 0; d < dim; ++d) {
    u[d] = (l.u[d] + weight * r.u[d]) * share;
    du[d] = r.u[d] - l.u[d];
    q2 = q2 + u[d] * u[d];
    u_du = u_du + u[d] * du[d];
  }
  const T c = sqrt((kGamma - 1.0) * (H - 0.5 * q2)), un = dot<dim, T>(u, n),
          dun = dot<dim, T>(du, n);
  const T drho = r.rho - l.rho, dp = r.p - l.p, width = kWidth * c;
  const T slow = smooth_abs<T>(un - c, width) * (dp - rho * c * dun) / (2.0 * c * c);
  const T fast = smooth_abs<T>(un + c, width) * (dp + rho * c * dun) / (2.0 * c * c);
  const T speed = smooth_abs<T>(un, width);
  const T entropy = speed * (drho - dp / (c * c)), shear = speed * rho;
  const State<dim, L> Fl = flux<dim, L>(l, Ul, n);
  const State<dim, R> Fr = flux<dim, R>(r, Ur, n);
  State<dim, T> F;
  F[0] = 0.5 * (Fl[0] + Fr[0] - (slow + entropy + fast));
  for (int d = 0; d < dim; ++d)
    F[1 + d] = 0.5 * (Fl[1 + d] + Fr[1 + d] -
                      (slow * (u[d] - c * n[d]) + entropy * u[d] + shear * (du[d] - dun * n[d]) +
                       fast * (u[d] + c * n[d])));
  F[dim + 1] = 0.5 * (Fl[dim + 1] + Fr[dim + 1] -
                      (slow * (H - c * un) + entropy * (0.5 * q2) + shear * (u_du - un * dun) +
                       fast * (H + c * un)));
  return F;
}

} // namespace flow
