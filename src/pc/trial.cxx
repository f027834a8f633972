// This file tries sweeps before a choice of several sweeps. Gauss-Seidel may diverge, for example
// far from diagonal dominance. A Krylov method may converge with one sweep even then. With several
// sweeps it does not, because each sweep enlarges the same part of the error.
#include <petsc/private/petscimpl.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/hash.h"
#include "core/tuning.h"
#include "pc/mcpi.h"

namespace mcpi {
namespace {

// Vecs that are destroyed after an error, too
struct TrialVecs {
  Vec zero = nullptr, error = nullptr;

  TrialVecs() = default;
  TrialVecs(const TrialVecs &) = delete;
  TrialVecs &operator=(const TrialVecs &) = delete;
  ~TrialVecs()
  {
    (void)VecDestroy(&zero);
    (void)VecDestroy(&error);
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

// The error of A x = 0 is x itself. The first sweep brings the unknowns to the units that they have
// beside each other. All sweeps after it together must not enlarge the error. Its largest number
// may grow for a while in a matrix that sweeps reduce in the end, so the 2-norm decides. The trial
// ends before numbers overflow.
PetscErrorCode TrySweeps(PC pc, Vec like)
{
  constexpr double kHopeless = 0x1p20;
  PC_MCPI &mcpi = Data(pc);
  const SweepsChoice choice = mcpi.smoother.sweeps(mcpi.settings, mcpi.applying());
  const PetscInt most = std::min<PetscInt>(choice.its, CommonTuning::kSweepsOfTrial);
  TrialVecs vecs;
  PetscReal first = 0.0, now = 0.0;

  PetscFunctionBegin;
  if (!like || choice.its == 1 || choice.reason.empty() || mcpi.failed() ||
      !mcpi.smoother.usable() || mcpi.smoother.trial() != SweepsTrial::none)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecDuplicate(like, &vecs.zero));
  PetscCall(VecDuplicate(like, &vecs.error));
  PetscCall(VecSet(vecs.zero, 0.0));
  PetscCall(fill(vecs.error));
  for (PetscInt done = 0, more; done < most && now <= kHopeless * first; done += more) {
    more = done < 2 ? 1 : std::min<PetscInt>(2, most - done);
    PetscCall(ApplySweeps(pc, vecs.zero, vecs.error, {.sweeps = more, .nonzero_guess = true}));
    PetscCall(VecNorm(vecs.error, NORM_2, &now));
    if (done == 0) first = now;
  }
  const bool shrinks = now <= first && std::isfinite(now);
  mcpi.smoother.set_trial(shrinks ? SweepsTrial::shrinks : SweepsTrial::grows);
  if (!shrinks) PetscCall(PetscInfo(pc, "PCMCPI: sweeps enlarge an error, so one sweep is made\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
