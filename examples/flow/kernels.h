// This header defines what is computed at a cell or at a face of the mesh. The functions run on
// cores and on devices. A function writes only to its own cell or face, and takes neighbors in a
// fixed order. So results do not depend on the number of threads.
#pragma once

#include <algorithm>

#include "dual.h"
#include "geometry.h"
#include "viscous.h"

namespace flow {

// Gradients of density, velocity and pressure.
template <int dim> using Gradient = std::array<Vector<dim>, dim + 2>;

// How residuals are computed.
template <int dim> struct Scheme {
  Primitive<dim> free_stream;
  bool second_order = true, limited = true;
  bool frozen = false; // the limiter keeps the shares of gradients that it has found last
  Viscosity viscosity;
};

// Addresses of all that the functions read and write. Arrays without another size have an entry for
// each local cell.
template <int dim> struct View {
  static constexpr int bs = dim + 2;

  // as in Arrays
  const Ends *ends;
  const Surface<dim> *surfaces;
  const Vector<dim> *middles;
  const int *mine, *walls, *held;
  const Side *sides;
  const Coupling *couplings;
  const int *begin, *mirror, *row, *diagonal;
  const std::int64_t *row_begin;
  const Symmetric<dim> *symmetric;
  const Vector<dim> *centers;
  const Matrix<dim> *factors;
  const double *lengths3;
  const Primitive<dim> *outside;
  // the flow
  Primitive<dim> *w;
  State<dim> *shares;       // shares of the gradients that the limiter leaves
  double *waves;            // see Solver::stabilize()
  State<dim> *fluxes;       // for each face, times its area
  Gradient<dim> *gradients; // null: the solver is of first order
  // Gradients before the limiter, for viscous terms. Null: first order, or nobody needs them
  Gradient<dim> *unlimited;
};

// Density, velocity and pressure as a list.
template <int dim> FLOW_HD State<dim> list(const Primitive<dim> &w)
{
  State<dim> q;
  q[0] = w.rho;
  for (int d = 0; d < dim; ++d) q[1 + d] = w.u[d];
  q[dim + 1] = w.p;
  return q;
}

template <int dim> FLOW_HD Primitive<dim> from_list(const State<dim> &q)
{
  Primitive<dim> w;
  w.rho = q[0];
  for (int d = 0; d < dim; ++d) w.u[d] = q[1 + d];
  w.p = q[dim + 1];
  return w;
}

// Component k of density, velocity and pressure.
template <int dim> FLOW_HD double component(const Primitive<dim> &w, int k)
{
  return k == 0 ? w.rho : k <= dim ? w.u[k - 1] : w.p;
}

// The state of a cell at a point. It is the cell's own state in a solver of first order, or if the
// extrapolated density or pressure is near zero.
template <int dim> FLOW_HD Primitive<dim> at(const View<dim> &v, int cell, const Vector<dim> &point)
{
  constexpr double kLeast = 0.1; // share of density and pressure that must be left
  const Primitive<dim> &w = v.w[cell];
  if (!v.gradients) return w;
  const Vector<dim> step = minus<dim>(point, v.centers[cell]);
  State<dim> q = list<dim>(w);
  for (int k = 0; k < dim + 2; ++k) q[k] += dot<dim, double>(v.gradients[cell][k], step);
  return q[0] < kLeast * w.rho || q[dim + 1] < kLeast * w.p ? w : from_list<dim>(q);
}

// Adds the mirror images of the neighbors of a vertex on a plane of symmetry to the sums of
// differences.
template <int dim>
FLOW_HD void add_mirrored(const Symmetric<dim> &at, const Vector<dim> &velocity,
                          Gradient<dim> *sums)
{
  const Vector<dim> &n = at.normal;
  const double out = dot<dim, double>(velocity, n);
  // Velocities are mirrored first: these are differences along steps that are not mirrored.
  Gradient<dim> images = *sums;
  for (int d = 0; d < dim; ++d) {
    Vector<dim> u;
    for (int i = 0; i < dim; ++i) u[i] = (*sums)[1 + i][d];
    u = mirrored<dim>(u, n);
    for (int i = 0; i < dim; ++i) images[1 + i][d] = u[i] - 2.0 * out * n[i] * at.steps[d];
  }
  for (int k = 0; k < dim + 2; ++k) {
    const Vector<dim> image = mirrored<dim>(images[k], n);
    for (int d = 0; d < dim; ++d) (*sums)[k][d] += image[d];
  }
}

// The gradients of n components of a cell, and the least and largest values around it.
template <int dim, int n> struct Slopes {
  std::array<Vector<dim>, n> gradient{};
  std::array<double, n> q, least, largest;
};

// Solves a system of equations with the factors of Arrays::factors. solution: the right-hand side,
// then x
template <int dim> FLOW_HD void solve(const Matrix<dim> &a, Vector<dim> *solution)
{
  Vector<dim> &x = *solution;
  for (int i = 0; i < dim; ++i) {
    for (int k = 0; k < i; ++k) x[i] -= a[i][k] * x[k];
    x[i] *= a[i][i];
  }
  for (int i = dim - 1; i >= 0; --i) {
    for (int k = i + 1; k < dim; ++k) x[i] -= a[k][i] * x[k];
    x[i] *= a[i][i];
  }
}

// Computes the slopes of components from `first` on by least squares over the vertices to which
// edges lead. A cell on a plane of symmetry needs all components.
template <int dim, int n> FLOW_HD Slopes<dim, n> find_slopes(const View<dim> &v, int c, int first)
{
  Slopes<dim, n> slopes;
  for (int i = 0; i < n; ++i)
    slopes.q[i] = slopes.least[i] = slopes.largest[i] = component<dim>(v.w[c], first + i);
  for (int s = v.begin[c]; s < v.begin[c + 1]; ++s) {
    const int neighbor = v.sides[s].neighbor;
    if (neighbor < 0) continue;
    const Vector<dim> step = weighted<dim>(minus<dim>(v.centers[neighbor], v.centers[c]));
    for (int i = 0; i < n; ++i) {
      const double there = component<dim>(v.w[neighbor], first + i);
      for (int d = 0; d < dim; ++d) slopes.gradient[i][d] += step[d] * (there - slopes.q[i]);
      slopes.least[i] = std::min(slopes.least[i], there);
      slopes.largest[i] = std::max(slopes.largest[i], there);
    }
  }
  if constexpr (n == dim + 2)
    if (v.mirror[c] >= 0) add_mirrored<dim>(v.symmetric[v.mirror[c]], v.w[c].u, &slopes.gradient);
  for (Vector<dim> &x : slopes.gradient) solve<dim>(v.factors[c], &x);
  return slopes;
}

// Finds the shares of gradients that Venkatakrishnan's limiter (AIAA 93-0880) leaves. The limiter
// looks at the middles of edges. It leaves gradients whole where the squares of differences are
// small beside (K h)^3, in units of the free stream.
template <int dim, int n>
FLOW_HD std::array<double, n> find_shares(const View<dim> &v, int c, int first,
                                          const Slopes<dim, n> &slopes,
                                          const Primitive<dim> &free_stream)
{
  // The least share is kept as a fraction, because divisions take most of the time. Fractions are
  // compared by products of fourth powers of differences. These must stay in range, which states in
  // any usual units do.
  std::array<double, n> above, below, eps2;
  for (int i = 0; i < n; ++i) {
    const int k = first + i;
    const double unit = k == 0     ? free_stream.rho
                        : k <= dim ? sound_speed<dim, double>(free_stream)
                                   : kGamma * free_stream.p;
    above[i] = below[i] = 1.0;
    eps2[i] = v.lengths3[c] * unit * unit;
  }
  for (int s = v.begin[c]; s < v.begin[c + 1]; ++s) {
    if (v.sides[s].neighbor < 0) continue;
    const Vector<dim> step = minus<dim>(v.middles[v.sides[s].face()], v.centers[c]);
    for (int i = 0; i < n; ++i) {
      const double change = dot<dim, double>(slopes.gradient[i], step);
      if (change == 0.0) continue;
      const double room = (change > 0.0 ? slopes.largest[i] : slopes.least[i]) - slopes.q[i];
      const double share_above = room * room + eps2[i] + 2.0 * change * room,
                   share_below = room * room + 2.0 * change * change + room * change + eps2[i];
      if (share_above * below[i] < above[i] * share_below) {
        above[i] = share_above;
        below[i] = share_below;
      }
    }
  }
  std::array<double, n> shares;
  for (int i = 0; i < n; ++i) shares[i] = above[i] / below[i];
  return shares;
}

// Sets the gradients of n components of a cell, as far as the limiter leaves them. keep: set
// View::unlimited, too
template <int dim, int n, bool keep>
FLOW_HD void set_gradient(const View<dim> &v, int c, int first, const Scheme<dim> &scheme)
{
  Slopes<dim, n> slopes = find_slopes<dim, n>(v, c, first);
  if constexpr (keep)
    for (int i = 0; i < n; ++i) v.unlimited[c][first + i] = slopes.gradient[i];
  if (scheme.limited) {
    if (!scheme.frozen) {
      const auto shares = find_shares<dim, n>(v, c, first, slopes, scheme.free_stream);
      for (int i = 0; i < n; ++i) v.shares[c][first + i] = shares[i];
    }
    for (int i = 0; i < n; ++i)
      for (double &slope : slopes.gradient[i]) slope *= v.shares[c][first + i];
  }
  for (int i = 0; i < n; ++i) v.gradients[c][first + i] = slopes.gradient[i];
}

// The state behind a face. right: Ends::right
template <int dim> FLOW_HD const Primitive<dim> &behind(const View<dim> &v, int right)
{
  return right >= 0 ? v.w[right] : v.outside[-1 - right];
}

template <int dim> FLOW_HD double wall_pressure(const View<dim> &v, int face)
{
  return at<dim>(v, v.ends[face].left, v.middles[face]).p;
}

// Whether the flow passes a face of this kind.
FLOW_HD inline bool is_open(int boundary)
{
  return boundary == kInside || boundary == kFarField;
}

// Sets the flux through a face.
template <int dim> FLOW_HD void set_flux(const View<dim> &v, std::size_t f)
{
  const Ends ends = v.ends[f];
  const Surface<dim> surface = v.surfaces[f];
  const Vector<dim> middle = v.middles[f];
  const Primitive<dim> left = at<dim>(v, ends.left, middle);
  State<dim> F;
  if (is_open(ends.boundary)) {
    const Primitive<dim> right =
        ends.right >= 0 ? at<dim>(v, ends.right, middle) : behind<dim>(v, ends.right);
    F = roe_flux<dim>(left, right, surface.normal);
  } else {
    F = wall_flux<dim, double>(left.p, surface.normal);
  }
  for (double &flux : F) flux *= surface.area;
  v.fluxes[f] = F;
}

// Sets n components of the net flux out of a cell.
template <int dim, int n>
FLOW_HD void set_net_flux(const View<dim> &v, int c, int first, double *net)
{
  std::array<double, n> sum{};
  for (int s = v.begin[c]; s < v.begin[c + 1]; ++s) {
    const Side side = v.sides[s];
    for (int i = 0; i < n; ++i) {
      const double flux = v.fluxes[side.face()][first + i];
      sum[i] += side.at_left() ? flux : -flux;
    }
  }
  for (int i = 0; i < n; ++i) net[i] = sum[i];
}

// The sum of wave speed times area over the faces of a cell.
template <int dim> FLOW_HD double wave_area(const View<dim> &v, int c)
{
  double sum = 0.0;
  for (int s = v.begin[c]; s < v.begin[c + 1]; ++s) {
    const Side side = v.sides[s];
    const Surface<dim> surface = v.surfaces[side.face()];
    const auto speed = [&](int cell) {
      const double un = dot<dim, double>(v.w[cell].u, surface.normal);
      return (un < 0.0 ? -un : un) + sound_speed<dim, double>(v.w[cell]);
    };
    sum +=
        surface.area * (side.neighbor >= 0 ? std::max(speed(c), speed(side.neighbor)) : speed(c));
  }
  return sum;
}

// The state of a cell as a function of n of its conserved variables, from `first` on.
template <int dim, int n>
FLOW_HD Primitive<dim, Dual<n>> variable_state(const View<dim> &v, int c, int first)
{
  const State<dim> state = conserved<dim, double>(v.w[c]);
  State<dim, Dual<n>> U;
  for (int k = 0; k < dim + 2; ++k) U[k] = Dual<n>(state[k]);
  for (int i = 0; i < n; ++i) U[first + i].slope[i] = 1.0;
  return primitive<dim, Dual<n>>(U);
}

// The unit normal of a face, as it points out of one of the face's cells.
template <int dim> FLOW_HD Vector<dim> outward(const Surface<dim> &surface, const Side &side)
{
  Vector<dim> out = surface.normal;
  if (!side.at_left())
    for (double &component : out) component = -component;
  return out;
}

// Rows of a block row of the Jacobian. The values of a block row lie as in an AIJ matrix.
template <int dim> struct BlockRow {
  double *values;      // of the first row
  std::int64_t length; // numbers in a row

  FLOW_HD BlockRow(const View<dim> &v, double *jacobian, int row)
      : values(jacobian + v.row_begin[row] * (dim + 2) * (dim + 2)),
        length((v.row_begin[row + 1] - v.row_begin[row]) * (dim + 2))
  {
  }
  // Column `column` of row a of the block at a place
  FLOW_HD double *at(int place, int a, int column) const
  {
    return values + a * length + place * (dim + 2) + column;
  }
};

// Computes the derivatives of all fluxes of a cell by some of its conserved variables: n columns of
// the Jacobian from the column `first` of the cell on. values: of the Jacobian
template <int dim, int n>
FLOW_HD void set_columns(const View<dim> &v, int c, int first, double shift, double *values)
{
  using Number = Dual<n>;
  constexpr int bs = dim + 2;
  const Primitive<dim, Number> inner = variable_state<dim, n>(v, c, first);
  const auto put = [&](int row, int place, const double(&block)[bs][n]) {
    const BlockRow<dim> to(v, values, row);
    for (int a = 0; a < bs; ++a)
      for (int i = 0; i < n; ++i) to.at(place, a, first)[i] = block[a][i];
  };
  double diagonal[bs][n] = {}, other[bs][n];
  for (int s = v.begin[c]; s < v.begin[c + 1]; ++s) {
    const Side side = v.sides[s];
    const Surface<dim> surface = v.surfaces[side.face()];
    // Seen from this cell, the flux out of it is the flux to the right. Roe's flux is the same seen
    // from both cells.
    const Vector<dim> out = outward<dim>(surface, side);
    const Coupling coupling = v.couplings[s];
    const State<dim, Number> F = is_open(coupling.boundary)
                                     ? roe_flux<dim>(inner, behind<dim>(v, side.neighbor), out)
                                     : wall_flux<dim, Number>(inner.p, out);
    for (int a = 0; a < bs; ++a)
      for (int i = 0; i < n; ++i) {
        const double slope = surface.area * F[a].slope[i];
        diagonal[a][i] += slope;
        other[a][i] = -slope;
      }
    if (coupling.place >= 0) put(v.row[side.neighbor], coupling.place, other);
  }
  if (v.row[c] < 0) return;
  for (int i = 0; i < n; ++i) diagonal[first + i][i] += shift * v.waves[c];
  put(v.row[c], v.diagonal[c], diagonal);
}

// The share of a step of a cell that leaves density and pressure positive by a margin: 1, 1/2, ...
template <int dim> FLOW_HD double longest_share(const double *u, const double *step)
{
  constexpr double kLeast = 0.3; // share of density and pressure that must be left
  State<dim> state;
  for (int k = 0; k < dim + 2; ++k) state[k] = u[k];
  const Primitive<dim> before = primitive<dim, double>(state);
  double share = 1.0;
  for (int halvings = 0; halvings < 20; ++halvings) {
    for (int k = 0; k < dim + 2; ++k) state[k] = u[k] + share * step[k];
    const Primitive<dim> after = primitive<dim, double>(state);
    if (after.rho >= kLeast * before.rho && after.p >= kLeast * before.p) break;
    share *= 0.5; // also if a value is NaN
  }
  return share;
}

} // namespace flow
