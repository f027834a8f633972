#include "pc/precision_choice.h"

#include <algorithm>
#include <array>

namespace mcpi {
namespace {

// Single precision has 126 powers of two below 1.
constexpr int kMaxUnits = 120;
// The largest condition number, as an exponent of two, with which vectors in single precision do
// not cost iterations (docs/notes/stiff-blocks.md, intel-xeon-stiffness.json)
constexpr int kMaxConditionOfSingle = 20;

// How much of a number survives in a storage: rounding changes it by 2^-bits.
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
void choose_storage(const Settings &settings, const Stiffness &found, Precisions *choice)
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
  if (fits(settings.offdiag)) return;
  for (const PCMCPIPrecision storage : kWider)
    if (bits_of(storage) > bits_of(settings.offdiag) && fits(storage)) return;
}

} // namespace

bool UnitsFit(const Stiffness &found)
{
  return found.units <= kMaxUnits;
}

bool AmplificationMatters(const Settings &settings, int condition)
{
  return settings.form == PC_MCPI_FORM_AUTO && condition > most_prescaled(settings.offdiag);
}

Precisions ChoosePrecisions(const Settings &settings, bool needs_double, const Stiffness &found)
{
  Precisions choice{settings.offdiag,
                    settings.form == PC_MCPI_FORM_AUTO ? PC_MCPI_FORM_PRESCALED : settings.form,
                    needs_double, false};
  const bool decides = settings.vector == PC_MCPI_VECTOR_PRECISION_AUTO;
  if (AmplificationMatters(settings, found.condition)) choose_storage(settings, found, &choice);
  choice.double_vectors = needs_double || (decides && !single_vectors_fit(found)) ||
                          choice.offdiag == PC_MCPI_PRECISION_FP64;
  choice.bfp16_gather = settings.gather == PC_MCPI_GATHER_PRECISION_BFP16 && !choice.double_vectors;
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
