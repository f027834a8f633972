// Hash functions of 64-bit integers
#pragma once

#include <cstdint>

namespace mcpi {

// splitmix64, a bijection
constexpr std::uint64_t mix(std::uint64_t x)
{
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// The hash of a sequence and its next value, by fewer operations than mix() takes. An odd factor
// mixes without loss: its products with two different numbers are different.
constexpr std::uint64_t stirred(std::uint64_t hash, std::uint64_t value)
{
  hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 32);
}

} // namespace mcpi
