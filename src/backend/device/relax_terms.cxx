#include "backend/device/relax_terms.h"

#include "sweep/backend.h"

namespace mcpi {

unsigned relax_flags(const Application &application, const Relax &relax, bool prescaled)
{
  unsigned   flags = 0;
  const auto flag  = [&](bool on, RelaxFlag bit) { flags |= on ? bit : 0U; };
  flag(relax.lower, kLower);
  flag(relax.upper, kUpper);
  flag(relax.from_zero, kFromZero);
  flag(relax.use_kept, kUseKept);
  flag(relax.keep == Keep::sum, kKeepSum);
  flag(relax.keep == Keep::zero, kKeepZero);
  flag(relax.keep_lower, kLowerIsNear);
  flag(!prescaled, kFactored);
  flag(application.transposed, kTransposed);
  return flags;
}

} // namespace mcpi
