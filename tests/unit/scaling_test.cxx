// Tests that scales are exact, reach the best balance that is possible, and use the range of fp16
// without leaving it.
#include "core/scaling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/system.h"

namespace mcpi::test {
namespace {

constexpr double kFp16Max = 65504.0;

bool is_power_of_two(double value)
{
  int exponent;
  return std::isfinite(value) && value > 0.0 && std::frexp(value, &exponent) == 0.5;
}

double largest_offdiagonal(int bs, const Vector &maxima, const Vector &s)
{
  double largest = 0.0;
  for (int q = 0; q < bs; ++q)
    for (int p = 0; p < bs; ++p)
      if (p != q) largest = std::max(largest, maxima[p + q * bs] * s[q] / s[p]);
  return largest;
}

// A lower bound for the largest entry after any scaling: the largest geometric mean of the
// off-diagonal entries along a cycle (Karp's algorithm)
double largest_cycle_mean(int bs, const Vector &maxima)
{
  // best[k][v]: the largest weight of a walk of k edges to v
  std::vector<Vector> best(bs + 1, Vector(bs, -kInf));
  std::fill(best[0].begin(), best[0].end(), 0.0);
  for (int k = 1; k <= bs; ++k)
    for (int q = 0; q < bs; ++q)
      for (int p = 0; p < bs; ++p)
        if (p != q && maxima[p + q * bs] > 0.0)
          best[k][q] = std::max(best[k][q], best[k - 1][p] + std::log2(maxima[p + q * bs]));
  double mean = -kInf;
  for (int v = 0; v < bs; ++v) {
    if (best[bs][v] == -kInf) continue;
    double least = kInf;
    for (int k = 0; k < bs; ++k)
      if (best[k][v] > -kInf) least = std::min(least, (best[bs][v] - best[k][v]) / (bs - k));
    mean = std::max(mean, least);
  }
  return std::exp2(mean);
}

Vector random_maxima(int bs, unsigned seed)
{
  Vector maxima = random_vector(static_cast<std::size_t>(bs) * bs, seed);
  for (double &value : maxima) value = std::pow(10.0, value); // 0.1 to 10
  return maxima;
}

// Multiplies the maxima by unit[p] / unit[q], as other units of the unknowns do with D^{-1}O.
void change_units(int bs, Vector &maxima, const Vector &unit)
{
  for (int q = 0; q < bs; ++q)
    for (int p = 0; p < bs; ++p) maxima[p + q * bs] *= unit[p] / unit[q];
}

Vector random_units(int bs, unsigned seed, double decades)
{
  Vector unit = random_vector(bs, seed);
  for (double &value : unit) value = std::pow(10.0, decades * value);
  return unit;
}

// The largest and the smallest of left[p] * maxima(p,q) * right[q]
std::pair<double, double> scaled_range(int bs, const Scales &scales, const Vector &maxima)
{
  double largest = 0.0, least = kInf;
  for (int q = 0; q < bs; ++q)
    for (int p = 0; p < bs; ++p) {
      const double value = scales.left[p] * maxima[p + q * bs] * scales.right[q];
      largest = std::max(largest, value);
      if (maxima[p + q * bs] > 0.0) least = std::min(least, value);
    }
  return {largest, least};
}

Vector balanced(int bs, const Vector &maxima)
{
  Vector s(bs);
  Balancing(bs).compute(maxima, s);
  return s;
}

Scales scales_for(PCMCPIForm form, PCMCPIPrecision storage, int bs, const Vector &maxima)
{
  Scales scales = unit_scales(bs);
  ScaleMethods methods(bs);
  compute_scales(form, storage, bs, maxima, methods, scales);
  return scales;
}

class Balancing : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(BlockSizes, Balancing, testing::Values(1, 2, 3, 4, 5, 8, 17, 64));

TEST_P(Balancing, reaches_nearly_the_least_maximum_in_any_units)
{
  const int bs = GetParam();
  for (unsigned seed = 1; seed <= 10; ++seed) {
    Vector maxima = random_maxima(bs, seed);
    const double least = bs > 1 ? largest_cycle_mean(bs, maxima) : 0.0;
    change_units(bs, maxima, random_units(bs, seed + 50, 10.0));
    const Vector s = balanced(bs, maxima);
    EXPECT_TRUE(std::all_of(s.begin(), s.end(), is_power_of_two));
    EXPECT_LE(largest_offdiagonal(bs, maxima, s), 4.0 * least);
  }
}

// The components form a chain: each couples to the next one. The factor of one end depends on all
// components up to the other end.
TEST_P(Balancing, of_a_chain_in_bad_units_leaves_no_large_couplings)
{
  const int bs = GetParam();
  Vector maxima(static_cast<std::size_t>(bs) * bs, 0.0);
  for (int p = 0; p < bs; ++p)
    for (const int q : {p - 1, p, p + 1})
      if (q >= 0 && q < bs) maxima[p + q * bs] = 1.0;
  change_units(bs, maxima, random_units(bs, 3, 6.0));
  EXPECT_LE(largest_offdiagonal(bs, maxima, balanced(bs, maxima)), 8.0);
}

TEST_P(Balancing, does_not_depend_on_powers_of_two_in_the_units)
{
  const int bs = GetParam();
  const Vector base = random_maxima(bs, 7);
  Vector unit = random_vector(bs, 8), maxima = base;
  for (double &value : unit) value = std::exp2(std::round(30.0 * value));
  change_units(bs, maxima, unit);
  const double plain = largest_offdiagonal(bs, base, balanced(bs, base)),
               other = largest_offdiagonal(bs, maxima, balanced(bs, maxima));
  EXPECT_LE(other, 4.0 * plain);
  EXPECT_LE(plain, 4.0 * other);
}

// A component in small units reads the others, and none of them reads it. Other cases have the
// opposite direction, and chains of such components.
TEST(Balancing, of_one_way_coupling_keeps_everything_in_range)
{
  const double u = 1e12;
  const Vector cases[] = {
      {1, 1, u, 1, 1, u, 0, 0, 1},                      // the last one reads
      {1, 1, 0, 1, 1, 0, u, u, 1},                      // the last one is read
      {1, u, 0, 1},                                     // two components
      {1, u, 0, 0, 1, u, 0, 0, 1},                      // 1 reads 0, and 2 reads 1
      {1, 1, u, u, 1, 1, u, u, 0, 0, 1, 1, 0, 0, 1, 1}, // two of four read the other two
  };
  for (const Vector &maxima : cases) {
    const int bs = static_cast<int>(std::lround(std::sqrt(maxima.size())));
    const Scales scales = scales_for(PC_MCPI_FORM_PRESCALED, PC_MCPI_PRECISION_FP16, bs, maxima);
    const auto [largest, least] = scaled_range(bs, scales, maxima);
    EXPECT_LT(largest / least, 1e4) << testing::PrintToString(maxima);
  }
}

// Components without couplings get factors like those of the others. Otherwise their factors would
// be 1, far from all the others.
TEST(Equilibration, of_components_without_couplings_follows_the_others)
{
  for (const double unit : {1e-60, 1e60}) {
    const Scales scales = scales_for(PC_MCPI_FORM_FACTORED, PC_MCPI_PRECISION_FP32, 3,
                                     {unit, 0.0, unit, 0.0, 0.0, 0.0, unit, 0.0, unit});
    for (const Vector &factors : {scales.left, scales.right}) {
      EXPECT_TRUE(is_power_of_two(factors[1]));
      EXPECT_EQ(factors[1], factors[0]) << unit;
    }
    EXPECT_NEAR(std::log2(scales.left[1] * unit * scales.right[1]), 0.0, 2.0);
  }
}

TEST(Balancing, leaves_zeros_alone)
{
  const Vector s = balanced(3, Vector(9, 0.0));
  EXPECT_EQ(s, Vector(3, 1.0));
  for (const PCMCPIForm form : kForms)
    for (const PCMCPIPrecision storage : kStorages) {
      const Scales scales = scales_for(form, storage, 3, Vector(9, 0.0));
      EXPECT_EQ(scales.left, Vector(3, 1.0));
      EXPECT_EQ(scales.right, Vector(3, 1.0));
      EXPECT_EQ(scales.alpha, 1.0);
    }
}

// diag(left) P diag(right) times alpha is the true product in scaled variables. Each factor is a
// power of two, and is therefore exact.
TEST(Scales, are_powers_of_two_that_undo_each_other)
{
  for (const int bs : {1, 2, 5, 9})
    for (const PCMCPIForm form : kForms)
      for (const PCMCPIPrecision storage : kStorages)
        for (const double size : {1e-9, 1.0, 1e9}) {
          Vector maxima = random_maxima(bs, 11);
          for (double &value : maxima) value *= size;
          change_units(bs, maxima, random_units(bs, 12, 5.0));
          const Scales scales = scales_for(form, storage, bs, maxima);
          ASSERT_EQ(scales.left.size(), static_cast<std::size_t>(bs));
          ASSERT_EQ(scales.right.size(), static_cast<std::size_t>(bs));
          EXPECT_TRUE(std::all_of(scales.left.begin(), scales.left.end(), is_power_of_two));
          EXPECT_TRUE(std::all_of(scales.right.begin(), scales.right.end(), is_power_of_two));
          EXPECT_TRUE(is_power_of_two(scales.alpha));
          for (int p = 0; p < bs && form == PC_MCPI_FORM_PRESCALED; ++p)
            EXPECT_EQ(scales.alpha * scales.left[p] * scales.right[p], 1.0);
          if (form == PC_MCPI_FORM_FACTORED) {
            EXPECT_EQ(scales.alpha, 1.0);
          }
        }
}

// The range of the normal fp16 numbers must have room for the entries, and for their growth until
// the scales are computed again.
TEST(Scales, of_fp16_leave_room_for_growth)
{
  for (const PCMCPIForm form : kForms)
    for (const double size : {1e-100, 1e-9, 1e-3, 1.0, 100.0, 1e4, 1e5, 1e9, 1e100}) {
      const int bs = 4;
      Vector maxima = random_maxima(bs, 21);
      for (double &value : maxima) value *= size;
      const Scales scales = scales_for(form, PC_MCPI_PRECISION_FP16, bs, maxima);
      const auto [largest, least] = scaled_range(bs, scales, maxima);
      EXPECT_LE(4.0 * largest, kFp16Max) << size;
      EXPECT_GE(least, 6.1e-5) << size; // a normal fp16 number
    }
}

// Couplings of 1e-310 may be treated as none, but must not cause a failure.
TEST(Scales, stay_finite_for_denormal_and_huge_maxima)
{
  for (const PCMCPIForm form : kForms)
    for (const double value : {5e-324, 1e-310, 1e-305, 1e300, 1.7e308}) {
      const Scales scales = scales_for(form, PC_MCPI_PRECISION_FP16, 1, {value});
      for (const double factor : {scales.left[0], scales.right[0], scales.alpha})
        EXPECT_TRUE(is_power_of_two(factor)) << value << " form " << form << ": " << factor;
      EXPECT_LE(scales.left[0] * value * scales.right[0], kFp16Max);
    }
}

TEST(Scales, have_moved_only_beyond_a_factor_of_four)
{
  Scales before = unit_scales(3);
  EXPECT_FALSE(scales_moved(before, before));
  for (const bool left : {true, false})
    for (int p = 0; p < 3; ++p)
      for (const double factor : {0.125, 0.25, 0.5, 2.0, 4.0, 8.0}) {
        Scales after = before;
        (left ? after.left : after.right)[p] = factor;
        EXPECT_EQ(scales_moved(before, after), factor < 0.25 || factor > 4.0);
        EXPECT_EQ(scales_moved(after, before), factor < 0.25 || factor > 4.0);
      }
}

} // namespace
} // namespace mcpi::test
