// This file builds the median dual of a mesh: its cells and its faces.
#include <algorithm>
#include <cmath>
#include <utility>

#include "mesh.h"

namespace flow {
namespace {

using Point = std::array<double, 3>;

Point operator-(const Point &a, const Point &b)
{
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
double dot(const Point &a, const Point &b)
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
// The area vector of a triangle with the sides a and b.
Point half_cross(const Point &a, const Point &b)
{
  return {0.5 * (a[1] * b[2] - a[2] * b[1]), 0.5 * (a[2] * b[0] - a[0] * b[2]),
          0.5 * (a[0] * b[1] - a[1] * b[0])};
}
Point &operator+=(Point &a, const Point &b)
{
  for (int d = 0; d < 3; ++d) a[d] += b[d];
  return a;
}
// An area vector, turned to the side of a direction.
Point along(const Point &area, const Point &direction)
{
  return dot(area, direction) < 0.0 ? Point{-area[0], -area[1], -area[2]} : area;
}

// The median dual. Its faces consist of pieces between the middles of edges, faces and cells. Each
// piece is flat. The pieces around a vertex are closed, whatever the shape of the mesh's cells. A
// uniform flow has therefore no residual.
class MedianDual {
public:
  explicit MedianDual(Mesh *mesh) : mesh_(*mesh), dm_(mesh->dm) {}

  PetscErrorCode build(const Numbers &numbers)
  {
    PetscFunctionBeginUser;
    PetscCall(add_cells(numbers));
    PetscCall(find_middles());
    PetscCall(add_edges());
    PetscCall(add_boundaries());
    PetscCall(check());
    mesh_.cells.resize(static_cast<std::size_t>(mesh_.used));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

private:
  PetscErrorCode add_cells(const Numbers &numbers)
  {
    PetscSection global;

    PetscFunctionBeginUser;
    PetscCall(DMGetGlobalSection(dm_, &global));
    PetscCall(DMPlexGetDepthStratum(dm_, 0, &v_begin_, &v_end_));
    cell_of_.resize(static_cast<std::size_t>(v_end_ - v_begin_));
    mesh_.cells.reserve(cell_of_.size());
    for (PetscInt c = 0; c < v_end_ - v_begin_; ++c) {
      const PetscInt v = mesh_.order[v_begin_ + c];
      Cell cell{};
      PetscInt offset;
      cell_of_[v - v_begin_] = c;
      PetscCall(PetscSectionGetOffset(global, v, &offset));
      cell.mine = c < mesh_.used && offset >= 0;
      cell.number = numbers.of[v];
      cell.global = (offset >= 0 ? offset : -(offset + 1)) / mesh_.bs();
      if (cell.mine) mesh_.mine.push_back(c);
      mesh_.cells.push_back(cell);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  // Finds the middle of every point of the mesh, which is the mean of the point's vertices.
  PetscErrorCode find_middles()
  {
    Vec coordinates;
    PetscSection section;
    const PetscScalar *x;
    PetscInt begin, end;

    PetscFunctionBeginUser;
    PetscCall(DMGetCoordinatesLocal(dm_, &coordinates));
    PetscCall(DMGetCoordinateSection(dm_, &section));
    PetscCall(DMPlexGetChart(dm_, &begin, &end));
    middles_.resize(static_cast<std::size_t>(end - begin));
    PetscCall(VecGetArrayRead(coordinates, &x));
    for (PetscInt v = v_begin_; v < v_end_; ++v) {
      PetscInt offset;
      PetscCall(PetscSectionGetOffset(section, v, &offset));
      for (int d = 0; d < mesh_.dim; ++d) middles_[v][d] = PetscRealPart(x[offset + d]);
      mesh_.cells[cell_of(v)].center = middles_[v];
    }
    PetscCall(VecRestoreArrayRead(coordinates, &x));
    for (PetscInt p = begin; p < end; ++p) {
      Corners corners;
      Point sum{};
      if (p >= v_begin_ && p < v_end_) continue;
      PetscCall(add_corners(p, &corners));
      for (int k = 0; k < corners.count; ++k) sum += middles_[corners.vertices[k]];
      for (int d = 0; d < 3; ++d) middles_[p][d] = sum[d] / corners.count;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  // The corners of a point of the mesh, each once. A hexahedron has the most.
  struct Corners {
    std::array<PetscInt, 8> vertices;
    int count = 0;
  };
  // PETSc's closure has the corners, too, but takes several times as long to find.
  PetscErrorCode add_corners(PetscInt p, Corners *corners) const
  {
    const PetscInt *cone;
    PetscInt size;

    PetscFunctionBeginUser;
    PetscCall(DMPlexGetConeSize(dm_, p, &size));
    PetscCall(DMPlexGetCone(dm_, p, &cone));
    for (PetscInt k = 0; k < size; ++k) {
      if (cone[k] < v_begin_ || cone[k] >= v_end_) {
        PetscCall(add_corners(cone[k], corners));
        continue;
      }
      const auto end = corners->vertices.begin() + corners->count;
      if (std::find(corners->vertices.begin(), end, cone[k]) == end)
        corners->vertices[corners->count++] = cone[k];
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  // Adds a piece of the face that separates the two vertices of an edge. Adds the pyramids between
  // the piece and the vertices to the volumes of their cells.
  PetscErrorCode add_piece(PetscInt edge, const Point &area)
  {
    const PetscInt *ends;

    PetscFunctionBeginUser;
    PetscCall(DMPlexGetCone(dm_, edge, &ends));
    const Point step = middles_[ends[1]] - middles_[ends[0]], out = along(area, step);
    const double share = 0.5 * dot(step, out) / mesh_.dim;
    for (int k = 0; k < 2; ++k) mesh_.cells[cell_of(ends[k])].volume += share;
    areas_[edge - e_begin_] += out;
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode add_edges()
  {
    PetscInt c_begin, c_end, e_end;

    PetscFunctionBeginUser;
    PetscCall(DMPlexGetHeightStratum(dm_, 0, &c_begin, &c_end));
    PetscCall(DMPlexGetDepthStratum(dm_, 1, &e_begin_, &e_end));
    areas_.resize(static_cast<std::size_t>(e_end - e_begin_));
    for (PetscInt c = c_begin; c < c_end; ++c) { // as they lie in memory
      const PetscInt *sides, *edges;
      PetscInt n_sides, n_edges;
      PetscCall(DMPlexGetConeSize(dm_, c, &n_sides));
      PetscCall(DMPlexGetCone(dm_, c, &sides));
      for (PetscInt s = 0; s < n_sides; ++s) {
        const Point side = middles_[c] - middles_[sides[s]];
        if (mesh_.dim == 2) {
          PetscCall(add_piece(sides[s], {-side[1], side[0], 0.0}));
          continue;
        }
        PetscCall(DMPlexGetConeSize(dm_, sides[s], &n_edges));
        PetscCall(DMPlexGetCone(dm_, sides[s], &edges));
        for (PetscInt e = 0; e < n_edges; ++e)
          PetscCall(add_piece(edges[e], half_cross(middles_[edges[e]] - middles_[sides[s]], side)));
      }
    }
    mesh_.faces.reserve(areas_.size());
    for (PetscInt place = e_begin_; place < e_end; ++place) {
      const PetscInt e = mesh_.order[place], *ends;
      PetscCall(DMPlexGetCone(dm_, e, &ends));
      push(ends[0], ends[1], kInside, areas_[e - e_begin_], middles_[e]);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  // Adds the faces at the boundary of the whole mesh. A face at the end of a rank's part also has
  // only one cell, but no label.
  PetscErrorCode add_boundaries()
  {
    PetscInt begin, end, c_begin;
    DMLabel sets;
    std::vector<bool> own;

    PetscFunctionBeginUser;
    PetscCall(DMPlexGetHeightStratum(dm_, 0, &c_begin, nullptr));
    PetscCall(DMPlexGetHeightStratum(dm_, 1, &begin, &end));
    PetscCall(DMGetLabel(dm_, "Face Sets", &sets));
    PetscCall(OwnCells(dm_, &own));
    for (PetscInt place = begin; place < end; ++place) {
      const PetscInt f = mesh_.order[place], *cells;
      PetscInt count, set = -1;
      PetscCall(DMPlexGetSupportSize(dm_, f, &count));
      if (count != 1) continue;
      PetscCall(DMPlexGetSupport(dm_, f, &cells));
      if (sets) PetscCall(DMLabelGetValue(sets, f, &set));
      if (set < kWall || set > kSymmetry) {
        // A rank's own cells have all their neighbors here. Their face with one cell is a boundary.
        unknown_ += own[static_cast<std::size_t>(cells[0] - c_begin)];
        continue;
      }
      PetscCall(add_boundary(f, cells[0], static_cast<int>(set)));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  // Adds a boundary face, divided into parts of its vertices. kind: a Boundary
  PetscErrorCode add_boundary(PetscInt face, PetscInt cell, int kind)
  {
    const Point outward = middles_[face] - middles_[cell];
    const PetscInt *edges, *ends;
    PetscInt count;

    PetscFunctionBeginUser;
    PetscCall(DMPlexGetConeSize(dm_, face, &count));
    PetscCall(DMPlexGetCone(dm_, face, &edges));
    // The flux of a vertex's part is taken where a linear pressure gives the face's flux without
    // error: on simplices at the points of finite elements, on other faces in the middle of the
    // part. share: place of this point on the way from the vertex to the middle of the face
    const double share = mesh_.dim == 2 ? 1.0 / 3.0 : count == 3 ? 3.0 / 8.0 : 0.5;
    std::vector<std::pair<PetscInt, Point>> parts; // a vertex and the area of its part
    const auto add = [&](PetscInt v, const Point &area) {
      auto part = std::find_if(parts.begin(), parts.end(),
                               [&](const auto &known) { return known.first == v; });
      if (part == parts.end()) part = parts.insert(part, {v, Point{}});
      part->second += along(area, outward);
    };
    for (PetscInt e = 0; e < count; ++e) {
      const Point middle = middles_[face] - middles_[edges[e]];
      if (mesh_.dim == 2) {
        add(edges[e], {-middle[1], middle[0], 0.0});
        continue;
      }
      PetscCall(DMPlexGetCone(dm_, edges[e], &ends));
      for (int k = 0; k < 2; ++k)
        add(ends[k], half_cross(middles_[edges[e]] - middles_[ends[k]], middle));
    }
    for (const auto &[v, area] : parts) {
      Point x = middles_[v];
      for (int d = 0; d < 3; ++d) x[d] += share * (middles_[face][d] - x[d]);
      push(v, -1, kind, area, x);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  // Adds a face, unless both of its cells belong to other ranks. left, right: vertices of the mesh
  void push(PetscInt left, PetscInt right, int boundary, const Point &area, const Point &center)
  {
    Face face{cell_of(left), right < 0 ? -1 : cell_of(right),
              boundary,      std::sqrt(dot(area, area)),
              area,          center};
    if (!mesh_.cells[face.left].mine && (right < 0 || !mesh_.cells[face.right].mine)) return;
    for (double &n : face.normal) n /= face.area;
    mesh_.faces.push_back(face);
  }

  // The cell of a vertex
  PetscInt cell_of(PetscInt v) const { return cell_of_[v - v_begin_]; }

  PetscErrorCode check() const
  {
    const MPI_Comm comm = PetscObjectComm((PetscObject)dm_);
    PetscInt unknown = unknown_;

    PetscFunctionBeginUser;
    for (const Cell &cell : mesh_.cells)
      PetscCheck(!cell.mine || cell.volume > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
                 "around the vertex at (%g, %g, %g) cells have volume %g: mend the mesh",
                 cell.center[0], cell.center[1], cell.center[2], cell.volume);
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &unknown, 1, MPIU_INT, MPI_SUM, comm));
    PetscCheck(unknown == 0, comm, PETSC_ERR_USER_INPUT,
               "%" PetscInt_FMT " boundary faces are in no physical group 1 (wall), 2 (far field) "
               "or 3 (symmetry): name them in the .geo file",
               unknown);
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  Mesh &mesh_;
  DM dm_;
  // Points of the mesh where vertices begin and end, and edges begin. unknown_: boundary faces in
  // no physical group
  PetscInt v_begin_ = 0, v_end_ = 0, e_begin_ = 0, unknown_ = 0;
  std::vector<PetscInt> cell_of_; // see cell_of()
  std::vector<Point> middles_;    // of all points of the mesh
  std::vector<Point> areas_;      // area vectors of the faces between the vertices of all edges
};

} // namespace

PetscErrorCode BuildMedianDual(const Numbers &numbers, Mesh *mesh)
{
  PetscFunctionBeginUser;
  PetscCall(MedianDual(mesh).build(numbers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace flow
