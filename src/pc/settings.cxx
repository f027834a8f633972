#include "pc/settings.h"

#include <vector>

#include "pc/option_table.h"

namespace mcpi {

PetscErrorCode SettingsCheckAgreement(MPI_Comm comm, const Settings &settings)
{
  std::vector<double> most; // for each option: the largest number, then minus the smallest

  PetscFunctionBegin;
  for (const Option &option : Options()) {
    most.push_back(option.number(settings));
    most.push_back(-option.number(settings));
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, most.data(), static_cast<PetscMPIInt>(most.size()),
                             MPI_DOUBLE, MPI_MAX, comm));
  for (std::size_t k = 0; k < Options().size(); ++k)
    PetscCheck(most[2 * k] == -most[2 * k + 1], comm, PETSC_ERR_ARG_INCOMP,
               "-pc_mcpi_%s, or what its setter was given, differs from rank to rank: setters are "
               "logically collective, call them with the same value on all ranks",
               Options()[k].name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
