#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "core/codec.h"

using namespace mcpi;

namespace {

constexpr PCMCPIPrecision kAll[] = {PC_MCPI_PRECISION_FP64, PC_MCPI_PRECISION_FP32,
                                    PC_MCPI_PRECISION_FP16, PC_MCPI_PRECISION_INT8,
                                    PC_MCPI_PRECISION_INT4};
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

constexpr std::uint16_t kFp16Infinity = 0x7c00;

std::vector<double> random_block(int bs, unsigned seed)
{
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> value(-1, 1), exponent(-12, 8);
  std::vector<double> block(static_cast<std::size_t>(bs) * bs);
  for (double &v : block) v = std::ldexp(value(generator), static_cast<int>(exponent(generator)));
  return block;
}

struct Record {
  std::vector<std::byte> bytes;
  bool good;
};

Record encode(PCMCPIPrecision storage, int bs, const std::vector<double> &block)
{
  Record record{std::vector<std::byte>(record_bytes(storage, bs), std::byte{0xaa}), false};
  record.good = encode_block(storage, bs, block.data(), record.bytes.data());
  return record;
}

std::vector<double> decode(PCMCPIPrecision storage, int bs, const std::vector<std::byte> &record)
{
  std::vector<double> block(static_cast<std::size_t>(bs) * bs, kNaN);
  decode_block(storage, bs, record.data(), block.data());
  return block;
}

} // namespace

TEST(Codec, every_fp16_pattern_survives_the_round_trip)
{
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const double value = from_fp16(pattern);
    if ((bits & 0x7fff) > kFp16Infinity) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(from_fp16(to_fp16(value)))) << bits;
    } else {
      ASSERT_EQ(to_fp16(value), pattern) << bits;
    }
  }
  EXPECT_EQ(from_fp16(0x3c00), 1.0);
  EXPECT_EQ(from_fp16(0xc000), -2.0);
  EXPECT_EQ(from_fp16(0x7bff), 65504.0);
  EXPECT_EQ(from_fp16(0x0001), std::ldexp(1.0, -24));
  EXPECT_EQ(from_fp16(0x0400), std::ldexp(1.0, -14));
}

TEST(Codec, fp16_rounds_to_nearest_even)
{
  for (unsigned bits = 0; bits + 1 < kFp16Infinity; ++bits) {
    const auto low = static_cast<std::uint16_t>(bits), high = static_cast<std::uint16_t>(bits + 1);
    // The middle is exact, because a float has more digits than fp16.
    const auto middle = static_cast<float>((from_fp16(low) + from_fp16(high)) / 2);
    const float below = std::nextafter(middle, 0.0f),
                above = std::nextafter(middle, std::numeric_limits<float>::infinity());
    ASSERT_EQ(to_fp16(middle), bits % 2 == 0 ? low : high) << bits;
    ASSERT_EQ(to_fp16(below), low) << bits;
    ASSERT_EQ(to_fp16(above), high) << bits;
    ASSERT_EQ(to_fp16(-above), high | 0x8000) << bits;
  }
}

TEST(Codec, fp16_rounds_through_float)
{
  // As a double, the number is just above a tie. Rounded to float, it is the tie itself.
  EXPECT_EQ(to_fp16(1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40)), 0x3c00);
}

TEST(Codec, what_does_not_fit_is_refused)
{
  const double largest_float = std::numeric_limits<float>::max();
  struct Limit {
    PCMCPIPrecision storage;
    double fits, overflows;
  };
  for (const Limit &limit :
       {Limit{PC_MCPI_PRECISION_FP64, std::numeric_limits<double>::max(), kInf},
        Limit{PC_MCPI_PRECISION_FP32, largest_float, 2 * largest_float},
        Limit{PC_MCPI_PRECISION_FP16, 65519.99, 65520},
        Limit{PC_MCPI_PRECISION_INT8, std::ldexp(127.0, 120), std::ldexp(127.5, 120)},
        Limit{PC_MCPI_PRECISION_INT4, std::ldexp(7.0, 120), std::ldexp(7.5, 120)}})
    for (const int bs : {1, 3, 9})
      for (const double sign : {1.0, -1.0}) {
        SCOPED_TRACE(testing::Message()
                     << "storage " << limit.storage << " bs " << bs << " sign " << sign);
        std::vector<double> block(static_cast<std::size_t>(bs) * bs, 0.5);
        block.back() = sign * limit.fits;
        EXPECT_TRUE(encode(limit.storage, bs, block).good);
        for (const double bad : {limit.overflows, kInf, kNaN}) {
          block.back() = sign * bad;
          EXPECT_FALSE(encode(limit.storage, bs, block).good) << bad;
        }
      }
}

TEST(Codec, floating_formats_keep_their_relative_precision)
{
  struct Precision {
    PCMCPIPrecision storage;
    double unit;
  };
  for (const Precision &precision :
       {Precision{PC_MCPI_PRECISION_FP64, 0}, Precision{PC_MCPI_PRECISION_FP32, 0x1p-24},
        Precision{PC_MCPI_PRECISION_FP16, 0x1p-11}})
    for (const int bs : {1, 5, 17}) {
      const auto block = random_block(bs, 7);
      const auto record = encode(precision.storage, bs, block);
      ASSERT_TRUE(record.good);
      const auto stored = decode(precision.storage, bs, record.bytes);
      // A denormal of fp16 has the absolute error of half of 2^-24 instead.
      for (std::size_t k = 0; k < block.size(); ++k)
        ASSERT_LE(std::abs(stored[k] - block[k]),
                  std::max(precision.unit * std::abs(block[k]),
                           precision.unit == 0x1p-11 ? 0x1p-25 : 0.0));
    }
}

TEST(Codec, integers_are_within_half_a_quantum_and_use_the_smallest_exponent)
{
  for (const auto &[storage, limit] :
       {std::pair{PC_MCPI_PRECISION_INT8, 127}, std::pair{PC_MCPI_PRECISION_INT4, 7}})
    for (int bs = 1; bs <= 17; ++bs)
      for (unsigned seed = 0; seed < 20; ++seed) {
        const auto block = random_block(bs, seed);
        const auto record = encode(storage, bs, block);
        ASSERT_TRUE(record.good);
        const double quantum = std::ldexp(1.0, static_cast<std::int8_t>(record.bytes[0]));
        double max_abs = 0;
        for (const double v : block) max_abs = std::max(max_abs, std::abs(v));
        ASSERT_LE(max_abs, limit * quantum);
        ASSERT_GT(max_abs, limit * quantum / 2);
        const auto stored = decode(storage, bs, record.bytes);
        for (std::size_t k = 0; k < block.size(); ++k) {
          ASSERT_LE(std::abs(stored[k] - block[k]), quantum / 2);
          ASSERT_EQ(stored[k] / quantum, std::nearbyint(block[k] / quantum));
        }
      }
}

TEST(Codec, shared_exponent_is_the_smallest_that_holds_the_maximum)
{
  for (const int limit : {127, 7})
    for (int e = kMinSharedExponent + 1; e <= kMaxSharedExponent; ++e) {
      const double most = std::ldexp(limit, e);
      EXPECT_EQ(shared_exponent(most, limit), e);
      EXPECT_EQ(shared_exponent(std::nextafter(most, 0), limit), e);
      EXPECT_EQ(shared_exponent(std::nextafter(most / 2, kInf), limit), e);
      if (e < kMaxSharedExponent) {
        EXPECT_EQ(shared_exponent(std::nextafter(most, kInf), limit), e + 1);
      }
    }
  EXPECT_EQ(shared_exponent(0, 127), 0);
  EXPECT_EQ(shared_exponent(std::numeric_limits<double>::denorm_min(), 127), kMinSharedExponent);
  EXPECT_EQ(shared_exponent(std::numeric_limits<double>::max(), 7), kMaxSharedExponent);
}

TEST(Codec, tiny_integers_become_zero)
{
  for (const auto storage : {PC_MCPI_PRECISION_INT8, PC_MCPI_PRECISION_INT4}) {
    const std::vector<double> block = {1e-300, -1e-300, std::numeric_limits<double>::denorm_min(),
                                       0};
    const auto record = encode(storage, 2, block);
    ASSERT_TRUE(record.good);
    for (const double v : decode(storage, 2, record.bytes)) EXPECT_EQ(v, 0);
  }
}

TEST(Codec, records_have_the_documented_size_and_left_over_nibbles_are_zero)
{
  EXPECT_EQ(record_bytes(PC_MCPI_PRECISION_FP64, 5), 200u);
  EXPECT_EQ(record_bytes(PC_MCPI_PRECISION_FP32, 5), 100u);
  EXPECT_EQ(record_bytes(PC_MCPI_PRECISION_FP16, 5), 50u);
  EXPECT_EQ(record_bytes(PC_MCPI_PRECISION_INT8, 5), 26u);
  EXPECT_EQ(record_bytes(PC_MCPI_PRECISION_INT4, 5), 14u);
  EXPECT_EQ(record_bytes(PC_MCPI_PRECISION_INT4, 9), 1u + 9 * 5);
  const auto packed = encode(PC_MCPI_PRECISION_INT4, 5, std::vector<double>(25, 7.0));
  EXPECT_EQ(std::to_integer<int>(packed.bytes[12]), 0xff);
  EXPECT_EQ(std::to_integer<int>(packed.bytes[13]), 0x0f);
  const auto columns = encode(PC_MCPI_PRECISION_INT4, 9, std::vector<double>(81, 7.0));
  for (int j = 0; j < 9; ++j) EXPECT_EQ(std::to_integer<int>(columns.bytes[1 + 5 * j + 4]), 0x0f);
}

TEST(Codec, transposed_record_holds_the_same_numbers_transposed)
{
  for (const auto storage : kAll)
    for (const int bs : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33, 64, 65}) {
      SCOPED_TRACE(testing::Message() << "storage " << storage << " bs " << bs);
      const auto record = encode(storage, bs, random_block(bs, 3));
      ASSERT_TRUE(record.good);
      std::vector<std::byte> once(record.bytes.size(), std::byte{0xaa}), twice(once);
      transpose_record(storage, bs, record.bytes.data(), once.data());
      transpose_record(storage, bs, once.data(), twice.data());
      EXPECT_EQ(twice, record.bytes);
      const auto block = decode(storage, bs, record.bytes), transposed = decode(storage, bs, once);
      for (int j = 0; j < bs; ++j)
        for (int i = 0; i < bs; ++i)
          ASSERT_EQ(transposed[static_cast<std::size_t>(i) * bs + j],
                    block[static_cast<std::size_t>(j) * bs + i]);
    }
}
