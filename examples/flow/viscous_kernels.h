// This header defines the viscous part of what is computed at a cell or at a face. It follows the
// rules of kernels.h.
#pragma once

#include "kernels.h"

namespace flow {

// The gradients of a cell that viscous terms need.
template <int dim>
FLOW_HD ViscousGradient<dim> viscous_gradient(const Primitive<dim> &w, const Gradient<dim> &from)
{
  ViscousGradient<dim> result;
  for (int i = 0; i < dim; ++i) result.u[i] = from[1 + i];
  for (int d = 0; d < dim; ++d)
    result.heat[d] = (from[dim + 1][d] - w.p / w.rho * from[0][d]) / w.rho;
  return result;
}

// The traction between two cells. The mean of both cells' gradients lacks the differences between
// neighbors, which must damp oscillations. So these differences replace it along the edge.
template <int dim>
FLOW_HD Traction<dim> inner_traction(const View<dim> &v, const Ends &ends,
                                     const Viscosity &viscosity, const Vector<dim> &n)
{
  const Vector<dim> step = minus<dim>(v.centers[ends.right], v.centers[ends.left]);
  const Primitive<dim> &left = v.w[ends.left], &right = v.w[ends.right];
  Traction<dim> sum = edge_traction<dim>(left, right, viscosity, step, n);
  if (!v.unlimited) return sum;
  ViscousGradient<dim> mean = viscous_gradient<dim>(left, v.unlimited[ends.left]);
  const ViscousGradient<dim> other = viscous_gradient<dim>(right, v.unlimited[ends.right]);
  for (int d = 0; d < dim; ++d) {
    for (int i = 0; i < dim; ++i) mean.u[i][d] = 0.5 * (mean.u[i][d] + other.u[i][d]);
    mean.heat[d] = 0.5 * (mean.heat[d] + other.heat[d]);
  }
  remove_along<dim>(step, &mean);
  const Traction<dim> rest = traction<dim>(mean, viscosity, n);
  for (int d = 0; d < dim; ++d) sum.stress[d] += rest.stress[d];
  sum.heat += rest.heat;
  return sum;
}

// Adds the viscous flux through a face. Walls are adiabatic, and their vertices do not move: there
// is none.
template <int dim>
FLOW_HD void add_viscous_flux(const View<dim> &v, std::size_t f, const Viscosity &viscosity)
{
  const Ends ends = v.ends[f];
  const Surface<dim> surface = v.surfaces[f];
  const Vector<dim> &n = surface.normal;
  const Primitive<dim> &left = v.w[ends.left];
  State<dim> F;
  if (ends.boundary == kInside) {
    F = viscous_flux<dim, double>(inner_traction<dim>(v, ends, viscosity, n),
                                  mean_velocity<dim>(left, v.w[ends.right]));
  } else {
    if (!v.unlimited || ends.boundary == kWall) return;
    Traction<dim> at =
        traction<dim>(viscous_gradient<dim>(left, v.unlimited[ends.left]), viscosity, n);
    if (ends.boundary == kSymmetry) { // nothing passes, and no force acts along the plane
      const double normal = dot<dim, double>(at.stress, n);
      for (int d = 0; d < dim; ++d) at.stress[d] = normal * n[d];
      F = viscous_flux<dim, double>({at.stress, 0.0}, Vector<dim>{});
    } else {
      F = viscous_flux<dim, double>(at, left.u);
    }
  }
  for (int k = 0; k < dim + 2; ++k) v.fluxes[f][k] += surface.area * F[k];
}

// The stress on the body at a face of a wall. It needs no gradients in memory, so it is there in
// first order, too.
template <int dim>
FLOW_HD Vector<dim> wall_stress(const View<dim> &v, int face, const Viscosity &viscosity)
{
  const int cell = v.ends[face].left;
  const Gradient<dim> slopes = find_slopes<dim, dim + 2>(v, cell, 0).gradient;
  Vector<dim> stress =
      traction<dim>(viscous_gradient<dim>(v.w[cell], slopes), viscosity, v.surfaces[face].normal)
          .stress;
  for (double &s : stress) s = -s; // the body is where the normal points to
  return stress;
}

// The friction at a face of a wall: the part of the stress along the wall, negative where it points
// against the free stream.
template <int dim>
FLOW_HD double wall_friction(const View<dim> &v, int face, const Scheme<dim> &scheme)
{
  const Vector<dim> &n = v.surfaces[face].normal;
  Vector<dim> stress = wall_stress<dim>(v, face, scheme.viscosity);
  const double normal = dot<dim, double>(stress, n);
  for (int d = 0; d < dim; ++d) stress[d] -= normal * n[d];
  const double size = std::sqrt(dot<dim, double>(stress, stress));
  return dot<dim, double>(stress, scheme.free_stream.u) < 0.0 ? -size : size;
}

// What the momentum of a vertex on a wall is multiplied with, where the equation "momentum = 0"
// replaces the balance of momentum. The equation is then about as large as the balance. The number
// does not depend on the flow, so that the equation is linear.
template <int dim>
FLOW_HD double hold_factor(const View<dim> &v, int c, const Primitive<dim> &free_stream)
{
  double area = 0.0;
  for (int s = v.begin[c]; s < v.begin[c + 1]; ++s) area += v.surfaces[v.sides[s].face()].area;
  return area * sound_speed<dim, double>(free_stream);
}

// Replaces the rows of a wall vertex's momentum along axis d in the Jacobian.
template <int dim>
FLOW_HD void hold_row(const View<dim> &v, int c, int d, double factor, double *values)
{
  const BlockRow<dim> row(v, values, v.row[c]);
  double *to = row.at(0, 1 + d, 0);
  for (std::int64_t k = 0; k < row.length; ++k) to[k] = 0.0;
  *row.at(v.diagonal[c], 1 + d, 1 + d) = factor;
}

// The share of viscosity in the wave area of a cell.
template <int dim>
FLOW_HD double viscous_area(const View<dim> &v, int c, const Viscosity &viscosity)
{
  double sum = 0.0;
  for (int s = v.begin[c]; s < v.begin[c + 1]; ++s) {
    const Side side = v.sides[s];
    if (side.neighbor < 0) continue;
    const Vector<dim> step = minus<dim>(v.centers[side.neighbor], v.centers[c]);
    sum += v.surfaces[side.face()].area *
           viscous_speed(viscosity, std::min(v.w[c].rho, v.w[side.neighbor].rho),
                         std::sqrt(dot<dim, double>(step, step)));
  }
  return sum;
}

// Adds the derivatives of all viscous fluxes of a cell, of gradients along edges only, to what
// set_columns() has set.
template <int dim, int n>
FLOW_HD void add_viscous_columns(const View<dim> &v, int c, int first, const Viscosity &viscosity,
                                 double *values)
{
  using Number = Dual<n>;
  const Primitive<dim, Number> inner = variable_state<dim, n>(v, c, first);
  const auto add = [&](int row, int place, double area, const State<dim, Number> &F) {
    const BlockRow<dim> to(v, values, row);
    for (int a = 0; a < dim + 2; ++a)
      for (int i = 0; i < n; ++i) to.at(place, a, first)[i] += area * F[a].slope[i];
  };
  for (int s = v.begin[c]; s < v.begin[c + 1]; ++s) {
    const Side side = v.sides[s];
    if (side.neighbor < 0) continue;
    const Surface<dim> surface = v.surfaces[side.face()];
    const Vector<dim> out = outward<dim>(surface, side);
    const Primitive<dim> &neighbor = v.w[side.neighbor];
    const Vector<dim> step = minus<dim>(v.centers[side.neighbor], v.centers[c]);
    const State<dim, Number> F =
        viscous_flux<dim, Number>(edge_traction<dim>(inner, neighbor, viscosity, step, out),
                                  mean_velocity<dim>(inner, neighbor));
    const int place = v.couplings[s].place;
    if (place >= 0) add(v.row[side.neighbor], place, -surface.area, F);
    if (v.row[c] >= 0) add(v.row[c], v.diagonal[c], surface.area, F);
  }
}

} // namespace flow
