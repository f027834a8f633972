// This header declares the choice of the precisions and of the form in which sweeps work. Options
// say what is wanted. Stiff diagonal blocks can make more bits, or the other form, necessary.
#pragma once

#include <string>

#include "pc/backend_choice.h"
#include "pc/caller.h"
#include "pc/settings.h"

namespace mcpi {

// What options and the method that applies the preconditioner want, whatever the matrix is
struct Wanted {
  PCMCPIPrecision offdiag = PC_MCPI_PRECISION_FP32; // never PC_MCPI_PRECISION_AUTO
  bool double_vectors = true;
  bool bfp16_gather = false;
  PCMCPIForm form = PC_MCPI_FORM_AUTO;

  bool operator==(const Wanted &) const = default;
};
// memory_limits: whether the time of a sweep is that of its bytes
Wanted WantedPrecisions(const Settings &settings, const Caller &caller, Target target,
                        bool memory_limits);
// What sweeps over the entries of the matrix want
Wanted WantedForEntries();
// Whether options of form and precisions leave sweeps over entries to auto
bool SuitsEntries(const Settings &settings);
// Whether the method does not mind blocks of few bits
bool BearsFewBits(const Caller &caller);
// Why -pc_mcpi_offdiag_precision auto and -pc_mcpi_vector_precision auto take what they take
std::string ReasonForBlocks(const Caller &caller, Target target, bool memory_limits);
std::string ReasonForVectors(const Wanted &wanted, const Caller &caller);

// How much of a number survives in a storage: rounding changes it by 2^-bits.
int bits_of(PCMCPIPrecision storage);

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

// All ranks choose alike if their arguments are the same.
Precisions ChoosePrecisions(const Settings &settings, const Wanted &wanted, const Stiffness &found);
// Whether the choice depends on amplifications, so that they must be measured
bool AmplificationMatters(const Wanted &wanted, int condition);
// Whether vectors in single precision have room for these units
bool UnitsFit(const Stiffness &found);

// Why the blocks are not stored in the prescaled form and the storage that was asked for
std::string ReasonForStorage(const Stiffness &found);
// Why the vectors have double precision although neither options nor the method need it
std::string ReasonForDouble(const Stiffness &found);

} // namespace mcpi
