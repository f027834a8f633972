// Compares solutions by sparse factors of diagonal blocks with exact inverses.
#include "core/sparse_factors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/dense.h"
#include "support/models.h"

namespace mcpi::test {
namespace {

constexpr double kShares[] = {0.02, 0.1, 0.3, 1.0};

// A block with this share of entries, whose elimination needs pivoting
Vector sparse_block(int bs, double share, std::uint64_t seed)
{
  Vector block = random_vector(static_cast<std::size_t>(bs) * bs, seed);
  const Vector draw = random_vector(block.size(), seed + 1);
  for (std::size_t k = 0; k < block.size(); ++k)
    block[k] = 0.5 * (draw[k] + 1.0) < share ? 0.5 * block[k] / (share * bs) : 0.0;
  for (int i = 0; i < bs; ++i)
    block[static_cast<std::size_t>(i) * bs + (i + 1) % bs] += i % 3 ? 1.0 : -2.0;
  return block;
}

class SparseFactorsOf : public testing::TestWithParam<int> {
protected:
  int bs() const { return GetParam(); }
  Inversion factored(const Vector &block, const std::uint8_t *empty = nullptr)
  {
    factors_.clear();
    return factors_.add(block.data(), empty);
  }
  Vector solution(std::size_t block, bool transposed, Vector right_side) const
  {
    Vector x(right_side.size(), kNaN);
    factors_.solve(block, transposed, right_side.data(), x.data());
    return x;
  }
  // Whether the block has an inverse that can be used. The factors must have found one, too.
  bool regular(const Vector &block)
  {
    Vector inverse(block.size()), work(3 * static_cast<std::size_t>(bs()));
    std::vector<std::int64_t> pivot(bs());
    if (invert(bs(), block.data(), inverse.data(), work.data(), pivot.data()) != Inversion::done)
      return false;
    EXPECT_EQ(factored(block), Inversion::done);
    return true;
  }
  // The error beside the exact solution
  double error(const Vector &block, std::size_t number, bool transposed) const
  {
    const LongVector inverse = exact_inverse(bs(), block);
    const Vector b = random_vector(bs(), 9);
    Vector expected(bs());
    for (int i = 0; i < bs(); ++i) {
      long double sum = 0.0L;
      for (int j = 0; j < bs(); ++j)
        sum += inverse[static_cast<std::size_t>(transposed ? i * bs() + j : j * bs() + i)] * b[j];
      expected[i] = static_cast<double>(sum);
    }
    return difference(solution(number, transposed, b), expected);
  }
  SparseFactors factors_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Sizes, SparseFactorsOf, testing::Values(1, 2, 5, 33, 80),
                         testing::PrintToStringParamName());

TEST_P(SparseFactorsOf, several_blocks_solve_with_each_and_with_its_transpose)
{
  std::size_t number = 0;
  for (const double share : kShares)
    ASSERT_EQ(factors_.add(sparse_block(bs(), share, 3).data(), nullptr), Inversion::done);
  for (const double share : kShares) {
    for (const bool transposed : {false, true})
      EXPECT_LT(error(sparse_block(bs(), share, 3), number, transposed), 1e-13) << share;
    ++number;
  }
}

TEST_P(SparseFactorsOf, blocks_in_any_units_solve_with_them)
{
  int used = 0;
  for (const double share : kShares)
    for (const double exponent : {300.0, -300.0, 20.0}) {
      Vector block = sparse_block(bs(), share, 5);
      const Vector row = random_vector(bs(), 6), column = random_vector(bs(), 7);
      for (int j = 0; j < bs(); ++j)
        for (int i = 0; i < bs(); ++i)
          block[static_cast<std::size_t>(j) * bs() + i] *=
              std::pow(10.0, exponent > 100 || exponent < 0 ? exponent / 2 * (row[i] + 1.0)
                                                            : exponent * (row[i] + column[j]));
      if (!regular(block)) continue;
      ++used;
      for (const bool transposed : {false, true}) {
        const Vector b = random_vector(bs(), 9), x = solution(0, transposed, b);
        for (int i = 0; i < bs(); ++i) {
          long double sum = -b[i], terms = std::fabs(b[i]);
          for (int j = 0; j < bs(); ++j) {
            const auto at = static_cast<std::size_t>(transposed ? i * bs() + j : j * bs() + i);
            const long double term = static_cast<long double>(block[at]) * x[j];
            sum += term;
            terms += std::fabs(term);
          }
          EXPECT_LT(std::fabs(sum), 1e-10L * terms) << share << " " << exponent;
        }
      }
    }
  EXPECT_GE(used, 8);
}

TEST_P(SparseFactorsOf, stiff_blocks_have_small_residuals)
{
  if (bs() == 1) return;
  for (const double stiffness : {1e6, 1e10, 1e13}) {
    // A direction that is no axis couples all unknowns of a pair.
    Vector block = sparse_block(bs(), 0.1, 11);
    for (int i = 0; i + 1 < bs(); i += 2)
      for (const int p : {0, 1})
        for (const int q : {0, 1})
          block[static_cast<std::size_t>(i + q) * bs() + i + p] +=
              stiffness * (p ? 0.37 : -1.0) * (q ? 0.37 : -1.0);
    if (!regular(block)) {
      EXPECT_GT(stiffness, 1e12);
      continue;
    }
    const Vector b = random_vector(bs(), 9), x = solution(0, false, b);
    for (int i = 0; i < bs(); ++i) {
      double sum = -b[i], terms = std::fabs(b[i]);
      for (int j = 0; j < bs(); ++j) {
        const double term = block[static_cast<std::size_t>(j) * bs() + i] * x[j];
        sum += term;
        terms += std::fabs(term);
      }
      EXPECT_LT(std::fabs(sum), 1e-12 * std::max(1.0, terms)) << stiffness;
    }
  }
}

TEST_P(SparseFactorsOf, few_entries_are_few)
{
  const int n = bs();
  if (n < 33) return;
  // An arrow fills up if its head is eliminated first.
  Vector block(static_cast<std::size_t>(n) * n, 0.0);
  for (int i = 0; i < n; ++i) {
    block[static_cast<std::size_t>(i) * n] = block[static_cast<std::size_t>(i)] = 0.1;
    block[static_cast<std::size_t>(i) * n + i] = 2.0;
  }
  block[0] = 2.0 * n;
  ASSERT_EQ(factored(block), Inversion::done);
  const std::size_t own = sizeof(double) * block.size(); // work space
  EXPECT_LT(factors_.memory_bytes() - own, sizeof(double) * 20 * static_cast<std::size_t>(n));
}

TEST_P(SparseFactorsOf, singular_and_nonfinite_blocks_are_found)
{
  const auto size = static_cast<std::size_t>(bs()) * bs();
  EXPECT_EQ(factored(Vector(size, 0.0)), Inversion::singular);
  for (const double bad : {kNaN, kInf, -kInf}) {
    Vector block = sparse_block(bs(), 0.1, 3);
    block[size / 2] = bad;
    EXPECT_EQ(factored(block), Inversion::nonfinite);
  }
  if (bs() == 1) return;
  int missed = 0;
  // Solutions with the bands of small diagonals overflow.
  for (std::uint64_t seed = 1; seed <= 50 && bs() > 30; ++seed) {
    Vector band(size, 0.0);
    const Vector draw = random_vector(size, seed);
    for (int i = 0; i < bs(); ++i)
      for (int j = i; j < std::min(bs(), i + 4); ++j)
        band[static_cast<std::size_t>(j) * bs() + i] =
            draw[static_cast<std::size_t>(j) * bs() + i] * (i == j ? 1e-10 : 1.0);
    missed += factored(band) != Inversion::singular;
  }
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Vector block = sparse_block(bs(), seed % 2 ? 0.1 : 0.4, seed);
    for (double &number : block) number = std::round(64.0 * number);
    const int last = static_cast<int>(seed) % bs(), first = (last + 1) % bs();
    for (int k = 0; k < bs(); ++k)
      block[static_cast<std::size_t>(k) * bs() + last] =
          2.0 * block[static_cast<std::size_t>(k) * bs() + first];
    missed += factored(block) != Inversion::singular;
  }
  EXPECT_EQ(missed, 0);
}

TEST_P(SparseFactorsOf, blocks_after_a_bad_one_are_right)
{
  const Vector good = sparse_block(bs(), 0.1, 3), none(good.size(), 0.0);
  Vector bad = good;
  bad[0] = kNaN;
  EXPECT_EQ(factors_.add(bad.data(), nullptr), Inversion::nonfinite);
  EXPECT_EQ(factors_.add(none.data(), nullptr), Inversion::singular);
  EXPECT_EQ(factors_.add(good.data(), nullptr), Inversion::done);
  EXPECT_LT(error(good, 2, false), 1e-13);
}

TEST_P(SparseFactorsOf, unknowns_that_are_empty_stay_zero)
{
  BlockMatrix matrix = make_matrix(bs(), diagonal_pattern(1));
  const std::vector<Row> unknowns = {0, bs() - 1};
  const std::vector<std::uint8_t> flags = flags_of(matrix, unknowns);
  empty_unknowns(matrix, unknowns, 1.0);
  ASSERT_EQ(factored(matrix.values), Inversion::done);
  Vector b = random_vector(bs(), 4);
  for (const Row i : unknowns) b[i] = 0.0;
  const Vector expected = solution(0, false, b);
  empty_unknowns(matrix, unknowns);
  ASSERT_EQ(factored(matrix.values, flags.data()), Inversion::done);
  for (const Row i : unknowns) b[i] = 1.0;
  const Vector x = solution(0, false, b);
  for (int i = 0; i < bs(); ++i) EXPECT_NEAR(x[i], expected[i], 1e-14);
  EXPECT_EQ(factored(matrix.values), Inversion::singular) << "without the flags";
}

} // namespace
} // namespace mcpi::test
