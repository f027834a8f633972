// x as off-diagonal products read it with -pc_mcpi_gather_precision bfp16: block floating point,
// per block row (and right-hand side) bs integers q of 16 bits and one exponent e; values
// q*2^(e-15), rounded to nearest even. A device keeps q and e, 12 bytes instead of 20 at bs 5; a
// host keeps the rounded values as floats: the same numbers for the kernels that it has.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

namespace mcpi {

constexpr int kGatherLimit = 32767;
// from here on 2^(e-15) is a normal float, and so is 2^(15-e)
constexpr int kMinGatherExponent = -111;

constexpr float power_of_two(int e)
{
  return std::bit_cast<float>(static_cast<std::uint32_t>(e + 127) << 23);
}

// The bits of the largest magnitude of a block row's floats; NaN is larger than Inf.
template <class X> std::uint32_t largest_magnitude(int bs, const X *x)
{
  std::uint32_t largest = 0;
  for (int i = 0; i < bs; ++i)
    largest =
        std::max(largest, std::bit_cast<std::uint32_t>(static_cast<float>(x[i])) & 0x7fffffffu);
  return largest;
}

// One block row, x through float. Where one of its values is not finite all become NaN: nothing is
// hidden.
template <class X> void round_gathered(int bs, const X *x, X *gathered)
{
  constexpr float kToInteger = 0x1.8p23f; // added and taken away it leaves an integer, rounded to
                                          // nearest even, and no negative zero
  constexpr float kLimit = kGatherLimit;
  const std::uint32_t largest = largest_magnitude(bs, x);
  if (largest >= 0x7f800000u) {
    std::fill_n(gathered, bs, std::numeric_limits<X>::quiet_NaN());
    return;
  }
  const int e = std::max(static_cast<int>(largest >> 23) - 126, kMinGatherExponent);
  const float scale = power_of_two(15 - e), quantum = power_of_two(e - 15);
  for (int i = 0; i < bs; ++i) {
    const float q = (static_cast<float>(x[i]) * scale + kToInteger) - kToInteger;
    gathered[i] = std::clamp(q, -kLimit, kLimit) * quantum;
  }
}

} // namespace mcpi
