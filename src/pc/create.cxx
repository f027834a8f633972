// This file implements the type PCMCPI: creation, set-up, reset and destruction. It also registers
// log events and citations.
#include "pc/mcpi.h"

#include <string_view>

#include "petsc/prefix.h"
#include "petscmcpi.h"

namespace mcpi {

namespace {

LogEvents events;
bool events_registered = false; // since PetscInitialize(): PetscFinalize() forgets all events

constexpr char kSoftwareCitation[] = "@misc{petsc-mcpi,\n"
                                     "  title = {petsc-mcpi: Multicolor point-implicit "
                                     "preconditioner and smoother for {PETSc}},\n"
                                     "  author = {{The petsc-mcpi authors}},\n"
                                     "  note = {Version " PETSCMCPI_VERSION "}\n}\n";
constexpr char kMethodCitation[] =
    "@inproceedings{walden2019,\n"
    "  title = {A mixed precision multicolor point-implicit solver for unstructured grids on "
    "{GPUs}},\n"
    "  author = {Walden, Aaron and Nielsen, Eric and Diskin, Boris and Zubair, Mohammad},\n"
    "  year = {2019}\n}\n";
PetscBool software_cited, method_cited; // since PetscInitialize()

PetscErrorCode ForgetEvents()
{
  PetscFunctionBegin;
  events_registered = false;
  software_cited = method_cited = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

std::string remedy_of_singular_block()
{
  const std::string_view prefix = current_prefix();
  if (prefix.find("mg_levels_") == std::string_view::npos &&
      prefix.find("mg_coarse_") == std::string_view::npos)
    return ". PCFIELDSPLIT can split off unknowns without a diagonal";
  return ". Use -" + std::string(prefix) + "pc_type jacobi on this level of multigrid";
}

std::string failure_message(const Failure &failure, PCMCPIMethod method, PCMCPIPrecision stored)
{
  const bool factors = method != PC_MCPI_METHOD_POINT;
  const std::string either =
      " in the matrix or in its factors. Use -pc_mcpi_method point, which has "
      "no factors, and fails if the matrix is the cause";
  switch (failure.defect) {
  case Defect::singular:
    return "its diagonal block is singular" + (factors ? either : remedy_of_singular_block());
  case Defect::nonfinite_diagonal:
    return "its diagonal block holds a NaN or an Inf" +
           (factors ? either : ". Look at the assembly of the matrix");
  case Defect::nonfinite_offdiagonal:
    return "an off-diagonal block holds a NaN or an Inf" +
           (factors ? either : ". Look at the assembly of the matrix");
  case Defect::unrepresentable:
    return std::string("an off-diagonal block does not fit the storage precision. Look for values "
                       "here or in other rows that are far too large") +
           (stored == PC_MCPI_PRECISION_FP64 ? "" : ", or use a wider -pc_mcpi_offdiag_precision");
  default:
    return "";
  }
}

} // namespace

std::string FailureMessage(const PC_MCPI &mcpi)
{
  return with_prefix(
      failure_message(mcpi.smoother.failure(), mcpi.method(), mcpi.smoother.precisions().offdiag));
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

// Makes or takes back what -pc_mcpi_block_product asks for.
PetscErrorCode set_block_product(Mat mat, bool wanted, BlockProductUse *use)
{
  PetscFunctionBegin;
  if (wanted) {
    PetscCall(UseBlockProduct(mat, use));
  } else if (*use != BlockProductUse::off) {
    PetscCall(DropBlockProduct(mat));
    *use = BlockProductUse::off;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Whether the preconditioner is known or likely to be inside another one. PCPreSolve() knows.
// PCBJACOBI, PCASM, PCMG and PCCOMPOSITE ask for the reason of a failure before it is called.
bool may_be_inside(PC pc)
{
  return Data(pc).inside || NamedAsInside(pc);
}

PetscErrorCode PCSetUp_MCPI(PC pc)
{
  PC_MCPI &mcpi = Data(pc);
  const PrefixScope prefix((PetscObject)pc);

  PetscFunctionBegin;
  // PETSc records the state of the matrix before it calls this function. The PC counts as not set
  // up until this set-up succeeds. After a failure, PETSc therefore calls this function again.
  pc->setupcalled = {};
  pc->failedreason = pc->failedreasonrank = PC_NOERROR; // PETSc never clears the reason
  if (mcpi.caller.type.empty() && !mcpi.applied) PetscCall(ExpectedCaller(pc, &mcpi.caller));
  PetscCall(Guarded([&]() -> PetscErrorCode {
    return mcpi.smoother.setup(pc->pmat, mcpi.settings, mcpi.caller, mcpi.coordinates,
                               (PetscObject)pc);
  }));
  PetscCall(set_block_product(pc->mat, mcpi.settings.block_product, &mcpi.amat_product));
  mcpi.pmat_product = mcpi.amat_product;
  if (pc->pmat != pc->mat)
    PetscCall(set_block_product(pc->pmat, mcpi.settings.block_product, &mcpi.pmat_product));
  const Failure &failure = mcpi.smoother.failure();
  if (mcpi.failed()) {
    PetscCheck(!pc->erroriffailure, PetscObjectComm((PetscObject)pc),
               failure.defect == Defect::singular ? PETSC_ERR_MAT_LU_ZRPVT : PETSC_ERR_FP,
               "PCMCPI: block row %" PetscInt_FMT ": %s", failure.row,
               FailureMessage(mcpi).c_str());
    PetscCall(PetscInfo(pc, "block row %" PetscInt_FMT ": %s\n", failure.row,
                        FailureMessage(mcpi).c_str()));
    TellFailure(pc, !may_be_inside(pc));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Repeats a set-up that has failed, because the user may have mended the matrix's values in place.
// KSPSolve() does not notice such a change by itself after its first set-up. KSPSolve() looks for a
// failure after the call of this function.
PetscErrorCode PCSetUpOnBlocks_MCPI(PC pc)
{
  PetscFunctionBegin;
  if (Data(pc).failed()) PetscCall(PCSetUp(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCReset_MCPI(PC pc)
{
  PetscFunctionBegin;
  pc->failedreason = pc->failedreasonrank = PC_NOERROR;
  PetscCall(Data(pc).smoother.destroy());
  Data(pc).coordinates = Coordinates();
  Data(pc).amat_product = Data(pc).pmat_product = BlockProductUse::off;
  Data(pc).solves.clear();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCDestroy_MCPI(PC pc)
{
  PetscFunctionBegin;
  PetscCall(DecomposeAccess(pc));
  pc->failedreason = pc->failedreasonrank =
      PC_NOERROR; // another type of the PC would start with the reason
  delete static_cast<PC_MCPI *>(pc->data);
  pc->data = nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

void TellFailure(PC pc, bool told)
{
  pc->failedreason = pc->failedreasonrank =
      told ? reason_of(Data(pc).smoother.failure().defect) : PC_NOERROR;
}

/*MC
   PCMCPI - multicolor point-implicit relaxation (block Gauss-Seidel), all block rows of one color
   at the same time

   Options Database Keys:
+  -pc_mcpi_its <-1> - sweeps of one application: from 1 to 2^29, or -1 (decide); takes effect at
      the next application
.  -pc_mcpi_sweep <symmetric> - order of the colors in a sweep: forward, backward, symmetric; takes
      effect at the next application
.  -pc_mcpi_omega <1> - relaxation factor: above 0 and below 2; takes effect at the next application
.  -pc_mcpi_restart <-1> - number of sweeps after which the residual is recomputed in double
      precision: at least 0 (0: never), or -1 (decide); takes effect at the next application
.  -pc_mcpi_method <auto> - method: block Gauss-Seidel, DILU or ILU(0): point, dilu, ilu0, auto;
      takes effect at the next numeric set-up
.  -pc_mcpi_offdiag_precision <auto> - storage of the off-diagonal blocks: fp64, fp32, fp16, int8,
      int4, auto; takes effect at the next numeric set-up
.  -pc_mcpi_vector_precision <auto> - precision of the vectors inside the sweeps: fp64, fp32, auto;
      takes effect at the next numeric set-up
.  -pc_mcpi_gather_precision <auto> - precision in which off-diagonal products read the vector:
      fp32, bfp16, auto; takes effect at the next numeric set-up
.  -pc_mcpi_form <auto> - store D^{-1}O, or O and apply D^{-1} in every sweep, or the entries of O:
      prescaled, factored, auto, entries; takes effect at the next numeric set-up
.  -pc_mcpi_scaling_keep <true> - keep scaling, clusters and trials of sweeps of earlier values of
      the matrix: true, false; takes effect at the next numeric set-up
.  -pc_mcpi_tune <false> - the next solve measures what options leave open, prints a table and takes
      the fastest: true, false; takes effect at the next solve
.  -pc_mcpi_tune_seconds <0> - seconds after which the measurements end: at least 0 (0: 30 times the
      first solution); takes effect at the next solve
.  -pc_mcpi_setup_threads <-1> - largest number of threads of a rank in a set-up: at least 1, or -1
      (decide); takes effect at the next set-up
.  -pc_mcpi_block_product <false> - products with an AIJCUSPARSE matrix read one column index per
      block: true, false; takes effect at the next set-up
.  -pc_mcpi_gram_schmidt <false> - classical Gram-Schmidt of the KSP takes several vectors at a time
      on a CUDA device: true, false; takes effect at the next solve
.  -pc_mcpi_backend <auto> - hardware and code that run the sweeps: auto, host, cuda, kokkos,
      reference; takes effect at the next numeric set-up
.  -pc_mcpi_halo <auto> - exchange of ghost values between ranks: auto, sf, nccl, peer; takes effect
      at the next symbolic set-up
.  -pc_mcpi_halo_timeout <1800> - seconds that a device waits for another rank: above 0 and at most
      1e9; takes effect at the next symbolic set-up
.  -pc_mcpi_halo_frequency <color> - how often ghost values are exchanged: color, sweep; takes
      effect at the next application
.  -pc_mcpi_schedule <auto> - which block rows are relaxed at the same time: color, wave, cluster,
      level, auto; takes effect at the next symbolic set-up
.  -pc_mcpi_chunk_rows <-1> - block rows of a chunk, on a CPU: at least 0 (0: no chunks), or -1
      (decide); takes effect at the next symbolic set-up
.  -pc_mcpi_cluster_rows <-1> - most block rows of a cluster: from 1 to 1024, or -1 (decide); takes
      effect at the next symbolic set-up
.  -pc_mcpi_mat_coloring_type <by the schedule> - coloring of the block rows, which overrules
      -pc_mcpi_schedule auto: any registered MatColoringType; takes effect at the next symbolic
      set-up
-  -pc_mcpi_ordering <auto> - order of the rows inside a color: auto, natural, rcm, coordinates;
      takes effect at the next symbolic set-up

   Level: intermediate

   Notes:
   Let A = D + O, where D are the diagonal blocks. A sweep computes x_c <- (1 - omega) x_c +
   omega D_c^{-1} (b_c - O_c x) for one color c after the other. Ghost values are exchanged after
   every color. So the result for a given global numbering does not depend on the number of MPI
   processes, if `PCMCPISetSchedule()` selects color or wave. The default schedule takes others on
   CPUs.

   Schedule, number of sweeps and precisions are chosen by the system, the backend and the `KSP`,
   unless they are given. `PCView()` shows the choice as options, and the reasons.

   The matrix may be of type `MATAIJ`, `MATBAIJ` or `MATSBAIJ` (converted) with any block size, set
   by `MatSetBlockSize()`. If rows and columns have different block sizes, the greatest common
   divisor of both is taken. Scalars are real, in double precision. With block size 1 the method is
   point relaxation.

   `KSPFGMRES`, `KSPGCR` and `KSPPIPEFGMRES` work with every sweep and storage. With the default
   options the vectors are then in single precision. int8 storage needs about as many iterations as
   fp32. `KSPGCR` updates its residual by a recurrence, so that near 1e-12 it may report less than
   the true residual.

   `KSPGMRES`, `KSPBCGS`, `KSPTFQMR` and other methods that assume a linear preconditioner
   need vectors in double precision, which auto selects.

   `KSPCG`, `KSPMINRES`, `KSPCHEBYSHEV`, `KSPFCG` and `KSPPIPEFCG` need the symmetric sweep, the
   default. `KSPCG`, `KSPMINRES` and the like also need off-diagonal blocks in fp32 or fp64;
   `KSPFCG` tolerates fewer bits. Anything else is an error where residuals are tested, unless
   -pc_mcpi_vector_precision is given.

   `KSPRICHARDSON` works with every sweep and storage. If it tests convergence, -pc_mcpi_restart
   keeps it from stagnating at the rounding of the blocks.

   PETSc prints references for -citations.

   The following options have no functions. A program sets them by `PetscOptionsSetValue()` before
   `PCSetFromOptions()`.

   -pc_mcpi_mat_coloring_type colors the block rows. `MATCOLORINGJPLF`, `MATCOLORINGWAVE` and
   `MATCOLORINGLEVELS`, which this library registers, give the same colors on any number of MPI
   processes. The `MatColoring` has the options prefix of the preconditioner followed by pc_mcpi_,
   as in -pc_mcpi_mat_coloring_wave_colors. A type that is not registered, and a coloring that gives
   neighbors the same color, is an error at the next `PCSetUp()`.

   -pc_mcpi_tune measures in the first solve what options leave open: schedule, number of sweeps
   and storage. It solves the system with each, by a `KSP` of the same type, to a relative residual
   of 1e-3, or to the tolerance if that is larger. It counts the digits of the true residual per
   second, prints a table and the options of the fastest, and goes on with them. It takes about 30
   times as long as the first of these solves, or -pc_mcpi_tune_seconds.

   -pc_mcpi_cluster_rows acts with the schedule cluster. The default is 512 on a CPU and 4 on a
   device; with 1 each row is a cluster. On most matrices larger clusters take fewer iterations.
   They have fewer rows that can be relaxed at the same time, which matters on a device.

   -pc_mcpi_chunk_rows acts on the host. If the vector of a process does not stay in the caches,
   each color reads it from memory again. A chunk is about so many rows that follow each other in
   the order of `PCMCPISetOrdering()`, and later rows that wait for them. A pass takes all colors of
   a chunk before the next chunk. The bits are the same, except that with clusters and another
   method than point the factorization may round in another order. By default vectors of 2^21
   numbers or more have chunks, of 4096 numbers, or 16 rows of each color if that is more.

   -pc_mcpi_setup_threads: threads color and order the rows of large matrices, look for changes in
   their pattern, and copy values to a device. The result does not depend on them. The default is
   the cores that the process may use, divided by the processes of the matrix's communicator on the
   node. It is 1 where that communicator is smaller than `PETSC_COMM_WORLD`.

   -pc_mcpi_scaling_keep: with true a set-up with new values keeps the scaling of the one before
   while the best factors are within 4 times of it, and reads the matrix once instead of twice.
   Clusters are those of the first values of a nonzero pattern, and not all new values are followed
   by a trial of sweeps. The preconditioner then depends on earlier matrices: a restarted run need
   not repeat the first bit for bit. With false a set-up depends on its own matrix alone. With the
   schedule cluster it then takes the time of several numeric set-ups. That helps where strong
   couplings turn, as with a flow that changes its direction.

   -pc_mcpi_halo_timeout acts with the exchange peer. Ghost values that do not come in time become
   NaN, and later applications are errors until `PCReset()` and another set-up. Processes also wait
   while one of them does something else between applications, such as writing files.

   -pc_mcpi_block_product: a `MATAIJCUSPARSE` matrix of full blocks needs one column index for each
   block instead of each number. `MatMult()` and `MatMultAdd()` of both matrices of
   `PCSetOperators()` then read up to a third less memory. Results differ from those of cuSPARSE by
   the rounding of sums. The change stays with the matrices until a set-up with false takes it back.
   Matrices of other types, of block size 1, and with blocks that are not full keep PETSc's
   products; `PCView()` says why.

   -pc_mcpi_gram_schmidt: `KSPGMRES`, `KSPFGMRES` and `KSPLGMRES` that apply this preconditioner
   themselves, with vectors of type `VECCUDA`, take up to eight vectors in each launch. Up to
   rounding, the coefficients are those of `KSPOrthogonalizationClassicalGramSchmidt()`. The next
   `KSPSolve()` makes the change by `KSPOrthogonalizationSet()`; with false it takes it back.
   Another orthogonalization that the `KSP` has stays. Stiff systems need refinement, see
   `KSPOrthogonalizationSetCGSRefinementType()`. PETSc before 3.26 has no such change. `PCView()`
   says who orthogonalizes.

   References:
+  * - Zubair, Nielsen, Luitjens, Hammond, An optimized multicolor point-implicit solver for
       unstructured grid applications on graphics processing units, 2016
.  * - Walden, Nielsen, Diskin, Zubair, A mixed precision multicolor point-implicit solver for
       unstructured grids on GPUs, 2019
-  * - Conrad, Wallach, Alternating methods for sets of linear equations, Numerische Mathematik 32,
       1979

.seealso: `PCCreate()`, `PCSetType()`, `PCSOR`, `PCPBJACOBI`, `PCMCPIRegister()`, `PCMCPISetIts()`,
          `PCMCPISetSchedule()`, `PCMCPISetMethod()`, `PCMCPISetOffdiagPrecision()`,
          `PCMCPISetVectorPrecision()`, `MATCOLORINGJPLF`
M*/
PetscErrorCode PCCreate_MCPI(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister(kSoftwareCitation, &software_cited));
  PetscCall(PetscCitationsRegister(kMethodCitation, &method_cited));
  PetscCall(Guarded((PetscObject)pc, [&]() -> PetscErrorCode {
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
