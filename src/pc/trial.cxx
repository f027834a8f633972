// This file tries sweeps before a choice of several sweeps. Gauss-Seidel may diverge, for example
// far from diagonal dominance. A Krylov method may converge with one sweep even then. With several
// sweeps it does not, because each sweep enlarges the same part of the error. ILU(0) may reduce the
// error of the same matrix.
#include <petsc/private/petscimpl.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/hash.h"
#include "pc/mcpi.h"
#include "petsc/owned_vec.h"

namespace mcpi {
namespace {

// The best number of sweeps, and the norm of the residual that it leaves
struct Tried {
  PetscInt best = 1;
  PetscReal residual = PETSC_MAX_REAL;
};

// Numbers between -1 and 1 that follow from the global rows: the same on any number of ranks
PetscErrorCode fill(Vec error)
{
  PetscScalar *numbers;
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(error, &begin, &end));
  PetscCall(VecGetArrayWrite(error, &numbers));
  for (PetscInt i = begin; i < end; ++i)
    numbers[i - begin] =
        static_cast<double>(static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(i)))) / 0x1p63;
  PetscCall(VecRestoreArrayWrite(error, &numbers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The 2-norm of v, also where squares are out of range. work: a Vec like v
PetscErrorCode norm_of(Vec v, Vec work, PetscReal *norm)
{
  constexpr PetscReal kSafe = 0x1p400;
  PetscReal largest;

  PetscFunctionBegin;
  PetscCall(VecNorm(v, NORM_INFINITY, &largest));
  if (largest == 0.0 || !std::isfinite(largest) || (largest < kSafe && largest > 1.0 / kSafe)) {
    if (std::isfinite(largest)) PetscCall(VecNorm(v, NORM_2, &largest));
    *norm = largest;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const PetscReal unit = std::ldexp(1.0, std::clamp(std::ilogb(largest), -1000, 1000));
  PetscCall(VecCopy(v, work));
  PetscCall(VecScale(work, 1.0 / unit));
  PetscCall(VecNorm(work, NORM_2, norm));
  *norm *= unit;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Sweeps on A x = 0, from random numbers x, which are the error. Of 1, 2, 4, ... sweeps and its, the
// number is taken that leaves the least residual, as far as its error is not above that of one
// sweep. The first sweep brings the unknowns to the units that they have beside each other, so the
// start does not count. The trial ends before numbers overflow.
PetscErrorCode try_up_to(PC pc, PetscInt its, Tried *tried)
{
  constexpr double kHopeless = 0x1p20;
  PetscReal first = 0.0, norm = 0.0, left;
  OwnedVec error, residual, change;

  PetscFunctionBegin;
  *tried = Tried();
  // Vecs of Pmat's type, which the solution's may differ from
  PetscCall(MatCreateVecs(pc->pmat, error.out(), residual.out()));
  PetscCall(VecDuplicate(error, change.out()));
  PetscCall(fill(error));
  PetscCall(MatMult(pc->pmat, error, residual));
  for (PetscInt done = 0, more; done < its && norm <= kHopeless * first; done += more) {
    more = std::clamp<PetscInt>(done, 1, its - done);
    PetscCall(ApplySweeps(pc, residual, change, {.sweeps = more}));
    PetscCall(VecAXPY(error, -1.0, change));
    PetscCall(MatMult(pc->pmat, error, residual));
    PetscCall(norm_of(residual, change, &left));
    PetscCall(norm_of(error, change, &norm));
    if (done == 0) first = norm;
    if (left <= tried->residual && norm <= first) *tried = {done + more, left};
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Takes the other one of ILU(0) and Gauss-Seidel if it leaves less of the residual, and ILU(0) only
// if its sweeps enlarge no error. After that ILU(0) is not taken again for this nonzero pattern.
// Values that the matrix no longer has cannot be set up in another way. ILU(0) of a symmetric
// positive definite matrix may be indefinite.
PetscErrorCode try_other_method(PC pc, Tried *tried)
{
  PC_MCPI &mcpi = Data(pc);
  Trials &trials = mcpi.smoother.trials();
  const bool to_factors = !trials.factors();
  Tried other;
  bool current;

  PetscFunctionBegin;
  if (mcpi.settings.method != PC_MCPI_METHOD_AUTO ||
      (to_factors &&
       (trials.compared() || mcpi.applying().needs_symmetric || !SuitsFactors(mcpi.settings))))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(mcpi.smoother.stores(pc->pmat, &current));
  if (!current) PetscFunctionReturn(PETSC_SUCCESS);
  trials.set_compared();
  trials.set_factors(to_factors);
  PetscCall(SetUpAgain(pc, mcpi.caller));
  if (trials.factors() != to_factors || mcpi.failed())
    PetscFunctionReturn(PETSC_SUCCESS); // ILU(0) has broken down
  const PetscInt its =
      std::max<PetscInt>(2, mcpi.smoother.sweeps(mcpi.settings, mcpi.applying()).its);
  PetscCall(try_up_to(pc, its, &other));
  if (other.residual < tried->residual && (!to_factors || other.best == its)) {
    *tried = other;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  trials.set_factors(!to_factors);
  PetscCall(SetUpAgain(pc, mcpi.caller));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode TrySweeps(PC pc)
{
  PC_MCPI &mcpi = Data(pc);
  const SweepsChoice choice = mcpi.smoother.sweeps(mcpi.settings, mcpi.applying());
  Trials &trials = mcpi.smoother.trials();
  Tried tried;

  PetscFunctionBegin;
  if (choice.its == 1 || choice.reason.empty() || mcpi.failed() || !mcpi.smoother.usable() ||
      trials.most_sweeps() > 0)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(try_up_to(pc, choice.its, &tried));
  if (tried.best < choice.its) PetscCall(try_other_method(pc, &tried));
  const PetscInt its = mcpi.smoother.sweeps(mcpi.settings, mcpi.applying()).its;
  trials.found(tried.best, tried.best >= its);
  if (tried.best < its)
    PetscCall(
        PetscInfo(pc, "PCMCPI: more than %" PetscInt_FMT " sweeps enlarge an error or a residual\n",
                  tried.best));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
