#include "core/scaling.h"

#include <algorithm>
#include <cmath>

#include "core/magnitude.h"

namespace mcpi {
namespace {

constexpr double kFp16Limit = 65504.0;
constexpr double kExponents = Equilibration::kLargestExponent;

// The largest power of two such that factor*largest fits in fp16, for a positive largest. It is
// computed from mantissas and exponents, because a quotient could overflow.
double fp16_factor(double largest)
{
  int limit_exponent = 0, exponent = 0;
  const double limit = std::frexp(kFp16Limit, &limit_exponent),
               mantissa = std::frexp(largest, &exponent);
  return Equilibration::factor(limit_exponent - exponent - (mantissa > limit ? 1 : 0));
}

// The power of two nearest to factor such that its products with all of factors are normal numbers
double keep_normal(const std::vector<double> &factors, double factor)
{
  double least = 0.0, largest = 0.0;
  for (const double f : factors) {
    least = std::min(least, std::log2(f));
    largest = std::max(largest, std::log2(f));
  }
  return std::exp2(std::clamp(std::log2(factor), -kExponents - least, kExponents - largest));
}

} // namespace

Scales unit_scales(int bs)
{
  Scales scales;
  scales.left.assign(bs, 1.0);
  scales.right.assign(bs, 1.0);
  return scales;
}

void compute_scales(PCMCPIForm form, PCMCPIPrecision storage, int bs,
                    const std::vector<double> &maxima, ScaleMethods &methods, Scales &scales)
{
  std::fill(scales.left.begin(), scales.left.end(), 1.0);
  std::fill(scales.right.begin(), scales.right.end(), 1.0);
  scales.alpha = 1.0;
  if (form == PC_MCPI_FORM_FACTORED) {
    methods.equilibration.compute(maxima, scales.left, scales.right);
  } else {
    methods.balancing.compute(maxima, scales.right);
    for (int p = 0; p < bs; ++p) scales.left[p] = 1.0 / scales.right[p];
  }
  if (storage != PC_MCPI_PRECISION_FP16) return;
  const double largest = largest_scaled(bs, maxima, scales);
  if (largest == 0.0 || (largest <= kFp16Limit / 4 && largest >= 1.0 / 16)) return;
  const double factor = keep_normal(scales.left, fp16_factor(largest) / 16);
  for (double &left : scales.left) left *= factor;
  if (form == PC_MCPI_FORM_PRESCALED) scales.alpha = 1.0 / factor;
}

double largest_scaled(int bs, const std::vector<double> &maxima, const Scales &scales)
{
  double largest = 0.0;
  for (int q = 0; q < bs; ++q)
    for (int p = 0; p < bs; ++p)
      largest =
          std::max(largest, scaled_magnitude(scales.left[p], maxima[p + q * bs], scales.right[q]));
  return largest;
}

bool scales_moved(const Scales &before, const Scales &after)
{
  const auto moved = [](double a, double b) { return a > 4.0 * b || b > 4.0 * a; };
  for (std::size_t p = 0; p < before.left.size(); ++p)
    if (moved(before.left[p], after.left[p]) || moved(before.right[p], after.right[p])) return true;
  return false;
}

} // namespace mcpi
