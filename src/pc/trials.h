// This header declares what trials of sweeps have found (pc/trial.cxx), and when to try again.
#pragma once

#include <petscsys.h>

#include <algorithm>

#include "core/tuning.h"

namespace mcpi {

// Of one nonzero pattern
class Trials {
public:
  // The most sweeps that reduce errors and residuals, 0 if it is not known
  PetscInt most_sweeps() const { return most_sweeps_; }
  // Whether the method auto is ILU(0), else it is block Gauss-Seidel. It changes with the stored
  // values only.
  bool factors() const { return factors_; }
  void set_factors(bool factors) { factors_ = factors; }
  // Whether ILU(0) has been compared with block Gauss-Seidel for this pattern
  bool compared() const { return compared_; }
  void set_compared() { compared_ = true; }

  void found(PetscInt most, bool all_good)
  {
    most_sweeps_ = most;
    interval_ = all_good ? std::max<PetscInt>(1, std::min(4 * interval_, kLongest)) : 0;
    setups_ = applications_ = 0;
  }
  void forget() { found(0, false); }
  // After each trial in a row that has found all sweeps good, the number serves four times as many
  // set-ups, until the trial has cost little beside the applications. Then new values are tried.
  void count_setup()
  {
    if (++setups_ >= interval_ || applications_ >= CommonTuning::kApplicationsOfTrial)
      most_sweeps_ = 0;
  }
  void count_application() { ++applications_; }

private:
  static constexpr PetscInt kLongest = 1024;
  PetscInt most_sweeps_ = 0, setups_ = 0, applications_ = 0;
  PetscInt interval_ = 0; // set-ups that the last trial serves
  bool factors_ = false, compared_ = false;
};

} // namespace mcpi
