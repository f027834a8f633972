// Rounding of x for off-diagonal products with -pc_mcpi_gather_precision bfp16. The format is block
// floating point: each block row has bs integers q of 16 bits and one exponent e for each
// right-hand side. Values are q*2^(e-15), rounded to nearest even. A device stores q and e, which
// is 12 bytes instead of 20 at block size 5. A host stores the same rounded values as floats, so
// its kernels need no other format.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "core/powers_of_two.h"

namespace mcpi {

constexpr int kGatherLimit = 32767; // largest |q|
// Least exponent e. From this value on both 2^(e-15) and 2^(15-e) are normal floats.
constexpr int kMinGatherExponent = -111;

// The bits of the largest magnitude among the bs floats of a block row. NaN counts as larger than
// Inf.
template <class X> constexpr std::uint32_t largest_magnitude(int bs, const X *x)
{
  std::uint32_t largest = 0;
  for (int i = 0; i < bs; ++i)
    largest =
        std::max(largest, std::bit_cast<std::uint32_t>(static_cast<float>(x[i])) & 0x7fffffffu);
  return largest;
}

// Rounds one block row; x is converted to float first. If one value is not finite, all become NaN,
// so that rounding never hides such a value.
template <class X> constexpr void round_gathered(int bs, const X *x, X *gathered)
{
  // Adding and then subtracting this number rounds to an integer, to nearest even. The result is
  // never a negative zero.
  constexpr float kToInteger = 0x1.8p23f;
  constexpr float kLimit = kGatherLimit;
  const std::uint32_t largest = largest_magnitude(bs, x);
  if (largest >= 0x7f800000u) {
    std::fill_n(gathered, bs, std::numeric_limits<X>::quiet_NaN());
    return;
  }
  const int e = std::max(static_cast<int>(largest >> 23) - 126, kMinGatherExponent);
  const float scale = power_of_two<float>(15 - e), quantum = power_of_two<float>(e - 15);
  for (int i = 0; i < bs; ++i) {
    const float q = (static_cast<float>(x[i]) * scale + kToInteger) - kToInteger;
    gathered[i] = std::clamp(q, -kLimit, kLimit) * quantum;
  }
}

} // namespace mcpi
