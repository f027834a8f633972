// This file implements PCView().
#include <algorithm>
#include <cstdio>

#include "pc/mcpi.h"
#include "petscmcpi.h"
#include "setup/row_groups.h"

namespace mcpi {
namespace {

// Shows the schedule, and why auto chose it.
PetscErrorCode view_schedule(const Settings &settings, const ScheduleChoice &used,
                             PetscViewer viewer)
{
  std::string text = PCMCPISchedules[used.type];

  PetscFunctionBegin;
  if (!used.reason.empty()) text += " (auto: " + used.reason + ")";
  if (used.type == PC_MCPI_SCHEDULE_CLUSTER)
    text += ", at most " + std::to_string(used.cluster_rows) + " block rows in a cluster, " +
            (settings.keeps ? "kept" : "made anew") +
            " for new values; the result depends on the partition";
  PetscCall(PetscViewerASCIIPrintf(viewer, "  schedule: %s\n", text.c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Explains the block size, and what blocks hold, where it deserves a word.
PetscErrorCode view_blocks(PC pc, PetscViewer viewer)
{
  const Smoother &smoother = Data(pc).smoother;
  const int bs = smoother.plan().bs;
  PetscInt rows, columns;

  PetscFunctionBegin;
  PetscCall(MatGetBlockSizes(pc->pmat, &rows, &columns));
  if (rows != columns)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  block size %d: the greatest common divisor of Pmat's block "
                                     "sizes of rows (%" PetscInt_FMT ") and columns (%" PetscInt_FMT
                                     ")\n",
                                     bs, rows, columns));
  else if (smoother.row_group() > 1)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %s\n",
                                     AdviceForBlockSize(bs, smoother.row_group()).c_str()));
  else if (bs == 1)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  block size 1 is point relaxation: MatSetBlockSize() "
                                     "before the set-up makes it block relaxation\n"));
  if (smoother.shares().few() && smoother.wanted().form != PC_MCPI_FORM_ENTRIES)
    PetscCall(PetscViewerASCIIPrintf(
        viewer,
        "  blocks hold %.2g %% of their numbers, and sweeps multiply with all of them: "
        "-pc_mcpi_form entries on a CPU, or PCSOR, may be faster\n",
        100.0 * smoother.shares().all));
  if (smoother.empty_unknowns() > 0)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  empty unknowns: %" PetscInt64_FMT
                                     " (all ranks), whose rows and columns are zero\n",
                                     smoother.empty_unknowns()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode view_plan(PC pc, PetscViewer viewer)
{
  const Smoother &smoother = Data(pc).smoother;
  const ColorPlan &plan = smoother.plan();
  MPI_Comm comm = PetscObjectComm((PetscObject)pc);
  std::vector<PetscInt> sizes(static_cast<std::size_t>(std::max(plan.colors, 1)), 0);
  double bytes[3] = {smoother.host_bytes(),
                     smoother.sweep_bytes(Data(pc).settings, 2) -
                         smoother.sweep_bytes(Data(pc).settings, 1),
                     smoother.device_bytes()};
  int chunks = plan.chunks;

  PetscFunctionBegin;
  for (int c = 0; c < plan.colors; ++c) sizes[c] = plan.color_begin[c + 1] - plan.color_begin[c];
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sizes.data(), static_cast<PetscMPIInt>(sizes.size()),
                             MPIU_INT, MPI_SUM, comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, bytes, 3, MPI_DOUBLE, MPI_SUM, comm));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  colors: %d by %s, block rows of the largest %" PetscInt_FMT
                                   ", of the smallest %" PetscInt_FMT "\n",
                                   plan.colors, smoother.schedule_used().coloring.c_str(),
                                   *std::max_element(sizes.begin(), sizes.end()),
                                   *std::min_element(sizes.begin(), sizes.end())));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &chunks, 1, MPI_INT, MPI_MAX, comm));
  if (chunks > 1)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  chunks: at most %d on a rank\n", chunks));
  PetscCall(view_schedule(Data(pc).settings, smoother.schedule_used(), viewer));
  const std::string space =
      smoother.backend_space().empty() ? "" : " on " + smoother.backend_space();
  PetscCall(PetscViewerASCIIPrintf(
      viewer, "  backend: %s%s, block size %d, rows of a color in %s order%s\n",
      PCMCPIBackendTypes[smoother.backend_used()], space.c_str(), plan.bs,
      PCMCPIOrderingTypes[smoother.ordering_used().type],
      smoother.ordering_used().misfit
          ? " (the points of PCSetCoordinates() are not one for each local block row)"
          : ""));
  PetscCall(view_blocks(pc, viewer));
  if (!smoother.backend_reason().empty())
    PetscCall(PetscViewerASCIIPrintf(viewer, "  no device is used: %s\n",
                                     smoother.backend_reason().c_str()));
  PetscCall(PetscViewerASCIIPrintf(
      viewer, "  host memory held: %.4g MB, moved by one sweep: %.4g MB (all ranks)\n",
      bytes[0] / 1e6, bytes[1] / 1e6));
  if (smoother.on_device())
    PetscCall(PetscViewerASCIIPrintf(viewer, "  device memory held: %.4g MB (all ranks)\n",
                                     bytes[2] / 1e6));
  if (smoother.failure().defect != Defect::none)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  FAILED at block row %" PetscInt_FMT ": %s\n",
                                     smoother.failure().row, FailureMessage(Data(pc)).c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode view_sweeps(const PC_MCPI &mcpi, PetscViewer viewer)
{
  const Settings &s = mcpi.settings;
  const PCMCPIMethod method = mcpi.method();

  PetscFunctionBegin;
  const SweepsChoice sweeps = mcpi.smoother.sweeps(s, mcpi.caller);
  PetscCall(PetscViewerASCIIPrintf(
      viewer, "  sweeps: %" PetscInt_FMT " %s, omega = %g%s\n", sweeps.its,
      PCMCPISweepTypes[s.sweep], (double)s.omega,
      sweeps.reason.empty() ? "" : (" (auto: " + sweeps.reason + ")").c_str()));
  if (method != PC_MCPI_METHOD_POINT)
    PetscCall(PetscViewerASCIIPrintf(
        viewer, "  method: %s%s%s\n", PCMCPIMethods[method],
        s.method == PC_MCPI_METHOD_AUTO ? " (auto: Gauss-Seidel enlarges an error)" : "",
        sweeps.its > 1 ? ", applied to the residual of each sweep" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Shows how off-diagonal blocks are stored, and why otherwise than the options say.
PetscErrorCode view_storage(const PC_MCPI &mcpi, PetscViewer viewer)
{
  const Settings &s = mcpi.settings;
  const Smoother &smoother = mcpi.smoother;
  const Wanted wanted = smoother.usable() ? smoother.wanted() : smoother.wanted_by(s, mcpi.caller);
  const Precisions used =
      smoother.usable() ? smoother.precisions() : ChoosePrecisions(s, wanted, {});
  std::string reason;

  PetscFunctionBegin;
  if (used.offdiag != wanted.offdiag)
    reason = std::string(" instead of ") + PCMCPIPrecisions[wanted.offdiag];
  if (s.offdiag == PC_MCPI_PRECISION_AUTO && used.form != PC_MCPI_FORM_ENTRIES)
    reason +=
        " (auto: " + ReasonForBlocks(mcpi.caller, smoother.target(), smoother.memory_limits()) +
        ")";
  reason += std::string(", ") + PCMCPIForms[used.form] + " form";
  if (s.form == PC_MCPI_FORM_AUTO && used.form == PC_MCPI_FORM_ENTRIES) {
    char share[64];
    std::snprintf(share, sizeof(share), " (auto: blocks hold %.2g %% of their numbers)",
                  100.0 * smoother.shares().all);
    reason += share;
  } else if (s.form == PC_MCPI_FORM_AUTO &&
             (used.offdiag != wanted.offdiag || used.form != PC_MCPI_FORM_PRESCALED))
    reason += " (auto: " + ReasonForStorage(mcpi.smoother.stiffness()) + ")";
  PetscCall(PetscViewerASCIIPrintf(viewer, "  off-diagonal blocks: %s%s\n",
                                   PCMCPIPrecisions[used.offdiag], reason.c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Shows the precision of the vectors. Before a set-up, shows what a set-up would choose.
PetscErrorCode view_vectors(const PC_MCPI &mcpi, PetscViewer viewer)
{
  const Settings &s = mcpi.settings;
  const bool ready = mcpi.smoother.usable(),
             wide = ready ? mcpi.smoother.double_vectors()
                          : mcpi.smoother.wanted_by(s, mcpi.caller).double_vectors;
  std::string reason;

  PetscFunctionBegin;
  if (s.vector == PC_MCPI_VECTOR_PRECISION_AUTO) {
    reason = ReasonForVectors(mcpi.smoother.wanted_by(s, mcpi.caller), mcpi.caller);
    if (ready && wide && !mcpi.smoother.wanted().double_vectors)
      reason = ReasonForDouble(mcpi.smoother.stiffness());
    reason = " (auto: " + reason + ")";
  }
  PetscCall(
      PetscViewerASCIIPrintf(viewer, "  vectors: %s%s\n", wide ? "fp64" : "fp32", reason.c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Shows what was chosen, as options that choose it again.
PetscErrorCode view_options(PC pc, PetscViewer viewer)
{
  const PC_MCPI &mcpi = Data(pc);
  const Settings &s = mcpi.settings;
  const Smoother &smoother = mcpi.smoother;

  PetscFunctionBegin;
  if (!smoother.usable()) PetscFunctionReturn(PETSC_SUCCESS);
  const Precisions &stored = smoother.precisions();
  Settings chosen = s;
  chosen.schedule = smoother.schedule_used().type;
  chosen.cluster_rows = smoother.schedule_used().cluster_rows;
  chosen.method = mcpi.method();
  chosen.its = smoother.sweeps(s, mcpi.caller).its;
  if (stored.form == PC_MCPI_FORM_ENTRIES) chosen.form = stored.form;
  chosen.offdiag = stored.offdiag;
  chosen.gather =
      stored.bfp16_gather ? PC_MCPI_GATHER_PRECISION_BFP16 : PC_MCPI_GATHER_PRECISION_FP32;
  const std::string text = OptionsOf(chosen, s);
  if (!text.empty())
    PetscCall(PetscViewerASCIIPrintf(viewer, "  chosen by itself:%s\n", text.c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const char *text_of(BlockProductUse use)
{
  switch (use) {
  case BlockProductUse::yes:
    return "read one column index for each block";
  case BlockProductUse::no_cuda:
    return "are PETSc's, because petsc-mcpi or PETSc was built without CUDA";
  case BlockProductUse::wrong_type:
    return "are PETSc's, because the matrix is not AIJCUSPARSE on a device";
  case BlockProductUse::block_size_one:
    return "are PETSc's, because the block size is 1";
  case BlockProductUse::partial_blocks:
    return "are PETSc's, because some blocks are not full";
  case BlockProductUse::no_memory:
    return "are PETSc's, because the device has no memory for column indices of blocks";
  default:
    return "follow at the set-up";
  }
}

// Shows what -pc_mcpi_block_product has achieved.
PetscErrorCode view_products(PC pc, PetscViewer viewer)
{
  const PC_MCPI &mcpi = Data(pc);

  PetscFunctionBegin;
  if (!mcpi.settings.block_product) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer, "  products with the matrix %s\n",
                                   text_of(mcpi.amat_product)));
  if (pc->pmat != pc->mat)
    PetscCall(
        PetscViewerASCIIPrintf(viewer, "  products with Pmat %s\n", text_of(mcpi.pmat_product)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const char *text_of(GramSchmidtUse use)
{
  switch (use) {
  case GramSchmidtUse::yes:
    return "takes several vectors at a time on a CUDA device, where the KSP uses it";
  case GramSchmidtUse::no_cuda:
    return "is PETSc's, because PETSc or petsc-mcpi was configured without CUDA";
  case GramSchmidtUse::old_petsc:
    return "is PETSc's, because PETSc is older than 3.26";
  case GramSchmidtUse::on_host:
    return "is PETSc's, because vectors are on the CPU on some rank: use -vec_type cuda or "
           "-dm_vec_type cuda, and bind no vectors to the CPU";
  case GramSchmidtUse::other:
    return "is PETSc's, because the KSP does not use -ksp_orthogonalization cgs";
  default:
    return "is decided by the next KSPSolve()";
  }
}

// Shows what -pc_mcpi_gram_schmidt has achieved.
PetscErrorCode view_gram_schmidt(const PC_MCPI &mcpi, PetscViewer viewer)
{
  PetscFunctionBegin;
  if (mcpi.settings.gram_schmidt)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  classical Gram-Schmidt %s\n",
                                     text_of(mcpi.gram_schmidt)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

std::string OptionsOf(const Settings &chosen, const Settings &given)
{
  std::string text;
  const auto add = [&](bool open, const char *option, const std::string &value) {
    if (open) text += with_prefix(std::string(" -pc_mcpi_") + option) + " " + value;
  };
  const bool schedule = given.schedule == PC_MCPI_SCHEDULE_AUTO;
  add(schedule, "schedule", PCMCPISchedules[chosen.schedule]);
  add(schedule && chosen.schedule == PC_MCPI_SCHEDULE_CLUSTER &&
          given.cluster_rows == PETSC_DECIDE && chosen.cluster_rows != PETSC_DECIDE,
      "cluster_rows", std::to_string(chosen.cluster_rows));
  add(given.method == PC_MCPI_METHOD_AUTO && chosen.method != PC_MCPI_METHOD_POINT, "method",
      PCMCPIMethods[chosen.method]);
  add(given.its == PETSC_DECIDE, "its", std::to_string(chosen.its));
  const bool entries = chosen.form == PC_MCPI_FORM_ENTRIES;
  add(given.form == PC_MCPI_FORM_AUTO && entries, "form", PCMCPIForms[chosen.form]);
  add(given.offdiag == PC_MCPI_PRECISION_AUTO && !entries, "offdiag_precision",
      PCMCPIPrecisions[chosen.offdiag]);
  add(!entries && given.gather == PC_MCPI_GATHER_PRECISION_AUTO &&
          chosen.gather != PC_MCPI_GATHER_PRECISION_AUTO,
      "gather_precision", PCMCPIGatherPrecisions[chosen.gather]);
  return text;
}

PetscErrorCode PCView_MCPI(PC pc, PetscViewer viewer)
{
  const PC_MCPI &mcpi = Data(pc);
  const Settings &s = mcpi.settings;
  const PrefixScope prefix((PetscObject)pc);
  PetscBool ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer, "  petsc-mcpi %s\n", PETSCMCPI_VERSION));
  PetscCall(view_sweeps(mcpi, viewer));
  if (s.restart > 0)
    PetscCall(PetscViewerASCIIPrintf(
        viewer, "  residual recomputed every %" PetscInt_FMT " sweeps\n", s.restart));
  if (const std::string lack = mcpi.lacks_symmetry(); !lack.empty())
    PetscCall(PetscViewerASCIIPrintf(viewer, "  NOT SYMMETRIC: %s\n", lack.c_str()));
  PetscCall(Guarded([&]() -> PetscErrorCode { return view_options(pc, viewer); }));
  PetscCall(view_storage(mcpi, viewer));
  PetscCall(view_vectors(mcpi, viewer));
  PetscCall(view_products(pc, viewer));
  PetscCall(view_gram_schmidt(mcpi, viewer));
  if (mcpi.smoother.ready() && mcpi.smoother.precisions().bfp16_gather)
    PetscCall(PetscViewerASCIIPrintf(
        viewer,
        "  products read x as %s: safe with KSPFGMRES, and with KSPRICHARDSON and "
        "-%spc_mcpi_restart\n",
        PCMCPIGatherPrecisions[PC_MCPI_GATHER_PRECISION_BFP16], current_prefix()));
  const HaloChoice &halo = Data(pc).smoother.halo_choice();
  const bool inside = halo.inside && s.frequency == PC_MCPI_HALO_FREQUENCY_COLOR;
  const std::string reason = halo.reason.empty() && !inside && !halo.reason_not_inside.empty()
                                 ? "not inside the relaxations: " + halo.reason_not_inside
                                 : halo.reason;
  PetscMPIInt ranks;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &ranks));
  if (ranks == 1)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  halo: none on one rank\n"));
  else
    PetscCall(PetscViewerASCIIPrintf(
        viewer, "  halo: %s%s%s%s%s, exchanged every %s\n", PCMCPIHaloTypes[halo.type],
        inside ? " inside the relaxations" : "", reason.empty() ? "" : " (", reason.c_str(),
        reason.empty() ? "" : ")", PCMCPIHaloFrequencies[s.frequency]));
  if (Data(pc).smoother.usable())
    PetscCall(Guarded([&]() -> PetscErrorCode { return view_plan(pc, viewer); }));
  else
    PetscCall(PetscViewerASCIIPrintf(
        viewer, "  not set up; backend %s, schedule %s, coloring %s, ordering %s\n",
        PCMCPIBackendTypes[s.backend], PCMCPISchedules[s.schedule],
        s.coloring.empty() ? "by the schedule" : s.coloring.c_str(),
        PCMCPIOrderingTypes[s.ordering]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
