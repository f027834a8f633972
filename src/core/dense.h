// Dense operations on single blocks: inversion of diagonal blocks, and products.
#pragma once

#include <cstdint>

namespace mcpi {

enum class Inversion { done, singular, nonfinite };

// A block is singular if its condition number times the machine epsilon reaches this value: the
// inverse has no correct digit.
constexpr double kNoDigits = 0.1;

// Computes inverse = block^{-1}, both column-major, by elimination with partial pivoting. Rows and
// columns are first equilibrated exactly, by powers of two. So the choice of pivots does not depend
// on the units of the unknowns. The condition number is that of the equilibrated block (kNoDigits).
// work has room for 3*bs doubles, pivot for bs numbers. work then begins with the factors of rows
// and those of columns. condition, unless null, becomes the condition number if there is an
// inverse.
Inversion invert(int bs, const double *block, double *inverse, double *work, std::int64_t *pivot,
                 double *condition = nullptr);

// As invert(), for the unknowns that are not empty (BlockRows::empty()). The inverse has zero rows
// and columns for the others. empty: flags of this block's unknowns; null: none is empty
Inversion invert_rest(int bs, const double *block, const std::uint8_t *empty, double *inverse,
                      double *work, std::int64_t *pivot, double *condition = nullptr);

// The largest column sum of absolute values
double column_norm(int bs, const double *block);

// c += a b, for column-major blocks of size bs x bs
void add_product(int bs, const double *a, const double *b, double *c);

// y = m x and y = m^T x, for a column-major block m of size bs x bs
void multiply(int bs, const double *m, const double *x, double *y);
void multiply_transposed(int bs, const double *m, const double *x, double *y);

} // namespace mcpi
