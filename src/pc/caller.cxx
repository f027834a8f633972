#include "pc/caller.h"

#include <petsc/private/kspimpl.h>

#include <string_view>

#include "petsc/compat.h"

namespace mcpi {
namespace {

// Flexible methods. They keep every preconditioned vector, or they correct the true residual.
constexpr char kFlexible[] =
    KSPFGMRES ":" KSPGCR ":" KSPFCG ":" KSPPIPEFGMRES ":" KSPPIPEFCG ":" KSPRICHARDSON;
// Methods that need a symmetric preconditioner.
constexpr char kSymmetric[] =
    KSPCG ":" KSPGROPPCG ":" KSPPIPECG ":" KSPPIPECGRR ":" KSPPIPELCG ":" KSPPIPEPRCG ":" KSPPIPECG2
          ":" KSPFCG ":" KSPPIPEFCG ":" KSPNASH ":" KSPSTCG ":" KSPGLTR ":" KSPQCG ":" KSPMINRES
          ":" KSPSYMMLQ ":" KSPCR ":" KSPPIPECR ":" KSPCHEBYSHEV;

} // namespace

PetscErrorCode CallerOf(KSP ksp, Caller *caller)
{
  KSPType type;
  KSPNormType norm;
  PetscBool flexible, symmetric;
  PetscInt level;

  PetscFunctionBegin;
  *caller = Caller();
  if (!ksp) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetType(ksp, &type));
  if (!type) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetNormType(ksp, &norm));
  PetscCall(PetscStrInList(type, kFlexible, ':', &flexible));
  PetscCall(PetscStrInList(type, kSymmetric, ':', &symmetric));
  caller->type = type;
  caller->tests_residuals = norm != KSP_NORM_NONE;
  caller->needs_symmetric = symmetric;
  // KSPCHEBYSHEV needs real eigenvalues only, and flexible methods take each vector as it comes.
  caller->needs_unrounded = symmetric && !flexible && std::string_view(type) != KSPCHEBYSHEV;
  caller->forwards = caller->type == KSPPREONLY;
  // Richardson's method corrects the true residual. A Richardson iteration that tests no residual,
  // or runs inside another solver, is not flexible: the outer method assumes that the iteration is
  // a linear operator. The tab level of a KSP that is inside no other solver is 0.
  PetscCall(PetscObjectGetTabLevel((PetscObject)ksp, &level));
  // SNES, which is no preconditioner, gives its KSP a function that is called before a solve.
  caller->inside = level > 0 && !CompatHasPreSolve(ksp);
  caller->estimates = ksp->skippcsetfromoptions; // the preconditioner belongs to another KSP
  if (caller->type == KSPRICHARDSON && (!caller->tests_residuals || level > 0))
    flexible = PETSC_FALSE;
  caller->method = flexible ? Caller::Method::flexible : Caller::Method::needs_linear;
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool DoubleVectors(PCMCPIVectorPrecision chosen, PCMCPIPrecision offdiag,
                   PCMCPIGatherPrecision gather, const Caller &caller)
{
  if (chosen != PC_MCPI_VECTOR_PRECISION_AUTO) return chosen == PC_MCPI_VECTOR_PRECISION_FP64;
  if (offdiag == PC_MCPI_PRECISION_FP64) return true;
  return gather != PC_MCPI_GATHER_PRECISION_BFP16 && caller.method != Caller::Method::flexible;
}

std::string ReasonForVectors(PCMCPIPrecision offdiag, PCMCPIGatherPrecision gather,
                             const Caller &caller)
{
  if (offdiag == PC_MCPI_PRECISION_FP64) return "blocks are fp64";
  if (gather == PC_MCPI_GATHER_PRECISION_BFP16) return "products read x as bfp16";
  switch (caller.method) {
  case Caller::Method::flexible:
    return caller.type + " is flexible";
  case Caller::Method::needs_linear:
    return caller.type + " assumes that the preconditioner is a linear operator";
  default:
    return "the method that applies the preconditioner is not known";
  }
}

} // namespace mcpi
