// Compares the inverses of diagonal blocks with an elimination with complete pivoting in long
// double.
#include "core/dense.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "support/dense.h"
#include "support/models.h"

namespace mcpi::test {
namespace {

const int kSizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 32, 33, 64, 65, 100};

Inversion inverted(int bs, const Vector &block, Vector &inverse)
{
  inverse.assign(block.size(), kNaN);
  Vector work(3 * static_cast<std::size_t>(bs), kNaN);
  std::vector<std::int64_t> pivot(bs, -1);
  const Vector before = block;
  const Inversion outcome = invert(bs, block.data(), inverse.data(), work.data(), pivot.data());
  EXPECT_TRUE(same_bits(block, before)) << "the block itself was changed";
  return outcome;
}

// A well-conditioned block whose elimination needs pivoting
Vector good_block(int bs, unsigned seed)
{
  Vector block = random_vector(static_cast<std::size_t>(bs) * bs, seed);
  for (double &value : block) value *= 0.5 / bs;
  for (int i = 0; i < bs; ++i)
    block[static_cast<std::size_t>(i) * bs + (i + 1) % bs] += i % 3 ? 1.0 : -2.0;
  return block;
}

void scale(Vector &block, int bs, const Vector &row, const Vector &column)
{
  for (int j = 0; j < bs; ++j)
    for (int i = 0; i < bs; ++i) block[static_cast<std::size_t>(j) * bs + i] *= row[i] * column[j];
}

// The largest error of inverse(i,j) * row[j] * column[i]. With these factors, the errors are those
// of an unscaled block with entries near 1.
double scaled_error(int bs, const Vector &inverse, const LongVector &exact, const Vector &row,
                    const Vector &column)
{
  long double error = 0.0L, largest = 0.0L;
  for (int j = 0; j < bs; ++j)
    for (int i = 0; i < bs; ++i) {
      const std::size_t k = static_cast<std::size_t>(j) * bs + i;
      const long double units = static_cast<long double>(row[j]) * column[i];
      largest = std::max(largest, std::fabs(exact[k] * units));
      if (!std::isfinite(inverse[k])) return kInf;
      error = std::max(error, std::fabs((inverse[k] - exact[k]) * units));
    }
  return static_cast<double>(error / largest);
}

class Inverse : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(BlockSizes, Inverse, testing::ValuesIn(kSizes));

TEST_P(Inverse, is_accurate_for_well_conditioned_blocks)
{
  const int bs = GetParam();
  const Vector one(bs, 1.0);
  Vector inverse;
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const Vector block = good_block(bs, seed);
    ASSERT_EQ(inverted(bs, block, inverse), Inversion::done);
    EXPECT_LT(scaled_error(bs, inverse, exact_inverse(bs, block), one, one), 1e-14 * (10 + bs));
  }
}

// The units of equations and unknowns must not cost any digit, nor make a regular block singular.
TEST_P(Inverse, does_not_depend_on_units)
{
  const int bs = GetParam();
  Vector inverse, row(bs), column(bs);
  for (unsigned seed = 1; seed <= 5; ++seed) {
    Vector block = good_block(bs, seed);
    const Vector u = random_vector(bs, seed + 10), v = random_vector(bs, seed + 20);
    for (int i = 0; i < bs; ++i) {
      row[i] = std::pow(10.0, 6.0 * u[i]);
      column[i] = std::pow(10.0, 6.0 * v[i]);
    }
    scale(block, bs, row, column);
    ASSERT_EQ(inverted(bs, block, inverse), Inversion::done);
    EXPECT_LT(scaled_error(bs, inverse, exact_inverse(bs, block), row, column), 1e-14 * (10 + bs));
  }
}

TEST_P(Inverse, of_tiny_and_huge_blocks_is_accurate)
{
  const int bs = GetParam();
  const Vector one(bs, 1.0);
  for (const double factor : {1e-300, 1e-150, 1e150, 1e300}) {
    Vector block = good_block(bs, 3), inverse;
    scale(block, bs, one, Vector(bs, factor));
    ASSERT_EQ(inverted(bs, block, inverse), Inversion::done) << factor;
    EXPECT_LT(scaled_error(bs, inverse, exact_inverse(bs, block), one, one), 1e-14 * (10 + bs))
        << factor;
  }
}

// Rows have units of 1e-160 and columns have units of 1e160. The factors of the inverse overflow,
// although the inverse does not.
TEST_P(Inverse, in_opposite_extreme_units_is_accurate)
{
  const int bs = GetParam();
  for (const double unit : {1e-160, 1e160}) {
    Vector block = good_block(bs, 4), inverse;
    const Vector row(bs, unit), column(bs, 1.0 / unit);
    scale(block, bs, row, column);
    ASSERT_EQ(inverted(bs, block, inverse), Inversion::done);
    EXPECT_LT(scaled_error(bs, inverse, exact_inverse(bs, block), row, column), 1e-14 * (10 + bs));
  }
}

TEST_P(Inverse, of_zero_row_or_column_or_block_is_singular)
{
  const int bs = GetParam();
  Vector inverse;
  EXPECT_EQ(inverted(bs, Vector(static_cast<std::size_t>(bs) * bs, 0.0), inverse),
            Inversion::singular);
  for (const int k : {0, bs / 2, bs - 1}) {
    Vector no_row = good_block(bs, 5), no_column = no_row;
    for (int i = 0; i < bs; ++i)
      no_row[static_cast<std::size_t>(i) * bs + k] =
          no_column[static_cast<std::size_t>(k) * bs + i] = 0.0;
    EXPECT_EQ(inverted(bs, no_row, inverse), Inversion::singular);
    EXPECT_EQ(inverted(bs, no_column, inverse), Inversion::singular);
  }
}

// The unknowns whose rows and columns are zero have none in the inverse either.
TEST_P(Inverse, of_the_unknowns_that_are_not_empty_is_theirs)
{
  const int bs = GetParam();
  for (const int from : {0, 1, bs - 1})
    for (const double unit : {1e-200, 1.0, 1e200}) {
      BlockMatrix matrix = make_matrix(bs, diagonal_pattern(1));
      std::vector<Row> unknowns;
      for (int i = from; i < bs; i += 1 + i % 3) unknowns.push_back(i);
      empty_unknowns(matrix, unknowns, 1.0);
      LongVector exact = exact_inverse(bs, matrix.values);
      const std::vector<std::uint8_t> flags = flags_of(matrix, unknowns);
      for (const Row i : unknowns) exact[static_cast<std::size_t>(i) * bs + i] = 0.0L;
      empty_unknowns(matrix, unknowns);
      Vector block = matrix.values, inverse(block.size(), kNaN),
             work(3 * static_cast<std::size_t>(bs), kNaN);
      std::vector<std::int64_t> pivot(bs, -1);
      for (double &value : block) value *= unit;
      ASSERT_EQ(
          invert_rest(bs, block.data(), flags.data(), inverse.data(), work.data(), pivot.data()),
          Inversion::done);
      for (std::size_t n = 0; n < block.size(); ++n) {
        EXPECT_NEAR(inverse[n] * unit, static_cast<double>(exact[n]), 1e-13 * (10 + bs));
        if (flags[n / bs] || flags[n % bs]) {
          EXPECT_EQ(inverse[n], 0.0);
        }
      }
    }
}

TEST_P(Inverse, of_a_zero_row_that_is_not_empty_is_singular)
{
  const int bs = GetParam();
  if (bs == 1) return;
  BlockMatrix matrix = make_matrix(bs, diagonal_pattern(1));
  empty_unknowns(matrix, {0, bs - 1});
  const std::vector<std::uint8_t> flags = flags_of(matrix, {0}), none = flags_of(matrix, {});
  Vector inverse(matrix.values.size()), work(3 * static_cast<std::size_t>(bs));
  std::vector<std::int64_t> pivot(bs);
  for (const std::uint8_t *some : {flags.data(), none.data(), (const std::uint8_t *)nullptr})
    EXPECT_EQ(
        invert_rest(bs, matrix.values.data(), some, inverse.data(), work.data(), pivot.data()),
        Inversion::singular);
}

// Entries are integers and units are powers of two, so one row or column is exactly the sum of two
// others.
TEST_P(Inverse, of_rank_deficient_block_is_singular)
{
  const int bs = GetParam();
  if (bs == 1) return; // A zero block is tested above.
  // Many seeds are needed, because few of these blocks keep a large last pivot after rounding.
  const unsigned seeds = bs < 32 ? 2000 : 300;
  int missed = 0;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    Vector block = random_vector(static_cast<std::size_t>(bs) * bs, seed), inverse;
    const Vector u = random_vector(bs, seed + 100), v = random_vector(bs, seed + 200);
    for (double &value : block) value = std::round(9.0 * value);
    const int last = static_cast<int>(seed) % bs, first = (last + 1) % bs,
              second = (last + 2 + static_cast<int>(seed) / 7 % bs) % bs;
    for (int k = 0; k < bs; ++k) {
      const auto at = [&](int i) -> double & {
        return block[static_cast<std::size_t>(seed % 2 ? i * bs + k : k * bs + i)];
      };
      at(last) = at(first) + (second == last ? 0.0 : at(second));
    }
    const double unit = seed % 4 < 2 ? 0.0 : 20.0;
    Vector row(bs), column(bs);
    for (int i = 0; i < bs; ++i)
      row[i] = std::exp2(std::round(unit * u[i])), column[i] = std::exp2(std::round(unit * v[i]));
    scale(block, bs, row, column);
    missed += inverted(bs, block, inverse) != Inversion::singular;
  }
  EXPECT_EQ(missed, 0) << "of " << seeds;
}

TEST(InverseOfThree, with_dependent_columns_is_singular)
{
  Vector inverse;
  EXPECT_EQ(inverted(3, {-6, -8, 5, 5, 7, 6, -1, -1, 11}, inverse), Inversion::singular);
}

TEST_P(Inverse, of_nonfinite_block_is_named_so)
{
  const int bs = GetParam();
  const std::size_t size = static_cast<std::size_t>(bs) * bs;
  Vector inverse;
  for (const double bad : {kNaN, kInf, -kInf})
    for (const std::size_t k : {std::size_t{0}, size / 2, size - 1}) {
      Vector block = good_block(bs, 6);
      block[k] = bad;
      EXPECT_EQ(inverted(bs, block, inverse), Inversion::nonfinite);
    }
  Vector zeros(size, 0.0);
  zeros[size - 1] = kNaN;
  EXPECT_EQ(inverted(bs, zeros, inverse), Inversion::nonfinite);
}

TEST(InverseOfOne, tiny_is_regular_unless_its_reciprocal_overflows)
{
  Vector inverse;
  for (const double a : {1e-300, -1e-300, 1e-307, 1e300, -1.7e308, 3.0}) {
    ASSERT_EQ(inverted(1, {a}, inverse), Inversion::done) << a;
    EXPECT_NEAR(inverse[0] * a, 1.0, 1e-15) << a;
  }
  EXPECT_EQ(inverted(1, {0.0}, inverse), Inversion::singular);
  EXPECT_EQ(inverted(1, {-0.0}, inverse), Inversion::singular);
  EXPECT_EQ(inverted(1, {1e-310}, inverse), Inversion::singular);
}

// A nearly singular block is regular. Its inverse has the digits that its condition number leaves.
TEST(InverseOfTwo, nearly_singular_is_regular)
{
  Vector inverse;
  for (const double d : {0x1p-20, 0x1p-33, 0x1p-43}) {
    ASSERT_EQ(inverted(2, {1.0, 1.0, 1.0, 1.0 + d}, inverse), Inversion::done);
    EXPECT_NEAR(inverse[0] * d, 1.0 + d, 1e-15 / d);
    EXPECT_NEAR(inverse[1] * d, -1.0, 1e-15 / d);
  }
}

TEST_P(Inverse, products_of_block_and_vector_are_right)
{
  const int bs = GetParam();
  const Vector block = good_block(bs, 7), x = random_vector(bs, 8);
  Vector y(bs, kNaN), z(bs, kNaN);
  mcpi::multiply(bs, block.data(), x.data(), y.data());
  mcpi::multiply_transposed(bs, block.data(), x.data(), z.data());
  for (int i = 0; i < bs; ++i) {
    long double row = 0.0L, column = 0.0L;
    for (int j = 0; j < bs; ++j) {
      row += static_cast<long double>(block[static_cast<std::size_t>(j) * bs + i]) * x[j];
      column += static_cast<long double>(block[static_cast<std::size_t>(i) * bs + j]) * x[j];
    }
    EXPECT_NEAR(y[i], static_cast<double>(row), 1e-14);
    EXPECT_NEAR(z[i], static_cast<double>(column), 1e-14);
  }
}

} // namespace
} // namespace mcpi::test
