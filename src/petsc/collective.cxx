#include "petsc/collective.h"

#include <exception>
#include <new>

#include "petsc/compat.h"
#include "petsc/prefix.h"

namespace mcpi {
namespace {

enum Outcome : PetscMPIInt { fine, failed_otherwise, out_of_memory };

PetscErrorCode run_agreed(MPI_Comm comm, const std::function<void()> &work, std::string *problem,
                          PetscMPIInt *outcome)
{
  PetscFunctionBegin;
  problem->clear();
  *outcome = fine;
  try {
    work();
  } catch (const std::bad_alloc &e) {
    *problem = with_prefix(e.what());
    *outcome = out_of_memory;
  } catch (const std::exception &e) {
    *problem = with_prefix(e.what());
    *outcome = failed_otherwise;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, outcome, 1, MPI_INT, MPI_MAX, comm));
  if (*outcome != fine && problem->empty())
    *problem = *outcome == out_of_memory ? "another rank ran out of memory" : "another rank failed";
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode RunAgreed(MPI_Comm comm, const std::function<void()> &work, std::string *problem)
{
  PetscMPIInt outcome;

  PetscFunctionBegin;
  PetscCall(run_agreed(comm, work, problem, &outcome));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RunTogether(MPI_Comm comm, const std::function<void()> &work)
{
  std::string problem;
  PetscMPIInt outcome;

  PetscFunctionBegin;
  PetscCall(run_agreed(comm, work, &problem, &outcome));
  PetscCheck(outcome != out_of_memory, comm, PETSC_ERR_MEM, "PCMCPI: %s", problem.c_str());
  PetscCheck(outcome == fine, comm, PETSC_ERR_LIB, "PCMCPI: %s", problem.c_str());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
