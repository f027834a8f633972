// This file holds public functions with their manual pages. The functions choose how numbers are
// stored and rounded. tools/manual writes the Options Database Key of a page from
// src/pc/options.def.
#include "pc/option_table.h"
#include "petscmcpi.h"

/*@
   PCMCPISetOffdiagPrecision - Selects the storage of the off-diagonal blocks

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context of type `PCMCPI`; for other types nothing happens
-  precision - `PC_MCPI_PRECISION_FP64`, `PC_MCPI_PRECISION_FP32`, `PC_MCPI_PRECISION_FP16`,
               `PC_MCPI_PRECISION_INT8`, `PC_MCPI_PRECISION_INT4` or `PC_MCPI_PRECISION_AUTO`

   Options Database Key:
.  -pc_mcpi_offdiag_precision <auto> - storage of the off-diagonal blocks: fp64, fp32, fp16, int8,
      int4, auto; takes effect at the next numeric set-up

   Level: intermediate

   Notes:
   `PC_MCPI_PRECISION_AUTO`, the default, takes int8 where the `KSP` tolerates it and where it saves
   time: under flexible methods on a CPU from block size 4 on, and on a device under all methods
   that need no symmetric preconditioner. It takes fp64 for sweeps over entries
   (`PC_MCPI_FORM_ENTRIES`), and fp32 in all other cases. `KSPSetUp()` sets up the
   preconditioner before the preconditioner sees the `KSP`. The set-up then expects the method of
   -ksp_type, `KSPCG` for a matrix that is known to be symmetric, else `KSPGMRES`. If a method comes
   that needs more bits, the first solve sets the values up again.

   Sums are accumulated in the precision of the vectors. Fewer bytes make faster sweeps. With
   `KSPFGMRES` blocks in int8 need about as many iterations as blocks in fp32.

   Rounding makes a symmetric preconditioner unsymmetric. Blocks below fp32 under `KSPCG`,
   `KSPMINRES` and related methods are therefore the error `PETSC_ERR_ARG_INCOMP`, unless
   `PCMCPISetVectorPrecision()` forces it. `KSPFCG`, `KSPPIPEFCG`, `KSPCHEBYSHEV` and smoothers take
   them.

   Blocks are multiplied by powers of two before they are rounded, one per component, so any units
   fit. Values that do not fit the storage still make the set-up fail, see `PCMCPIGetFailedBlock()`.
   Use a wider storage.

.seealso: `PCMCPI`, `PCMCPIGetOffdiagPrecision()`, `PCMCPIPrecision`, `PCMCPISetVectorPrecision()`
@*/
PetscErrorCode PCMCPISetOffdiagPrecision(PC pc, PCMCPIPrecision precision)
{
  PetscFunctionBegin;
  PetscCall(mcpi::SetOption(pc, __func__, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetOffdiagPrecision - Gets the storage of the off-diagonal blocks

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`; another type is the error `PETSC_ERR_SUP`

   Output Parameter:
.  precision - the storage

   Level: intermediate

.seealso: `PCMCPI`, `PCMCPISetOffdiagPrecision()`
@*/
PetscErrorCode PCMCPIGetOffdiagPrecision(PC pc, PCMCPIPrecision *precision)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetVectorPrecision - Selects the precision of the vectors inside the sweeps

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context of type `PCMCPI`; for other types nothing happens
-  precision - `PC_MCPI_VECTOR_PRECISION_AUTO`, `PC_MCPI_VECTOR_PRECISION_FP64` or
               `PC_MCPI_VECTOR_PRECISION_FP32`

   Options Database Key:
.  -pc_mcpi_vector_precision <auto> - precision of the vectors inside the sweeps: fp64, fp32, auto;
      takes effect at the next numeric set-up

   Level: advanced

   Notes:
   With auto the vectors are fp32 in a `KSPSolve()` of a flexible method: `KSPFGMRES`, `KSPGCR`,
   `KSPFCG`, `KSPPIPEFGMRES`, `KSPPIPEFCG`, or an outermost `KSPRICHARDSON` that tests convergence.
   With every other method they are fp64. They are also fp64 in a `PCApply()` outside a solve, in
   `KSPMatSolve()`, with off-diagonal blocks in fp64, where the units of the equations differ by
   more than about 2^120, and where equilibrated diagonal blocks have condition numbers above 2^21.

   Vectors in single precision make the preconditioner linear to about 1e-7 only. A method that is
   not flexible then reports a residual that goes on falling where the true one does not.

   On a CPU the precision of the vectors changes without another set-up. On a device the first
   `KSPSolve()` of a flexible method costs a second numeric set-up, because the method is not known
   at the first one. So does every change between methods of the two kinds. After
   `KSPSetReusePreconditioner()` and a change of the matrix, vectors on a device change from fp32 to
   fp64 with the blocks as they are, and do not change back.

   A common unit of all equations does not matter: with fp32 the right-hand side is scaled by a
   power of two, which follows from its norm. `KSPFGMRES` and `KSPGCR` have computed this norm
   before; otherwise it costs one reduction in each application.

   Residuals of `PCMCPISetRestart()` and of a nonzero initial guess are computed in `PetscScalar` in
   any case.

   A precision other than auto also forces a combination that is refused otherwise: gathers in bfp16
   under a method that is not flexible, or an unsymmetric sweep or blocks below fp32 under `KSPCG`
   and related methods.

   fp32 with off-diagonal blocks in fp64 is an error at the set-up. Use auto, or a smaller storage
   of the blocks. fp32 is also an error if the units of the equations differ by more than about
   2^120. Use auto, or scale the equations.

.seealso: `PCMCPI`, `PCMCPIGetVectorPrecision()`, `PCMCPIVectorPrecision`,
         `PCMCPISetOffdiagPrecision()`, `PCMCPISetGatherPrecision()`
@*/
PetscErrorCode PCMCPISetVectorPrecision(PC pc, PCMCPIVectorPrecision precision)
{
  PetscFunctionBegin;
  PetscCall(mcpi::SetOption(pc, __func__, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetVectorPrecision - Gets the precision of the vectors inside the sweeps

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`; another type is the error `PETSC_ERR_SUP`

   Output Parameter:
.  precision - the value that was set; `-ksp_view` shows what auto selects

   Level: advanced

.seealso: `PCMCPI`, `PCMCPISetVectorPrecision()`
@*/
PetscErrorCode PCMCPIGetVectorPrecision(PC pc, PCMCPIVectorPrecision *precision)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetGatherPrecision - Selects the precision of the vector as read by off-diagonal products

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context of type `PCMCPI`; for other types nothing happens
-  precision - `PC_MCPI_GATHER_PRECISION_FP32`, `PC_MCPI_GATHER_PRECISION_BFP16` or
               `PC_MCPI_GATHER_PRECISION_AUTO`

   Options Database Key:
.  -pc_mcpi_gather_precision <auto> - precision in which off-diagonal products read the vector:
      fp32, bfp16, auto; takes effect at the next numeric set-up

   Level: advanced

   Notes:
   With fp32 the products read the vector in its own precision. With bfp16 they read a copy in
   16-bit block floating point. On a GPU this saves memory traffic: 12 bytes instead of 20 for each
   block row of size 5. On a CPU the result is the same and nothing is saved.

   `PC_MCPI_GATHER_PRECISION_AUTO`, the default, takes bfp16 on a device under a flexible method if
   blocks have at most 8 bits, else fp32.

   bfp16 makes the preconditioner linear to about 2^-15 only. Under a method that is not flexible
   bfp16 is an error, unless `-pc_mcpi_vector_precision fp32` forces it. The error
   `PETSC_ERR_ARG_INCOMP` comes at the solve. The flexible methods are those that
   `PCMCPISetVectorPrecision()` lists.

   bfp16 needs vectors in fp32. With `-pc_mcpi_vector_precision auto` it selects them, unless the
   matrix needs vectors in fp64; products then read these. With vectors or blocks in fp64 that are
   given it is an error at the set-up.

.seealso: `PCMCPI`, `PCMCPIGetGatherPrecision()`, `PCMCPIGatherPrecision`,
         `PCMCPISetVectorPrecision()`
@*/
PetscErrorCode PCMCPISetGatherPrecision(PC pc, PCMCPIGatherPrecision precision)
{
  PetscFunctionBegin;
  PetscCall(mcpi::SetOption(pc, __func__, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetGatherPrecision - Gets the precision of the vector as read by off-diagonal products

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`; another type is the error `PETSC_ERR_SUP`

   Output Parameter:
.  precision - the precision

   Level: advanced

.seealso: `PCMCPI`, `PCMCPISetGatherPrecision()`
@*/
PetscErrorCode PCMCPIGetGatherPrecision(PC pc, PCMCPIGatherPrecision *precision)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetForm - Selects the form of the stored off-diagonal blocks

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context of type `PCMCPI`; for other types nothing happens
-  form - `PC_MCPI_FORM_AUTO` (default), `PC_MCPI_FORM_PRESCALED`, `PC_MCPI_FORM_FACTORED`, or
   `PC_MCPI_FORM_ENTRIES`

   Options Database Key:
.  -pc_mcpi_form <auto> - store D^{-1}O, or O and apply D^{-1} in every sweep, or the entries of O:
      prescaled, factored, auto, entries; takes effect at the next numeric set-up

   Level: advanced

   Notes:
   All forms are the same iteration in exact arithmetic. The prescaled form moves fewer bytes than
   the factored form. The form entries works on the entries of the matrix that are not zero, in
   double precision, with sparse LU factors of the diagonal blocks. It runs on a CPU: with another
   backend, with blocks below fp64 or with vectors in fp32 it is the error `PETSC_ERR_ARG_INCOMP`.

   auto takes the prescaled form, unless diagonal blocks are so stiff that the rounding of the
   stored blocks would spoil residuals. It then takes the factored form, or wider storage than
   `PCMCPISetOffdiagPrecision()` has set. `-ksp_view` says so. A form that is given is kept, and so
   is the storage. The same holds with `PC_MCPI_VECTOR_PRECISION_FP32`.

   On a CPU auto takes entries for AIJ matrices with blocks of more than 32 unknowns that hold less
   than a quarter of their numbers. With fewer than 100 unknowns it takes them below a share that is
   proportional to the block size: a tenth for 40 unknowns. The shares are those of all blocks, and
   of diagonal blocks. Options of a backend, a precision other than fp64 vectors, or a method other
   than block Gauss-Seidel prevent this.

.seealso: `PCMCPI`, `PCMCPIGetForm()`, `PCMCPIForm`
@*/
PetscErrorCode PCMCPISetForm(PC pc, PCMCPIForm form)
{
  PetscFunctionBegin;
  PetscCall(mcpi::SetOption(pc, __func__, form));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetForm - Gets the form of the stored off-diagonal blocks

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`; another type is the error `PETSC_ERR_SUP`

   Output Parameter:
.  form - the form

   Level: advanced

.seealso: `PCMCPI`, `PCMCPISetForm()`
@*/
PetscErrorCode PCMCPIGetForm(PC pc, PCMCPIForm *form)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, form));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetFailedBlock - Gets the first block row that made the last set-up fail

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`; another type is the error `PETSC_ERR_SUP`

   Output Parameter:
.  row - the global block row, which is the scalar row divided by the block size, the same on all
         MPI processes; -1 if there is none

   Level: intermediate

   Notes:
   `PCGetFailedReason()` gives `PC_FACTOR_NUMERIC_ZEROPIVOT` for a singular diagonal block. It gives
   `PC_SUBPC_ERROR` for values that are not finite or do not fit the storage precision. `-info` and
   `-ksp_view` show the reason and how to fix it. Inside another preconditioner, which would never
   forget the reason, `PCGetFailedReason()` gives `PC_NOERROR`, and results are not finite.

   An unknown whose row and column of the matrix are zero is no failure. It is left out of its block
   and keeps its value. `-ksp_view` counts such unknowns.

   After `PCSetErrorIfFailure()` a block row that cannot be used is an error at the set-up.

.seealso: `PCMCPI`, `PCGetFailedReason()`, `PCSetErrorIfFailure()`
@*/
PetscErrorCode PCMCPIGetFailedBlock(PC pc, PetscInt *row)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, row));
  PetscFunctionReturn(PETSC_SUCCESS);
}
