#include "core/scaling.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mcpi {
namespace {

constexpr int    kPasses    = 50;
constexpr double kFp16Limit = 65504.0;
constexpr double kExponents = 1020.0; // factors and their inverses stay normal numbers
constexpr int    kSpread    = 100;    // exponents of a side's factors keep this close to their median

double power_of_two(double exponent)
{
  return std::exp2(std::clamp(exponent, -kExponents, kExponents));
}

// Largest power of two that keeps factor*largest within fp16. By mantissa and exponent: a quotient could overflow.
double fp16_factor(double largest)
{
  int          limit_exponent = 0, exponent = 0;
  const double limit = std::frexp(kFp16Limit, &limit_exponent), mantissa = std::frexp(largest, &exponent);
  return largest > 0.0 ? power_of_two(limit_exponent - exponent - (mantissa > limit ? 1 : 0)) : 1.0;
}

// The power of two next to factor with which all products are normal numbers
double keep_normal(const std::vector<double> &factors, double factor)
{
  double least = 0.0, largest = 0.0;
  for (const double f : factors) {
    least   = std::min(least, std::log2(f));
    largest = std::max(largest, std::log2(f));
  }
  return std::exp2(std::clamp(std::log2(factor), -kExponents - least, kExponents - largest));
}

// Components without couplings take the others' median, as if in their units: a factor of 1 beside theirs could carry the right-hand side out of single
// precision. So could a factor that a coupling at rounding level asks for.
void keep_together(std::vector<int> &exponents, const std::vector<bool> &coupled)
{
  std::vector<int> known;
  for (std::size_t p = 0; p < exponents.size(); ++p)
    if (coupled[p]) known.push_back(exponents[p]);
  if (known.empty()) return;
  const auto middle = known.begin() + static_cast<std::ptrdiff_t>(known.size() / 2);
  std::nth_element(known.begin(), middle, known.end());
  for (std::size_t p = 0; p < exponents.size(); ++p)
    exponents[p] = coupled[p] ? std::clamp(exponents[p], *middle - kSpread, *middle + kSpread) : *middle;
}

// Ruiz-like row and column equilibration of the maxima, for blocks that are not similar to anything (factored form).
void equilibrate(int bs, const std::vector<double> &maxima, Scales &scales)
{
  const auto        size = static_cast<std::size_t>(bs);
  std::vector<int>  left(size), right(size);
  std::vector<bool> reads(size), is_read(size);
  const auto        step = [&](std::vector<int> &exponent, std::vector<bool> &coupled, std::size_t by_component, std::size_t by_other) {
    bool changed = false;
    for (std::size_t p = 0; p < size; ++p) {
      double largest = -std::numeric_limits<double>::infinity();
      for (std::size_t q = 0; q < size; ++q) {
        const std::size_t i = by_component == 1 ? p : q, j = by_component == 1 ? q : p;
        largest = std::max(largest, std::log2(maxima[p * by_component + q * by_other]) + left[i] + right[j]);
      }
      coupled[p]   = std::isfinite(largest);
      const int by = coupled[p] ? static_cast<int>(std::round(-largest / 2.0)) : 0;
      exponent[p] += by;
      changed = changed || by != 0;
    }
    return changed;
  };
  for (int pass = 0; pass < kPasses; ++pass) {
    const bool rows = step(left, reads, 1, size), columns = step(right, is_read, size, 1);
    if (!rows && !columns) break;
  }
  keep_together(left, reads);
  keep_together(right, is_read);
  for (std::size_t p = 0; p < size; ++p) {
    scales.left[p]  = power_of_two(left[p]);
    scales.right[p] = power_of_two(right[p]);
  }
}

} // namespace

Scales unit_scales(int bs)
{
  Scales scales;
  scales.left.assign(bs, 1.0);
  scales.right.assign(bs, 1.0);
  return scales;
}

void compute_scales(PCMCPIForm form, PCMCPIScaling scaling, PCMCPIPrecision storage, int bs, const std::vector<double> &maxima,
                    Balancing &balancing, Scales &scales)
{
  std::fill(scales.left.begin(), scales.left.end(), 1.0);
  std::fill(scales.right.begin(), scales.right.end(), 1.0);
  scales.alpha = 1.0;
  if (scaling == PC_MCPI_SCALING_NONE) return;
  if (scaling == PC_MCPI_SCALING_BALANCED) {
    if (form == PC_MCPI_FORM_FACTORED) {
      equilibrate(bs, maxima, scales);
    } else {
      balancing.compute(maxima, scales.right);
      for (int p = 0; p < bs; ++p) scales.left[p] = 1.0 / scales.right[p];
    }
  }
  const double largest = largest_scaled(bs, maxima, scales);
  double       factor  = 1.0;
  if (scaling == PC_MCPI_SCALING_GLOBAL)
    factor = fp16_factor(largest);
  else if (storage == PC_MCPI_PRECISION_FP16 && largest > 0.0 && (largest > kFp16Limit / 4 || largest < 1.0 / 16))
    factor = fp16_factor(largest) / 16;
  factor = keep_normal(scales.left, factor);
  for (double &left : scales.left) left *= factor;
  if (form == PC_MCPI_FORM_PRESCALED) scales.alpha = 1.0 / factor;
}

double largest_scaled(int bs, const std::vector<double> &maxima, const Scales &scales)
{
  double largest = 0.0;
  for (int q = 0; q < bs; ++q)
    for (int p = 0; p < bs; ++p) largest = std::max(largest, scales.left[p] * maxima[p + q * bs] * scales.right[q]);
  return std::min(largest, std::numeric_limits<double>::max());
}

bool scales_moved(const Scales &before, const Scales &after)
{
  const auto moved = [](double a, double b) { return a > 4.0 * b || b > 4.0 * a; };
  for (std::size_t p = 0; p < before.left.size(); ++p)
    if (moved(before.left[p], after.left[p]) || moved(before.right[p], after.right[p])) return true;
  return false;
}

} // namespace mcpi
