// Exact (power of two) scalings that let off-diagonal blocks survive low-precision storage.
#pragma once

#include <vector>

#include "core/balancing.h"
#include "core/equilibration.h"
#include "petscmcpitypes.h"

namespace mcpi {

// What is stored is diag(left) * P * diag(right), P = D^{-1}O (prescaled) or O (factored); a stored
// product times alpha is the true one in scaled variables x = diag(right) * scaled x. In the
// factored form left also scales D and b, and alpha is 1.
struct Scales {
  std::vector<double> left, right;
  double alpha = 1.0;
};

Scales unit_scales(int bs);

// How scales are computed, with the memory that it takes
struct ScaleMethods {
  explicit ScaleMethods(int bs) : balancing(bs), equilibration(bs) {}

  Balancing balancing;
  Equilibration equilibration;
};

// maxima[p + q*bs] = max over all blocks of the whole matrix of |P(p,q)|. Only maxima enter, so the
// result does not depend on the partition. scales and methods are made for bs. Nothing is
// allocated.
void compute_scales(PCMCPIForm form, PCMCPIScaling scaling, PCMCPIPrecision storage, int bs,
                    const std::vector<double> &maxima, ScaleMethods &methods, Scales &scales);

// The largest absolute value that is stored
double largest_scaled(int bs, const std::vector<double> &maxima, const Scales &scales);

// Has a factor moved by more than 4x? Then blocks stored with the old scales are worth storing
// again.
bool scales_moved(const Scales &before, const Scales &after);

} // namespace mcpi
