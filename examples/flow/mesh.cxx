#include "mesh.h"

#include <petscsf.h>

#include <set>

namespace flow {
namespace {

// numbers: of each local cell before
PetscErrorCode distribute(DM *dm, std::vector<PetscInt> *numbers)
{
  DM                    parallel;
  PetscPartitioner      partitioner;
  PetscSF               moved;
  PetscInt              begin, end, c_begin, c_end;
  std::vector<PetscInt> before;

  PetscFunctionBeginUser;
  PetscCall(DMSetBasicAdjacency(*dm, PETSC_TRUE, PETSC_TRUE)); // gradients read cells that share a vertex
  PetscCall(DMPlexGetPartitioner(*dm, &partitioner));
  PetscCall(PetscPartitionerSetFromOptions(partitioner));
  PetscCall(DMPlexGetChart(*dm, &begin, &end));
  PetscCall(DMPlexGetHeightStratum(*dm, 0, &c_begin, &c_end));
  before.resize(static_cast<std::size_t>(end - begin), -1);
  for (PetscInt c = c_begin; c < c_end; ++c) before[static_cast<std::size_t>(c - begin)] = c - c_begin;
  PetscCall(DMPlexDistribute(*dm, 1, &moved, &parallel));
  if (parallel) {
    std::vector<PetscInt> after;
    PetscCall(DMPlexGetChart(parallel, &begin, &end));
    after.resize(static_cast<std::size_t>(end - begin), -1);
    PetscCall(PetscSFBcastBegin(moved, MPIU_INT, before.data(), after.data(), MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(moved, MPIU_INT, before.data(), after.data(), MPI_REPLACE));
    PetscCall(PetscSFDestroy(&moved));
    PetscCall(DMPlexGetHeightStratum(parallel, 0, &c_begin, &c_end));
    before = std::move(after);
    PetscCall(DMDestroy(dm));
    *dm = parallel;
  }
  numbers->assign(before.begin() + (c_begin - begin), before.begin() + (c_end - begin));
  PetscCall(DMSetBasicAdjacency(*dm, PETSC_TRUE, PETSC_FALSE)); // the Jacobian those that share a face
  PetscCall(DMPlexDistributeSetDefault(*dm, PETSC_FALSE));      // not once more
  PetscCall(DMSetFromOptions(*dm));                             // -dm_mat_type and others that belong to the final one
  PetscFunctionReturn(PETSC_SUCCESS);
}

// So many unknowns in each cell
PetscErrorCode set_unknowns(DM dm, PetscInt count)
{
  PetscSection section;
  PetscInt     begin, end, c_begin, c_end;

  PetscFunctionBeginUser;
  PetscCall(DMPlexGetChart(dm, &begin, &end));
  PetscCall(DMPlexGetHeightStratum(dm, 0, &c_begin, &c_end));
  PetscCall(PetscSectionCreate(PetscObjectComm((PetscObject)dm), &section));
  PetscCall(PetscSectionSetChart(section, begin, end));
  for (PetscInt c = c_begin; c < c_end; ++c) PetscCall(PetscSectionSetDof(section, c, count));
  PetscCall(PetscSectionSetUp(section));
  PetscCall(DMSetLocalSection(dm, section));
  PetscCall(PetscSectionDestroy(&section));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode add_cells(const std::vector<PetscInt> &numbers, Mesh *mesh)
{
  PetscSection global;
  PetscInt     begin, end;

  PetscFunctionBeginUser;
  PetscCall(DMGetGlobalSection(mesh->dm, &global));
  PetscCall(DMPlexGetHeightStratum(mesh->dm, 0, &begin, &end));
  for (PetscInt c = begin; c < end; ++c) {
    Cell      cell{};
    PetscReal volume, center[3] = {0, 0, 0};
    PetscInt  offset;
    PetscCall(DMPlexComputeCellGeometryFVM(mesh->dm, c, &volume, center, nullptr));
    PetscCall(PetscSectionGetOffset(global, c, &offset));
    PetscCheck(volume > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "cell %" PetscInt_FMT " at (%g, %g, %g) has volume %g: mend the mesh", c,
               (double)center[0], (double)center[1], (double)center[2], (double)volume);
    cell.volume = volume;
    cell.mine   = offset >= 0;
    cell.number = numbers[static_cast<std::size_t>(c - begin)];
    cell.global = (offset >= 0 ? offset : -(offset + 1)) / mesh->bs();
    for (int d = 0; d < mesh->dim; ++d) cell.center[d] = center[d];
    mesh->cells.push_back(cell);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode add_faces(Mesh *mesh)
{
  PetscInt begin, end, c_begin, unknown = 0;
  DMLabel  sets;

  PetscFunctionBeginUser;
  PetscCall(DMPlexGetHeightStratum(mesh->dm, 1, &begin, &end));
  PetscCall(DMPlexGetHeightStratum(mesh->dm, 0, &c_begin, nullptr));
  PetscCall(DMGetLabel(mesh->dm, "Face Sets", &sets));
  for (PetscInt f = begin; f < end; ++f) {
    const PetscInt *cells;
    PetscInt        count, set      = -1;
    PetscReal       area, center[3] = {0, 0, 0}, normal[3] = {0, 0, 0};
    Face            face{};
    PetscCall(DMPlexGetSupportSize(mesh->dm, f, &count));
    PetscCall(DMPlexGetSupport(mesh->dm, f, &cells));
    if (count == 0) continue;
    face.left  = cells[0] - c_begin;
    face.right = count > 1 ? cells[1] - c_begin : -1;
    if (!mesh->cells[face.left].mine && (count < 2 || !mesh->cells[face.right].mine)) continue;
    if (count == 1) {
      if (sets) PetscCall(DMLabelGetValue(sets, f, &set));
      if (set < kWall || set > kSymmetry) ++unknown;
      face.boundary = static_cast<int>(set);
    }
    PetscCall(DMPlexComputeCellGeometryFVM(mesh->dm, f, &area, center, normal));
    double outward = 0.0;
    for (int d = 0; d < mesh->dim; ++d) outward += normal[d] * (center[d] - mesh->cells[face.left].center[d]);
    for (int d = 0; d < mesh->dim; ++d) {
      face.center[d] = center[d];
      face.normal[d] = outward < 0 ? -normal[d] : normal[d];
    }
    face.area = area;
    mesh->faces.push_back(face);
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &unknown, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)mesh->dm)));
  PetscCheck(unknown == 0, PetscObjectComm((PetscObject)mesh->dm), PETSC_ERR_USER_INPUT,
             "%" PetscInt_FMT
             " boundary faces are in no physical group 1 (wall), 2 (far field) or 3 (symmetry): name them in the .geo file",
             unknown);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode add_neighbors(Mesh *mesh)
{
  const std::size_t                  count = mesh->cells.size();
  PetscInt                           c_begin, begin, end;
  std::vector<std::vector<PetscInt>> vertices(count), around; // of each cell, and cells around each vertex

  PetscFunctionBeginUser;
  PetscCall(DMPlexGetHeightStratum(mesh->dm, 0, &c_begin, nullptr));
  PetscCall(DMPlexGetDepthStratum(mesh->dm, 0, &begin, &end));
  around.resize(static_cast<std::size_t>(end - begin));
  for (std::size_t c = 0; c < count; ++c) {
    PetscInt size, *points = nullptr; // and their orientations
    PetscCall(DMPlexGetTransitiveClosure(mesh->dm, c_begin + static_cast<PetscInt>(c), PETSC_TRUE, &size, &points));
    for (PetscInt i = 0; i < size; ++i) {
      if (points[2 * i] < begin || points[2 * i] >= end) continue;
      vertices[c].push_back(points[2 * i] - begin);
      around[vertices[c].back()].push_back(static_cast<PetscInt>(c));
    }
    PetscCall(DMPlexRestoreTransitiveClosure(mesh->dm, c_begin + static_cast<PetscInt>(c), PETSC_TRUE, &size, &points));
  }
  mesh->near_begin.assign(1, 0);
  for (std::size_t c = 0; c < count; ++c) {
    std::set<PetscInt> near;
    if (mesh->cells[c].mine)
      for (const PetscInt vertex : vertices[c]) near.insert(around[vertex].begin(), around[vertex].end());
    near.erase(static_cast<PetscInt>(c));
    mesh->near.insert(mesh->near.end(), near.begin(), near.end());
    mesh->near_begin.push_back(mesh->near.size());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode ReadMesh(MPI_Comm comm, DM *dm)
{
  PetscBool given, space;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsHasName(nullptr, nullptr, "-dm_plex_filename", &given));
  PetscCheck(given, comm, PETSC_ERR_USER_INPUT, "give a mesh: -dm_plex_filename <file.msh>, for example made from naca0012.geo by gmsh");
  PetscCall(PetscOptionsHasName(nullptr, nullptr, "-dm_coord_space", &space));
  if (!space) PetscCall(PetscOptionsSetValue(nullptr, "-dm_coord_space", "false")); // finite elements, which prisms have not
  PetscCall(DMCreate(comm, dm));
  PetscCall(DMSetType(*dm, DMPLEX));
  PetscCall(DMPlexDistributeSetDefault(*dm, PETSC_FALSE));
  PetscCall(DMSetFromOptions(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MeshCreate(DM *dm, Mesh *mesh)
{
  PetscInt              dim;
  std::vector<PetscInt> numbers;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(*dm, &dim));
  PetscCheck(dim == 2 || dim == 3, PetscObjectComm((PetscObject)*dm), PETSC_ERR_USER_INPUT,
             "the mesh has dimension %" PetscInt_FMT ": 2 or 3 are solved on", dim);
  PetscCall(distribute(dm, &numbers));
  mesh->dm  = *dm;
  mesh->dim = static_cast<int>(dim);
  *dm       = nullptr;
  PetscCall(set_unknowns(mesh->dm, mesh->bs()));
  PetscCall(DMClone(mesh->dm, &mesh->gradients));
  PetscCall(set_unknowns(mesh->gradients, mesh->bs() * dim));
  PetscCall(add_cells(numbers, mesh));
  PetscCall(add_faces(mesh));
  PetscCall(add_neighbors(mesh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MeshDestroy(Mesh *mesh)
{
  PetscFunctionBeginUser;
  PetscCall(DMDestroy(&mesh->gradients));
  PetscCall(DMDestroy(&mesh->dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace flow
