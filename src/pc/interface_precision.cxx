// Public setters and getters of the precisions: they check their arguments and ask the object.
#include "petscmcpi.h"

#include <petsc/private/pcimpl.h>

#include "petsc/compat.h"

/*@
   PCMCPISetOffdiagPrecision - Sets the storage of the off-diagonal blocks

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context, of type `PCMCPI`; for other types nothing happens
-  precision - the value

   Options Database Key:
.  -pc_mcpi_offdiag_precision <fp32> - storage of the off-diagonal blocks

   Level: intermediate

   Note:
   Sums are accumulated in the vectors' precision. Fewer bytes make faster sweeps; as a
   preconditioner of `KSPFGMRES` int8 and int4 need about as many iterations as fp32.

.seealso: `PCMCPI`, `PCMCPIGetOffdiagPrecision()`
@*/
PetscErrorCode PCMCPISetOffdiagPrecision(PC pc, PCMCPIPrecision precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, precision, 2);
  PetscCheck(precision >= 0 && precision <= PC_MCPI_PRECISION_INT4,
             PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Unknown value %d, use one that -help lists for -pc_mcpi_offdiag_precision",
             (int)precision);
  PetscTryMethod(pc, "PCMCPISetOffdiagPrecision_C", (PC, PCMCPIPrecision), (pc, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetOffdiagPrecision - Gets the storage of the off-diagonal blocks

   Not Collective

   Input Parameter:
.  pc - the preconditioner context, of type `PCMCPI`

   Output Parameter:
.  precision - the value in force

   Level: intermediate

.seealso: `PCMCPI`, `PCMCPISetOffdiagPrecision()`
@*/
PetscErrorCode PCMCPIGetOffdiagPrecision(PC pc, PCMCPIPrecision *precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  CompatAssertPointer(precision, 2);
  PetscUseMethod(pc, "PCMCPIGetOffdiagPrecision_C", (PC, PCMCPIPrecision *), (pc, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetVectorPrecision - Sets the precision of the vectors inside the sweeps

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context, of type `PCMCPI`; for other types nothing happens
-  precision - `PC_MCPI_VECTOR_PRECISION_AUTO`, `PC_MCPI_VECTOR_PRECISION_FP64` or
               `PC_MCPI_VECTOR_PRECISION_FP32`

   Options Database Key:
.  -pc_mcpi_vector_precision <auto,fp64,fp32> - precision of the vectors inside the sweeps, default
                                        auto

   Level: advanced

   Notes:
   The choice acts at the next set-up. With fp64 off-diagonal blocks the vectors are fp64. To ask
for fp32 is then an error at the set-up.

   With auto the vectors are fp32 in a `KSPSolve()` of a flexible method: `KSPFGMRES`, `KSPGCR`,
   `KSPFCG`, `KSPPIPEFGMRES`, `KSPPIPEFCG`, or an outermost `KSPRICHARDSON` with a test of
   convergence. With every other method they are fp64. They are also fp64 in a `PCApply()` outside a
   solve, in `KSPMatSolve()`, and where the equations have units that are too different for single
   precision. The first `KSPSolve()` of a flexible method costs a second numeric set-up, because the
   method is not known at the first one. So does every change between methods of the two kinds.
   After `KSPSetReusePreconditioner()` vectors in double precision stay, and a method that needs
them where there are none is an error.

   Vectors in single precision make the preconditioner linear to about 1e-7 only. A method that is
   not flexible then reports a residual that
   goes on falling where the true one does not.

   Single precision serves right-hand sides in any units: they are scaled by a power of two. The
   power follows from the norm of the right-hand side, which
   `KSPFGMRES` and `KSPGCR` have computed before; otherwise it costs one reduction an application.

   The residuals of -pc_mcpi_restart and of a nonzero guess are computed in `PetscScalar` in any
   case.

.seealso: `PCMCPI`, `PCMCPIGetVectorPrecision()`, `PCMCPIVectorPrecision`
@*/
PetscErrorCode PCMCPISetVectorPrecision(PC pc, PCMCPIVectorPrecision precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, precision, 2);
  PetscCheck(
      precision >= PC_MCPI_VECTOR_PRECISION_FP64 && precision <= PC_MCPI_VECTOR_PRECISION_AUTO,
      PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
      "Unknown value %d, use one that -help lists for -pc_mcpi_vector_precision", (int)precision);
  PetscTryMethod(pc, "PCMCPISetVectorPrecision_C", (PC, PCMCPIVectorPrecision), (pc, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetVectorPrecision - Gets the precision of the vectors inside the sweeps

   Not Collective

   Input Parameter:
.  pc - the preconditioner context, of type `PCMCPI`

   Output Parameter:
.  precision - the value that was set; -ksp_view tells what auto comes to

   Level: advanced

.seealso: `PCMCPI`, `PCMCPISetVectorPrecision()`, `PCMCPIVectorPrecision`
@*/
PetscErrorCode PCMCPIGetVectorPrecision(PC pc, PCMCPIVectorPrecision *precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  CompatAssertPointer(precision, 2);
  PetscUseMethod(pc, "PCMCPIGetVectorPrecision_C", (PC, PCMCPIVectorPrecision *), (pc, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetGatherPrecision - Sets what the products of off-diagonal blocks read of the vector that
   is relaxed

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context, of type `PCMCPI`; for other types nothing happens
-  precision - the value

   Options Database Key:
.  -pc_mcpi_gather_precision <fp32> - what off-diagonal products read of x

   Level: advanced

   Notes:
   bfp16 saves bytes on a GPU, where products gather 12 bytes instead of 20 at block size 5; on a
   CPU it has the same numerics and saves nothing. It
   needs fp32 vectors.

   The map is then linear to about 2^-15 only. That is safe with `KSPRICHARDSON` and
   -pc_mcpi_restart and with `KSPFGMRES`; with a Krylov method that
   takes the preconditioner for linear, `KSPGMRES` for example, the true residual stalls around 5e-5
   while the recurred one falls. Systems in SI
   units need -pc_mcpi_scaling balanced.

.seealso: `PCMCPI`, `PCMCPIGetGatherPrecision()`, `PCMCPISetVectorPrecision()`,
`PCMCPISetRestart()`, `PCMCPISetScaling()`
@*/
PetscErrorCode PCMCPISetGatherPrecision(PC pc, PCMCPIGatherPrecision precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, precision, 2);
  PetscCheck(precision >= 0 && precision <= PC_MCPI_GATHER_PRECISION_BFP16,
             PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Unknown value %d, use one that -help lists for -pc_mcpi_gather_precision",
             (int)precision);
  PetscTryMethod(pc, "PCMCPISetGatherPrecision_C", (PC, PCMCPIGatherPrecision), (pc, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetGatherPrecision - Gets what the products of off-diagonal blocks read of the vector that
   is relaxed

   Not Collective

   Input Parameter:
.  pc - the preconditioner context, of type `PCMCPI`

   Output Parameter:
.  precision - the value in force

   Level: advanced

.seealso: `PCMCPI`, `PCMCPISetGatherPrecision()`
@*/
PetscErrorCode PCMCPIGetGatherPrecision(PC pc, PCMCPIGatherPrecision *precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  CompatAssertPointer(precision, 2);
  PetscUseMethod(pc, "PCMCPIGetGatherPrecision_C", (PC, PCMCPIGatherPrecision *), (pc, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}
