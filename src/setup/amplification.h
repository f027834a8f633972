// How far rounded off-diagonal blocks are from harmless where diagonal blocks are stiff.
#pragma once

#include "core/numeric.h"
#include "setup/block_graph.h"
#include "setup/block_values.h"

namespace mcpi {

// Let A = D + O and P = D^{-1}O, with block rows equilibrated by D. An amplification says by which
// factor the rounding of stored blocks exceeds what a preconditioner of these blocks may change.
//
// prescaled: The form `prescaled` rounds P. The error E of P changes residuals by D E x, where x is
// like D^{-1} b. So the amplification is |D| |P| |D^{-1}| / |O D^{-1}|, each equation by itself,
// and at most |D| |D^{-1}|. A stiff coupling of the unknowns of a point, such as drag or a penalty,
// makes it large. In thin cells O is stiff in the same directions as D, and it stays small.
// factored: The form `factored` rounds O. The error F of O changes x by D^{-1} F x. So the
// amplification is |D^{-1}| |O| / |P|. It is large in thin cells.
struct Amplification {
  double prescaled = 1.0, factored = 1.0;
};

// Not collective. The largest amplifications in the local rows. Rows whose diagonal block has a
// small condition number or no inverse, and rows without couplings, do not count. values: readable
// by rows
Amplification measure_amplification(const BlockGraph &graph, BlockRows &values);
// The same, on several threads
Amplification measure_amplification(const BlockGraph &graph, const MatrixValues &values,
                                    int threads);

} // namespace mcpi
