// This file holds public functions with their manual pages. The functions choose where and how
// sweeps run. They change the time, never the iteration. tools/manual writes the Options Database
// Key of a page from src/pc/options.def.
#include "pc/option_table.h"
#include "petscmcpi.h"

/*@
   PCMCPISetBackend - Selects the hardware and the code that run the sweeps

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context of type `PCMCPI`; for other types nothing happens
-  backend - `PC_MCPI_BACKEND_AUTO`, `PC_MCPI_BACKEND_HOST`, `PC_MCPI_BACKEND_CUDA`,
             `PC_MCPI_BACKEND_KOKKOS` or `PC_MCPI_BACKEND_REFERENCE`

   Options Database Key:
.  -pc_mcpi_backend <auto> - hardware and code that run the sweeps: auto, host, cuda, kokkos,
      reference; takes effect at the next numeric set-up

   Level: intermediate

   Notes:
   auto selects the device if the matrix or the vectors use one that the library supports, else the
   CPU. `-ksp_view` shows why no device is used.

   A backend that the library was built without, or that cannot run here, is the error
   `PETSC_ERR_SUP_SYS` at the next `PCSetUp()`. Use auto instead.

.seealso: `PCMCPI`, `PCMCPIGetBackend()`, `PCMCPIBackendType`, `PCMCPISetHalo()`
@*/
PetscErrorCode PCMCPISetBackend(PC pc, PCMCPIBackendType backend)
{
  PetscFunctionBegin;
  PetscCall(mcpi::SetOption(pc, __func__, backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetBackend - Gets the hardware and the code that run the sweeps

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`; another type is the error `PETSC_ERR_SUP`

   Output Parameter:
.  backend - the value that was set; `-ksp_view` shows what auto selects

   Level: intermediate

.seealso: `PCMCPI`, `PCMCPISetBackend()`
@*/
PetscErrorCode PCMCPIGetBackend(PC pc, PCMCPIBackendType *backend)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetHalo - Selects how ghost values are exchanged between MPI processes

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context of type `PCMCPI`; for other types nothing happens
-  halo - `PC_MCPI_HALO_AUTO`, `PC_MCPI_HALO_SF`, `PC_MCPI_HALO_NCCL` or `PC_MCPI_HALO_PEER`

   Options Database Key:
.  -pc_mcpi_halo <auto> - exchange of ghost values between ranks: auto, sf, nccl, peer; takes effect
      at the next symbolic set-up

   Level: advanced

   Notes:
   sf is `PetscSF`, which works everywhere. nccl is NCCL, for MPI processes with a CUDA device each.
   With peer the devices of one node store values into each other's memory and wait for each other
   without the host. auto selects peer where it can be used, else nccl, else sf. All give the same
   result bit for bit.

   An exchange that cannot be used is the error `PETSC_ERR_SUP_SYS` at the next `PCSetUp()`, which
   names the reason. Use auto instead.

.seealso: `PCMCPI`, `PCMCPIGetHalo()`, `PCMCPIHaloType`, `PCMCPISetHaloFrequency()`
@*/
PetscErrorCode PCMCPISetHalo(PC pc, PCMCPIHaloType halo)
{
  PetscFunctionBegin;
  PetscCall(mcpi::SetOption(pc, __func__, halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetHalo - Gets how ghost values are exchanged between MPI processes

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`; another type is the error `PETSC_ERR_SUP`

   Output Parameter:
.  halo - the value that was set; `-ksp_view` shows what auto selects

   Level: advanced

.seealso: `PCMCPI`, `PCMCPISetHalo()`
@*/
PetscErrorCode PCMCPIGetHalo(PC pc, PCMCPIHaloType *halo)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}
