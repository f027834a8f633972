// This file holds public functions with their manual pages. The functions choose the iteration: its
// sweeps, its blocks and when ghost values are exchanged. tools/manual writes the Options Database
// Key of a page from src/pc/options.def.
#include "pc/option_table.h"
#include "petscmcpi.h"

/*@
   PCMCPISetIts - Sets the number of sweeps in one application of the preconditioner

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context of type `PCMCPI`; for other types nothing happens
-  its - the number of sweeps, from 1 to 2^29, or `PETSC_DECIDE`, the default

   Options Database Key:
.  -pc_mcpi_its <-1> - sweeps of one application: from 1 to 2^29, or -1 (decide); takes effect at
      the next application

   Level: beginner

   Notes:
   A symmetric sweep visits every color twice, forward and backward, and counts as one sweep.

   With `PETSC_DECIDE` an application takes about 3.5 times as long as the rest of an iteration of
   the `KSP` on a CPU, 2.5 times on a device, and about as long under methods for symmetric
   matrices. The rule counts rows, blocks and bytes, so every run takes the same number, at most 24.
   Smoothers, `KSPRICHARDSON` and applications outside of a solve make one sweep. `PCView()` shows
   the number.

   `PCApplyRichardson()`, which `KSPRICHARDSON` calls, does `its` sweeps in each iteration, as
   `PCSOR` does.

   A number outside the range is the error `PETSC_ERR_ARG_OUTOFRANGE`.

.seealso: `PCMCPI`, `PCMCPIGetIts()`, `PCMCPISetSweep()`, `PCMCPISetOmega()`
@*/
PetscErrorCode PCMCPISetIts(PC pc, PetscInt its)
{
  PetscFunctionBegin;
  PetscCall(mcpi::SetOption(pc, __func__, its));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetIts - Gets the number of sweeps in one application of the preconditioner

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`; another type is the error `PETSC_ERR_SUP`

   Output Parameter:
.  its - the number of sweeps that was set, or `PETSC_DECIDE`

   Level: beginner

.seealso: `PCMCPI`, `PCMCPISetIts()`
@*/
PetscErrorCode PCMCPIGetIts(PC pc, PetscInt *its)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, its));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetSweep - Selects the order in which a sweep visits the colors

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context of type `PCMCPI`; for other types nothing happens
-  sweep - `PC_MCPI_SWEEP_FORWARD`, `PC_MCPI_SWEEP_BACKWARD` or `PC_MCPI_SWEEP_SYMMETRIC`

   Options Database Key:
.  -pc_mcpi_sweep <symmetric> - order of the colors in a sweep: forward, backward, symmetric; takes
      effect at the next application

   Level: beginner

   Notes:
   A symmetric sweep is a forward sweep followed by a backward one. Each half reads only its own
   triangle of the matrix (Conrad and Wallach 1979), so both together move about as many bytes as
   one forward sweep.

   `KSPCG`, `KSPMINRES`, `KSPCHEBYSHEV` and related methods need the symmetric sweep. With another
   one a `KSPSolve()` that tests residuals is the error `PETSC_ERR_ARG_INCOMP`, unless
   `PCMCPISetVectorPrecision()` forces it: a precision other than auto is taken for consent. A
   smoother may use every sweep. `-ksp_view` and `-info` report that the preconditioner is not
   symmetric.

.seealso: `PCMCPI`, `PCMCPIGetSweep()`, `PCMCPISweepType`, `PCMCPISetIts()`
@*/
PetscErrorCode PCMCPISetSweep(PC pc, PCMCPISweepType sweep)
{
  PetscFunctionBegin;
  PetscCall(mcpi::SetOption(pc, __func__, sweep));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetSweep - Gets the order in which a sweep visits the colors

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`; another type is the error `PETSC_ERR_SUP`

   Output Parameter:
.  sweep - the order

   Level: beginner

.seealso: `PCMCPI`, `PCMCPISetSweep()`
@*/
PetscErrorCode PCMCPIGetSweep(PC pc, PCMCPISweepType *sweep)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, sweep));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetMethod - Selects the method: block Gauss-Seidel, DILU or ILU(0)

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context of type `PCMCPI`; for other types nothing happens
-  method - `PC_MCPI_METHOD_POINT`, `PC_MCPI_METHOD_DILU`, `PC_MCPI_METHOD_ILU0` or
            `PC_MCPI_METHOD_AUTO`

   Options Database Key:
.  -pc_mcpi_method <auto> - method: block Gauss-Seidel, DILU or ILU(0): point, dilu, ilu0, auto;
      takes effect at the next numeric set-up

   Level: intermediate

   Notes:
   DILU and ILU(0) are incomplete factorizations (E + L) E^{-1} (E + U), where L and U hold the
   couplings to earlier and to later block rows, in the order of the sweep. In DILU these are the
   blocks of the matrix, and E_i = A_ii - sum of A_ij E_j^{-1} A_ji over the earlier j. In ILU(0)
   all blocks are those of an elimination without fill. One symmetric sweep from zero with the
   blocks E, L and U applies the inverse of the product, so an application takes the time of one
   symmetric sweep. Every MPI process computes the blocks of its own block rows: with
   `PC_MCPI_BACKEND_CUDA` on the device, with other backends on the CPU. Meanwhile it holds the
   matrix once more in double precision. It keeps a list of the products of the elimination for the
   next numeric set-up, up to 20 bytes for a block of L with DILU, more with ILU(0). The
   factorization is that of the whole matrix, on any number of MPI processes.

   DILU and ILU(0) need `PC_MCPI_SWEEP_SYMMETRIC`, omega = 1 and `PC_MCPI_HALO_FREQUENCY_COLOR`,
   which are the defaults. Other values are the error `PETSC_ERR_ARG_INCOMP`. With more than one
   sweep of `PCMCPISetIts()` each sweep is applied to the residual, which `MatMult()` computes.

   A singular block E makes the set-up fail, see `PCMCPIGetFailedBlock()`. DILU is safe for
   M-matrices. On other matrices the factors may have no relation to the matrix, and Krylov methods
   then diverge. Take ILU(0) or point there.

   On a matrix whose graph has no triangles, such as that of a 7-point stencil, DILU is ILU(0). With
   the coloring `levels` in natural order and one MPI process, ILU(0) is that of `PCILU`.

   References:
   R. Barrett et al., Templates for the Solution of Linear Systems, SIAM 1994, section 3.4.2;
   Y. Saad, Iterative Methods for Sparse Linear Systems, SIAM 2003, section 10.3.

.seealso: `PCMCPI`, `PCMCPIGetMethod()`, `PCMCPIMethod`, `PCMCPISetSweep()`, `PCILU`
@*/
PetscErrorCode PCMCPISetMethod(PC pc, PCMCPIMethod method)
{
  PetscFunctionBegin;
  PetscCall(mcpi::SetOption(pc, __func__, method));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetMethod - Gets the blocks of a sweep

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`; another type is the error `PETSC_ERR_SUP`

   Output Parameter:
.  method - the method

   Level: intermediate

.seealso: `PCMCPI`, `PCMCPISetMethod()`
@*/
PetscErrorCode PCMCPIGetMethod(PC pc, PCMCPIMethod *method)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, method));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetOmega - Sets the relaxation factor

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context of type `PCMCPI`; for other types nothing happens
-  omega - the factor, above 0 and below 2, without unit

   Options Database Key:
.  -pc_mcpi_omega <1> - relaxation factor: above 0 and below 2; takes effect at the next application

   Level: beginner

   Notes:
   The meaning is that of `PCSORSetOmega()`: 1 is Gauss-Seidel, a smaller factor is under-relaxation
   and a larger one over-relaxation. Try 0.8 where sweeps diverge.

   A factor outside the range is the error `PETSC_ERR_ARG_OUTOFRANGE`.

.seealso: `PCMCPI`, `PCMCPIGetOmega()`, `PCMCPISetIts()`
@*/
PetscErrorCode PCMCPISetOmega(PC pc, PetscReal omega)
{
  PetscFunctionBegin;
  PetscCall(mcpi::SetOption(pc, __func__, omega));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetOmega - Gets the relaxation factor

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`; another type is the error `PETSC_ERR_SUP`

   Output Parameter:
.  omega - the factor

   Level: beginner

.seealso: `PCMCPI`, `PCMCPISetOmega()`
@*/
PetscErrorCode PCMCPIGetOmega(PC pc, PetscReal *omega)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, omega));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetRestart - Sets the number of sweeps between two computations of the residual

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context of type `PCMCPI`; for other types nothing happens
-  restart - the number of sweeps, 0 for never, or `PETSC_DECIDE`

   Options Database Key:
.  -pc_mcpi_restart <-1> - number of sweeps after which the residual is recomputed in double
      precision: at least 0 (0: never), or -1 (decide); takes effect at the next application

   Level: intermediate

   Notes:
   After every `restart` sweeps the residual is computed in `PetscScalar` with the preconditioning
   matrix, and the following sweeps compute a correction. A stationary iteration then does not
   stagnate at the rounding of the stored blocks.

   With `PETSC_DECIDE`, the default, only `KSPRICHARDSON` restarts, and only if it tests
   convergence. It restarts every 24 sweeps with blocks in fp32, 11 in fp16, 5 in int8 and 3 in
   int4, and never with blocks in fp64.

.seealso: `PCMCPI`, `PCMCPIGetRestart()`, `PCMCPISetIts()`, `PCMCPISetOffdiagPrecision()`
@*/
PetscErrorCode PCMCPISetRestart(PC pc, PetscInt restart)
{
  PetscFunctionBegin;
  PetscCall(mcpi::SetOption(pc, __func__, restart));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetRestart - Gets the number of sweeps between two computations of the residual

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`; another type is the error `PETSC_ERR_SUP`

   Output Parameter:
.  restart - the number that was set, `PETSC_DECIDE` if none was

   Level: intermediate

.seealso: `PCMCPI`, `PCMCPISetRestart()`
@*/
PetscErrorCode PCMCPIGetRestart(PC pc, PetscInt *restart)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, restart));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPISetHaloFrequency - Selects how often ghost values are exchanged between MPI processes

   Logically Collective

   Input Parameters:
+  pc - the preconditioner context of type `PCMCPI`; for other types nothing happens
-  frequency - `PC_MCPI_HALO_FREQUENCY_COLOR` or `PC_MCPI_HALO_FREQUENCY_SWEEP`

   Options Database Key:
.  -pc_mcpi_halo_frequency <color> - how often ghost values are exchanged: color, sweep; takes
      effect at the next application

   Level: intermediate

   Notes:
   With an exchange after every color the result for a given global numbering does not depend on the
   number of MPI processes.

   With one exchange before every pass over the colors there are fewer messages. Between MPI
   processes the iteration is then block Jacobi, and the number of iterations depends on the
   distribution.

.seealso: `PCMCPI`, `PCMCPIGetHaloFrequency()`, `PCMCPIHaloFrequency`, `PCMCPISetHalo()`
@*/
PetscErrorCode PCMCPISetHaloFrequency(PC pc, PCMCPIHaloFrequency frequency)
{
  PetscFunctionBegin;
  PetscCall(mcpi::SetOption(pc, __func__, frequency));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCMCPIGetHaloFrequency - Gets how often ghost values are exchanged between MPI processes

   Not Collective

   Input Parameter:
.  pc - the preconditioner context of type `PCMCPI`; another type is the error `PETSC_ERR_SUP`

   Output Parameter:
.  frequency - the frequency

   Level: intermediate

.seealso: `PCMCPI`, `PCMCPISetHaloFrequency()`
@*/
PetscErrorCode PCMCPIGetHaloFrequency(PC pc, PCMCPIHaloFrequency *frequency)
{
  PetscFunctionBegin;
  PetscCall(mcpi::GetOption(pc, __func__, frequency));
  PetscFunctionReturn(PETSC_SUCCESS);
}
