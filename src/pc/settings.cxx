#include "pc/settings.h"

#include <vector>

#include "pc/option_table.h"
#include "petsc/prefix.h"
#include "petscmcpi.h"

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
               "-%spc_mcpi_%s differs between MPI ranks. Give it the same value on all ranks",
               current_prefix(), Options()[k].name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SettingsCheckPrecisions(MPI_Comm comm, const Settings &settings)
{
  const bool wide_blocks = settings.offdiag == PC_MCPI_PRECISION_FP64;

  PetscFunctionBegin;
  PetscCheck(
      !wide_blocks || settings.vector != PC_MCPI_VECTOR_PRECISION_FP32, comm, PETSC_ERR_ARG_INCOMP,
      "%s",
      with_prefix("-pc_mcpi_offdiag_precision fp64 needs -pc_mcpi_vector_precision fp64 or auto")
          .c_str());
  PetscCheck(settings.gather != PC_MCPI_GATHER_PRECISION_BFP16 ||
                 !(wide_blocks || settings.vector == PC_MCPI_VECTOR_PRECISION_FP64),
             comm, PETSC_ERR_ARG_INCOMP, "%s",
             with_prefix("-pc_mcpi_gather_precision bfp16 needs -pc_mcpi_vector_precision fp32 or "
                         "auto, and -pc_mcpi_offdiag_precision below fp64")
                 .c_str());
  PetscCheck(settings.form != PC_MCPI_FORM_ENTRIES ||
                 ((wide_blocks || settings.offdiag == PC_MCPI_PRECISION_AUTO) &&
                  settings.vector != PC_MCPI_VECTOR_PRECISION_FP32 &&
                  settings.gather != PC_MCPI_GATHER_PRECISION_BFP16),
             comm, PETSC_ERR_ARG_INCOMP, "%s",
             with_prefix("-pc_mcpi_form entries needs fp64 or auto for -pc_mcpi_offdiag_precision "
                         "and -pc_mcpi_vector_precision, and not -pc_mcpi_gather_precision bfp16")
                 .c_str());
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool SuitsFactors(const Settings &settings)
{
  return settings.sweep == PC_MCPI_SWEEP_SYMMETRIC && settings.omega == 1.0 &&
         settings.form != PC_MCPI_FORM_ENTRIES &&
         settings.frequency == PC_MCPI_HALO_FREQUENCY_COLOR;
}

PetscErrorCode SettingsCheckMethod(MPI_Comm comm, const Settings &settings)
{
  PetscFunctionBegin;
  if (settings.method == PC_MCPI_METHOD_POINT || settings.method == PC_MCPI_METHOD_AUTO)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(SuitsFactors(settings), comm, PETSC_ERR_ARG_INCOMP, "%s",
             with_prefix(std::string("-pc_mcpi_method ") + PCMCPIMethods[settings.method] +
                         " needs -pc_mcpi_sweep symmetric, -pc_mcpi_omega 1, "
                         "-pc_mcpi_halo_frequency color, which are the defaults, and not "
                         "-pc_mcpi_form entries")
                 .c_str());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
