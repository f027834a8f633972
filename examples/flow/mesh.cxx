// This file reads, orders, distributes and refines a mesh.
#include "mesh.h"

#include <petscdmplextransform.h>
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

// Lists the points in the order that permute() gives them. This takes a third of the time, and
// leaves points of one type together, which refinement needs.
PetscErrorCode find_order(DM dm, std::vector<PetscInt> *order)
{
  IS permutation;
  const PetscInt *places;
  PetscInt size;

  PetscFunctionBeginUser;
  PetscCall(DMPlexGetOrdering(dm, MATORDERINGRCM, nullptr, &permutation));
  PetscCall(ISGetLocalSize(permutation, &size));
  order->resize(static_cast<std::size_t>(size));
  PetscCall(ISGetIndices(permutation, &places));
  for (PetscInt p = 0; p < size; ++p) (*order)[places[p]] = p;
  PetscCall(ISRestoreIndices(permutation, &places));
  PetscCall(ISDestroy(&permutation));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode keep_order(DM dm, std::vector<PetscInt> *order)
{
  PetscInt begin, end;

  PetscFunctionBeginUser;
  PetscCall(DMPlexGetChart(dm, &begin, &end));
  order->resize(static_cast<std::size_t>(end - begin));
  std::iota(order->begin(), order->end(), begin);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Numbers the points of a mesh that is on one rank, in this order.
PetscErrorCode number(DM dm, const std::vector<PetscInt> &order, Numbers *numbers)
{
  PetscFunctionBeginUser;
  numbers->of.resize(order.size());
  for (const PetscInt p : order) {
    DMPolytopeType type;
    PetscCall(DMPlexGetCellType(dm, p, &type));
    numbers->of[p] = numbers->counts[type]++;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, numbers->counts.data(), DM_NUM_POLYTOPES, MPIU_INT,
                             MPI_SUM, PetscObjectComm((PetscObject)dm)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Distributes the mesh, and the numbers of its points.
PetscErrorCode distribute(DM *dm, Numbers *numbers)
{
  DM parallel;
  PetscPartitioner partitioner;
  PetscSF moved;
  PetscInt begin, end;

  PetscFunctionBeginUser;
  // The layer of neighbors consists of all cells at a rank's vertices.
  PetscCall(DMSetBasicAdjacency(*dm, PETSC_FALSE, PETSC_TRUE));
  PetscCall(DMPlexGetPartitioner(*dm, &partitioner));
  PetscCall(PetscPartitionerSetFromOptions(partitioner));
  PetscCall(DMPlexDistribute(*dm, 1, &moved, &parallel));
  if (!parallel) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMPlexGetChart(parallel, &begin, &end));
  const std::vector<PetscInt> before = std::move(numbers->of);
  numbers->of.assign(static_cast<std::size_t>(end - begin), -1);
  PetscCall(PetscSFBcastBegin(moved, MPIU_INT, before.data(), numbers->of.data(), MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(moved, MPIU_INT, before.data(), numbers->of.data(), MPI_REPLACE));
  PetscCall(PetscSFDestroy(&moved));
  PetscCall(copy_types(*dm, parallel));
  PetscCall(DMDestroy(dm));
  *dm = parallel;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Refines a mesh, each rank its part. The numbers of new points follow from those of old ones.
PetscErrorCode refine(DM *dm, Numbers *numbers)
{
  // first: the number of the first point of a type that points of another type become. pieces: so
  // many of them does each become
  PetscInt first[DM_NUM_POLYTOPES][DM_NUM_POLYTOPES] = {},
           pieces[DM_NUM_POLYTOPES][DM_NUM_POLYTOPES] = {}, begin, end;
  Numbers fine;
  DMPlexTransform transform;
  DM refined;

  PetscFunctionBeginUser;
  PetscCall(DMPlexTransformCreate(PetscObjectComm((PetscObject)*dm), &transform));
  PetscCall(DMPlexTransformSetDM(transform, *dm));
  PetscCall(DMPlexTransformSetType(transform, DMPLEXREFINEREGULAR));
  PetscCall(DMPlexTransformSetUp(transform));
  PetscCall(DMPlexTransformApply(transform, *dm, &refined));
  for (int old = 0; old < DM_NUM_POLYTOPES; ++old) {
    DMPolytopeType *types;
    PetscInt count, *sizes, *cones, *orientations;
    if (numbers->counts[old] == 0) continue;
    PetscCall(DMPlexTransformCellTransform(transform, static_cast<DMPolytopeType>(old), 0, nullptr,
                                           &count, &types, &sizes, &cones, &orientations));
    for (PetscInt k = 0; k < count; ++k) {
      first[old][types[k]] = fine.counts[types[k]];
      pieces[old][types[k]] = sizes[k];
      fine.counts[types[k]] += numbers->counts[old] * sizes[k];
    }
  }
  PetscCall(DMPlexGetChart(refined, &begin, &end));
  fine.of.reserve(static_cast<std::size_t>(end - begin));
  for (PetscInt p = begin; p < end; ++p) {
    DMPolytopeType old, type;
    PetscInt from, piece;
    PetscCall(DMPlexTransformGetSourcePoint(transform, p, &old, &type, &from, &piece));
    fine.of.push_back(first[old][type] + numbers->of[from] * pieces[old][type] + piece);
  }
  PetscCall(DMPlexTransformDestroy(&transform));
  PetscCall(copy_types(*dm, refined));
  PetscCall(DMDestroy(dm));
  *dm = refined;
  *numbers = std::move(fine);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Sets own, for each local point of a mesh, to whether this rank owns the point.
PetscErrorCode own_points(DM dm, std::vector<bool> *own)
{
  PetscInt begin, end, leaves;
  const PetscInt *leaf;
  PetscSF points;

  PetscFunctionBeginUser;
  PetscCall(DMPlexGetChart(dm, &begin, &end)); // begin is 0
  PetscCall(DMGetPointSF(dm, &points));
  PetscCall(PetscSFGetGraph(points, nullptr, &leaves, &leaf, nullptr));
  own->assign(static_cast<std::size_t>(end), true);
  for (PetscInt k = 0; k < leaves; ++k) (*own)[leaf ? leaf[k] : k] = false;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Finds the points that a rank uses: those of its own cells, and the neighbors of its own vertices.
PetscErrorCode find_used(const Mesh &mesh, std::vector<bool> *used)
{
  PetscInt begin, end;
  std::vector<bool> own;

  PetscFunctionBeginUser;
  PetscCall(own_points(mesh.dm, &own));
  *used = own;
  for (PetscInt depth = mesh.dim; depth > 0; --depth) {
    PetscCall(DMPlexGetDepthStratum(mesh.dm, depth, &begin, &end));
    for (PetscInt p = begin; p < end; ++p) {
      const PetscInt *cone;
      PetscInt size;
      PetscCall(DMPlexGetConeSize(mesh.dm, p, &size));
      PetscCall(DMPlexGetCone(mesh.dm, p, &cone));
      if ((*used)[p] || (depth == 1 && (own[cone[0]] || own[cone[1]])))
        for (PetscInt k = 0; k < size; ++k) (*used)[cone[k]] = true;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Refinement makes several layers of neighbors of one. This puts the vertices that a rank uses
// before the others, and lets it share only them.
PetscErrorCode select_used(Mesh *mesh)
{
  PetscInt begin, end, leaves;
  const PetscInt *leaf;
  PetscSF points, shared;
  std::vector<PetscInt> kept;
  std::vector<bool> used;

  PetscFunctionBeginUser;
  PetscCall(find_used(*mesh, &used));
  PetscCall(DMPlexGetDepthStratum(mesh->dm, 0, &begin, &end));
  const auto first = mesh->order.begin() + begin;
  const auto last =
      std::stable_partition(first, mesh->order.begin() + end, [&](PetscInt v) { return used[v]; });
  mesh->used = static_cast<PetscInt>(last - first);
  PetscCall(DMGetPointSF(mesh->dm, &points));
  PetscCall(PetscSFGetGraph(points, nullptr, &leaves, &leaf, nullptr));
  for (PetscInt k = 0; k < leaves; ++k) {
    const PetscInt p = leaf ? leaf[k] : k;
    if (p < begin || p >= end || used[p]) kept.push_back(k);
  }
  PetscCall(PetscSFCreateEmbeddedLeafSF(points, static_cast<PetscInt>(kept.size()), kept.data(),
                                        &shared));
  PetscCall(DMSetPointSF(mesh->dm, shared));
  PetscCall(PetscSFDestroy(&shared));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Orders, numbers, distributes and refines a mesh.
PetscErrorCode prepare(DM *dm, PetscInt levels, Mesh *mesh, Numbers *numbers)
{
  PetscMPIInt ranks;
  PetscInt begin, end;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)*dm), &ranks));
  if (ranks > 1) PetscCall(permute(dm));
  PetscCall(ranks > 1 ? keep_order(*dm, &mesh->order) : find_order(*dm, &mesh->order));
  PetscCall(number(*dm, mesh->order, numbers));
  PetscCall(distribute(dm, numbers));
  for (PetscInt k = 0; k < levels; ++k) PetscCall(refine(dm, numbers));
  PetscCall(DMPlexDistributeSetDefault(*dm, PETSC_FALSE)); // do not distribute the mesh again
  // Matrices couple the two vertices of each edge.
  PetscCall(DMSetBasicAdjacency(*dm, PETSC_FALSE, PETSC_FALSE));
  mesh->dm = *dm;
  *dm = nullptr;
  PetscCall(DMPlexGetDepthStratum(mesh->dm, 0, &begin, &end));
  mesh->used = end - begin;
  if (levels > 0) {
    PetscCall(find_order(mesh->dm, &mesh->order));
    if (ranks > 1) PetscCall(select_used(mesh));
  } else if (ranks > 1)
    PetscCall(keep_order(mesh->dm, &mesh->order));
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
  PetscInt begin, end;
  std::vector<bool> points;

  PetscFunctionBeginUser;
  PetscCall(own_points(dm, &points));
  PetscCall(DMPlexGetHeightStratum(dm, 0, &begin, &end));
  own->assign(points.begin() + begin, points.begin() + end);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SetFields(const Mesh &mesh, DM dm, PetscInt vertices,
                         const std::vector<Field> &fields)
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
    for (PetscInt place = v_begin; place < v_begin + vertices; ++place) {
      const PetscInt v = mesh.order[place];
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
  PetscInt dim, threads = 1, levels = 0;
  Numbers numbers;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-flow_threads", &threads, nullptr));
  PetscCheck(threads >= 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
             "-flow_threads must be 1 or more");
  mesh->threads = static_cast<int>(threads);
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-flow_refine", &levels, nullptr));
  PetscCheck(levels >= 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
             "-flow_refine must be 0 or more");
  PetscCall(DMGetDimension(*dm, &dim));
  PetscCheck(dim == 2 || dim == 3, PetscObjectComm((PetscObject)*dm), PETSC_ERR_USER_INPUT,
             "the mesh has dimension %" PetscInt_FMT ": 2 or 3 are solved on", dim);
  mesh->dim = static_cast<int>(dim);
  PetscCall(prepare(dm, levels, mesh, &numbers));
  PetscCall(SetFields(*mesh, mesh->dm, mesh->used, {{"flow", mesh->bs()}}));
  PetscCall(DMClone(mesh->dm, &mesh->gradients));
  PetscCall(SetFields(*mesh, mesh->gradients, mesh->used, {{"gradients", mesh->bs() * mesh->dim}}));
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
