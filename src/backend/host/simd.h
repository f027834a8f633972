// Declarations that the translation units of the SIMD kernels share. Users of the kernels include
// host_backend.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/kernels.h"
#include "core/powers_of_two.h"

namespace mcpi {

// Selects a product for the best instruction set of this CPU. Each storage precision is in a
// translation unit of its own.
template <PCMCPIPrecision storage> ProductKernel simd_product(bool x_is_double, int bs);
template <> ProductKernel simd_product<PC_MCPI_PRECISION_FP64>(bool x_is_double, int bs);
template <> ProductKernel simd_product<PC_MCPI_PRECISION_FP32>(bool x_is_double, int bs);
template <> ProductKernel simd_product<PC_MCPI_PRECISION_FP16>(bool x_is_double, int bs);
template <> ProductKernel simd_product<PC_MCPI_PRECISION_INT8>(bool x_is_double, int bs);
template <> ProductKernel simd_product<PC_MCPI_PRECISION_INT4>(bool x_is_double, int bs);

// 2^e, indexed by the exponent byte of a record
template <typename T> constexpr std::array<T, 256> make_powers_of_two()
{
  std::array<T, 256> powers{};
  for (int e = -126; e <= 127; ++e) powers[static_cast<std::uint8_t>(e)] = power_of_two<T>(e);
  return powers;
}
template <typename T> inline constexpr std::array<T, 256> kPowersOfTwo = make_powers_of_two<T>();

} // namespace mcpi
