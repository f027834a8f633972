#include "setup/pattern_matrix.h"

#include <algorithm>
#include <utility>

#include "petsc/compat.h"

namespace mcpi {

PetscErrorCode PatternMatrix::create(MPI_Comm comm, PetscInt rows, PetscInt global_rows, Mat *mat)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscMPIInt too_many = !std::in_range<PetscInt>(j.size());
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &too_many, 1, MPI_INT, MPI_MAX, comm));
  PetscCheck(!too_many, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "The graph of the matrix has more entries on a rank than PetscInt counts. Use more "
             "ranks, or a PETSc configured with "
             "--with-64-bit-indices");
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (size == 1) {
    // The matrix needs an array of values, but nothing reads them. The operating system gives
    // memory to the zeros of calloc() only when they are touched, so they take none.
    zeros_.reset(static_cast<PetscScalar *>(
        std::calloc(std::max<std::size_t>(j.size(), 1), sizeof(PetscScalar))));
    PetscCheck(zeros_, PETSC_COMM_SELF, PETSC_ERR_MEM, "No memory for the graph of the matrix");
    PetscCall(MatCreateSeqAIJWithArrays(comm, rows, rows, i.data(), j.data(), zeros_.get(), mat));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatCreate(comm, mat));
  PetscCall(MatSetSizes(*mat, rows, rows, global_rows, global_rows));
  PetscCall(MatSetType(*mat, MATMPIAIJ));
  PetscCall(MatMPIAIJSetPreallocationCSR(*mat, i.data(), j.data(), nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
