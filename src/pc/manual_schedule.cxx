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
.  -pc_mcpi_schedule <color> - which block rows are relaxed at the same time: color, wave, cluster,
      level, auto; takes effect at the next symbolic set-up

   Level: intermediate

   Notes:
   With `PC_MCPI_SCHEDULE_COLOR` neighbors have different colors, and all rows of a color are
   relaxed at the same time. `PCMCPISetMatColoringType()` chooses the colors, few by default. The
   result does not depend on the number of MPI processes.

   `PC_MCPI_SCHEDULE_WAVE` and `PC_MCPI_SCHEDULE_LEVEL` are the same with the coloring types
   `MATCOLORINGWAVE` and `MATCOLORINGLEVELS`: more colors, which follow the order of the rows, and
   fewer iterations where that order is good. The default of `PCMCPISetMatColoringType()` gives
   way to them; another type than theirs is the error `PETSC_ERR_ARG_INCOMP`. Options such as
   -pc_mcpi_mat_coloring_wave_colors act.

   With `PC_MCPI_SCHEDULE_CLUSTER` strongly coupled rows of an MPI process form clusters of at most
   `PCMCPISetClusterRows()` rows. Neighboring clusters have different colors. The rows of a cluster
   are relaxed one after the other, so that a sweep carries information along strong couplings.
   Most Krylov solves then take fewer iterations for the same bytes. The result depends on the
   partition of the matrix, as that of `PCSOR` does, but ghost values are exchanged after every
   color. `PCMCPISetMatColoringType()` colors the graph of the clusters.

   Clusters are made of the values at the first set-up, and are kept while the nonzero pattern
   stays, unless `PCMCPISetClusterRefresh()` says otherwise. The rows of a cluster follow the order
   of the matrix, or reverse Cuthill-McKee order if neighbors are on average more than twice as far
   apart in the order of the matrix. `PCMCPISetOrdering()` with natural or rcm chooses one of them;
   coordinates is the error `PETSC_ERR_ARG_INCOMP`. `PCSetCoordinates()` has no effect.

   `PC_MCPI_SCHEDULE_AUTO` takes what measurements found fastest: cluster on a CPU, and on a device
   wave from 100,000 block rows an MPI process on, else color. It takes color where
   `PCMCPISetMatColoringType()` was given a type, or where `PCMCPISetOrdering()` does not suit
   clusters. The result may depend on the partition. `PCView()` says what was taken and why.

   References:
   T. Iwashita, H. Nakashima, Y. Takahashi, Algebraic block multi-color ordering method for
   parallel multi-threaded sparse triangular solver in ICCG method, IPDPS 2012.

.seealso: `PCMCPI`, `PCMCPIGetSchedule()`, `PCMCPISchedule`, `PCMCPISetClusterRows()`,
         `PCMCPISetClusterRefresh()`, `PCMCPISetMatColoringType()`
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
   PCMCPISetChunkRows - Sets the number of block rows of a chunk, for sweeps on a CPU

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context of type `PCMCPI`; for other types nothing happens
-  rows - the number, at least 0; 0 for no chunks; `PETSC_DECIDE` for chunks of large vectors
          only (default)

   Options Database Key:
.  -pc_mcpi_chunk_rows <-1> - block rows of a chunk, on a CPU: at least 0 (0: no chunks), or -1
      (decide); takes effect at the next symbolic set-up

   Level: advanced

   Notes:
   In a sweep by colors each color reads nearly all of the vector. If the vector of the process does
   not stay in the caches, each color reads it from memory again. Chunks prevent that. A chunk is
   about so many rows that follow each other in the order of `PCMCPISetOrdering()`. Rows that must
   wait for others go to a later chunk. A pass takes all colors of a chunk before the next chunk.

   The sweeps have the same bits with any number of rows. With clusters and another method than
   point, the factorization may round in another order.

   `PETSC_DECIDE` makes chunks if the vector of the process has 2^21 numbers or more. They then have
   4096 numbers, or 16 rows of each color if that is more. Chunks act with the backends
   `PC_MCPI_BACKEND_HOST` and `PC_MCPI_BACKEND_REFERENCE`. `PCView()` says how many there are.

.seealso: `PCMCPI`, `PCMCPIGetChunkRows()`, `PCMCPISetSchedule()`, `PCMCPISetOrdering()`
@*/
PetscErrorCode PCMCPISetChunkRows(PC pc, PetscInt rows)
{
  PetscFunctionBegin;
  PetscCall(mcpi::SetOption(pc, __func__, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetChunkRows - Gets the number of block rows of a chunk, for sweeps on a CPU

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`; another type is the error `PETSC_ERR_SUP`

   Output Parameter:
.  rows - the number of rows, as set; `PETSC_DECIDE` for chunks of large vectors only

   Level: advanced

.seealso: `PCMCPI`, `PCMCPISetChunkRows()`
@*/
PetscErrorCode PCMCPIGetChunkRows(PC pc, PetscInt *rows)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetClusterRows - Sets the largest number of block rows of a cluster

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context of type `PCMCPI`; for other types nothing happens
-  rows - the number, from 1 to 1024; 1 makes each row a cluster; `PETSC_DECIDE` for 512 on a CPU
          and 4 on a device (default)

   Options Database Key:
.  -pc_mcpi_cluster_rows <-1> - most block rows of a cluster: from 1 to 1024, or -1 (decide); takes
      effect at the next symbolic set-up

   Level: advanced

   Note:
   Acts with `PC_MCPI_SCHEDULE_CLUSTER` only. On most matrices larger clusters take fewer
   iterations. They have fewer rows that can be relaxed at the same time, which matters on a device.

.seealso: `PCMCPI`, `PCMCPIGetClusterRows()`, `PCMCPISetSchedule()`
@*/
PetscErrorCode PCMCPISetClusterRows(PC pc, PetscInt rows)
{
  PetscFunctionBegin;
  PetscCall(mcpi::SetOption(pc, __func__, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetClusterRows - Gets the largest number of block rows of a cluster

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`; another type is the error `PETSC_ERR_SUP`

   Output Parameter:
.  rows - the number of rows, as set; with `PETSC_DECIDE`, `PCView()` shows the number used

   Level: advanced

.seealso: `PCMCPI`, `PCMCPISetClusterRows()`
@*/
PetscErrorCode PCMCPIGetClusterRows(PC pc, PetscInt *rows)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetClusterRefresh - Determines whether clusters are made anew for new values of the matrix

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context of type `PCMCPI`; for other types nothing happens
-  refresh - `PETSC_TRUE` to make clusters anew, `PETSC_FALSE` to keep them (default)

   Options Database Key:
.  -pc_mcpi_cluster_refresh <false> - make clusters anew for new values of the matrix: true, false;
      takes effect at the next symbolic set-up

   Level: advanced

   Notes:
   Clusters follow the strongest couplings. By default those of the first set-up count, and clusters
   are kept while the nonzero pattern stays. With `PETSC_TRUE` every set-up with new values is a
   symbolic one, which takes the time of several numeric set-ups. It helps where strong couplings
   turn, as with a flow that changes its direction.

   It acts with the schedule `PC_MCPI_SCHEDULE_CLUSTER` only.

.seealso: `PCMCPI`, `PCMCPIGetClusterRefresh()`, `PCMCPISetSchedule()`, `PCMCPISetClusterRows()`
@*/
PetscErrorCode PCMCPISetClusterRefresh(PC pc, PetscBool refresh)
{
  PetscFunctionBegin;
  PetscCall(mcpi::SetOption(pc, __func__, refresh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetClusterRefresh - Gets whether clusters are made anew for new values of the matrix

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`; another type is the error `PETSC_ERR_SUP`

   Output Parameter:
.  refresh - `PETSC_TRUE` if clusters are made anew

   Level: advanced

.seealso: `PCMCPI`, `PCMCPISetClusterRefresh()`
@*/
PetscErrorCode PCMCPIGetClusterRefresh(PC pc, PetscBool *refresh)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, refresh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   PCMCPISetMatColoringType - Selects the algorithm that colors the block rows

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context of type `PCMCPI`; for other types nothing happens
-  type - any registered `MatColoringType`

   Options Database Key:
.  -pc_mcpi_mat_coloring_type <jplf> - coloring of the block rows: any registered MatColoringType;
      takes effect at the next symbolic set-up

   Level: intermediate

   Notes:
   `MATCOLORINGJPLF`, `MATCOLORINGWAVE` and `MATCOLORINGLEVELS`, which this library registers, give
   the same colors on any number of MPI processes.

   The `MatColoring` object has the options prefix of the preconditioner followed by `pc_mcpi_`, as
   in `-pc_mcpi_mat_coloring_maxcolors`.

   A `NULL` type is the error `PETSC_ERR_ARG_NULL`. A type that is not registered, and a coloring
   that gives neighbors the same color, is an error at the next `PCSetUp()`. Use `MATCOLORINGJPLF`
   instead.

.seealso: `PCMCPI`, `PCMCPIGetMatColoringType()`, `MATCOLORINGJPLF`, `MATCOLORINGWAVE`,
         `MATCOLORINGLEVELS`, `PCMCPIGetColoring()`, `MatColoringSetType`
@*/
PetscErrorCode PCMCPISetMatColoringType(PC pc, MatColoringType type)
{
  PetscFunctionBegin;
  PetscCall(mcpi::SetOption(pc, __func__, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   PCMCPIGetMatColoringType - Gets the algorithm that colors the block rows

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`; another type is the error `PETSC_ERR_SUP`

   Output Parameter:
.  type - the type; the string belongs to the preconditioner

   Level: intermediate

.seealso: `PCMCPI`, `PCMCPISetMatColoringType()`
@*/
PetscErrorCode PCMCPIGetMatColoringType(PC pc, MatColoringType *type)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, type));
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

.seealso: `PCMCPI`, `PCMCPISetMatColoringType()`, `ISColoringGetColors()`
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
