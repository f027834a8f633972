// This file writes and reads restart files.
#include "restart.h"

#include <petscviewer.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace flow {
namespace {

constexpr PetscInt kNumbers = 5; // members of Progress

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

// Creates a vector for the members of Progress. The first rank has them all.
PetscErrorCode numbers_vec(MPI_Comm comm, Vec *numbers)
{
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(VecCreateMPI(comm, rank == 0 ? kNumbers : 0, kNumbers, numbers));
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
  const double values[kNumbers] = {static_cast<double>(progress.step),
                                   static_cast<double>(progress.order), progress.cfl,
                                   progress.first, progress.last};
  Vec natural, numbers;
  VecScatter scatter;
  PetscViewer viewer;
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
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
  double values[kNumbers] = {};
  Vec natural, numbers, stored;
  VecScatter scatter;
  PetscViewer viewer;
  PetscMPIInt rank;
  PetscInt size, expected;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(natural_order(mesh, U, &natural, &scatter));
  PetscCall(numbers_vec(comm, &numbers));
  PetscCall(VecCreate(comm, &stored));
  PetscCall(VecSetType(stored, VECSTANDARD));
  PetscCall(open_file(comm, file, FILE_MODE_READ, &viewer));
  PetscCall(VecLoad(numbers, viewer));
  PetscCall(VecSetBlockSize(stored, mesh.bs()));
  PetscCall(VecLoad(stored, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(VecGetSize(stored, &size));
  PetscCall(VecGetSize(natural, &expected));
  PetscCheck(size == expected, comm, PETSC_ERR_USER_INPUT,
             "%s has %" PetscInt_FMT " unknowns, the mesh %" PetscInt_FMT
             ": it belongs to another mesh",
             file, size, expected);
  PetscCall(VecCopy(stored, natural));
  PetscCall(VecScatterBegin(scatter, natural, U, INSERT_VALUES, SCATTER_REVERSE));
  PetscCall(VecScatterEnd(scatter, natural, U, INSERT_VALUES, SCATTER_REVERSE));
  if (rank == 0) {
    const PetscScalar *n;
    PetscCall(VecGetArrayRead(numbers, &n));
    for (PetscInt k = 0; k < kNumbers; ++k) values[k] = n[k];
    PetscCall(VecRestoreArrayRead(numbers, &n));
  }
  PetscCallMPI(MPI_Bcast(values, kNumbers, MPI_DOUBLE, 0, comm));
  *progress = {static_cast<PetscInt>(values[0]), static_cast<PetscInt>(values[1]), values[2],
               values[3], values[4]};
  PetscCall(VecDestroy(&stored));
  PetscCall(VecDestroy(&numbers));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(VecDestroy(&natural));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace flow
