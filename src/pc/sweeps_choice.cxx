#include "pc/sweeps_choice.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/codec.h"
#include "core/tuning.h"

namespace mcpi {
namespace {

using Tuning = CommonTuning;

double bytes_of_product(const SystemSize &size)
{
  const double numbers = static_cast<double>(size.bs) * size.bs,
               index = size.bs > 1 && size.entries == 1.0 ? 0.0 : sizeof(PetscInt);
  return (size.rows + size.blocks) * numbers * size.entries * (sizeof(PetscScalar) + index);
}

// Bytes that an iteration moves beside an application: one product with the matrix, and the
// method's vectors. A method with a basis reads it twice.
double bytes_of_rest(const Caller &caller, const SystemSize &size)
{
  const double vectors =
      caller.basis > 0 ? 2.0 * static_cast<double>(caller.basis) : Tuning::kVectorsOfRecurrence;
  return bytes_of_product(size) + vectors * size.rows * size.bs * sizeof(PetscScalar);
}

// On a CPU instructions take longer than memory. They are counted as the bytes that memory moves in
// the same time.
double sweep_on_cpu(const Precisions &stored, const SystemSize &size)
{
  // Entries are read as a product reads them, with those of the factors of diagonal blocks.
  if (stored.form == PC_MCPI_FORM_ENTRIES) return Tuning::kEntriesSlower * bytes_of_product(size);
  const double numbers = static_cast<double>(size.bs) * size.bs,
               bytes = size.rows * (Tuning::kRowBytes + Tuning::kUnknownBytes * size.bs) +
                       size.blocks * (Tuning::kBlockBytes + Tuning::kNumberBytes * numbers);
  return stored.double_vectors ? Tuning::kDoubleSlower * bytes : bytes;
}

double sweep_on_device(const Precisions &stored, const SystemSize &size)
{
  const double entry = size.bs * (stored.double_vectors ? sizeof(double) : sizeof(float)),
               record = static_cast<double>(record_bytes(stored.offdiag, size.bs)) + sizeof(Row);
  // Two passes read the right-hand side and x, and write x.
  return size.blocks * record + size.rows * 6.0 * entry + 2.0 * size.steps * Tuning::kBytesOfStep;
}

} // namespace

PCMCPIMethod MethodInForce(const Settings &settings, const Trials &trials)
{
  if (settings.method != PC_MCPI_METHOD_AUTO) return settings.method;
  return trials.factors() ? PC_MCPI_METHOD_ILU0 : PC_MCPI_METHOD_POINT;
}

SweepsChoice ChooseSweeps(const Settings &settings, const Caller &caller, Target target,
                          const Precisions &stored, const SystemSize &size, const Trials &trials)
{
  if (settings.its != PETSC_DECIDE) return {settings.its, ""};
  if (caller.type.empty()) return {1, "the method that applies them is not known"};
  if (caller.estimates || (!caller.tests_residuals && !caller.forwards))
    return {1, caller.type + " is a smoother"};
  if (caller.type == KSPRICHARDSON) return {1, caller.type + " makes more iterations instead"};
  const bool on_cpu = target == Target::cpu;
  const PetscInt most = trials.most_sweeps();
  // Factors are applied to one residual after the other.
  const double residual = MethodInForce(settings, trials) == PC_MCPI_METHOD_POINT
                              ? 0.0
                              : bytes_of_product(size),
               sweep =
                   residual + (on_cpu ? sweep_on_cpu(stored, size) : sweep_on_device(stored, size)),
               rest = bytes_of_rest(caller, size) + (on_cpu ? 0.0 : Tuning::kBytesOfIteration),
               times = sweep > 0.0 ? rest / sweep : 1.0;
  const double share = caller.needs_symmetric ? Tuning::kSymmetricShare
                       : on_cpu               ? Tuning::kShareOnCpu
                                              : Tuning::kApplicationShare,
               its = std::clamp(std::round(share * times), 1.0,
                                static_cast<double>(Tuning::kMostSweeps));
  if (most > 0 && static_cast<double>(most) < its)
    return {most, "more sweeps enlarge an error or a residual"};
  char text[96];
  std::snprintf(text, sizeof(text), "the rest of an iteration takes about as long as %.2g sweeps",
                times);
  return {static_cast<PetscInt>(its), text};
}

} // namespace mcpi
