// Inverses of diagonal blocks.
#pragma once

#include <cstdint>

namespace mcpi {

enum class Inversion { done, singular, nonfinite };

// inverse = block^{-1}, column-major, by elimination with partial pivoting after an exact (power of
// two) equilibration of rows and columns, so that the units of the unknowns do not choose the
// pivots. Singular means that the inverse of the equilibrated block has no digit: its condition
// times epsilon is above 0.1. work holds 3*bs doubles, pivot bs numbers.
Inversion invert(int bs, const double *block, double *inverse, double *work, std::int64_t *pivot);

// y = m x and y = m' x for a column-major bs x bs block
void multiply(int bs, const double *m, const double *x, double *y);
void multiply_transposed(int bs, const double *m, const double *x, double *y);

} // namespace mcpi
