// How far rounded off-diagonal blocks are from harmless where diagonal blocks are stiff.
#pragma once

#include "core/numeric.h"
#include "setup/block_graph.h"

namespace mcpi {

// Let A = D + O. The prescaled form rounds P = D^{-1}O, which changes residuals by D times the
// error. The factored form rounds O, which changes x by D^{-1} times the error. An amplification
// is the largest factor by which such a change exceeds the rounding of O, or of P:
//   prescaled |D| |P| / |O|, factored |D^{-1}| |O| / |P|
// for block rows equilibrated by D. Their product is the condition number of D. A stiff coupling of
// the unknowns of a point, such as drag or a penalty, makes the first one large. In thin cells the
// stiff part of O is like that of D, and the second one is large.
struct Amplification {
  double prescaled = 1.0, factored = 1.0;
};

// Not collective. The largest amplifications in the local rows. Rows whose diagonal block has a
// small condition number or no inverse, and rows without couplings, do not count. values: readable
// by rows
Amplification measure_amplification(const BlockGraph &graph, BlockRows &values);

} // namespace mcpi
