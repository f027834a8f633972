// This file holds public functions with their manual pages. The functions choose the schedule:
// which rows are relaxed when. tools/manual writes the Options Database Key of a page from
// src/pc/options.def.
#include "pc/option_table.h"
#include "petscmcpi.h"

/*@
   PCMCPISetSchedule - Selects which block rows are relaxed at the same time

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context of type `PCMCPI`; for other types nothing happens
-  schedule - `PC_MCPI_SCHEDULE_COLOR`, `PC_MCPI_SCHEDULE_WAVE`, `PC_MCPI_SCHEDULE_CLUSTER`,
              `PC_MCPI_SCHEDULE_LEVEL` or `PC_MCPI_SCHEDULE_AUTO`

   Options Database Key:
.  -pc_mcpi_schedule <auto> - which block rows are relaxed at the same time: color, wave, cluster,
      level, auto; takes effect at the next symbolic set-up

   Level: intermediate

   Notes:
   With `PC_MCPI_SCHEDULE_COLOR` neighbors have different colors, and all rows of a color are
   relaxed at the same time. -pc_mcpi_mat_coloring_type chooses the colors, few by default. The
   result does not depend on the number of MPI processes.

   `PC_MCPI_SCHEDULE_WAVE` and `PC_MCPI_SCHEDULE_LEVEL` are the same with the coloring types
   `MATCOLORINGWAVE` and `MATCOLORINGLEVELS`: more colors, which follow the order of the rows, and
   fewer iterations where that order is good. Another -pc_mcpi_mat_coloring_type than theirs is the
   error `PETSC_ERR_ARG_INCOMP`. Options such as -pc_mcpi_mat_coloring_wave_colors act.

   With `PC_MCPI_SCHEDULE_CLUSTER` strongly coupled rows of an MPI process form clusters of at most
   -pc_mcpi_cluster_rows rows. Neighboring clusters have different colors. The rows of a cluster
   are relaxed one after the other, so that a sweep carries information along strong couplings.
   Most Krylov solves then take fewer iterations for the same bytes. The result depends on the
   partition of the matrix, as that of `PCSOR` does, but ghost values are exchanged after every
   color. -pc_mcpi_mat_coloring_type colors the graph of the clusters.

   Clusters are made of the values at the first set-up, and are kept while the nonzero pattern
   stays, unless -pc_mcpi_scaling_keep is false. The rows of a cluster follow the order
   of the matrix, or reverse Cuthill-McKee order if neighbors are on average more than twice as far
   apart in the order of the matrix. `PCMCPISetOrdering()` with natural or rcm chooses one of them;
   coordinates is the error `PETSC_ERR_ARG_INCOMP`. `PCSetCoordinates()` has no effect.

   `PC_MCPI_SCHEDULE_AUTO`, the default, takes what measurements found fastest. On a CPU that is
   level on one MPI process, unless levels have less than two rows in the mean, and cluster on
   several. On a device it is wave from 100,000 block rows an MPI process on, else color. It takes
   color where -pc_mcpi_mat_coloring_type was given, or where `PCMCPISetOrdering()` does not suit
   clusters. The result may depend on the partition. `PCView()` says what was taken and why.

   References:
   T. Iwashita, H. Nakashima, Y. Takahashi, Algebraic block multi-color ordering method for
   parallel multi-threaded sparse triangular solver in ICCG method, IPDPS 2012.

.seealso: `PCMCPI`, `PCMCPIGetSchedule()`, `PCMCPISchedule`, `PCMCPISetOrdering()`
@*/
PetscErrorCode PCMCPISetSchedule(PC pc, PCMCPISchedule schedule)
{
  PetscFunctionBegin;
  PetscCall(mcpi::SetOption(pc, __func__, schedule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetSchedule - Gets which block rows are relaxed at the same time

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`; another type is the error `PETSC_ERR_SUP`

   Output Parameter:
.  schedule - the schedule

   Level: intermediate

.seealso: `PCMCPI`, `PCMCPISetSchedule()`
@*/
PetscErrorCode PCMCPIGetSchedule(PC pc, PCMCPISchedule *schedule)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, schedule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetColoring - Gets the coloring of the block rows

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`, set up; another type is the error
        `PETSC_ERR_SUP`

   Output Parameter:
.  coloring - one color for each local block row; it belongs to the preconditioner and must not be
              destroyed

   Level: advanced

   Note:
   Before the set-up there is no coloring, which is the error `PETSC_ERR_ORDER`: call `PCSetUp()`
   first.

.seealso: `PCMCPI`, `PCMCPISetSchedule()`, `ISColoringGetColors()`
@*/
PetscErrorCode PCMCPIGetColoring(PC pc, ISColoring *coloring)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, coloring));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetOrdering - Selects the order of the block rows inside a color

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context of type `PCMCPI`; for other types nothing happens
-  ordering - `PC_MCPI_ORDERING_AUTO`, `PC_MCPI_ORDERING_NATURAL`, `PC_MCPI_ORDERING_RCM`,
              or `PC_MCPI_ORDERING_COORDINATES`

   Options Database Key:
.  -pc_mcpi_ordering <auto> - order of the rows inside a color: auto, natural, rcm, coordinates;
      takes effect at the next symbolic set-up

   Level: advanced

   Notes:
   The choice changes how well caches serve the sweeps. It changes the result with
   `PC_MCPI_SCHEDULE_CLUSTER` only: clusters start, and their rows are relaxed, in this order.

   `PC_MCPI_ORDERING_COORDINATES` needs one point for each local block row, given to
   `PCSetCoordinates()`. auto uses the points if they were given. Clusters do not take points.

.seealso: `PCMCPI`, `PCMCPIGetOrdering()`, `PCMCPIOrderingType`, `PCSetCoordinates()`
@*/
PetscErrorCode PCMCPISetOrdering(PC pc, PCMCPIOrderingType ordering)
{
  PetscFunctionBegin;
  PetscCall(mcpi::SetOption(pc, __func__, ordering));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetOrdering - Gets the order of the block rows inside a color

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`; another type is the error `PETSC_ERR_SUP`

   Output Parameter:
.  ordering - the value that was set; `-ksp_view` shows what auto selects

   Level: advanced

.seealso: `PCMCPI`, `PCMCPISetOrdering()`
@*/
PetscErrorCode PCMCPIGetOrdering(PC pc, PCMCPIOrderingType *ordering)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, ordering));
  PetscFunctionReturn(PETSC_SUCCESS);
}
