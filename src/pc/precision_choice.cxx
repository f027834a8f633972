#include "pc/precision_choice.h"

#include <algorithm>
#include <array>

#include "core/tuning.h"

namespace mcpi {
namespace {

// Single precision has 126 powers of two below 1.
constexpr int kMaxUnits = 120;
// The largest condition number, as an exponent of two, with which vectors in single precision do
// not cost iterations (docs/notes/stiff-blocks.md, intel-xeon-stiffness.json)
constexpr int kMaxConditionOfSingle = 20;

// The largest amplifications, as exponents of two, with which the true residuals that Krylov
// methods end with are those of exact blocks, measured (intel-xeon-stiffness.json). Flows have
// amplifications of the prescaled form below 2^4, in thin layers below 2^6. Thin layers fail in the
// factored form, from 2^4 on with int8 (docs/notes/stiff-blocks.md).
int most_prescaled(PCMCPIPrecision storage)
{
  return std::max(5, bits_of(storage) - 4);
}
int most_factored(PCMCPIPrecision storage)
{
  return std::max(2, bits_of(storage) - 5);
}

bool single_vectors_fit(const Stiffness &found)
{
  return UnitsFit(found) && found.condition <= kMaxConditionOfSingle;
}

// Sets storage and form. The storage that was asked for is the first candidate; wider ones follow.
// In the form `prescaled` storage in fp64 is right for every matrix.
void choose_storage(PCMCPIPrecision wanted, const Stiffness &found, Precisions *choice)
{
  constexpr std::array kWider = {PC_MCPI_PRECISION_INT8, PC_MCPI_PRECISION_FP16,
                                 PC_MCPI_PRECISION_FP32, PC_MCPI_PRECISION_FP64};
  const auto fits = [&](PCMCPIPrecision storage) {
    choice->offdiag = storage;
    choice->form = PC_MCPI_FORM_PRESCALED;
    if (found.prescaled <= most_prescaled(storage)) return true;
    if (found.factored > most_factored(storage)) return false;
    choice->form = PC_MCPI_FORM_FACTORED;
    return true;
  };
  if (fits(wanted)) return;
  for (const PCMCPIPrecision storage : kWider)
    if (bits_of(storage) > bits_of(wanted) && fits(storage)) return;
}

// Whether blocks of few bits also save time. On a CPU instructions limit sweeps with vectors in
// double precision.
bool takes_few_bits(const Caller &caller, Target target, bool memory_limits)
{
  return BearsFewBits(caller) && memory_limits &&
         (target != Target::cpu || caller.method == Caller::Method::flexible);
}

} // namespace

bool BearsFewBits(const Caller &caller)
{
  return caller.solves() && !caller.needs_unrounded && caller.type != KSPCHEBYSHEV &&
         caller.type != KSPRICHARDSON;
}

int bits_of(PCMCPIPrecision storage)
{
  switch (storage) {
  case PC_MCPI_PRECISION_FP64:
    return 53;
  case PC_MCPI_PRECISION_FP32:
    return 24;
  case PC_MCPI_PRECISION_FP16:
    return 11;
  case PC_MCPI_PRECISION_INT8:
    return 8;
  default:
    return 4;
  }
}

Wanted WantedPrecisions(const Settings &settings, const Caller &caller, Target target,
                        bool memory_limits)
{
  const bool flexible = caller.method == Caller::Method::flexible,
             rounded = settings.gather == PC_MCPI_GATHER_PRECISION_BFP16;
  Wanted wanted{settings.offdiag, settings.vector == PC_MCPI_VECTOR_PRECISION_FP64, false,
                settings.form};
  if (wanted.offdiag == PC_MCPI_PRECISION_AUTO)
    wanted.offdiag = takes_few_bits(caller, target, memory_limits) ? PC_MCPI_PRECISION_INT8
                                                                   : PC_MCPI_PRECISION_FP32;
  if (settings.vector == PC_MCPI_VECTOR_PRECISION_AUTO)
    wanted.double_vectors = wanted.offdiag == PC_MCPI_PRECISION_FP64 || !(flexible || rounded);
  if (wanted.double_vectors) return wanted;
  // The products then round as much as blocks of 8 bits do.
  const bool worth_it = target != Target::cpu && flexible &&
                        bits_of(wanted.offdiag) <= bits_of(PC_MCPI_PRECISION_INT8);
  wanted.bfp16_gather = rounded || (settings.gather == PC_MCPI_GATHER_PRECISION_AUTO && worth_it);
  return wanted;
}

Wanted WantedForEntries()
{
  return {PC_MCPI_PRECISION_FP64, true, false, PC_MCPI_FORM_ENTRIES};
}

bool SuitsEntries(const Settings &settings)
{
  return settings.form == PC_MCPI_FORM_AUTO && settings.offdiag == PC_MCPI_PRECISION_AUTO &&
         settings.vector != PC_MCPI_VECTOR_PRECISION_FP32 &&
         settings.gather == PC_MCPI_GATHER_PRECISION_AUTO;
}

std::string ReasonForBlocks(const Caller &caller, Target target, bool memory_limits)
{
  const std::string seen = caller.type + (caller.expected ? " is expected" : " applies them");
  if (takes_few_bits(caller, target, memory_limits)) return seen + ", for which 8 bits suffice";
  if (caller.type.empty()) return "the method that applies them is not known";
  if (BearsFewBits(caller))
    return "on a CPU fewer bits save time on several ranks, under flexible methods and from block "
           "size " +
           std::to_string(CommonTuning::kFewBitsFrom) + " on";
  return seen + ", which 8 bits may disturb";
}

std::string ReasonForVectors(const Wanted &wanted, const Caller &caller)
{
  if (wanted.offdiag == PC_MCPI_PRECISION_FP64) return "blocks are fp64";
  if (wanted.bfp16_gather && caller.method != Caller::Method::flexible)
    return "products read x as bfp16";
  switch (caller.method) {
  case Caller::Method::flexible:
    return caller.type + " is flexible";
  case Caller::Method::needs_linear:
    return caller.type + (caller.expected ? " is expected, which" : "") +
           " assumes that the preconditioner is a linear operator";
  default:
    return "the method that applies the preconditioner is not known";
  }
}

bool UnitsFit(const Stiffness &found)
{
  return found.units <= kMaxUnits;
}

bool AmplificationMatters(const Wanted &wanted, int condition)
{
  return wanted.form == PC_MCPI_FORM_AUTO && condition > most_prescaled(wanted.offdiag);
}

Precisions ChoosePrecisions(const Settings &settings, const Wanted &wanted, const Stiffness &found)
{
  Precisions choice{wanted.offdiag,
                    wanted.form == PC_MCPI_FORM_AUTO ? PC_MCPI_FORM_PRESCALED : wanted.form,
                    wanted.double_vectors, false};
  const bool decides = settings.vector == PC_MCPI_VECTOR_PRECISION_AUTO;
  if (AmplificationMatters(wanted, found.condition)) choose_storage(wanted.offdiag, found, &choice);
  choice.double_vectors = wanted.double_vectors || (decides && !single_vectors_fit(found)) ||
                          choice.offdiag == PC_MCPI_PRECISION_FP64;
  choice.bfp16_gather = wanted.bfp16_gather && !choice.double_vectors;
  return choice;
}

std::string ReasonForStorage(const Stiffness &found)
{
  return "diagonal blocks amplify the rounding of blocks, by about 2^" +
         std::to_string(found.prescaled) + " in the prescaled form and 2^" +
         std::to_string(found.factored) + " in the factored form";
}

std::string ReasonForDouble(const Stiffness &found)
{
  if (!UnitsFit(found))
    return "the units of the equations, or diagonal and other blocks, differ by a factor of about "
           "2^" +
           std::to_string(found.units);
  return "diagonal blocks have condition numbers of about 2^" + std::to_string(found.condition);
}

} // namespace mcpi
