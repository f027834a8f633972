// Public (what acts at the next application) setters and getters: they check their arguments and
// ask the object.
#include "petscmcpi.h"

#include <petsc/private/pcimpl.h>

#include "pc/smoother.h"
#include "petsc/compat.h"

/*@
   PCMCPISetIts - Sets the sweeps of one application, from 1 to 2^29

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context, of type `PCMCPI`; for other types nothing happens
-  its - the value

   Options Database Key:
.  -pc_mcpi_its <1> - sweeps of one application, from 1 to 2^29

   Level: beginner

   Note:
   An application with `its` sweeps of a symmetric kind visits every color 2 `its` times.
   `PCApplyRichardson()` does `its` sweeps an iteration, as `PCSOR` does.

.seealso: `PCMCPI`, `PCMCPIGetIts()`
@*/
PetscErrorCode PCMCPISetIts(PC pc, PetscInt its)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, its, 2);
  PetscCheck(its >= 1 && its <= mcpi::kMaxSweeps, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE,
             "-pc_mcpi_its must be from 1 to %" PetscInt_FMT ", not %" PetscInt_FMT,
             mcpi::kMaxSweeps, its);
  PetscTryMethod(pc, "PCMCPISetIts_C", (PC, PetscInt), (pc, its));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetIts - Gets the sweeps of one application, at least 1

   Not Collective

   Input Parameter:
.  pc - the preconditioner context, of type `PCMCPI`

   Output Parameter:
.  its - the value in force

   Level: beginner

.seealso: `PCMCPI`, `PCMCPISetIts()`
@*/
PetscErrorCode PCMCPIGetIts(PC pc, PetscInt *its)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  CompatAssertPointer(its, 2);
  PetscUseMethod(pc, "PCMCPIGetIts_C", (PC, PetscInt *), (pc, its));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetSweep - Sets the order of the colors

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context, of type `PCMCPI`; for other types nothing happens
-  sweep - the value

   Options Database Key:
.  -pc_mcpi_sweep <symmetric,forward,backward> - order of the colors, default symmetric

   Level: beginner

   Notes:
   A symmetric sweep reads no more blocks than a forward one: each half reads only its own triangle
   (Conrad and Wallach 1979). From zero, one
   symmetric sweep reads every block once.

   `KSPCG`, `KSPMINRES`, `KSPCHEBYSHEV` and their relatives need the symmetric sweep. With another
   one -ksp_view and -info say so.

.seealso: `PCMCPI`, `PCMCPIGetSweep()`
@*/
PetscErrorCode PCMCPISetSweep(PC pc, PCMCPISweepType sweep)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, sweep, 2);
  PetscCheck(sweep >= 0 && sweep <= PC_MCPI_SWEEP_SYMMETRIC, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE,
             "Unknown value %d, use one that -help lists for -pc_mcpi_sweep", (int)sweep);
  PetscTryMethod(pc, "PCMCPISetSweep_C", (PC, PCMCPISweepType), (pc, sweep));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetSweep - Gets the order of the colors

   Not Collective

   Input Parameter:
.  pc - the preconditioner context, of type `PCMCPI`

   Output Parameter:
.  sweep - the value in force

   Level: beginner

.seealso: `PCMCPI`, `PCMCPISetSweep()`
@*/
PetscErrorCode PCMCPIGetSweep(PC pc, PCMCPISweepType *sweep)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  CompatAssertPointer(sweep, 2);
  PetscUseMethod(pc, "PCMCPIGetSweep_C", (PC, PCMCPISweepType *), (pc, sweep));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetOmega - Sets the relaxation factor, 0 < omega < 2

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context, of type `PCMCPI`; for other types nothing happens
-  omega - the value

   Options Database Key:
.  -pc_mcpi_omega <1.0> - relaxation factor, 0 < omega < 2

   Level: beginner

   Note:
   As in `PCSOR`: 1 is Gauss-Seidel, less is under-relaxation, more over-relaxation.

.seealso: `PCMCPI`, `PCMCPIGetOmega()`
@*/
PetscErrorCode PCMCPISetOmega(PC pc, PetscReal omega)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveReal(pc, omega, 2);
  PetscCheck(omega > 0.0 && omega < 2.0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "-pc_mcpi_omega must lie in (0, 2), not %g", (double)omega);
  PetscTryMethod(pc, "PCMCPISetOmega_C", (PC, PetscReal), (pc, omega));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetOmega - Gets the relaxation factor, 0 < omega < 2

   Not Collective

   Input Parameter:
.  pc - the preconditioner context, of type `PCMCPI`

   Output Parameter:
.  omega - the value in force

   Level: beginner

.seealso: `PCMCPI`, `PCMCPISetOmega()`
@*/
PetscErrorCode PCMCPIGetOmega(PC pc, PetscReal *omega)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  CompatAssertPointer(omega, 2);
  PetscUseMethod(pc, "PCMCPIGetOmega_C", (PC, PetscReal *), (pc, omega));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetRestart - Sets the sweeps between two residuals

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context, of type `PCMCPI`; for other types nothing happens
-  restart - the sweeps, 0 for never, or `PETSC_DECIDE`

   Options Database Key:
.  -pc_mcpi_restart <decide> - sweeps between two residuals

   Level: intermediate

   Notes:
   Every `restart` sweeps the residual is computed in `PetscScalar` with the Pmat and the sweeps go
   on with the correction. A stationary
   iteration then does not stagnate at the rounding of the stored blocks.

   With `PETSC_DECIDE`, the default, only `KSPRICHARDSON` restarts, and only if it tests
   convergence, that is, if it is not a smoother: every 24
   sweeps with fp32 blocks, 11 with fp16, 8 with bf16, 5 with int8, 3 with int4, never with fp64.
   With 0 there are no restarts.

.seealso: `PCMCPI`, `PCMCPIGetRestart()`
@*/
PetscErrorCode PCMCPISetRestart(PC pc, PetscInt restart)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, restart, 2);
  PetscCheck(restart >= 0 || restart == PETSC_DECIDE, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE,
             "-pc_mcpi_restart must be at least 0, or decide, not %" PetscInt_FMT, restart);
  PetscTryMethod(pc, "PCMCPISetRestart_C", (PC, PetscInt), (pc, restart));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetRestart - Gets the sweeps between two residuals

   Not Collective

   Input Parameter:
.  pc - the preconditioner context, of type `PCMCPI`

   Output Parameter:
.  restart - the value in force

   Level: intermediate

.seealso: `PCMCPI`, `PCMCPISetRestart()`
@*/
PetscErrorCode PCMCPIGetRestart(PC pc, PetscInt *restart)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  CompatAssertPointer(restart, 2);
  PetscUseMethod(pc, "PCMCPIGetRestart_C", (PC, PetscInt *), (pc, restart));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetHalo - Sets the how ghost values travel

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context, of type `PCMCPI`; for other types nothing happens
-  halo - the value

   Options Database Key:
.  -pc_mcpi_halo <auto> - how ghost values travel

   Level: advanced

   Notes:
   sf: `PetscSF`, works everywhere. nccl: NCCL, for ranks with a CUDA device each. peer: the devices
   of one node store their rows straight into each
   other's memory and wait for each other by themselves. With nccl and peer a whole application is
   one graph. auto takes peer, else nccl, else
   sf. An exchange that cannot be used is an error at `PCSetUp()`. All give the same bits.

.seealso: `PCMCPI`, `PCMCPIGetHalo()`
@*/
PetscErrorCode PCMCPISetHalo(PC pc, PCMCPIHaloType halo)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, halo, 2);
  PetscCheck(halo >= 0 && halo <= PC_MCPI_HALO_PEER, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE,
             "Unknown value %d, use one that -help lists for -pc_mcpi_halo", (int)halo);
  PetscTryMethod(pc, "PCMCPISetHalo_C", (PC, PCMCPIHaloType), (pc, halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetHalo - Gets the how ghost values travel

   Not Collective

   Input Parameter:
.  pc - the preconditioner context, of type `PCMCPI`

   Output Parameter:
.  halo - the value in force

   Level: advanced

.seealso: `PCMCPI`, `PCMCPISetHalo()`
@*/
PetscErrorCode PCMCPIGetHalo(PC pc, PCMCPIHaloType *halo)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  CompatAssertPointer(halo, 2);
  PetscUseMethod(pc, "PCMCPIGetHalo_C", (PC, PCMCPIHaloType *), (pc, halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetHaloTimeout - Sets how long a device waits for the ghost values of another rank

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context, of type `PCMCPI`; for other types nothing happens
-  seconds - the time, positive

   Options Database Key:
.  -pc_mcpi_halo_timeout <1800> - seconds that a device waits for another rank

   Level: advanced

   Note:
   For the peer exchange. What is not there in time becomes NaN in the result, and applications that
   begin after that are errors, until the
   exchange is made anew (`PCReset()`). Ranks also wait for each other while one of them does
   something else between two applications, such as
   writing files.

.seealso: `PCMCPI`, `PCMCPIGetHaloTimeout()`, `PCMCPISetHalo()`
@*/
PetscErrorCode PCMCPISetHaloTimeout(PC pc, PetscReal seconds)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveReal(pc, seconds, 2);
  PetscCheck(seconds > 0.0 && seconds <= 1e9, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE,
             "The time %g is not positive, or above 1e9 seconds. Use another -pc_mcpi_halo_timeout",
             (double)seconds);
  PetscTryMethod(pc, "PCMCPISetHaloTimeout_C", (PC, PetscReal), (pc, seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetHaloTimeout - Gets how long a device waits for the ghost values of another rank

   Not Collective

   Input Parameter:
.  pc - the preconditioner context, of type `PCMCPI`

   Output Parameter:
.  seconds - the value in force

   Level: advanced

.seealso: `PCMCPI`, `PCMCPISetHaloTimeout()`
@*/
PetscErrorCode PCMCPIGetHaloTimeout(PC pc, PetscReal *seconds)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  CompatAssertPointer(seconds, 2);
  PetscUseMethod(pc, "PCMCPIGetHaloTimeout_C", (PC, PetscReal *), (pc, seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetHaloFrequency - Sets the when ghost values travel

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context, of type `PCMCPI`; for other types nothing happens
-  frequency - the value

   Options Database Key:
.  -pc_mcpi_halo_frequency <color> - when ghost values travel

   Level: intermediate

   Note:
   With color the iterate does not depend on the number of ranks. With sweep there is one message a
   neighbor and pass, and Jacobi across ranks.

.seealso: `PCMCPI`, `PCMCPIGetHaloFrequency()`
@*/
PetscErrorCode PCMCPISetHaloFrequency(PC pc, PCMCPIHaloFrequency frequency)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, frequency, 2);
  PetscCheck(frequency >= 0 && frequency <= PC_MCPI_HALO_FREQUENCY_SWEEP,
             PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Unknown value %d, use one that -help lists for -pc_mcpi_halo_frequency",
             (int)frequency);
  PetscTryMethod(pc, "PCMCPISetHaloFrequency_C", (PC, PCMCPIHaloFrequency), (pc, frequency));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetHaloFrequency - Gets the when ghost values travel

   Not Collective

   Input Parameter:
.  pc - the preconditioner context, of type `PCMCPI`

   Output Parameter:
.  frequency - the value in force

   Level: intermediate

.seealso: `PCMCPI`, `PCMCPISetHaloFrequency()`
@*/
PetscErrorCode PCMCPIGetHaloFrequency(PC pc, PCMCPIHaloFrequency *frequency)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  CompatAssertPointer(frequency, 2);
  PetscUseMethod(pc, "PCMCPIGetHaloFrequency_C", (PC, PCMCPIHaloFrequency *), (pc, frequency));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetOverlap - Sets the hide the exchange behind interior rows

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context, of type `PCMCPI`; for other types nothing happens
-  overlap - the value

   Options Database Key:
.  -pc_mcpi_overlap <true> - hide the exchange behind interior rows

   Level: advanced

   Note:
   Changes the time, never the answer.

.seealso: `PCMCPI`, `PCMCPIGetOverlap()`
@*/
PetscErrorCode PCMCPISetOverlap(PC pc, PetscBool overlap)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveBool(pc, overlap, 2);
  PetscTryMethod(pc, "PCMCPISetOverlap_C", (PC, PetscBool), (pc, overlap));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetOverlap - Gets the hide the exchange behind interior rows

   Not Collective

   Input Parameter:
.  pc - the preconditioner context, of type `PCMCPI`

   Output Parameter:
.  overlap - the value in force

   Level: advanced

.seealso: `PCMCPI`, `PCMCPISetOverlap()`
@*/
PetscErrorCode PCMCPIGetOverlap(PC pc, PetscBool *overlap)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  CompatAssertPointer(overlap, 2);
  PetscUseMethod(pc, "PCMCPIGetOverlap_C", (PC, PetscBool *), (pc, overlap));
  PetscFunctionReturn(PETSC_SUCCESS);
}
