// This file fits the preconditioner to the method that applies it. PCPreSolve() tells which method
// that is.
#include "pc/mcpi.h"
#include "pc/tune.h"
#include "petsc/prefix.h"
#include "petscmcpi.h"

namespace mcpi {
namespace {

std::string what_takes_it_for_linear(const Caller &method)
{
  return method.type.empty() ? "the method that applies it is not known"
                             : "-ksp_type " + method.type + " assumes that it is a linear operator";
}

// Gives the vectors, and blocks whose storage the options leave open, the precision that the method
// needs. may_narrow: whether the vectors may change from double to single. Blocks with more bits
// than the method needs are kept. Other blocks, and those that depend on the vectors, as on a
// device, are set up again. KSPSetReusePreconditioner() forbids that if the matrix has changed. The
// stored blocks then stay as they are, and the vectors get double precision if the method needs it.
PetscErrorCode fit_precision(PC pc, const Caller &method, bool may_narrow)
{
  PC_MCPI &mcpi = Data(pc);
  const Wanted prepared = mcpi.smoother.wanted();
  Wanted wanted = mcpi.smoother.wanted_by(mcpi.settings, method);
  bool fits, current;

  PetscFunctionBegin;
  if (bits_of(prepared.offdiag) > bits_of(wanted.offdiag)) wanted.offdiag = prepared.offdiag;
  if (prepared.double_vectors && !may_narrow) wanted.double_vectors = true;
  if (wanted.double_vectors) wanted.bfp16_gather = false;
  if (!mcpi.smoother.ready() || wanted == prepared) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(mcpi.smoother.fit(mcpi.settings, wanted, &fits));
  if (fits) {
    mcpi.caller = method;
    mcpi.applied = true;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(mcpi.smoother.stores(pc->pmat, &current));
  if (!pc->reusepreconditioner || current) {
    PetscCall(SetUpAgain(pc, method));
  } else if (wanted.double_vectors) {
    PetscCall(mcpi.smoother.widen_vectors());
    mcpi.caller = method;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Refuses a preconditioner that is not symmetric to a method that needs a symmetric one. A method
// that tests no residuals is a smoother, which may work. There, and where the user has set the
// precision of the vectors and so takes the responsibility, -info tells it. It does not repeat it.
PetscErrorCode check_symmetry(PC pc)
{
  PC_MCPI &mcpi = Data(pc);
  const Caller &method = mcpi.caller;

  PetscFunctionBegin;
  std::string lack = mcpi.lacks_symmetry();
  PetscCheck(lack.empty() || method.forwards || method.estimates || !method.tests_residuals ||
                 mcpi.settings.vector != PC_MCPI_VECTOR_PRECISION_AUTO,
             PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
             "%s. -%spc_mcpi_vector_precision fp64 forces it", lack.c_str(), current_prefix());
  if (lack.empty() || lack == mcpi.told_unsymmetric) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(pc, "%s\n", lack.c_str()));
  mcpi.told_unsymmetric = std::move(lack);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Does what -pc_mcpi_gram_schmidt asks for, or takes it back.
PetscErrorCode fit_gram_schmidt(PC pc, KSP ksp, Vec solution)
{
  PC_MCPI &mcpi = Data(pc);

  PetscFunctionBegin;
  // Also if it is not wanted: another solve with this preconditioner may have made the change.
  PetscCall(UseGramSchmidt(ksp, solution, mcpi.settings.gram_schmidt, &mcpi.gram_schmidt));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void forget_ended_solves(PC_MCPI &mcpi)
{
  std::erase_if(mcpi.solves, [](const Solve &solve) { return !*solve.underway; });
}

PetscErrorCode begin_solve(PC pc, KSP ksp, Vec rhs, Vec solution)
{
  PC_MCPI &mcpi = Data(pc);
  Solve solve;

  PetscFunctionBegin;
  PetscCall(CallerOf(ksp, &mcpi.caller));
  mcpi.applied = true;
  PetscCall(CheckRounding(pc, mcpi.caller));
  // A KSP without a call of KSPSetOperators() leaves new values to the first PCApply().
  PetscCall(PCSetUp(pc));
  PetscCall(fit_precision(pc, mcpi.caller, true));
  PetscCall(WatchSolve(ksp, &solve.underway));
  forget_ended_solves(mcpi);
  solve.method = mcpi.caller;
  mcpi.solves.push_back(solve);
  PetscCall(TrySweeps(pc));
  if (mcpi.settings.tune && !mcpi.tuned && mcpi.caller.solves() && mcpi.smoother.usable() &&
      !mcpi.failed()) {
    PetscCall(Tune(pc, ksp, rhs));
    PetscCall(PCSetUp(pc));
  }
  PetscCall(check_symmetry(pc));
  PetscCall(fit_gram_schmidt(pc, ksp, solution));
  if (!mcpi.caller.estimates) {
    mcpi.inside = mcpi.caller.inside;
    if (mcpi.failed()) TellFailure(pc, !mcpi.inside);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Called at the start of a solve. ksp is about to apply the preconditioner for the first time.
PetscErrorCode PCPreSolve_MCPI(PC pc, KSP ksp, Vec rhs, Vec solution)
{
  PetscFunctionBegin;
  const PetscErrorCode error =
      Guarded((PetscObject)pc, [&] { return begin_solve(pc, ksp, rhs, solution); });
  if (error) PetscCall(EndSolve(ksp));
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Called at the end of a solve. A solve may run inside another solve with the same preconditioner:
// KSPCHEBYSHEV, for example, estimates eigenvalues by an inner solve.
PetscErrorCode PCPostSolve_MCPI(PC pc, KSP ksp, Vec, Vec solution)
{
  PC_MCPI &mcpi = Data(pc);
  Caller caller;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(EndSolve(ksp));
  forget_ended_solves(mcpi);
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  if (reason < 0 && reason != KSP_DIVERGED_ITS) mcpi.smoother.trials().forget();
  if (!mcpi.solves.empty()) mcpi.caller = mcpi.solves.back().method;
  if (!mcpi.failed() || !solution) PetscFunctionReturn(PETSC_SUCCESS);
  // A method that tests no residuals may lose results that are not finite: KSPCHEBYSHEV multiplies
  // them by zero, if the estimate of its eigenvalues has failed as well.
  PetscCall(CallerOf(ksp, &caller));
  if (caller.inside) PetscCall(CompatVecFlag(solution));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode SetUpAgain(PC pc, const Caller &method)
{
  PC_MCPI &mcpi = Data(pc);

  PetscFunctionBegin;
  mcpi.caller = method;
  mcpi.applied = true;
  PetscCall(PetscInfo(pc, "Values are set up again for the method that applies them\n"));
  pc->setupcalled = {}; // an integer or a PetscBool, by PETSc's version
  PetscCall(PCSetUp(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A symmetric Gauss-Seidel sweep is symmetric up to the rounding of the blocks.
std::string PC_MCPI::lacks_symmetry() const
{
  const PCMCPIPrecision blocks = settings.offdiag != PC_MCPI_PRECISION_AUTO ? settings.offdiag
                                 : smoother.ready() ? smoother.precisions().offdiag
                                                    : PC_MCPI_PRECISION_FP32;
  const std::string ksp_type = std::string("-") + current_prefix() + "ksp_type ";
  const std::string who =
      caller.forwards ? "An outer CG, MINRES or Chebyshev method" : ksp_type + caller.type;
  if ((caller.needs_symmetric || caller.forwards) && settings.sweep != PC_MCPI_SWEEP_SYMMETRIC)
    return who + with_prefix(" needs a symmetric sweep. Use -pc_mcpi_sweep symmetric");
  if (caller.needs_unrounded && bits_of(blocks) < bits_of(PC_MCPI_PRECISION_FP32))
    return who + " needs a symmetric preconditioner, which blocks in " + PCMCPIPrecisions[blocks] +
           with_prefix(" are not. Use -pc_mcpi_offdiag_precision fp32") +
           (caller.type == KSPCG ? " or " + ksp_type + "fcg" : "");
  return "";
}

PetscErrorCode CheckRounding(PC pc, const Caller &method)
{
  const PC_MCPI &mcpi = Data(pc);
  const char *prefix = prefix_of((PetscObject)pc);

  PetscFunctionBegin;
  if (!mcpi.rounds_unasked(method)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(!method.forwards && !method.type.empty(), PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_INCOMP,
             "-%spc_mcpi_gather_precision bfp16 makes the preconditioner nonlinear, and the method "
             "that uses it is not known here. Use -%spc_mcpi_vector_precision fp32 as well if the "
             "outermost method is flexible, as KSPFGMRES is, else -%spc_mcpi_gather_precision fp32",
             prefix, prefix, prefix);
  SETERRQ(PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
          "-%spc_mcpi_gather_precision bfp16 makes the preconditioner nonlinear, and %s. Use "
          "-ksp_type fgmres, or -%spc_mcpi_gather_precision fp32; "
          "-%spc_mcpi_vector_precision fp32 forces it",
          prefix, what_takes_it_for_linear(method).c_str(), prefix, prefix);
}

// Outside a solve, and in KSPMatSolve(), the method is not known.
PetscErrorCode FitApplication(PC pc)
{
  const Caller &method = Data(pc).applying();

  PetscFunctionBegin;
  PetscCall(CheckRounding(pc, method));
  PetscCall(fit_precision(pc, method, false));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void SetSolveOperations(PC pc)
{
  pc->ops->presolve = PCPreSolve_MCPI;
  pc->ops->postsolve = PCPostSolve_MCPI;
}

} // namespace mcpi
