// This file reads, orders and distributes a mesh.
#include "mesh.h"

#include <petscsf.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace flow {
namespace {

// Copies the types of -dm_mat_type and -dm_vec_type, which new meshes do not inherit.
PetscErrorCode copy_types(DM from, DM to)
{
  MatType mat;
  VecType vec;

  PetscFunctionBeginUser;
  PetscCall(DMGetMatType(from, &mat));
  PetscCall(DMGetVecType(from, &vec));
  PetscCall(DMSetMatType(to, mat));
  PetscCall(DMSetVecType(to, vec));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Brings neighbors near each other in memory. If PETSc has no library for partitions, the order
// also keeps the parts of ranks in one piece.
PetscErrorCode permute(DM *dm)
{
  IS permutation;
  DM ordered;
  PetscSF points;
  PetscInt roots;

  PetscFunctionBeginUser;
  PetscCall(DMGetPointSF(*dm, &points));
  PetscCall(PetscSFGetGraph(points, &roots, nullptr, nullptr, nullptr));
  if (roots >= 0) PetscFunctionReturn(PETSC_SUCCESS); // the mesh was read in parallel
  PetscCall(DMPlexGetOrdering(*dm, MATORDERINGRCM, nullptr, &permutation));
  PetscCall(DMPlexPermute(*dm, permutation, &ordered));
  PetscCall(copy_types(*dm, ordered));
  PetscCall(ISDestroy(&permutation));
  PetscCall(DMDestroy(dm));
  *dm = ordered;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Lists the points in the order that permute() would give them. This takes a third of the time.
PetscErrorCode find_order(DM dm, std::vector<PetscInt> *order)
{
  IS permutation;
  const PetscInt *places;

  PetscFunctionBeginUser;
  PetscCall(DMPlexGetOrdering(dm, MATORDERINGRCM, nullptr, &permutation));
  PetscCall(ISGetIndices(permutation, &places));
  for (std::size_t p = 0; p < order->size(); ++p) (*order)[places[p]] = static_cast<PetscInt>(p);
  PetscCall(ISRestoreIndices(permutation, &places));
  PetscCall(ISDestroy(&permutation));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Distributes the mesh. numbers: of each local vertex, before the distribution
PetscErrorCode distribute(DM *dm, std::vector<PetscInt> *numbers)
{
  DM parallel;
  PetscPartitioner partitioner;
  PetscSF moved;
  PetscInt begin, end, v_begin, v_end;
  std::vector<PetscInt> before;

  PetscFunctionBeginUser;
  // The layer of neighbors consists of all cells at a rank's vertices.
  PetscCall(DMSetBasicAdjacency(*dm, PETSC_FALSE, PETSC_TRUE));
  PetscCall(DMPlexGetPartitioner(*dm, &partitioner));
  PetscCall(PetscPartitionerSetFromOptions(partitioner));
  PetscCall(DMPlexGetChart(*dm, &begin, &end));
  PetscCall(DMPlexGetDepthStratum(*dm, 0, &v_begin, &v_end));
  before.resize(static_cast<std::size_t>(end - begin), -1);
  for (PetscInt v = v_begin; v < v_end; ++v)
    before[static_cast<std::size_t>(v - begin)] = v - v_begin;
  PetscCall(DMPlexDistribute(*dm, 1, &moved, &parallel));
  if (parallel) {
    std::vector<PetscInt> after;
    PetscCall(DMPlexGetChart(parallel, &begin, &end));
    after.resize(static_cast<std::size_t>(end - begin), -1);
    PetscCall(PetscSFBcastBegin(moved, MPIU_INT, before.data(), after.data(), MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(moved, MPIU_INT, before.data(), after.data(), MPI_REPLACE));
    PetscCall(PetscSFDestroy(&moved));
    PetscCall(DMPlexGetDepthStratum(parallel, 0, &v_begin, &v_end));
    before = std::move(after);
    PetscCall(copy_types(*dm, parallel));
    PetscCall(DMDestroy(dm));
    *dm = parallel;
  }
  numbers->assign(before.begin() + (v_begin - begin), before.begin() + (v_end - begin));
  PetscCall(DMPlexDistributeSetDefault(*dm, PETSC_FALSE)); // do not distribute the mesh again
  // Matrices couple the two vertices of each edge.
  PetscCall(DMSetBasicAdjacency(*dm, PETSC_FALSE, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode ReadMesh(MPI_Comm comm, DM *dm)
{
  PetscBool given, space;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsHasName(nullptr, nullptr, "-dm_plex_filename", &given));
  PetscCheck(
      given, comm, PETSC_ERR_USER_INPUT,
      "give a mesh: -dm_plex_filename <file.msh>, for example made from naca0012.geo by gmsh");
  PetscCall(PetscOptionsHasName(nullptr, nullptr, "-dm_coord_space", &space));
  // PETSc's space of coordinates consists of finite elements, which PETSc lacks for prisms.
  if (!space) PetscCall(PetscOptionsSetValue(nullptr, "-dm_coord_space", "false"));
  PetscCall(DMCreate(comm, dm));
  PetscCall(DMSetType(*dm, DMPLEX));
  PetscCall(DMPlexDistributeSetDefault(*dm, PETSC_FALSE));
  PetscCall(DMSetFromOptions(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OwnCells(DM dm, std::vector<bool> *own)
{
  PetscInt begin, end, leaves;
  const PetscInt *leaf;
  PetscSF points;

  PetscFunctionBeginUser;
  PetscCall(DMPlexGetHeightStratum(dm, 0, &begin, &end));
  PetscCall(DMGetPointSF(dm, &points));
  PetscCall(PetscSFGetGraph(points, nullptr, &leaves, &leaf, nullptr));
  own->assign(static_cast<std::size_t>(end - begin), true);
  for (PetscInt k = 0; k < leaves; ++k) {
    const PetscInt point = leaf ? leaf[k] : k;
    if (point >= begin && point < end) (*own)[static_cast<std::size_t>(point - begin)] = false;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SetFields(const Mesh &mesh, DM dm, const std::vector<Field> &fields)
{
  PetscSection section;
  PetscInt v_begin, v_end;
  std::vector<PetscInt> order;
  IS permutation;

  PetscFunctionBeginUser;
  PetscCall(DMPlexGetDepthStratum(dm, 0, &v_begin, &v_end));
  PetscCall(PetscSectionCreate(PetscObjectComm((PetscObject)dm), &section));
  PetscCall(PetscSectionSetNumFields(section, static_cast<PetscInt>(fields.size())));
  PetscCall(PetscSectionSetChart(section, v_begin, v_end));
  for (PetscInt k = 0; k < static_cast<PetscInt>(fields.size()); ++k) {
    const Field &field = fields[static_cast<std::size_t>(k)];
    PetscCall(PetscSectionSetFieldName(section, k, field.name));
    PetscCall(PetscSectionSetFieldComponents(section, k, field.components));
    for (PetscInt v = v_begin; v < v_end; ++v) {
      PetscCall(PetscSectionSetFieldDof(section, v, k, field.components));
      PetscCall(PetscSectionAddDof(section, v, field.components));
    }
  }
  for (PetscInt place = v_begin; place < v_end; ++place)
    order.push_back(mesh.order[place] - v_begin);
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, v_end - v_begin, order.data(), PETSC_COPY_VALUES,
                            &permutation));
  PetscCall(PetscSectionSetPermutation(section, permutation));
  PetscCall(ISDestroy(&permutation)); // the section keeps a reference
  PetscCall(PetscSectionSetUp(section));
  PetscCall(DMSetLocalSection(dm, section));
  PetscCall(PetscSectionDestroy(&section));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MeshCreate(DM *dm, Mesh *mesh)
{
  PetscInt dim, threads = 1, begin, end, v_begin, v_end;
  PetscMPIInt ranks;
  std::vector<PetscInt> numbers;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-flow_threads", &threads, nullptr));
  PetscCheck(threads >= 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
             "-flow_threads must be 1 or more");
  mesh->threads = static_cast<int>(threads);
  PetscCall(DMGetDimension(*dm, &dim));
  PetscCheck(dim == 2 || dim == 3, PetscObjectComm((PetscObject)*dm), PETSC_ERR_USER_INPUT,
             "the mesh has dimension %" PetscInt_FMT ": 2 or 3 are solved on", dim);
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)*dm), &ranks));
  if (ranks > 1) PetscCall(permute(dm));
  PetscCall(distribute(dm, &numbers));
  mesh->dm = *dm;
  mesh->dim = static_cast<int>(dim);
  *dm = nullptr;
  PetscCall(DMPlexGetChart(mesh->dm, &begin, &end));
  mesh->order.resize(static_cast<std::size_t>(end - begin));
  std::iota(mesh->order.begin(), mesh->order.end(), begin);
  if (ranks == 1) {
    PetscCall(find_order(mesh->dm, &mesh->order));
    PetscCall(DMPlexGetDepthStratum(mesh->dm, 0, &v_begin, &v_end));
    for (PetscInt place = v_begin; place < v_end; ++place)
      numbers[mesh->order[place] - v_begin] = place - v_begin;
  }
  PetscCall(SetFields(*mesh, mesh->dm, {{"flow", mesh->bs()}}));
  PetscCall(DMClone(mesh->dm, &mesh->gradients));
  PetscCall(SetFields(*mesh, mesh->gradients, {{"gradients", mesh->bs() * mesh->dim}}));
  PetscCall(BuildMedianDual(numbers, mesh));
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
