// Dense operations on single blocks: inversion of diagonal blocks, and products with a vector.
#pragma once

#include <cstdint>

namespace mcpi {

enum class Inversion { done, singular, nonfinite };

// Computes inverse = block^{-1}, both column-major, by elimination with partial pivoting. Rows and
// columns are first equilibrated exactly, by powers of two. So the choice of pivots does not depend
// on the units of the unknowns. A block is singular if the inverse of the equilibrated block has no
// correct digit: its condition number times the machine epsilon is at least 0.1. work has room for
// 3*bs doubles, pivot for bs numbers.
Inversion invert(int bs, const double *block, double *inverse, double *work, std::int64_t *pivot);

// y = m x and y = m^T x, for a column-major block m of size bs x bs
void multiply(int bs, const double *m, const double *x, double *y);
void multiply_transposed(int bs, const double *m, const double *x, double *y);

} // namespace mcpi
