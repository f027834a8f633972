// Collective execution of work that may fail on one rank only, such as an allocation. A failure on
// one rank becomes a failure on all ranks.
#pragma once

#include <petscsys.h>

#include <functional>
#include <string>

namespace mcpi {

// Collective. Runs work on every rank. If it throws on any rank, all ranks return the same PETSc
// error.
PetscErrorCode RunTogether(MPI_Comm comm, const std::function<void()> &work);
// Collective. As RunTogether(), but the failure is described in problem on all ranks. problem is
// empty if nothing failed.
PetscErrorCode RunAgreed(MPI_Comm comm, const std::function<void()> &work, std::string *problem);

} // namespace mcpi
