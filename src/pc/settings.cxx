#include "pc/settings.h"

#include <functional>
#include <iterator>
#include <vector>

#include "petsc/compat.h"

namespace mcpi {

PetscErrorCode SettingsCheckAgreement(MPI_Comm comm, const Settings &s)
{
  struct Entry {
    const char *option;
    double value;
  };
  const Entry entries[] = {
      {"its", static_cast<double>(s.its)},
      {"omega", s.omega},
      {"restart", static_cast<double>(s.restart)},
      {"sweep", static_cast<double>(s.sweep)},
      {"offdiag_precision", static_cast<double>(s.offdiag)},
      {"vector_precision", static_cast<double>(s.vector)},
      {"gather_precision", static_cast<double>(s.gather)},
      {"form", static_cast<double>(s.form)},
      {"scaling", static_cast<double>(s.scaling)},
      {"scaling_keep", s.keep_scaling ? 1.0 : 0.0},
      {"setup_threads", static_cast<double>(s.setup_threads)},
      {"backend", static_cast<double>(s.backend)},
      {"halo", static_cast<double>(s.halo)},
      {"halo_timeout", s.halo_timeout},
      {"halo_frequency", static_cast<double>(s.frequency)},
      {"overlap", s.overlap ? 1.0 : 0.0},
      {"ordering", static_cast<double>(s.ordering)},
      {"mat_coloring_type", static_cast<double>(std::hash<std::string>()(s.coloring))}};
  std::vector<double> most;

  PetscFunctionBegin;
  for (const Entry &entry : entries) {
    most.push_back(entry.value);
    most.push_back(-entry.value);
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, most.data(), static_cast<PetscMPIInt>(most.size()),
                             MPI_DOUBLE, MPI_MAX, comm));
  for (std::size_t k = 0; k < std::size(entries); ++k)
    PetscCheck(most[2 * k] == -most[2 * k + 1], comm, PETSC_ERR_ARG_INCOMP,
               "-pc_mcpi_%s, or what its setter was given, differs from rank to rank: setters are "
               "logically collective, call them with the "
               "same value on all ranks",
               entries[k].option);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
