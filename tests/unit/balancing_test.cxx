// Tests that balancing ends for every pattern of couplings. Its factors are finite powers of two,
// and the result is not worse than no scaling.
#include "core/balancing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/scaling.h"
#include "support/system.h"

namespace mcpi::test {
namespace {

Vector balanced(const Vector &maxima)
{
  const int bs = static_cast<int>(std::lround(std::sqrt(static_cast<double>(maxima.size()))));
  Vector s(static_cast<std::size_t>(bs), kNaN);
  Balancing(bs).compute(maxima, s);
  return s;
}

// log2 of the largest entry of diag(1/s) * maxima * diag(s). The entry itself may be outside the
// range of a double.
double largest_exponent(const Vector &maxima, const Vector &s)
{
  const std::size_t bs = s.size();
  double largest = -kInf;
  for (std::size_t q = 0; q < bs; ++q)
    for (std::size_t p = 0; p < bs; ++p)
      largest =
          std::max(largest, std::log2(maxima[p + q * bs]) + std::log2(s[q]) - std::log2(s[p]));
  return largest;
}

// Column-major maxima of D^{-1}O: of a reservoir (PETSc's snes/ex33), of the Jacobian of an SPE1
// case, with couplings of 1e-19, and of triangular systems
const Vector kReservoir = {
    2.40793299e-02, 3.52750064e-19, 5.18023282e-03, 2.28236999e-02, 0.5, 9.54934323e-01, 0, 0, 0.5};
const Vector kSpe1 = {0,
                      0,
                      0,
                      1.06647621e-10,
                      .997857795,
                      1.07306462e-03,
                      3.89894558e-05,
                      3.65923609e+05,
                      1.71804661e+03};
const Vector kOneTiny = {0.3, 1e-19, 0.005, 0.2, 0.5, 0.9, 0, 0, 0.5};
const Vector kTriangular = {0.5, 0, 0, 0.2, 0.5, 0, 0.3, 0.2, 0.5};
const Vector kOneReads = {0.5, 0.3, 0.2, 0.3, 0.5, 0.3, 0, 0, 0.5};

TEST(Balancing, leaves_couplings_without_a_way_back_as_they_are)
{
  for (const Vector &maxima : {kReservoir, kOneTiny, kTriangular, kOneReads})
    EXPECT_EQ(balanced(maxima), Vector(3, 1.0));
}

TEST(Balancing, brings_one_way_couplings_in_other_units_to_the_size_of_the_rest)
{
  for (const Vector &plain : {kReservoir, kOneTiny, kTriangular, kOneReads})
    for (const double unit : {1e-8, 1e-3, 1e3, 1e8})
      for (std::size_t component = 0; component < 3; ++component) {
        Vector maxima = plain;
        for (std::size_t k = 0; k < 3; ++k) {
          maxima[component + 3 * k] *= unit;
          maxima[k + 3 * component] /= unit;
        }
        EXPECT_LE(largest_exponent(maxima, balanced(maxima)),
                  largest_exponent(plain, Vector(3, 1.0)) + 2.0)
            << testing::PrintToString(plain) << " component " << component << " unit " << unit;
      }
}

TEST(Balancing, of_a_reservoir_takes_the_large_coupling_down)
{
  const Vector s = balanced(kSpe1);
  EXPECT_LE(largest_exponent(kSpe1, s), std::log2(4.0 * kSpe1[8]));
  EXPECT_LE(*std::max_element(s.begin(), s.end()) / *std::min_element(s.begin(), s.end()), 0x1p60);
}

// Sparse patterns with magnitudes from 1e-300 to 1e300. In most of them, components couple in one
// direction only, or the couplings in the other direction are lost in rounding.
class AnyPattern : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(BlockSizes, AnyPattern, testing::Values(1, 2, 3, 4, 5, 7, 16, 40));

Vector random_sparse(int bs, unsigned seed, double decades)
{
  const std::size_t size = static_cast<std::size_t>(bs) * static_cast<std::size_t>(bs);
  const Vector chance = random_vector(size, seed), magnitude = random_vector(size, seed + 1000);
  const double density = random_vector(1, seed + 2000)[0]; // -1 to 1
  Vector maxima(size, 0.0);
  for (std::size_t k = 0; k < size; ++k)
    if (chance[k] < density) maxima[k] = std::pow(10.0, decades * magnitude[k]);
  return maxima;
}

TEST_P(AnyPattern, is_balanced_by_finite_powers_of_two_and_no_worse_than_unscaled)
{
  for (const double decades : {1.0, 5.0, 20.0, 100.0, 300.0})
    for (unsigned seed = 1; seed <= 200; ++seed) {
      const Vector maxima = random_sparse(GetParam(), seed, decades), s = balanced(maxima);
      for (const double factor : s) {
        int exponent = 0;
        ASSERT_EQ(std::frexp(factor, &exponent), 0.5);
        ASSERT_LE(std::abs(exponent - 1), Balancing::kLargestExponent);
      }
      ASSERT_LE(largest_exponent(maxima, s), largest_exponent(maxima, Vector(s.size(), 1.0)))
          << "seed " << seed << " decades " << decades;
    }
}

TEST_P(AnyPattern, gives_the_same_factors_when_balanced_again)
{
  const int bs = GetParam();
  for (unsigned seed = 1; seed <= 100; ++seed) {
    Vector maxima = random_sparse(bs, seed, 5.0);
    const Vector s = balanced(maxima);
    for (std::size_t q = 0; q < s.size(); ++q)
      for (std::size_t p = 0; p < s.size(); ++p) maxima[p + q * s.size()] *= s[q] / s[p];
    EXPECT_LE(largest_exponent(maxima, Vector(s.size(), 1.0)),
              largest_exponent(maxima, balanced(maxima)) + 2.0)
        << "seed " << seed;
  }
}

// For both forms and all storage precisions, the stored numbers and the factors of the right-hand
// side stay finite.
TEST_P(AnyPattern, is_scaled_by_finite_powers_of_two_in_both_forms)
{
  const int bs = GetParam();
  for (const double decades : {5.0, 100.0, 300.0})
    for (unsigned seed = 1; seed <= 50; ++seed)
      for (const PCMCPIForm form : kForms)
        for (const PCMCPIPrecision storage : {PC_MCPI_PRECISION_FP32, PC_MCPI_PRECISION_FP16}) {
          ScaleMethods methods(bs);
          Scales scales = unit_scales(bs);
          compute_scales(form, storage, bs, random_sparse(bs, seed, decades), methods, scales);
          for (const Vector &factors : {scales.left, scales.right, Vector{scales.alpha}})
            for (const double factor : factors) {
              int exponent = 0;
              ASSERT_EQ(std::frexp(factor, &exponent), 0.5) << factor;
            }
        }
}

} // namespace
} // namespace mcpi::test
