#include "core/scaling.h"

#include <algorithm>
#include <cmath>

namespace mcpi {
namespace {

constexpr int    kPasses    = 50;
constexpr double kFp16Limit = 65504.0;
constexpr double kExponents = 1020.0; // factors and their inverses stay normal numbers

double power_of_two(double exponent)
{
  return std::exp2(std::clamp(exponent, -kExponents, kExponents));
}

double nearest_power_of_two(double value)
{
  return power_of_two(std::round(std::log2(value)));
}

// Largest power of two that keeps factor*largest within fp16. By mantissa and exponent: a quotient could overflow.
double fp16_factor(double largest)
{
  int          limit_exponent = 0, exponent = 0;
  const double limit = std::frexp(kFp16Limit, &limit_exponent), mantissa = std::frexp(largest, &exponent);
  return largest > 0.0 ? power_of_two(limit_exponent - exponent - (mantissa > limit ? 1 : 0)) : 1.0;
}

bool coupled(int bs, const std::vector<double> &maxima, int side, int p)
{
  for (int q = 0; q < bs; ++q)
    if (maxima[side == 0 ? p + q * bs : q + p * bs] != 0.0) return true;
  return false;
}

// What the maxima say nothing about takes the others' mean, as if in their units: a factor of 1 beside theirs could carry the right-hand side out of
// single precision. If they say nothing at all, factors stay 1.
void follow_others(int bs, const std::vector<double> &maxima, int side, std::vector<double> &factors)
{
  double sum   = 0.0;
  int    count = 0;
  for (int p = 0; p < bs; ++p)
    if (coupled(bs, maxima, side, p)) {
      sum += std::log2(factors[p]);
      ++count;
    }
  for (int p = 0; p < bs && count > 0; ++p)
    if (!coupled(bs, maxima, side, p)) factors[p] = power_of_two(std::round(sum / count));
}

// Ruiz-like row and column equilibration of the maxima, for blocks that are not similar to anything (factored form).
void equilibrate(int bs, const std::vector<double> &maxima, Scales &scales)
{
  for (int pass = 0; pass < kPasses; ++pass) {
    bool changed = false;
    for (int side = 0; side < 2; ++side)
      for (int p = 0; p < bs; ++p) {
        double largest = 0.0;
        for (int q = 0; q < bs; ++q) {
          const int i = side == 0 ? p : q, j = side == 0 ? q : p;
          largest = std::max(largest, scales.left[i] * maxima[i + j * bs] * scales.right[j]);
        }
        if (largest == 0.0) continue;
        const double factor = nearest_power_of_two(1.0 / std::sqrt(largest));
        (side == 0 ? scales.left : scales.right)[p] *= factor;
        changed = changed || factor != 1.0;
      }
    if (!changed) break;
  }
  follow_others(bs, maxima, 0, scales.left);
  follow_others(bs, maxima, 1, scales.right);
}

} // namespace

Scales unit_scales(int bs)
{
  Scales scales;
  scales.left.assign(bs, 1.0);
  scales.right.assign(bs, 1.0);
  return scales;
}

// A component that only reads, or is only read, would slide away for ever: its couplings are brought to the size of the diagonal's.
void osborne(int bs, const std::vector<double> &maxima, std::vector<double> &s)
{
  double diagonal = 0.0;
  for (int p = 0; p < bs; ++p) diagonal = std::max(diagonal, maxima[p + p * bs]);
  if (diagonal == 0.0) diagonal = 1.0;
  std::fill(s.begin(), s.end(), 1.0);
  for (int pass = 0; pass < kPasses; ++pass) {
    bool changed = false;
    for (int p = 0; p < bs; ++p) {
      double row = 0.0, column = 0.0;
      for (int q = 0; q < bs; ++q) {
        if (q == p) continue;
        row    = std::max(row, maxima[p + q * bs] * s[q] / s[p]);
        column = std::max(column, maxima[q + p * bs] * s[p] / s[q]);
      }
      if (row == 0.0 && column == 0.0) continue;
      const double factor = nearest_power_of_two(column == 0.0 ? row / diagonal : row == 0.0 ? diagonal / column : std::sqrt(row / column));
      s[p] *= factor;
      changed = changed || factor != 1.0;
    }
    if (!changed) break;
  }
}

void compute_scales(PCMCPIForm form, PCMCPIScaling scaling, PCMCPIPrecision storage, int bs, const std::vector<double> &maxima,
                    Scales &scales)
{
  std::fill(scales.left.begin(), scales.left.end(), 1.0);
  std::fill(scales.right.begin(), scales.right.end(), 1.0);
  scales.alpha = 1.0;
  if (scaling == PC_MCPI_SCALING_NONE) return;
  if (scaling == PC_MCPI_SCALING_BALANCED) {
    if (form == PC_MCPI_FORM_FACTORED) {
      equilibrate(bs, maxima, scales);
    } else {
      osborne(bs, maxima, scales.right);
      for (int p = 0; p < bs; ++p) scales.left[p] = 1.0 / scales.right[p];
    }
  }
  const double largest = largest_scaled(bs, maxima, scales);
  double       factor  = 1.0;
  if (scaling == PC_MCPI_SCALING_GLOBAL)
    factor = fp16_factor(largest);
  else if (storage == PC_MCPI_PRECISION_FP16 && largest > 0.0 && (largest > kFp16Limit / 4 || largest < 1.0 / 16))
    factor = fp16_factor(largest) / 16;
  for (double &left : scales.left) left *= factor;
  if (form == PC_MCPI_FORM_PRESCALED) scales.alpha = 1.0 / factor;
}

double largest_scaled(int bs, const std::vector<double> &maxima, const Scales &scales)
{
  double largest = 0.0;
  for (int q = 0; q < bs; ++q)
    for (int p = 0; p < bs; ++p) largest = std::max(largest, scales.left[p] * maxima[p + q * bs] * scales.right[q]);
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
