#include "setup/amplification.h"

#include <algorithm>
#include <cmath>

#include "core/dense.h"
#include "core/held_exceptions.h"

namespace mcpi {
namespace {

// Condition numbers up to which no form amplifies rounding noticeably
constexpr double kHarmless = 4.0;

double largest_of(const std::vector<double> &block)
{
  double largest = 0.0;
  for (const double value : block) largest = std::max(largest, std::fabs(value));
  return largest;
}

class RowMeasure {
public:
  explicit RowMeasure(int bs)
      : bs_(bs), scaled_(static_cast<std::size_t>(bs) * bs), inverse_(scaled_.size()),
        product_(scaled_.size()), work_(3 * static_cast<std::size_t>(bs)),
        pivot_(static_cast<std::size_t>(bs))
  {
  }

  void include(const double *diagonal, const std::uint8_t *empty, const double *const *offdiag,
               Offset count, Amplification &result)
  {
    double condition = 0.0;
    if (invert_rest(bs_, diagonal, empty, inverse_.data(), work_.data(), pivot_.data(),
                    &condition) != Inversion::done ||
        condition < kHarmless)
      return;
    const double *row = work_.data(), *column = row + bs_; // factors that equilibrate the block
    for (int j = 0; j < bs_; ++j)
      for (int i = 0; i < bs_; ++i) inverse_[at(i, j)] = inverse_[at(i, j)] / column[i] / row[j];
    scale(diagonal);
    const double norm = column_norm(bs_, scaled_.data());
    double before = 0.0, after = 0.0; // largest entries of O and of P
    for (Offset k = 0; k < count; ++k) {
      scale(offdiag[k]);
      std::fill(product_.begin(), product_.end(), 0.0);
      add_product(bs_, inverse_.data(), scaled_.data(), product_.data());
      before = std::max(before, largest_of(scaled_));
      after = std::max(after, largest_of(product_));
    }
    if (!(before > 0.0 && after > 0.0)) return;
    const double prescaled = norm * (after / before);
    result.prescaled = std::max(result.prescaled, prescaled);
    result.factored = std::max(result.factored, condition / prescaled);
  }

private:
  void scale(const double *block)
  {
    const double *row = work_.data(), *column = row + bs_;
    for (int j = 0; j < bs_; ++j)
      for (int i = 0; i < bs_; ++i) scaled_[at(i, j)] = row[i] * block[at(i, j)] * column[j];
  }
  std::size_t at(int i, int j) const
  {
    return static_cast<std::size_t>(i) +
           static_cast<std::size_t>(j) * static_cast<std::size_t>(bs_);
  }

  const HeldExceptions held_; // A number out of range only means that its row does not count.
  const int bs_;
  std::vector<double> scaled_, inverse_, product_, work_;
  std::vector<std::int64_t> pivot_;
};

} // namespace

Amplification measure_amplification(const BlockGraph &graph, BlockRows &values)
{
  Amplification result;
  RowMeasure rows(static_cast<int>(graph.bs));
  const double *diagonal = nullptr;
  const double *const *offdiag = nullptr;
  for (Row row = 0; row < graph.rows; ++row) {
    values.row(row, diagonal, offdiag);
    rows.include(diagonal, values.empty_of(row, static_cast<int>(graph.bs)), offdiag,
                 graph.ptr[row + 1] - graph.ptr[row], result);
  }
  return result;
}

} // namespace mcpi
