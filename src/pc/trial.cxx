// This file tries sweeps before a choice of several sweeps. Gauss-Seidel may diverge, for example
// far from diagonal dominance. A Krylov method may converge with one sweep even then. With several
// sweeps it does not, because each sweep enlarges the same part of the error.
#include <petsc/private/petscimpl.h>

#include <algorithm>
#include <cstdint>

#include "core/hash.h"
#include "pc/mcpi.h"

namespace mcpi {
namespace {

// Vecs that are destroyed after an error, too
struct TrialVecs {
  Vec error = nullptr, residual = nullptr, change = nullptr;

  TrialVecs() = default;
  TrialVecs(const TrialVecs &) = delete;
  TrialVecs &operator=(const TrialVecs &) = delete;
  ~TrialVecs()
  {
    (void)VecDestroy(&error);
    (void)VecDestroy(&residual);
    (void)VecDestroy(&change);
  }
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

} // namespace

// Sweeps on A x = 0, from random numbers x, which are the error. Of 1, 2, 4, ... sweeps and the
// chosen number, the one that leaves the least residual is taken, as far as its error is not above
// that of one sweep. The first sweep brings the unknowns to the units that they have beside each
// other, so the start does not count. The trial ends before numbers overflow.
PetscErrorCode TrySweeps(PC pc)
{
  constexpr double kHopeless = 0x1p20;
  PC_MCPI &mcpi = Data(pc);
  const SweepsChoice choice = mcpi.smoother.sweeps(mcpi.settings, mcpi.applying());
  PetscInt best = 1;
  PetscReal first = 0.0, least = PETSC_MAX_REAL, error = 0.0, residual;
  TrialVecs v;

  PetscFunctionBegin;
  if (choice.its == 1 || choice.reason.empty() || mcpi.failed() || !mcpi.smoother.usable() ||
      mcpi.smoother.most_sweeps() > 0)
    PetscFunctionReturn(PETSC_SUCCESS);
  // Vecs of Pmat's type, which the solution's may differ from
  PetscCall(MatCreateVecs(pc->pmat, &v.error, &v.residual));
  PetscCall(VecDuplicate(v.error, &v.change));
  PetscCall(fill(v.error));
  PetscCall(MatMult(pc->pmat, v.error, v.residual));
  for (PetscInt done = 0, more; done < choice.its && error <= kHopeless * first; done += more) {
    more = std::clamp<PetscInt>(done, 1, choice.its - done);
    PetscCall(ApplySweeps(pc, v.residual, v.change, {.sweeps = more}));
    PetscCall(VecAXPY(v.error, -1.0, v.change));
    PetscCall(MatMult(pc->pmat, v.error, v.residual));
    PetscCall(VecNorm(v.residual, NORM_2, &residual));
    PetscCall(VecNorm(v.error, NORM_2, &error));
    if (done == 0) first = error;
    if (residual <= least && error <= first) {
      least = residual;
      best = done + more;
    }
  }
  mcpi.smoother.set_most_sweeps(best, best == choice.its);
  if (best < choice.its)
    PetscCall(PetscInfo(
        pc, "PCMCPI: more than %" PetscInt_FMT " sweeps enlarge an error or a residual\n", best));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
