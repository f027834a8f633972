// This header declares the choice of the number of sweeps of an application.
#pragma once

#include <string>

#include "pc/precision_choice.h"
#include "pc/trials.h"

namespace mcpi {

// What decides how long sweeps and products with the matrix take, in the mean over ranks
struct SystemSize {
  double rows = 0.0;   // block rows of a rank
  double blocks = 0.0; // off-diagonal blocks of a rank
  int bs = 1;
  int steps = 1;        // what a pass relaxes one after the other: colors, or stages of clusters
  double entries = 1.0; // the share of the numbers of blocks that the matrix has
};

struct SweepsChoice {
  PetscInt its = 1;
  std::string reason; // why auto takes this number, else empty
};

// All ranks choose alike if their arguments are the same.
SweepsChoice ChooseSweeps(const Settings &settings, const Caller &caller, Target target,
                          const Precisions &stored, const SystemSize &size,
                          const Trials &trials = Trials());
// The method in force: a given one, or what auto is
PCMCPIMethod MethodInForce(const Settings &settings, const Trials &trials);

} // namespace mcpi
