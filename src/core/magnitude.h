// Magnitudes as powers of two. Programs may trap floating-point exceptions (-fp_trap), so these
// functions raise none where the result is a number that callers expect.
#pragma once

#include <cmath>
#include <limits>

namespace mcpi {

// log2 of an entry that is zero
constexpr double kNoEntry = -std::numeric_limits<double>::infinity();

// log2 of a magnitude, or kNoEntry of zero. std::log2(0) raises a division by zero.
inline double log2_or_none(double magnitude)
{
  return magnitude == 0.0 ? kNoEntry : std::log2(magnitude);
}

// left * magnitude * right, but at most the largest double. left and right are powers of two.
inline double scaled_magnitude(double left, double magnitude, double right)
{
  if (magnitude == 0.0) return 0.0;
  const int by = std::ilogb(left) + std::ilogb(right);
  return std::ilogb(magnitude) + by < std::numeric_limits<double>::max_exponent
             ? std::ldexp(magnitude, by)
             : std::numeric_limits<double>::max();
}

} // namespace mcpi
