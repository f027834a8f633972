// This file writes and reads restart files.
#include "restart.h"

#include <petscviewer.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>

namespace flow {
namespace {

// Numbers at the beginning of a file: the members of Progress, then mark_of(). Files of 0.1.0 have
// no mark.
constexpr PetscInt kProgress = 5, kNumbers = 6;

// Sets mark to a number that tells meshes, and numberings of the vertices of one mesh, from one
// another. It is the same for any number of ranks, except for rounding.
PetscErrorCode mark_of(const Mesh &mesh, double *mark)
{
  double sums[2] = {}; // of coordinates times weights, and of their magnitudes

  PetscFunctionBeginUser;
  for (const Cell &cell : mesh.cells)
    for (int d = 0; cell.mine && d < mesh.dim; ++d) {
      const double x = (d + 1) * cell.center[d];
      sums[0] += std::cos(static_cast<double>(cell.number)) * x;
      sums[1] += std::abs(x);
    }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM,
                             PetscObjectComm((PetscObject)mesh.dm)));
  *mark = sums[1] > 0.0 ? sums[0] / sums[1] : 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Creates a vector in the order that the vertices had before the mesh was distributed, and the
// scatter from U to that vector. The order does not depend on the number of ranks.
PetscErrorCode natural_order(const Mesh &mesh, Vec U, Vec *natural, VecScatter *scatter)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)U);
  std::vector<PetscInt> numbers;
  PetscInt size;
  IS mine;

  PetscFunctionBeginUser;
  for (const Cell &cell : mesh.cells)
    if (cell.mine) numbers.push_back(cell.number);
  PetscCall(VecGetSize(U, &size));
  PetscCall(VecCreate(comm, natural));
  PetscCall(VecSetSizes(*natural, PETSC_DECIDE, size));
  PetscCall(VecSetBlockSize(*natural, mesh.bs()));
  PetscCall(VecSetType(*natural, VECSTANDARD));
  PetscCall(VecGetLocalSize(U, &size));
  PetscCheck(static_cast<std::size_t>(size) == numbers.size() * mesh.bs(), PETSC_COMM_SELF,
             PETSC_ERR_PLIB, "vector and mesh differ");
  PetscCall(ISCreateBlock(comm, mesh.bs(), static_cast<PetscInt>(numbers.size()), numbers.data(),
                          PETSC_COPY_VALUES, &mine));
  PetscCall(VecScatterCreate(U, nullptr, *natural, mine, scatter));
  PetscCall(ISDestroy(&mine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Creates a vector for the numbers of a file. The first rank has them all.
PetscErrorCode numbers_vec(MPI_Comm comm, Vec *numbers)
{
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(VecCreateMPI(comm, rank == 0 ? kNumbers : 0, kNumbers, numbers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Reads the numbers of a file. count: how many there are
PetscErrorCode load_numbers(PetscViewer viewer, double values[kNumbers], PetscInt *count)
{
  Vec numbers, all;
  VecScatter scatter;
  const PetscScalar *n;

  PetscFunctionBeginUser;
  PetscCall(VecCreate(PetscObjectComm((PetscObject)viewer), &numbers));
  PetscCall(VecSetType(numbers, VECSTANDARD));
  PetscCall(VecLoad(numbers, viewer));
  PetscCall(VecGetSize(numbers, count));
  PetscCall(VecScatterCreateToAll(numbers, &scatter, &all));
  PetscCall(VecScatterBegin(scatter, numbers, all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, numbers, all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecGetArrayRead(all, &n));
  std::copy_n(n, std::min(*count, kNumbers), values);
  PetscCall(VecRestoreArrayRead(all, &n));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(VecDestroy(&all));
  PetscCall(VecDestroy(&numbers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Opens a binary file, without the .info file that PETSc writes beside other binary files.
PetscErrorCode open_file(MPI_Comm comm, const char *file, PetscFileMode mode, PetscViewer *viewer)
{
  PetscFunctionBeginUser;
  PetscCall(PetscViewerCreate(comm, viewer));
  PetscCall(PetscViewerSetType(*viewer, PETSCVIEWERBINARY));
  PetscCall(PetscViewerBinarySetSkipInfo(*viewer, PETSC_TRUE));
  PetscCall(PetscViewerFileSetMode(*viewer, mode));
  PetscCall(PetscViewerFileSetName(*viewer, file));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode WriteRestart(const Mesh &mesh, Vec U, const Progress &progress, const char *file)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)U);
  const std::string beside = std::string(file) + ".part";
  double values[kNumbers] = {static_cast<double>(progress.step),
                             static_cast<double>(progress.order), progress.cfl, progress.first,
                             progress.last};
  Vec natural, numbers;
  VecScatter scatter;
  PetscViewer viewer;
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(mark_of(mesh, &values[kProgress]));
  PetscCall(natural_order(mesh, U, &natural, &scatter));
  PetscCall(VecScatterBegin(scatter, U, natural, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, U, natural, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(numbers_vec(comm, &numbers));
  for (PetscInt k = 0; rank == 0 && k < kNumbers; ++k)
    PetscCall(VecSetValue(numbers, k, values[k], INSERT_VALUES));
  PetscCall(VecAssemblyBegin(numbers));
  PetscCall(VecAssemblyEnd(numbers));
  PetscCall(open_file(comm, beside.c_str(), FILE_MODE_WRITE, &viewer));
  PetscCall(VecView(numbers, viewer));
  PetscCall(VecView(natural, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  int error = rank == 0 && std::rename(beside.c_str(), file) != 0 ? errno : 0;
  PetscCallMPI(MPI_Bcast(&error, 1, MPI_INT, 0, comm));
  PetscCheck(!error, comm, PETSC_ERR_FILE_WRITE, "%s: %s", file, std::strerror(error));
  PetscCall(VecDestroy(&numbers));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(VecDestroy(&natural));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReadRestart(const Mesh &mesh, const char *file, Vec U, Progress *progress)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)U);
  // Other meshes and numberings differ by about one over the root of the number of vertices.
  constexpr double kRounding = 1e-10;
  double values[kNumbers] = {}, mark;
  Vec natural, stored;
  VecScatter scatter;
  PetscViewer viewer;
  PetscInt size, expected, count;

  PetscFunctionBeginUser;
  PetscCall(mark_of(mesh, &mark));
  PetscCall(natural_order(mesh, U, &natural, &scatter));
  PetscCall(VecCreate(comm, &stored));
  PetscCall(VecSetType(stored, VECSTANDARD));
  PetscCall(open_file(comm, file, FILE_MODE_READ, &viewer));
  PetscCall(load_numbers(viewer, values, &count));
  PetscCall(VecSetBlockSize(stored, mesh.bs()));
  PetscCall(VecLoad(stored, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(VecGetSize(stored, &size));
  PetscCall(VecGetSize(natural, &expected));
  PetscCheck(size == expected, comm, PETSC_ERR_USER_INPUT,
             "%s has %" PetscInt_FMT " unknowns, the mesh %" PetscInt_FMT
             ": it belongs to another mesh",
             file, size, expected);
  PetscCheck(count == kProgress || std::abs(values[kProgress] - mark) <= kRounding, comm,
             PETSC_ERR_USER_INPUT,
             "%s belongs to another mesh, or to the same mesh refined in another way: use the "
             "-flow_refine and -dm_refine with which it was written",
             file);
  PetscCall(VecCopy(stored, natural));
  PetscCall(VecScatterBegin(scatter, natural, U, INSERT_VALUES, SCATTER_REVERSE));
  PetscCall(VecScatterEnd(scatter, natural, U, INSERT_VALUES, SCATTER_REVERSE));
  *progress = {static_cast<PetscInt>(values[0]), static_cast<PetscInt>(values[1]), values[2],
               values[3], values[4]};
  PetscCall(VecDestroy(&stored));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(VecDestroy(&natural));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace flow
