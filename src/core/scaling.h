// Scalings by powers of two. They are exact, and they bring off-diagonal blocks into the range of
// low-precision storage.
#pragma once

#include <vector>

#include "core/balancing.h"
#include "core/equilibration.h"
#include "petscmcpitypes.h"

namespace mcpi {

// The stored blocks are diag(left) * P * diag(right), where P is D^{-1}O in the prescaled form and
// O in the factored form. Sweeps work with scaled unknowns z, where x = diag(right) * z. Products
// of stored blocks with z are multiplied by alpha, which is 1 but for fp16 in the prescaled form.
// In the factored form left also scales D and b.
struct Scales {
  std::vector<double> left, right;
  double alpha = 1.0;
};

Scales unit_scales(int bs);

// The methods that compute scales, with their work space
struct ScaleMethods {
  explicit ScaleMethods(int bs) : balancing(bs), equilibration(bs) {}

  Balancing balancing;
  Equilibration equilibration;
};

// Computes the scales from maxima[p + q*bs], the maximum of |P(p,q)| over all blocks of the whole
// matrix. The scales depend on nothing else of the values, and so not on the partition. scales and
// methods must have been made for block size bs. The call allocates nothing.
void compute_scales(PCMCPIForm form, PCMCPIPrecision storage, int bs,
                    const std::vector<double> &maxima, ScaleMethods &methods, Scales &scales);

// The largest absolute value that is stored with these scales
double largest_scaled(int bs, const std::vector<double> &maxima, const Scales &scales);

// Whether some factor has changed by more than a factor of 4. If so, it is worth storing the blocks
// again with the new scales.
bool scales_moved(const Scales &before, const Scales &after);

} // namespace mcpi
