// Powers of two, made from the bits of exponents, on hosts and devices
#pragma once

#include <bit>
#include <cstdint>

namespace mcpi {

// 2^exponent, which must be a normal number of type T: float or double. The bits of a double are
// made from 32 bits, as devices compute.
template <class T> constexpr T power_of_two(int exponent)
{
  if constexpr (sizeof(T) == sizeof(float))
    return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
  else
    return std::bit_cast<double>(
        static_cast<std::uint64_t>(static_cast<std::uint32_t>(exponent + 1023) << 20) << 32);
}

// The inverse of the largest power of two that is not above value. value must be positive.
constexpr double inverse_power_of_two(double value)
{
  // kBits: bits of the fraction; kSum: sum of the biased exponents of a power and its inverse
  constexpr std::int64_t kBits = 52, kSum = 2046;
  const std::int64_t biased = std::bit_cast<std::int64_t>(value) >> kBits,
                     exponent = biased < 1          ? 1
                                : biased > kSum - 1 ? kSum - 1
                                                    : biased;
  return std::bit_cast<double>((kSum - exponent) << kBits);
}

} // namespace mcpi
