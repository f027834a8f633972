// This file writes flows to files.
#include "output.h"

#include <algorithm>

#include "euler.h"

namespace flow {
namespace {

// Creates a mesh with the fields that are shown. A label selects a rank's own cells, so that every
// cell is written once.
PetscErrorCode shown_mesh(const Mesh &mesh, DM *dm)
{
  PetscInt begin, end, v_begin, v_end;
  DMLabel label;
  std::vector<bool> own;

  PetscFunctionBeginUser;
  PetscCall(DMClone(mesh.dm, dm));
  // PETSc writes all vertices, those without cells, too.
  PetscCall(DMPlexGetDepthStratum(*dm, 0, &v_begin, &v_end));
  PetscCall(SetFields(mesh, *dm, v_end - v_begin,
                      {{"density", 1}, {"velocity", mesh.dim}, {"pressure", 1}, {"mach", 1}}));
  PetscCall(DMCreateLabel(*dm, "vtk"));
  PetscCall(DMGetLabel(*dm, "vtk", &label));
  PetscCall(DMPlexGetHeightStratum(*dm, 0, &begin, &end));
  PetscCall(OwnCells(*dm, &own));
  for (PetscInt c = begin; c < end; ++c)
    if (own[static_cast<std::size_t>(c - begin)]) PetscCall(DMLabelSetValue(label, c, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Computes the fields of a vertex from its unknowns u.
template <int dim> void show(const PetscScalar *u, PetscScalar *shown)
{
  State<dim> state;
  std::copy_n(u, dim + 2, state.begin());
  const Primitive<dim> w = primitive<dim, double>(state);
  double speed2 = 0.0;
  shown[0] = w.rho;
  for (int d = 0; d < dim; ++d) {
    shown[1 + d] = w.u[d];
    speed2 += w.u[d] * w.u[d];
  }
  shown[dim + 1] = w.p;
  shown[dim + 2] = std::sqrt(speed2) / sound_speed<dim, double>(w);
}

} // namespace

PetscErrorCode CheckVTU(const Mesh &mesh)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)mesh.dm);
  PetscInt begin, end;

  PetscFunctionBeginUser;
  PetscCall(DMPlexGetHeightStratum(mesh.dm, 0, &begin, &end));
  int cells = end > begin; // of the first rank
  PetscCallMPI(MPI_Bcast(&cells, 1, MPI_INT, 0, comm));
  PetscCheck(cells, comm, PETSC_ERR_USER_INPUT,
             "PETSc writes no VTU file if the first rank has no cells: use fewer ranks, or leave "
             "out -flow_vtu");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode WriteVTU(const Mesh &mesh, Vec U, const char *file)
{
  const int bs = mesh.bs(), count = bs + 1;
  DM dm;
  Vec shown;
  PetscViewer viewer;
  const PetscScalar *u;
  PetscScalar *s;
  PetscInt n, size;

  PetscFunctionBeginUser;
  PetscCall(shown_mesh(mesh, &dm));
  PetscCall(DMCreateGlobalVector(dm, &shown));
  PetscCall(
      PetscObjectSetName((PetscObject)shown, "")); // the name would stand before every field's name
  PetscCall(VecGetLocalSize(U, &n));
  PetscCall(VecGetLocalSize(shown, &size));
  PetscCall(VecGetArrayRead(U, &u));
  PetscCall(VecGetArray(shown, &s));
  for (PetscInt c = 0; n > 0 && c < size / count; ++c) {
    // Vertices without unknowns come last. They show a copy of the rank's first vertex.
    const PetscScalar *of_cell = u + (c < n / bs ? c * bs : 0);
    mesh.dim == 2 ? show<2>(of_cell, s + c * count) : show<3>(of_cell, s + c * count);
  }
  PetscCall(VecRestoreArray(shown, &s));
  PetscCall(VecRestoreArrayRead(U, &u));
  PetscCall(PetscViewerVTKOpen(PetscObjectComm((PetscObject)dm), file, FILE_MODE_WRITE, &viewer));
  PetscCall(VecView(shown, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(VecDestroy(&shown));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace flow
