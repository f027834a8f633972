// This header declares what the loops of the solver read of a mesh: plain arrays, which can be
// copied to a device.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "euler.h"
#include "mesh.h"
#include "rows.h"

namespace flow {

template <int dim> using Matrix = std::array<Vector<dim>, dim>;

// What belongs to a face is in several arrays, because loops read some of it only.
struct Ends {
  int left, right; // local cells. On a boundary, right is -1 - k for the k-th face of the boundary.
  int boundary;    // a Boundary
};
template <int dim> struct Surface {
  Vector<dim> normal; // of unit length, from left to right
  double area;
};

// A face as seen from one of its cells.
struct Side {
  int number;   // of the face; -1 - number if the cell is at its right
  int neighbor; // local cell behind the face; on a boundary, Ends::right

  FLOW_HD bool at_left() const { return number >= 0; }
  FLOW_HD int face() const { return at_left() ? number : -1 - number; }
};
struct Coupling {
  // The place of the cell's block in the neighbor's row of the Jacobian, in blocks; -1: the row
  // belongs to another rank
  int place;
  int boundary; // a Boundary
};

// A rank's own vertex on a plane of symmetry.
template <int dim> struct Symmetric {
  int cell;
  Vector<dim> normal, steps; // of the plane; the sum of weighted steps to the neighbors
};

// An array on the host, as a template of one parameter.
template <class T> using HostArray = std::vector<T>;

// Array: HostArray, or an array on a device.
template <int dim, template <class> class Array> struct Arrays {
  Array<Ends> ends; // of all faces, as the next two arrays
  Array<Surface<dim>> surfaces;
  Array<Vector<dim>> middles; // points where fluxes are taken
  Array<int> mine;            // local numbers of a rank's own cells, in the order of global vectors
  Array<int> walls;           // faces on walls of own cells
  Array<int> held;            // own cells on walls, where a viscous flow has no velocity
  Array<Side> sides;          // of all local cells, as the next array
  Array<Coupling> couplings;
  Array<int> begin;    // for each local cell its first side; at last the number of sides
  Array<int> mirror;   // for each local cell its number in `symmetric`, or -1
  Array<int> row;      // for each local cell its row of the Jacobian on this rank, or -1
  Array<int> diagonal; // for each local cell the place of its diagonal block, or -1
  // For each row of the Jacobian its first block; at last the number of blocks
  Array<std::int64_t> row_begin;
  Array<Symmetric<dim>> symmetric;
  // For each local cell: its vertex, the Cholesky factors of the least squares with the inverse of
  // their diagonal, and a length to the third power that the limiter compares with
  Array<Vector<dim>> centers;
  Array<Matrix<dim>> factors;
  Array<double> lengths3;
  Array<Primitive<dim>> outside; // the state outside of each boundary face
};

// far_state: the state outside at a point of the far field
template <int dim>
Arrays<dim, HostArray>
make_arrays(const Mesh &mesh, const Rows<dim + 2> &rows, double limiter,
            const std::function<Primitive<dim>(const std::array<double, 3> &)> &far_state);

template <int dim> FLOW_HD Vector<dim> minus(const Vector<dim> &a, const Vector<dim> &b)
{
  Vector<dim> result;
  for (int d = 0; d < dim; ++d) result[d] = a[d] - b[d];
  return result;
}

// A step divided by the square of its length.
template <int dim> FLOW_HD Vector<dim> weighted(Vector<dim> step)
{
  const double inverse = 1.0 / dot<dim, double>(step, step); // one division, which takes long
  for (double &s : step) s *= inverse;
  return step;
}

// Returns the mirror image of v at a plane with unit normal n.
template <int dim> FLOW_HD Vector<dim> mirrored(Vector<dim> v, const Vector<dim> &n)
{
  const double out = dot<dim, double>(v, n);
  for (int d = 0; d < dim; ++d) v[d] -= 2.0 * out * n[d];
  return v;
}

} // namespace flow
