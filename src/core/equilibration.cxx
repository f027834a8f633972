#include "core/equilibration.h"

#include <algorithm>
#include <cmath>

#include "core/magnitude.h"
#include "core/powers_of_two.h"

namespace mcpi {
namespace {

constexpr int kEquilibrationPasses = 50;
constexpr int kSpread = 100; // largest distance of a side's exponents from their median

// Scales a row or column so that its largest entry (given as log2) moves half of the way to 1, on
// the logarithmic scale. Returns whether the exponent has changed.
bool take_half_way(double largest, int &exponent)
{
  const int by = std::isfinite(largest) ? static_cast<int>(std::round(-largest / 2.0)) : 0;
  exponent += by;
  return by != 0;
}

} // namespace

Equilibration::Equilibration(int bs) : bs_(bs), rows_(bs), columns_(bs), known_(bs) {}

double Equilibration::factor(int exponent)
{
  return power_of_two<double>(std::clamp(exponent, -kLargestExponent, kLargestExponent));
}

void Equilibration::compute(const std::vector<double> &maxima, std::vector<double> &left,
                            std::vector<double> &right)
{
  std::fill(rows_.exponent.begin(), rows_.exponent.end(), 0);
  std::fill(columns_.exponent.begin(), columns_.exponent.end(), 0);
  for (int pass = 0; pass < kEquilibrationPasses; ++pass) {
    const bool rows = balance_rows(maxima), columns = balance_columns(maxima);
    if (!rows && !columns) break;
  }
  keep_together(rows_);
  keep_together(columns_);
  for (int p = 0; p < bs_; ++p) {
    left[p] = factor(rows_.exponent[p]);
    right[p] = factor(columns_.exponent[p]);
  }
}

bool Equilibration::balance_rows(const std::vector<double> &maxima)
{
  bool changed = false;
  for (int p = 0; p < bs_; ++p) {
    double largest = kNoEntry;
    for (int q = 0; q < bs_; ++q)
      largest = std::max(largest, log2_or_none(maxima[p + q * bs_]) + rows_.exponent[p] +
                                      columns_.exponent[q]);
    rows_.coupled[p] = std::isfinite(largest);
    changed = take_half_way(largest, rows_.exponent[p]) || changed;
  }
  return changed;
}

bool Equilibration::balance_columns(const std::vector<double> &maxima)
{
  bool changed = false;
  for (int q = 0; q < bs_; ++q) {
    double largest = kNoEntry;
    for (int p = 0; p < bs_; ++p)
      largest = std::max(largest, log2_or_none(maxima[p + q * bs_]) + rows_.exponent[p] +
                                      columns_.exponent[q]);
    columns_.coupled[q] = std::isfinite(largest);
    changed = take_half_way(largest, columns_.exponent[q]) || changed;
  }
  return changed;
}

// Components without couplings get the median exponent of the others. With a factor of 1 the
// right-hand side could leave the range of single precision, if the other factors are far from 1. A
// coupling at rounding level could ask for an extreme factor. So exponents are kept near the
// median.
void Equilibration::keep_together(Side &side)
{
  auto end = known_.begin();
  for (int p = 0; p < bs_; ++p)
    if (side.coupled[p]) *end++ = side.exponent[p];
  if (end == known_.begin()) return;
  const auto middle = known_.begin() + (end - known_.begin()) / 2;
  std::nth_element(known_.begin(), middle, end);
  for (int p = 0; p < bs_; ++p)
    side.exponent[p] = side.coupled[p]
                           ? std::clamp(side.exponent[p], *middle - kSpread, *middle + kSpread)
                           : *middle;
}

} // namespace mcpi
