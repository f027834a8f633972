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

.seealso: `PCMCPI`, `PCMCPIGetHalo()`, `PCMCPIHaloType`, `PCMCPISetHaloFrequency()`,
         `PCMCPISetHaloTimeout()`
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

/*@
   PCMCPISetHaloTimeout - Sets how long a device waits for the ghost values of another MPI process

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context of type `PCMCPI`; for other types nothing happens
-  seconds - the time in seconds, above 0 and at most 1e9

   Options Database Key:
.  -pc_mcpi_halo_timeout <1800> - seconds that a device waits for another rank: above 0 and at most
      1e9; takes effect at the next symbolic set-up

   Level: advanced

   Notes:
   Only the exchange `PC_MCPI_HALO_PEER` uses it. Ghost values that do not come in time become NaN
   in the result. Applications that begin after that are errors until `PCReset()` and another
   set-up.

   MPI processes also wait while one of them does something else between two applications, such as
   writing files. Use a longer time where that takes long.

.seealso: `PCMCPI`, `PCMCPIGetHaloTimeout()`, `PCMCPISetHalo()`
@*/
PetscErrorCode PCMCPISetHaloTimeout(PC pc, PetscReal seconds)
{
  PetscFunctionBegin;
  PetscCall(mcpi::SetOption(pc, __func__, seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetHaloTimeout - Gets how long a device waits for the ghost values of another MPI process

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`; another type is the error `PETSC_ERR_SUP`

   Output Parameter:
.  seconds - the time in seconds

   Level: advanced

.seealso: `PCMCPI`, `PCMCPISetHaloTimeout()`
@*/
PetscErrorCode PCMCPIGetHaloTimeout(PC pc, PetscReal *seconds)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetSetUpThreads - Sets the largest number of threads that an MPI process uses in a set-up

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context of type `PCMCPI`; for other types nothing happens
-  threads - the number, 1 for the calling thread alone, or `PETSC_DECIDE`

   Options Database Key:
.  -pc_mcpi_setup_threads <-1> - largest number of threads of a rank in a set-up: at least 1, or -1
      (decide); takes effect at the next set-up

   Level: advanced

   Notes:
   Threads color and order the rows of large matrices, look for changes in their pattern, and
   copy values from the host to a device. The result does not depend on their number. Sweeps on the
   host start no threads.

   With `PETSC_DECIDE`, the default, the number is that of the cores that the MPI process may use,
   divided by the processes of the matrix's communicator on the node. It is 1 where that
   communicator is smaller than `PETSC_COMM_WORLD`.

.seealso: `PCMCPI`, `PCMCPIGetSetUpThreads()`
@*/
PetscErrorCode PCMCPISetSetUpThreads(PC pc, PetscInt threads)
{
  PetscFunctionBegin;
  PetscCall(mcpi::SetOption(pc, __func__, threads));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetSetUpThreads - Gets the largest number of threads that an MPI process uses in a set-up

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`; another type is the error `PETSC_ERR_SUP`

   Output Parameter:
.  threads - the number that was set, `PETSC_DECIDE` if none was

   Level: advanced

.seealso: `PCMCPI`, `PCMCPISetSetUpThreads()`
@*/
PetscErrorCode PCMCPIGetSetUpThreads(PC pc, PetscInt *threads)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, threads));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetBlockProduct - Determines whether products with the matrix read one column index for
   each block on a CUDA device

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context of type `PCMCPI`; for other types nothing happens
-  flag - `PETSC_TRUE` to read one column index for each block, `PETSC_FALSE` for PETSc's products
      (default)

   Options Database Key:
.  -pc_mcpi_block_product <false> - products with an AIJCUSPARSE matrix read one column index per
      block: true, false; takes effect at the next set-up

   Level: intermediate

   Notes:
   A `MATAIJCUSPARSE` matrix stores a column index for each number. Where its blocks are full, one
   index for each block suffices, and a product reads up to a third less memory. From the next
   set-up on `MatMult()` and `MatMultAdd()` of both matrices of `PCSetOperators()` do so. The
   numbers stay in double precision and where they are. Results differ from those of cuSPARSE by
   the rounding of their sums, and are the same in every run.

   The change stays with the matrices, also after the preconditioner is destroyed. With
   `PETSC_FALSE` the next set-up takes it back. If PETSc takes it back, as `MatBindToCPU()` does,
   the next set-up makes it again.

   Matrices of other types, of block size 1, and with blocks that are not full keep PETSc's products.
   `PCView()` then says why.

.seealso: `PCMCPI`, `PCMCPIGetBlockProduct()`, `MATAIJCUSPARSE`, `MatSetBlockSize()`
@*/
PetscErrorCode PCMCPISetBlockProduct(PC pc, PetscBool flag)
{
  PetscFunctionBegin;
  PetscCall(mcpi::SetOption(pc, __func__, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetBlockProduct - Gets whether products with the matrix are to read one column index for
   each block on a CUDA device

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`; another type is the error `PETSC_ERR_SUP`

   Output Parameter:
.  flag - `PETSC_TRUE` if products are to read one column index for each block

   Level: intermediate

.seealso: `PCMCPI`, `PCMCPISetBlockProduct()`
@*/
PetscErrorCode PCMCPIGetBlockProduct(PC pc, PetscBool *flag)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetGramSchmidt - Determines whether classical Gram-Schmidt takes several vectors at a time
   on a CUDA device

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context of type `PCMCPI`; for other types nothing happens
-  flag - `PETSC_TRUE` to take several vectors at a time, `PETSC_FALSE` for PETSc's function
      (default)

   Options Database Key:
.  -pc_mcpi_gram_schmidt <false> - classical Gram-Schmidt of the KSP takes several vectors at a time
      on a CUDA device: true, false; takes effect at the next solve

   Level: intermediate

   Notes:
   `KSPGMRES`, `KSPFGMRES` and `KSPLGMRES` make each new vector orthogonal to all earlier ones. With
   `PETSC_TRUE` the `KSP` that applies this preconditioner itself takes up to eight vectors in each
   launch. Up to rounding, the coefficients are those of
   `KSPOrthogonalizationClassicalGramSchmidt()`. On one MPI process the same vectors give the same
   coefficients in every run. `KSPOrthogonalizationSetCGSRefinementType()` is respected. Stiff
   systems need its `KSP_ORTHOGONALIZATION_CGS_REFINE_IFNEEDED`, as with PETSc's function: classical
   Gram-Schmidt loses orthogonality there.

   The next `KSPSolve()` makes the change by `KSPOrthogonalizationSet()`. The change stays with the
   `KSP`, and `KSPView()` then calls the orthogonalization unknown. With `PETSC_FALSE` the next
   `KSPSolve()` takes the change back. A `KSP` with another orthogonalization, such as
   `-ksp_orthogonalization mgs`, keeps it. Vectors that are not of type `VECCUDA`, or that are bound
   to the CPU, are left to PETSc. With PETSc before 3.26 nothing changes. `PCView()` says who
   orthogonalizes.

.seealso: `PCMCPI`, `PCMCPIGetGramSchmidt()`, `PCMCPISetBlockProduct()`, `KSPOrthogonalizationSet()`
@*/
PetscErrorCode PCMCPISetGramSchmidt(PC pc, PetscBool flag)
{
  PetscFunctionBegin;
  PetscCall(mcpi::SetOption(pc, __func__, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetGramSchmidt - Gets whether classical Gram-Schmidt is to take several vectors at a time
   on a CUDA device

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`; another type is the error `PETSC_ERR_SUP`

   Output Parameter:
.  flag - `PETSC_TRUE` if several vectors are to be taken at a time

   Level: intermediate

.seealso: `PCMCPI`, `PCMCPISetGramSchmidt()`
@*/
PetscErrorCode PCMCPIGetGramSchmidt(PC pc, PetscBool *flag)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}
