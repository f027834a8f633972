#include "pc/mcpi.h"

#include "petscmcpi.h"

namespace mcpi {

namespace {

LogEvents events;
bool events_registered = false; // in this life of PETSc: PetscFinalize() forgets all events

PetscErrorCode ForgetEvents()
{
  PetscFunctionBegin;
  events_registered = false;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

std::string FailureMessage(const Failure &failure, const Settings &settings)
{
  switch (failure.defect) {
  case Defect::singular:
    return "its diagonal block is singular";
  case Defect::nonfinite_diagonal:
    return "its diagonal block holds a NaN or an Inf";
  case Defect::nonfinite_offdiagonal:
    return "an off-diagonal block holds a NaN or an Inf";
  case Defect::unrepresentable: {
    const std::string what = "an off-diagonal block does not fit the storage precision. ";
    const std::string first = settings.scaling == PC_MCPI_SCALING_BALANCED
                                  ? "Look for values here or in other rows that are far too large"
                                  : "Use -pc_mcpi_scaling balanced";
    return what + first +
           (settings.offdiag == PC_MCPI_PRECISION_FP64
                ? ""
                : ", or use a wider -pc_mcpi_offdiag_precision");
  }
  default:
    return "";
  }
}

const LogEvents &Events()
{
  return events;
}

PetscErrorCode RegisterEvents()
{
  PetscFunctionBegin;
  if (events_registered) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventRegister("MCPISymbolic", PC_CLASSID, &events.symbolic));
  PetscCall(PetscLogEventRegister("MCPINumeric", PC_CLASSID, &events.numeric));
  PetscCall(PetscLogEventRegister("MCPISweep", PC_CLASSID, &events.sweep));
  PetscCall(PetscLogEventRegister("MCPIHalo", PC_CLASSID, &events.halo));
  PetscCall(PetscRegisterFinalize(ForgetEvents));
  events_registered = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

namespace {

PCFailedReason reason_of(Defect defect)
{
  switch (defect) {
  case Defect::none:
    return PC_NOERROR;
  case Defect::singular:
    return PC_FACTOR_NUMERIC_ZEROPIVOT;
  default:
    return PC_SUBPC_ERROR;
  }
}

PetscErrorCode PCSetUp_MCPI(PC pc)
{
  PC_MCPI &mcpi = Data(pc);

  PetscFunctionBegin;
  // until this one succeeds: PETSc remembers the matrix's state before it calls
  pc->setupcalled = {};
  pc->failedreason = pc->failedreasonrank = PC_NOERROR; // PETSc never clears it
  PetscCall(Guarded([&]() -> PetscErrorCode {
    return mcpi.smoother.setup(pc->pmat, mcpi.settings, mcpi.double_vectors(), mcpi.coordinates,
                               (PetscObject)pc);
  }));
  const Failure &failure = mcpi.smoother.failure();
  if (failure.defect != Defect::none) {
    PetscCheck(!pc->erroriffailure, PetscObjectComm((PetscObject)pc),
               failure.defect == Defect::singular ? PETSC_ERR_MAT_LU_ZRPVT : PETSC_ERR_FP,
               "PCMCPI: block row %" PetscInt_FMT ": %s", failure.row,
               FailureMessage(failure, mcpi.settings).c_str());
    PetscCall(PetscInfo(pc, "block row %" PetscInt_FMT ": %s\n", failure.row,
                        FailureMessage(failure, mcpi.settings).c_str()));
    pc->failedreason = pc->failedreasonrank = reason_of(failure.defect);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// KSPSolve() looks at the failure after this call, but not at a matrix that has changed since its
// first set-up: values repaired in place count here.
PetscErrorCode PCSetUpOnBlocks_MCPI(PC pc)
{
  PetscFunctionBegin;
  if (Data(pc).smoother.failure().defect != Defect::none) PetscCall(PCSetUp(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCReset_MCPI(PC pc)
{
  PetscFunctionBegin;
  pc->failedreason = pc->failedreasonrank = PC_NOERROR;
  PetscCall(Data(pc).smoother.destroy());
  Data(pc).coordinates = Coordinates();
  Data(pc).solving.clear();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCDestroy_MCPI(PC pc)
{
  PetscFunctionBegin;
  PetscCall(DecomposeAccess(pc));
  pc->failedreason = pc->failedreasonrank = PC_NOERROR; // another type would start with it
  delete static_cast<PC_MCPI *>(pc->data);
  pc->data = nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*MC
   PCMCPI - multicolor point-implicit relaxation: block Gauss-Seidel whose block rows of one color
   are relaxed at the same time

   Options Database Keys:
+  -pc_mcpi_its <1>                                              - sweeps per application
.  -pc_mcpi_sweep <forward,backward,symmetric>                   - order of the colors
.  -pc_mcpi_omega <1.0>                                          - relaxation factor, 0 < omega < 2
.  -pc_mcpi_offdiag_precision <fp32,fp64,fp16,bf16,int8,int4>    - storage of the off-diagonal
                                        blocks
.  -pc_mcpi_vector_precision <fp32,fp64>                         - vectors inside the sweeps
.  -pc_mcpi_gather_precision <fp32,bfp16>                        - what off-diagonal products read
                                        of x
.  -pc_mcpi_form <prescaled,factored>                            - store D^{-1}O, or O and apply
                                        D^{-1} in every sweep
.  -pc_mcpi_scaling <balanced,global,none>                       - exact scaling before blocks are
                                        rounded
.  -pc_mcpi_restart <0>                                          - recompute the residual in
                                        `PetscScalar` every so many sweeps
.  -pc_mcpi_backend <auto,host,cuda,kokkos,reference>            - what runs the sweeps; auto: CUDA,
                                        or Kokkos for HIP and SYCL, where a device is in use
.  -pc_mcpi_halo <auto,sf,nccl,peer>                             - how ghost values travel
.  -pc_mcpi_halo_timeout <1800>                                  - seconds that a device waits for
                                        another rank
.  -pc_mcpi_halo_frequency <color,sweep>                         - when they travel
.  -pc_mcpi_overlap <true>                                       - hide the exchange behind interior
                                        rows
.  -pc_mcpi_mat_coloring_type <jplf>                             - any `MatColoringType`; its
                                        options behind the prefix pc_mcpi_
-  -pc_mcpi_ordering <auto,natural,rcm,nd,coordinates>           - order of the rows inside a color

   Level: intermediate

   Notes:
   One sweep computes, color by color, x_c <- (1 - omega) x_c + omega D_c^{-1} (b_c - O_c x) for A =
   D + O with D the diagonal blocks. With ghost
   values exchanged after every color the iterate for a given global numbering does not depend on
   the number of ranks.

   Works with BAIJ, SBAIJ (converted) and AIJ matrices with any block size. The default sweep is
   forward; `KSPCG` and `KSPCHEBYSHEV` need
   -pc_mcpi_sweep symmetric.

   References:
+  * - Zubair, Nielsen, Luitjens, Hammond, An optimized multicolor point-implicit solver for
       unstructured grid applications on graphics processing units, 2016
.  * - Walden, Nielsen, Diskin, Zubair, A mixed precision multicolor point-implicit solver for
       unstructured grids on GPUs, 2019
-  * - Conrad, Wallach, Alternating methods for sets of linear equations, Numerische Mathematik 32,
       1979

.seealso: `PCCreate()`, `PCSetType()`, `PCSOR`, `PCPBJACOBI`, `PCMCPIRegister()`, `PCMCPISetIts()`,
`PCMCPISetOffdiagPrecision()`
M*/
PetscErrorCode PCCreate_MCPI(PC pc)
{
  PetscFunctionBegin;
  PetscCall(Guarded([&]() -> PetscErrorCode {
    pc->data = new PC_MCPI;
    return PETSC_SUCCESS;
  }));
  pc->ops->setup = PCSetUp_MCPI;
  pc->ops->setuponblocks = PCSetUpOnBlocks_MCPI;
  pc->ops->reset = PCReset_MCPI;
  pc->ops->destroy = PCDestroy_MCPI;
  pc->ops->setfromoptions = PCSetFromOptions_MCPI;
  pc->ops->view = PCView_MCPI;
  PetscCall(SetApplyOperations(pc));
  SetSolveOperations(pc);
  PetscCall(ComposeAccess(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
