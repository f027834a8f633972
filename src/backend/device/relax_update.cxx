// How the steps of a sweep, and products, become the terms that relaxation kernels read.
#include "backend/device/relax_update.h"

#include "sweep/backend.h"

namespace mcpi::device {

unsigned relax_flags(const ApplyArgs &apply, const RelaxStep &step, bool prescaled)
{
  unsigned flags = 0;
  const auto flag = [&](bool on, RelaxFlag bit) { flags |= on ? bit : 0U; };
  flag(step.lower, kLower);
  flag(step.upper, kUpper);
  flag(step.from_zero, kFromZero);
  flag(step.use_kept, kUseKept);
  flag(step.keep == Keep::sum, kKeepSum);
  flag(step.keep == Keep::zero, kKeepZero);
  flag(step.keep_lower, kLowerIsNear);
  flag(!prescaled, kFactored);
  flag(apply.transposed, kTransposed);
  return flags;
}

RelaxTerms product_terms(const void *x, void *y, const void *zeros)
{
  RelaxTerms terms;
  terms.x = y;
  terms.read = x;
  terms.rhs = zeros;
  terms.alpha = -1.0; // A relaxation subtracts.
  terms.flags = kLower | kUpper | kFromZero | kReadLater;
  return terms;
}

} // namespace mcpi::device
