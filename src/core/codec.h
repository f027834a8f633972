// Conversion of blocks to and from storage precision. A record holds one block, column-major.
// Records follow each other without padding.
//
//   fp64, fp32, fp16   bs*bs numbers
//   int8               one byte with the exponent e, then bs*bs bytes q in -127..127
//   int4               one byte with the exponent e, then bs*bs nibbles q + 8, q in -7..7
//
// The value of an integer q is q*2^e. A byte holds two nibbles, the earlier one in its low half.
// Columns of int4 records start on a whole byte when bs > kMaxFlatBlock. Unused nibbles are 0.
// Rounding is to nearest even. fp16 is rounded from double to float first.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "petscmcpitypes.h"

namespace mcpi {

// Largest block size for which SIMD code treats a block as one run of bs*bs numbers
constexpr int kMaxFlatBlock = 8;

constexpr int kInt8Limit = 127; // largest |q|
constexpr int kInt4Limit = 7;
constexpr int kNibbleShift = 8; // nibbles hold q + kNibbleShift

// Bounds of the exponent e. Between them 2^e and every nonzero q*2^e are normal floats, and
// (e + 127) << 23 are the bits of 2^e.
constexpr int kMinSharedExponent = -126;
constexpr int kMaxSharedExponent = 120;

constexpr bool has_exponent(PCMCPIPrecision storage)
{
  return storage == PC_MCPI_PRECISION_INT8 || storage == PC_MCPI_PRECISION_INT4;
}
// Bits of a stored number
constexpr int value_bits(PCMCPIPrecision storage)
{
  switch (storage) {
  case PC_MCPI_PRECISION_FP64:
    return 64;
  case PC_MCPI_PRECISION_FP32:
    return 32;
  case PC_MCPI_PRECISION_FP16:
    return 16;
  case PC_MCPI_PRECISION_INT8:
    return 8;
  case PC_MCPI_PRECISION_INT4:
    return 4;
  case PC_MCPI_PRECISION_AUTO: // chosen before anything is stored
    break;
  }
  return 0;
}
// The largest integer that is stored
constexpr int integer_limit(PCMCPIPrecision storage)
{
  return storage == PC_MCPI_PRECISION_INT8 ? kInt8Limit : kInt4Limit;
}
// Numbers from one column of a record to the next
constexpr int leading_dimension(PCMCPIPrecision storage, int bs)
{
  return storage == PC_MCPI_PRECISION_INT4 && bs > kMaxFlatBlock ? (bs + 1) / 2 * 2 : bs;
}

constexpr std::size_t record_bytes(PCMCPIPrecision storage, int bs)
{
  const std::size_t bits = static_cast<std::size_t>(value_bits(storage)),
                    numbers = static_cast<std::size_t>(leading_dimension(storage, bs)) *
                              static_cast<std::size_t>(bs);
  return (numbers * bits + 7) / 8 + (has_exponent(storage) ? 1 : 0);
}

// Encodes one column-major block. Returns false if a value is not finite or overflows the format.
// In the integer formats, values too small for the least exponent become 0.
bool encode_block(PCMCPIPrecision storage, int bs, const double *block, std::byte *record);
void decode_block(PCMCPIPrecision storage, int bs, const std::byte *record, double *block);
// Makes the record of the transposed block. It has the same stored numbers, so that a transposed
// sweep is the exact adjoint.
void transpose_record(PCMCPIPrecision storage, int bs, const std::byte *record,
                      std::byte *transposed);

// Values that overflow become Inf, without a floating-point exception. NaN stays NaN.
float to_fp32(double value);
std::uint16_t to_fp16(double value);
double from_fp16(std::uint16_t bits);

// The smallest e with max_abs <= limit * 2^e, kept within the bounds above. limit is kInt8Limit or
// kInt4Limit. The result is 0 for max_abs == 0.
constexpr int shared_exponent(double max_abs, int limit)
{
  if (max_abs == 0) return 0;
  // limit is 127/64 * 2^6 or 7/4 * 2^2. The comparison is of the fractions, which lie in [1, 2).
  const int leading = limit == kInt8Limit ? 6 : 2;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(max_abs);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const std::uint64_t threshold = static_cast<std::uint64_t>(limit - (1 << leading))
                                  << (52 - leading);
  const int e = static_cast<int>(bits >> 52) - 1023 - leading + (fraction > threshold ? 1 : 0);
  return e < kMinSharedExponent   ? kMinSharedExponent
         : e > kMaxSharedExponent ? kMaxSharedExponent
                                  : e;
}

} // namespace mcpi
