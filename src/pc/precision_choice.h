// This header declares the choice of the precisions and of the form in which sweeps work. Options
// say what is wanted. Stiff diagonal blocks can make more bits, or the other form, necessary.
#pragma once

#include <string>

#include "pc/settings.h"

namespace mcpi {

// What a backend is made for
struct Precisions {
  PCMCPIPrecision offdiag = PC_MCPI_PRECISION_FP32;
  PCMCPIForm form = PC_MCPI_FORM_PRESCALED; // never PC_MCPI_FORM_AUTO
  bool double_vectors = true;
  bool bfp16_gather = false;

  bool operator==(const Precisions &) const = default;
};

// What a numeric set-up has found in the matrix of all ranks, as exponents of two
struct Stiffness {
  // By how much the largest entry that D^{-1}b can have differs from the one that is expected: the
  // units of the equations
  int units = 0;
  int condition = 0; // of the largest condition number of an equilibrated diagonal block
  // The largest Amplification of each form, or its bound, the condition
  int prescaled = 0, factored = 0;
};

// All ranks choose alike if their arguments are the same. needs_double: whether options and the
// method that applies the preconditioner need vectors in double precision
Precisions ChoosePrecisions(const Settings &settings, bool needs_double, const Stiffness &found);
// Whether the choice depends on amplifications, so that they must be measured
bool AmplificationMatters(const Settings &settings, int condition);
// Whether vectors in single precision have room for these units
bool UnitsFit(const Stiffness &found);

// Why the blocks are not stored in the prescaled form and the storage that was asked for
std::string ReasonForStorage(const Stiffness &found);
// Why the vectors have double precision although neither options nor the method need it
std::string ReasonForDouble(const Stiffness &found);

} // namespace mcpi
