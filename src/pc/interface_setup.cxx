// Public (what acts at the next set-up) setters and getters: they check their arguments and ask the
// object.
#include "petscmcpi.h"

#include <petsc/private/pcimpl.h>

#include "petsc/compat.h"

/*@
   PCMCPISetForm - Sets the prescaled or factored

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context, of type `PCMCPI`; for other types nothing happens
-  form - the value

   Options Database Key:
.  -pc_mcpi_form <prescaled> - prescaled or factored

   Level: advanced

   Note:
   Both are the same iteration in exact arithmetic. The prescaled form moves fewer bytes and is
   safer in low precision.

.seealso: `PCMCPI`, `PCMCPIGetForm()`
@*/
PetscErrorCode PCMCPISetForm(PC pc, PCMCPIForm form)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, form, 2);
  PetscCheck(form >= 0 && form <= PC_MCPI_FORM_FACTORED, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE,
             "Unknown value %d, use one that -help lists for -pc_mcpi_form", (int)form);
  PetscTryMethod(pc, "PCMCPISetForm_C", (PC, PCMCPIForm), (pc, form));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetForm - Gets the prescaled or factored

   Not Collective

   Input Parameter:
.  pc - the preconditioner context, of type `PCMCPI`

   Output Parameter:
.  form - the value in force

   Level: advanced

.seealso: `PCMCPI`, `PCMCPISetForm()`
@*/
PetscErrorCode PCMCPIGetForm(PC pc, PCMCPIForm *form)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  CompatAssertPointer(form, 2);
  PetscUseMethod(pc, "PCMCPIGetForm_C", (PC, PCMCPIForm *), (pc, form));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetScaling - Sets the how blocks are scaled before they are rounded

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context, of type `PCMCPI`; for other types nothing happens
-  scaling - the value

   Options Database Key:
.  -pc_mcpi_scaling <balanced> - how blocks are scaled before they are rounded

   Level: advanced

   Note:
   All factors are powers of two, so the scaling itself rounds nothing. Systems in SI units need
   balanced below fp32.

.seealso: `PCMCPI`, `PCMCPIGetScaling()`
@*/
PetscErrorCode PCMCPISetScaling(PC pc, PCMCPIScaling scaling)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, scaling, 2);
  PetscCheck(scaling >= 0 && scaling <= PC_MCPI_SCALING_BALANCED, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE,
             "Unknown value %d, use one that -help lists for -pc_mcpi_scaling", (int)scaling);
  PetscTryMethod(pc, "PCMCPISetScaling_C", (PC, PCMCPIScaling), (pc, scaling));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetScaling - Gets the how blocks are scaled before they are rounded

   Not Collective

   Input Parameter:
.  pc - the preconditioner context, of type `PCMCPI`

   Output Parameter:
.  scaling - the value in force

   Level: advanced

.seealso: `PCMCPI`, `PCMCPISetScaling()`
@*/
PetscErrorCode PCMCPIGetScaling(PC pc, PCMCPIScaling *scaling)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  CompatAssertPointer(scaling, 2);
  PetscUseMethod(pc, "PCMCPIGetScaling_C", (PC, PCMCPIScaling *), (pc, scaling));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetScalingKeep - Sets whether the scaling is kept while the values of the matrix change
   little

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context, of type `PCMCPI`; for other types nothing happens
-  keep - `PETSC_TRUE` keeps it

   Options Database Key:
.  -pc_mcpi_scaling_keep <true> - keep the scaling while values change little

   Level: advanced

   Notes:
   The scaling of -pc_mcpi_scaling follows from the largest values of the whole matrix. To find them
   first, and to
   store the blocks then, reads the matrix twice. With `PETSC_TRUE`, the default, a set-up with new
   values keeps the
   factors of the set-up before while the best factors are within 4 times of them, and reads the
   matrix once.

   The preconditioner then depends slightly on the matrices that it was set up for before: blocks in
   int8 or int4 may
   be rounded differently. A run that was restarted from a file need not repeat the first run bit
   for bit. With
   `PETSC_FALSE` a set-up depends on the values of its own matrix alone.

.seealso: `PCMCPI`, `PCMCPIGetScalingKeep()`, `PCMCPISetScaling()`
@*/
PetscErrorCode PCMCPISetScalingKeep(PC pc, PetscBool keep)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveBool(pc, keep, 2);
  PetscTryMethod(pc, "PCMCPISetScalingKeep_C", (PC, PetscBool), (pc, keep));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetScalingKeep - Gets whether the scaling is kept while the values of the matrix change
   little

   Not Collective

   Input Parameter:
.  pc - the preconditioner context, of type `PCMCPI`

   Output Parameter:
.  keep - the value in force

   Level: advanced

.seealso: `PCMCPI`, `PCMCPISetScalingKeep()`
@*/
PetscErrorCode PCMCPIGetScalingKeep(PC pc, PetscBool *keep)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  CompatAssertPointer(keep, 2);
  PetscUseMethod(pc, "PCMCPIGetScalingKeep_C", (PC, PetscBool *), (pc, keep));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetSetUpThreads - Sets the largest number of threads that a set-up starts on a rank

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context, of type `PCMCPI`; for other types nothing happens
-  threads - the number, 1 for none beside the calling thread, or `PETSC_DECIDE`

   Options Database Key:
.  -pc_mcpi_setup_threads <decide> - largest number of threads that a set-up starts on a rank

   Level: advanced

   Notes:
   Threads look for changes in the pattern of large matrices and copy values from the host to a
   device. Sweeps on the
   host start no threads.

   With `PETSC_DECIDE`, the default, the number is that of the cores that the rank may use, divided
   by the ranks of the
   matrix's communicator on the node. It is 1 where that communicator is smaller than
   `PETSC_COMM_WORLD`.

.seealso: `PCMCPI`, `PCMCPIGetSetUpThreads()`
@*/
PetscErrorCode PCMCPISetSetUpThreads(PC pc, PetscInt threads)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, threads, 2);
  PetscCheck(threads >= 1 || threads == PETSC_DECIDE, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE,
             "-pc_mcpi_setup_threads must be at least 1, or PETSC_DECIDE, not %" PetscInt_FMT,
             threads);
  PetscTryMethod(pc, "PCMCPISetSetUpThreads_C", (PC, PetscInt), (pc, threads));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetSetUpThreads - Gets the largest number of threads that a set-up starts on a rank

   Not Collective

   Input Parameter:
.  pc - the preconditioner context, of type `PCMCPI`

   Output Parameter:
.  threads - the value in force, `PETSC_DECIDE` if none was set

   Level: advanced

.seealso: `PCMCPI`, `PCMCPISetSetUpThreads()`
@*/
PetscErrorCode PCMCPIGetSetUpThreads(PC pc, PetscInt *threads)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  CompatAssertPointer(threads, 2);
  PetscUseMethod(pc, "PCMCPIGetSetUpThreads_C", (PC, PetscInt *), (pc, threads));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetBackend - Sets the what runs the sweeps

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context, of type `PCMCPI`; for other types nothing happens
-  backend - the value

   Options Database Key:
.  -pc_mcpi_backend <auto> - what runs the sweeps

   Level: intermediate

   Note:
   A backend that this library was built without is an error at `PCSetUp()`.

.seealso: `PCMCPI`, `PCMCPIGetBackend()`
@*/
PetscErrorCode PCMCPISetBackend(PC pc, PCMCPIBackendType backend)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, backend, 2);
  PetscCheck(backend >= 0 && backend <= PC_MCPI_BACKEND_REFERENCE, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE,
             "Unknown value %d, use one that -help lists for -pc_mcpi_backend", (int)backend);
  PetscTryMethod(pc, "PCMCPISetBackend_C", (PC, PCMCPIBackendType), (pc, backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetBackend - Gets the what runs the sweeps

   Not Collective

   Input Parameter:
.  pc - the preconditioner context, of type `PCMCPI`

   Output Parameter:
.  backend - the value in force

   Level: intermediate

.seealso: `PCMCPI`, `PCMCPISetBackend()`
@*/
PetscErrorCode PCMCPIGetBackend(PC pc, PCMCPIBackendType *backend)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  CompatAssertPointer(backend, 2);
  PetscUseMethod(pc, "PCMCPIGetBackend_C", (PC, PCMCPIBackendType *), (pc, backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   PCMCPISetMatColoringType - Sets the any registered `MatColoringType`

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context, of type `PCMCPI`; for other types nothing happens
-  type - the value

   Options Database Key:
.  -pc_mcpi_mat_coloring_type <jplf> - any registered `MatColoringType`

   Level: intermediate

   Note:
   jplf, which this library registers, gives the same colors on any number of ranks. The options of
the `MatColoring` object have the prefix pc_mcpi_.

.seealso: `PCMCPI`, `PCMCPIGetMatColoringType()`
@*/
PetscErrorCode PCMCPISetMatColoringType(PC pc, MatColoringType type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(type, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_NULL,
             "No MatColoringType: -pc_mcpi_mat_coloring_type jplf is the default");
  PetscTryMethod(pc, "PCMCPISetMatColoringType_C", (PC, MatColoringType), (pc, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   PCMCPIGetMatColoringType - Gets the any registered `MatColoringType`

   Not Collective

   Input Parameter:
.  pc - the preconditioner context, of type `PCMCPI`

   Output Parameter:
.  type - the value in force

   Level: intermediate

.seealso: `PCMCPI`, `PCMCPISetMatColoringType()`
@*/
PetscErrorCode PCMCPIGetMatColoringType(PC pc, MatColoringType *type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  CompatAssertPointer(type, 2);
  PetscUseMethod(pc, "PCMCPIGetMatColoringType_C", (PC, MatColoringType *), (pc, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetOrdering - Sets the order of the rows inside a color

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context, of type `PCMCPI`; for other types nothing happens
-  ordering - the value

   Options Database Key:
.  -pc_mcpi_ordering <auto> - order of the rows inside a color

   Level: advanced

   Note:
   Changes how well caches serve the sweeps, never the answer.

.seealso: `PCMCPI`, `PCMCPIGetOrdering()`
@*/
PetscErrorCode PCMCPISetOrdering(PC pc, PCMCPIOrderingType ordering)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, ordering, 2);
  PetscCheck(ordering >= 0 && ordering <= PC_MCPI_ORDERING_COORDINATES,
             PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Unknown value %d, use one that -help lists for -pc_mcpi_ordering", (int)ordering);
  PetscTryMethod(pc, "PCMCPISetOrdering_C", (PC, PCMCPIOrderingType), (pc, ordering));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetOrdering - Gets the order of the rows inside a color

   Not Collective

   Input Parameter:
.  pc - the preconditioner context, of type `PCMCPI`

   Output Parameter:
.  ordering - the value in force

   Level: advanced

.seealso: `PCMCPI`, `PCMCPISetOrdering()`
@*/
PetscErrorCode PCMCPIGetOrdering(PC pc, PCMCPIOrderingType *ordering)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  CompatAssertPointer(ordering, 2);
  PetscUseMethod(pc, "PCMCPIGetOrdering_C", (PC, PCMCPIOrderingType *), (pc, ordering));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetColoring - Gets the coloring in use

   Not Collective

   Input Parameter:
.  pc - the preconditioner context, set up, of type `PCMCPI`

   Output Parameter:
.  coloring - one entry per local block row; belongs to the preconditioner, do not destroy it

   Level: advanced

.seealso: `PCMCPI`, `PCMCPISetMatColoringType()`, `ISColoringGetColors()`
@*/
PetscErrorCode PCMCPIGetColoring(PC pc, ISColoring *coloring)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  CompatAssertPointer(coloring, 2);
  PetscUseMethod(pc, "PCMCPIGetColoring_C", (PC, ISColoring *), (pc, coloring));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetFailedBlock - Gets the first block row whose values the last set-up could not use

   Not Collective

   Input Parameter:
.  pc - the preconditioner context, of type `PCMCPI`

   Output Parameter:
.  row - global block row (scalar row divided by the block size), the same on all ranks; -1 if there
         is none

   Level: intermediate

   Note:
   `PCGetFailedReason()` gives PC_FACTOR_NUMERIC_ZEROPIVOT for a singular diagonal block and
   PC_SUBPC_ERROR for values that are not finite or do not
   fit the storage precision. -info and -ksp_view say which.

.seealso: `PCMCPI`, `PCGetFailedReason()`, `PCSetErrorIfFailure()`
@*/
PetscErrorCode PCMCPIGetFailedBlock(PC pc, PetscInt *row)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  CompatAssertPointer(row, 2);
  PetscUseMethod(pc, "PCMCPIGetFailedBlock_C", (PC, PetscInt *), (pc, row));
  PetscFunctionReturn(PETSC_SUCCESS);
}
