#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/host/host_backend.h"
#include "core/codec.h"
#include "core/kernels.h"
#include "kernel_problem.h"

using namespace mcpi;
using namespace mcpi::test;

namespace {

constexpr int kTrapped = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW; // exceptions that programs trap

struct Range {
  Row begin, end;
  // Shift in memory: records by 8 bytes each, x and sums by one number each
  std::size_t shift = 0;
  bool far = false;
};

template <typename T>
std::vector<T> run(const CpuKernels &kernels, const Problem &problem, int nrhs, Range range,
                   int first = 0, int count = 2)
{
  const Padded<T> x = make_x<T>(problem, nrhs, range.shift);
  std::vector<Padded<std::byte>> records;
  const std::size_t n = static_cast<std::size_t>(range.end - range.begin) * nrhs * problem.bs;
  // There is no padding, because kernels must not write past the end.
  std::unique_ptr<T[]> sums(new T[range.shift + n]);
  std::fill_n(sums.get(), range.shift + n, static_cast<T>(kNaN));
  ProductArgs args;
  for (int t = 0; t < count; ++t) {
    records.emplace_back(problem.records[first + t].size(), 8 * range.shift);
    std::copy(problem.records[first + t].begin(), problem.records[first + t].end(),
              records[t].data());
    args.triangles[t] = {problem.ptr[first + t].data(), problem.col[first + t].data(),
                         records[t].data(), static_cast<Offset>(problem.col[first + t].size())};
  }
  args.count = count;
  args.bs = problem.bs;
  args.nrhs = nrhs;
  args.begin = range.begin;
  args.end = range.end;
  args.far = range.far;
  args.x = x.data();
  args.sums = sums.get() + range.shift;
  const ProductKernel product =
      kernels.product(problem.storage, sizeof(T) == sizeof(double), problem.bs);
  EXPECT_NE(product.run, nullptr);
  if (product.run) product(args);
  return std::vector<T>(sums.get() + range.shift, sums.get() + range.shift + n);
}

template <typename T>
void expect_near(const std::vector<T> &sums, const std::vector<T> &expected, int bs)
{
  // A row has at most 12 blocks, and products are at most 1.
  const double tolerance = 12.0 * bs * std::numeric_limits<T>::epsilon() * 4;
  ASSERT_EQ(sums.size(), expected.size());
  for (std::size_t i = 0; i < sums.size(); ++i)
    ASSERT_LE(std::abs(double(sums[i]) - double(expected[i])), tolerance) << i; // fails for NaN
}

template <typename T> void products_agree_with_the_plain_ones()
{
  std::feclearexcept(FE_ALL_EXCEPT);
  for (const auto storage : kAll) {
    if (!exists(storage, sizeof(T) == sizeof(double))) continue;
    for (const int bs : kSizes) {
      const Problem problem(storage, bs, bs > 33 ? 4 : 9);
      for (const int nrhs : {1, 2, 3, 8}) {
        SCOPED_TRACE(testing::Message()
                     << "storage " << storage << " bs " << bs << " nrhs " << nrhs);
        for (int first = 0; first < 2; ++first)
          for (int count = 0; first + count <= 2; ++count)
            expect_near(run<T>(simd_kernels(), problem, nrhs, {0, problem.rows}, first, count),
                        run<T>(plain_kernels(), problem, nrhs, {0, problem.rows}, first, count),
                        bs);
      }
    }
  }
  EXPECT_EQ(std::fetestexcept(kTrapped), 0);
}

template <typename T> void sums_have_the_same_bits_everywhere()
{
  for (const auto storage : kAll) {
    if (!exists(storage, sizeof(T) == sizeof(double))) continue;
    for (const int bs : kSizes) {
      SCOPED_TRACE(testing::Message() << "storage " << storage << " bs " << bs);
      const Row rows = bs > 8 ? 6 : 60; // many blocks, so that x is prefetched
      const Problem problem(storage, bs, rows);
      const std::vector<T> whole = run<T>(simd_kernels(), problem, 1, {0, rows});
      for (const Range range :
           {Range{0, 6, 1}, Range{1, 2, 0}, Range{2, 5, 3}, Range{5, 6, 1}, Range{3, 3, 0},
            Range{0, rows, 0, true}, Range{2, 5, 3, true}, Range{rows / 2, rows, 0, true}})
        EXPECT_TRUE(same_bits(
            run<T>(simd_kernels(), problem, 1, range),
            std::vector<T>(whole.begin() + range.begin * bs, whole.begin() + range.end * bs)));
      for (const int nrhs : {2, 3, 8}) {
        const std::vector<T> many = run<T>(simd_kernels(), problem, nrhs, {0, rows});
        std::vector<T> first;
        for (Row row = 0; row < rows; ++row)
          first.insert(first.end(), many.begin() + row * nrhs * bs,
                       many.begin() + (row * nrhs + 1) * bs);
        EXPECT_TRUE(same_bits(first, whole)) << nrhs;
      }
    }
  }
}

std::vector<double> random_blocks(int bs, int count, unsigned seed)
{
  std::mt19937 generator(seed);
  std::vector<double> blocks(static_cast<std::size_t>(bs) * bs * count);
  for (double &v : blocks) // These contain ties, zeros and denormals of the 16-bit formats.
    v = std::ldexp(static_cast<double>(generator() % 8193) - 4096,
                   -static_cast<int>(generator() % 40));
  return blocks;
}

INSTANTIATE_TEST_SUITE_P(Kernels, EveryTarget, testing::ValuesIn(targets()),
                         [](const auto &target) {
                           return std::string(hwy::TargetName(target.param));
                         });

} // namespace

TEST_P(EveryTarget, float_products_agree_with_the_plain_ones)
{
  products_agree_with_the_plain_ones<float>();
}

TEST_P(EveryTarget, double_products_agree_with_the_plain_ones)
{
  products_agree_with_the_plain_ones<double>();
}

TEST_P(EveryTarget, sums_depend_on_the_row_alone)
{
  sums_have_the_same_bits_everywhere<float>();
  sums_have_the_same_bits_everywhere<double>();
}

TEST_P(EveryTarget, long_rows_of_single_numbers_are_summed_whole)
{
  // The rows are longer than any buffer of decoded numbers, and a row begins inside a buffer.
  for (const auto storage : kAll) {
    Problem problem(storage, 1, 4);
    const double one = 1;
    std::vector<std::byte> record(record_bytes(storage, 1));
    ASSERT_TRUE(encode_block(storage, 1, &one, record.data()));
    problem.ptr[0] = {0, 3, 1500, 1500, 2600};
    problem.col[0].resize(2600);
    problem.records[0].clear();
    for (std::size_t k = 0; k < problem.col[0].size(); ++k) {
      problem.col[0][k] = static_cast<Row>(k % 6);
      problem.records[0].insert(problem.records[0].end(), record.begin(), record.end());
    }
    const auto sums = run<double>(simd_kernels(), problem, 2, {0, 4}, 0, 1),
               expected = run<double>(plain_kernels(), problem, 2, {0, 4}, 0, 1);
    for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_NEAR(sums[i], expected[i], 1e-10);
  }
}

TEST_P(EveryTarget, double_storage_needs_double_vectors)
{
  for (const int bs : kSizes) {
    EXPECT_EQ(simd_kernels().product(PC_MCPI_PRECISION_FP64, false, bs).run, nullptr);
    EXPECT_EQ(plain_kernels().product(PC_MCPI_PRECISION_FP64, false, bs).run, nullptr);
  }
}

TEST_P(EveryTarget, records_are_the_plain_ones_bit_for_bit)
{
  for (const auto storage : kAll)
    for (const int bs : kSizes) {
      const int count = bs > 33 ? 2 : 5;
      const auto size = record_bytes(storage, bs) * count;
      auto blocks = random_blocks(bs, count, 11);
      std::fill_n(blocks.begin() + static_cast<std::ptrdiff_t>(bs) * bs, bs * bs, 0.0);
      for (const double factor : {1.0, 1e-300, 1e-40, -1e-7, 3.0}) {
        SCOPED_TRACE(testing::Message()
                     << "storage " << storage << " bs " << bs << " factor " << factor);
        auto scaled = blocks;
        for (double &v : scaled) v *= factor;
        const std::unique_ptr<std::byte[]> simd(new std::byte[size]),
            plain(new std::byte[size]); // the exact size, to find writes past the end
        EXPECT_EQ(simd_kernels().encode(storage, bs, scaled.data(), count, simd.get()), -1);
        EXPECT_EQ(plain_kernels().encode(storage, bs, scaled.data(), count, plain.get()), -1);
        EXPECT_EQ(std::memcmp(simd.get(), plain.get(), size), 0);
      }
    }
}

TEST_P(EveryTarget, encode_names_the_first_block_that_does_not_fit)
{
  for (const auto storage : kAll)
    for (const int bs : {1, 2, 3, 4, 5, 8, 9, 16, 17, 33, 65}) {
      const auto good = random_blocks(bs, 4, 5);
      std::vector<std::byte> records(record_bytes(storage, bs) * 4);
      const std::size_t n = static_cast<std::size_t>(bs) * bs;
      for (const double bad :
           {kNaN, kInf, -kInf, storage == PC_MCPI_PRECISION_FP16 ? 65520.0 : kInf})
        for (const std::size_t place : {std::size_t{0}, n / 2, n - 1}) {
          auto blocks = good;
          blocks[n + place] = bad;
          blocks[3 * n + place] = bad;
          EXPECT_EQ(simd_kernels().encode(storage, bs, blocks.data(), 4, records.data()), 1)
              << storage << " bs " << bs << " value " << bad;
          EXPECT_EQ(plain_kernels().encode(storage, bs, blocks.data(), 4, records.data()), 1);
        }
    }
}

// Infinities are what conversions of such numbers give, but not without an exception.
TEST_P(EveryTarget, encoding_numbers_that_are_too_large_raises_no_exception)
{
  std::feclearexcept(FE_ALL_EXCEPT);
  for (const auto storage : kAll)
    for (const int bs : {1, 2, 3, 5, 8, 9, 17}) {
      if (storage == PC_MCPI_PRECISION_FP64) continue;
      std::vector<std::byte> records(record_bytes(storage, bs) * 2);
      for (const double large : {0x1.ffffffp127, -0x1.ffffffp127, 1e300}) {
        auto blocks = random_blocks(bs, 2, 5);
        blocks.back() = large;
        for (const CpuKernels &kernels : {simd_kernels(), plain_kernels()})
          EXPECT_EQ(kernels.encode(storage, bs, blocks.data(), 2, records.data()), 1)
              << storage << " bs " << bs << " value " << large;
      }
    }
  EXPECT_EQ(std::fetestexcept(kTrapped), 0);
  std::vector<std::byte> record(sizeof(float));
  for (const CpuKernels &kernels : {simd_kernels(), plain_kernels()})
    for (const double large : {0x1.fffffefffffffp127, 0x1.ffffffp127}) // rounds down, rounds up
      EXPECT_EQ(kernels.encode(PC_MCPI_PRECISION_FP32, 1, &large, 1, record.data()),
                large < 0x1.ffffffp127 ? -1 : 0);
}

TEST_P(EveryTarget, premultiply_agrees_with_the_plain_one_and_raises_the_maxima)
{
  for (const int bs : kSizes) {
    SCOPED_TRACE(bs);
    const std::size_t n = static_cast<std::size_t>(bs) * bs;
    const int count = 3;
    const auto left = random_blocks(bs, 1, 1), in = random_blocks(bs, count, 2);
    const std::vector<double> right(in.begin(), in.begin() + bs);
    std::vector<const double *> pointers;
    std::vector<std::unique_ptr<double[]>> exact; // blocks of exactly their size
    for (int k = 0; k < count; ++k) {
      exact.emplace_back(new double[n]);
      std::copy_n(in.begin() + static_cast<std::ptrdiff_t>(k * n), n, exact.back().get());
      pointers.push_back(exact.back().get());
    }
    std::vector<double> out(n * count, kNaN), expected(n * count, kNaN), maxima(n, 0.0),
        expected_maxima(n, 0.0), bound(n * count);
    maxima[n - 1] = 1e300;
    EXPECT_TRUE(simd_kernels().premultiply(bs, left.data(), right.data(), pointers.data(), count,
                                           out.data(), maxima.data()));
    EXPECT_TRUE(plain_kernels().premultiply(bs, left.data(), right.data(), pointers.data(), count,
                                            expected.data(), expected_maxima.data()));
    for (int k = 0; k < count; ++k)
      for (int q = 0; q < bs; ++q)
        for (int p = 0; p < bs; ++p) {
          double magnitude = 0;
          for (int l = 0; l < bs; ++l)
            magnitude += std::abs(left[l * bs + p] * pointers[k][q * bs + l] * right[q]);
          const std::size_t i = k * n + q * bs + p;
          ASSERT_LE(std::abs(out[i] - expected[i]), magnitude * bs * 1e-15);
        }
    for (std::size_t i = 0; i < n; ++i) {
      double largest = i == n - 1 ? 1e300 : 0.0;
      for (int k = 0; k < count; ++k) largest = std::max(largest, std::abs(out[k * n + i]));
      EXPECT_EQ(maxima[i], largest) << i;
    }
  }
}

TEST_P(EveryTarget, premultiply_never_loses_what_is_not_finite)
{
  for (const int bs : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33, 64, 65}) {
    const std::size_t n = static_cast<std::size_t>(bs) * bs;
    const auto left = std::vector<double>(n, 0.5);
    std::vector<double> right(bs, 1.0), in(3 * n, 0.25), out(3 * n), maxima(n, 0.0);
    const double *const pointers[] = {in.data(), in.data() + n, in.data() + 2 * n};
    const auto good = [&] {
      return simd_kernels().premultiply(bs, left.data(), right.data(), pointers, 3, out.data(),
                                        maxima.data());
    };
    EXPECT_TRUE(good());
    for (const std::size_t place : {std::size_t{0}, n - 1, n + n / 2, 2 * n - 1, 3 * n - 1}) {
      in[place] = kNaN;
      EXPECT_FALSE(good()) << "bs " << bs << " place " << place;
      in[place] = kInf;
      EXPECT_FALSE(good()) << "bs " << bs << " place " << place;
      in[place] = 0.25;
      std::fill(maxima.begin(), maxima.end(), 0.0);
    }
    // This NaN affects only one row of the result.
    auto single = left;
    single[n - 1] = kNaN;
    EXPECT_FALSE(simd_kernels().premultiply(bs, single.data(), right.data(), pointers, 3,
                                            out.data(), maxima.data()));
  }
}
