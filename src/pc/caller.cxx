#include "pc/caller.h"

#include <petsc/private/kspimpl.h>
#include <petsc/private/pcimpl.h>

#include <string_view>

#include "petsc/compat.h"
#include "petsc/prefix.h"

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

// Methods that orthogonalize against all vectors since the last restart.
constexpr char kRestarted[] =
    KSPGMRES ":" KSPFGMRES ":" KSPLGMRES ":" KSPDGMRES ":" KSPPGMRES ":" KSPPIPEFGMRES ":" KSPGCR;

// Describes a method as one that no other method contains.
PetscErrorCode describe_type(const char *type, Caller *caller)
{
  PetscBool flexible, symmetric, restarted;

  PetscFunctionBegin;
  PetscCall(PetscStrInList(type, kFlexible, ':', &flexible));
  PetscCall(PetscStrInList(type, kSymmetric, ':', &symmetric));
  PetscCall(PetscStrInList(type, kRestarted, ':', &restarted));
  caller->type = type;
  caller->method = flexible ? Caller::Method::flexible : Caller::Method::needs_linear;
  caller->needs_symmetric = symmetric;
  // KSPCHEBYSHEV needs real eigenvalues only, and flexible methods take each vector as it comes.
  caller->needs_unrounded = symmetric && !flexible && caller->type != KSPCHEBYSHEV;
  caller->forwards = caller->type == KSPPREONLY;
  // PETSc's default restart is 30, and half of the vectors are there in the mean.
  caller->basis = restarted ? 15 : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode CallerOf(KSP ksp, Caller *caller)
{
  KSPType type;
  KSPNormType norm;
  PetscInt level;

  PetscFunctionBegin;
  *caller = Caller();
  if (!ksp) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetType(ksp, &type));
  if (!type) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(describe_type(type, caller));
  PetscCall(KSPGetNormType(ksp, &norm));
  caller->tests_residuals = norm != KSP_NORM_NONE;
  // Richardson's method corrects the true residual. A Richardson iteration that tests no residual,
  // or runs inside another solver, is not flexible: the outer method assumes that the iteration is
  // a linear operator. The tab level of a KSP that is inside no other solver is 0.
  PetscCall(PetscObjectGetTabLevel((PetscObject)ksp, &level));
  // SNES, which is no preconditioner, gives its KSP a function that is called before a solve.
  caller->inside = level > 0 && !CompatHasPreSolve(ksp);
  caller->estimates = ksp->skippcsetfromoptions; // the preconditioner belongs to another KSP
  if (caller->type == KSPRICHARDSON && (!caller->tests_residuals || level > 0))
    caller->method = Caller::Method::needs_linear;
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool NamedAsInside(PC pc)
{
  const std::string_view prefix = prefix_of((PetscObject)pc);
  const auto has = [&](std::string_view part) {
    const std::size_t begin = prefix.find(part);
    return begin != std::string_view::npos && (begin == 0 || prefix[begin - 1] == '_');
  };
  return has("sub_") || has("mg_levels_") || has("mg_coarse_");
}

PetscErrorCode ExpectedCaller(PC pc, Caller *caller)
{
  char type[64] = KSPGMRES; // PETSc's default
  PetscBool given, known, symmetric = PETSC_FALSE;

  PetscFunctionBegin;
  *caller = Caller();
  PetscCall(PetscOptionsGetString(((PetscObject)pc)->options, ((PetscObject)pc)->prefix,
                                  "-ksp_type", type, sizeof(type), &given));
  PetscCall(MatIsSymmetricKnown(pc->pmat, &known, &symmetric));
  if (!given && known && symmetric) PetscCall(PetscStrncpy(type, KSPCG, sizeof(type)));
  if (!given && NamedAsInside(pc)) PetscCall(PetscStrncpy(type, KSPPREONLY, sizeof(type)));
  PetscCall(describe_type(type, caller));
  caller->expected = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
