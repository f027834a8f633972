#include "core/codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace mcpi {
namespace {

constexpr std::uint32_t kFloatInf = 0x7f800000u;

template <typename Number> Number load(const std::byte *record, std::size_t k)
{
  Number number;
  std::memcpy(&number, record + k * sizeof(Number), sizeof(Number));
  return number;
}

template <typename Number> void store(std::byte *record, std::size_t k, Number number)
{
  std::memcpy(record + k * sizeof(Number), &number, sizeof(Number));
}

unsigned load_nibble(const std::byte *record, std::size_t k)
{
  return std::to_integer<unsigned>(record[1 + k / 2]) >> (4 * (k % 2)) & 15u;
}

// Stores a nibble in a record in which this nibble is still zero.
void add_nibble(std::byte *record, std::size_t k, unsigned nibble)
{
  record[1 + k / 2] |= static_cast<std::byte>(nibble << (4 * (k % 2)));
}

// convert(value, number) sets the stored number. It returns false if the value does not fit.
template <typename Number, typename Convert>
bool encode_numbers(int bs, const double *block, std::byte *record, Convert convert)
{
  bool good = true;
  const std::size_t n = static_cast<std::size_t>(bs) * bs;
  for (std::size_t k = 0; k < n; ++k) {
    Number number;
    good &= convert(block[k], number);
    store(record, k, number);
  }
  return good;
}

// put(k, q) stores the k-th integer
template <typename Put>
bool encode_integers(int bs, int limit, const double *block, std::byte *record, Put put)
{
  const std::size_t n = static_cast<std::size_t>(bs) * bs;
  double max_abs = 0;
  for (std::size_t k = 0; k < n; ++k) {
    if (!std::isfinite(block[k])) return false;
    max_abs = std::max(max_abs, std::abs(block[k]));
  }
  const int e = shared_exponent(max_abs, limit);
  if (max_abs > std::ldexp(limit, e)) return false;
  store(record, 0, static_cast<std::int8_t>(e));
  for (std::size_t k = 0; k < n; ++k)
    put(k, static_cast<int>(std::nearbyint(std::ldexp(block[k], -e))));
  return true;
}

template <typename Number>
void transpose_numbers(int bs, const std::byte *record, std::byte *transposed)
{
  for (int j = 0; j < bs; ++j)
    for (int i = 0; i < bs; ++i)
      store(transposed, static_cast<std::size_t>(i) * bs + j,
            load<Number>(record, static_cast<std::size_t>(j) * bs + i));
}

} // namespace

float to_fp32(double value)
{
  constexpr double kOverflow = 0x1.ffffffp127; // rounds to infinity, as all larger numbers do
  return std::isgreaterequal(std::fabs(value), kOverflow)
             ? static_cast<float>(std::copysign(HUGE_VAL, value))
             : static_cast<float>(value);
}

std::uint16_t to_fp16(double value)
{
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(to_fp32(value));
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > kFloatInf) return static_cast<std::uint16_t>(sign | 0x7e00u);
  // Values from 65520 on round to more than 65504.
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) { // denormals are multiples of 2^-24
    const float quanta = std::nearbyint(std::bit_cast<float>(magnitude) * 0x1p24f);
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(quanta));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
  return static_cast<std::uint16_t>(sign | (rounded - ((127u - 15u) << 23)) >> 13);
}

double from_fp16(std::uint16_t bits)
{
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  // The bits as a double with the bias of fp16. The product is exact, also for denormal numbers.
  double magnitude = std::bit_cast<double>(std::uint64_t{bits & 0x7fffU} << 42) * 0x1p1008;
  if (exponent == 31) magnitude = mantissa == 0 ? HUGE_VAL : NAN;
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

bool encode_block(PCMCPIPrecision storage, int bs, const double *block, std::byte *record)
{
  switch (storage) {
  case PC_MCPI_PRECISION_FP64:
    return encode_numbers<double>(bs, block, record, [](double value, double &number) {
      return std::isfinite(number = value);
    });
  case PC_MCPI_PRECISION_FP32:
    return encode_numbers<float>(bs, block, record, [](double value, float &number) {
      return std::isfinite(number = to_fp32(value));
    });
  case PC_MCPI_PRECISION_FP16:
    return encode_numbers<std::uint16_t>(bs, block, record,
                                         [](double value, std::uint16_t &number) {
                                           number = to_fp16(value);
                                           return (number & 0x7c00u) != 0x7c00u;
                                         });
  case PC_MCPI_PRECISION_INT8:
    return encode_integers(bs, integer_limit(storage), block, record, [=](std::size_t k, int q) {
      store(record, 1 + k, static_cast<std::int8_t>(q));
    });
  case PC_MCPI_PRECISION_INT4: {
    std::fill_n(record, record_bytes(storage, bs), std::byte{0});
    const std::size_t column = leading_dimension(storage, bs), size = static_cast<std::size_t>(bs);
    return encode_integers(bs, integer_limit(storage), block, record, [=](std::size_t k, int q) {
      add_nibble(record, k / size * column + k % size, static_cast<unsigned>(q + kNibbleShift));
    });
  }
  case PC_MCPI_PRECISION_AUTO: // chosen before anything is stored
    break;
  }
  return false;
}

void decode_block(PCMCPIPrecision storage, int bs, const std::byte *record, double *block)
{
  const std::size_t size = static_cast<std::size_t>(bs), n = size * size;
  switch (storage) {
  case PC_MCPI_PRECISION_FP64:
    for (std::size_t k = 0; k < n; ++k) block[k] = load<double>(record, k);
    return;
  case PC_MCPI_PRECISION_FP32:
    for (std::size_t k = 0; k < n; ++k) block[k] = load<float>(record, k);
    return;
  case PC_MCPI_PRECISION_FP16:
    for (std::size_t k = 0; k < n; ++k) block[k] = from_fp16(load<std::uint16_t>(record, k));
    return;
  case PC_MCPI_PRECISION_INT8: {
    const double quantum = std::ldexp(1.0, load<std::int8_t>(record, 0));
    for (std::size_t k = 0; k < n; ++k) block[k] = load<std::int8_t>(record, 1 + k) * quantum;
    return;
  }
  case PC_MCPI_PRECISION_INT4: {
    const double quantum = std::ldexp(1.0, load<std::int8_t>(record, 0));
    const std::size_t column = leading_dimension(storage, bs);
    for (std::size_t k = 0; k < n; ++k)
      block[k] =
          (static_cast<int>(load_nibble(record, k / size * column + k % size)) - kNibbleShift) *
          quantum;
    return;
  }
  case PC_MCPI_PRECISION_AUTO:
    return;
  }
}

void transpose_record(PCMCPIPrecision storage, int bs, const std::byte *record,
                      std::byte *transposed)
{
  switch (storage) {
  case PC_MCPI_PRECISION_FP64:
    return transpose_numbers<double>(bs, record, transposed);
  case PC_MCPI_PRECISION_FP32:
    return transpose_numbers<float>(bs, record, transposed);
  case PC_MCPI_PRECISION_FP16:
    return transpose_numbers<std::uint16_t>(bs, record, transposed);
  case PC_MCPI_PRECISION_INT8:
    transposed[0] = record[0];
    return transpose_numbers<std::int8_t>(bs, record + 1, transposed + 1);
  case PC_MCPI_PRECISION_INT4: {
    std::fill_n(transposed, record_bytes(storage, bs), std::byte{0});
    transposed[0] = record[0];
    const std::size_t column = leading_dimension(storage, bs);
    for (int j = 0; j < bs; ++j)
      for (int i = 0; i < bs; ++i)
        add_nibble(transposed, i * column + j, load_nibble(record, j * column + i));
    return;
  }
  case PC_MCPI_PRECISION_AUTO:
    return;
  }
}

} // namespace mcpi
