#include "setup/amplification.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "core/dense.h"
#include "core/held_exceptions.h"
#include "core/threads.h"

namespace mcpi {
namespace {

// Condition numbers up to which no form amplifies rounding noticeably
constexpr double kHarmless = 4.0;

using Numbers = std::vector<double>;

// A result out of range stands for the largest amplification.
double larger(double largest, double value)
{
  return value <= largest                              ? largest
         : value <= std::numeric_limits<double>::max() ? value
                                                       : std::numeric_limits<double>::infinity();
}

// Measures one block row after the other. Blocks are equilibrated as the diagonal block is.
class RowMeasure {
public:
  explicit RowMeasure(int bs)
      : bs_(bs), size_(static_cast<std::size_t>(bs)), block_(size_ * size_), first_(block_),
        second_(block_), inverse_(block_), diagonal_size_(block_), inverse_size_(block_),
        most_(size_), rounding_(size_), action_(size_), work_(3 * size_), pivot_(size_)
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
    const double *row = work_.data(), *column = row + bs_;
    for (std::size_t j = 0; j < size_; ++j)
      for (std::size_t i = 0; i < size_; ++i)
        inverse_[j * size_ + i] = inverse_[j * size_ + i] / column[i] / row[j];
    scale(diagonal);
    diagonal_size_ = block_;
    inverse_size_ = inverse_;
    make_absolute(diagonal_size_);
    make_absolute(inverse_size_);
    std::fill(most_.begin(), most_.end(), 0.0);
    multiply(diagonal_size_, inverse_size_, first_);
    raise_rows(first_, most_);
    std::fill(rounding_.begin(), rounding_.end(), 0.0);
    std::fill(action_.begin(), action_.end(), 0.0);
    changed_ = largest_ = 0.0;
    for (Offset k = 0; k < count; ++k) include_block(offdiag[k]);
    for (std::size_t i = 0; i < size_; ++i)
      if (rounding_[i] > 0.0)
        result.prescaled = larger(result.prescaled, std::min(rounding_[i] / action_[i], most_[i]));
    if (largest_ > 0.0) result.factored = larger(result.factored, changed_ / largest_);
  }

private:
  void include_block(const double *offdiag)
  {
    scale(offdiag);
    multiply(inverse_, block_, first_); // P
    multiply(block_, inverse_, second_);
    raise_rows(second_, action_); // O D^{-1}
    make_absolute(first_);
    make_absolute(block_);
    multiply(inverse_size_, block_, second_); // |D^{-1}| |O|
    for (std::size_t n = 0; n < block_.size(); ++n) {
      largest_ = larger(largest_, first_[n]);
      changed_ = larger(changed_, second_[n]);
    }
    multiply(diagonal_size_, first_, second_);
    multiply(second_, inverse_size_, first_);
    raise_rows(first_, rounding_); // |D| |P| |D^{-1}|
  }

  void scale(const double *block)
  {
    const double *row = work_.data(), *column = row + bs_;
    for (std::size_t j = 0; j < size_; ++j)
      for (std::size_t i = 0; i < size_; ++i)
        block_[j * size_ + i] = row[i] * block[j * size_ + i] * column[j];
  }
  void multiply(const Numbers &a, const Numbers &b, Numbers &product) const
  {
    std::fill(product.begin(), product.end(), 0.0);
    add_product(bs_, a.data(), b.data(), product.data());
  }
  static void make_absolute(Numbers &block)
  {
    for (double &value : block) value = std::fabs(value);
  }
  void raise_rows(const Numbers &block, Numbers &rows) const
  {
    for (std::size_t n = 0; n < block.size(); ++n)
      rows[n % size_] = larger(rows[n % size_], std::fabs(block[n]));
  }

  const HeldExceptions held_; // A number out of range stands for a large one.
  const int bs_;
  const std::size_t size_;
  Numbers block_, first_, second_;                 // a block, and products
  Numbers inverse_, diagonal_size_, inverse_size_; // D^{-1}, |D| and |D^{-1}|
  Numbers most_, rounding_, action_; // by equations: |D| |D^{-1}|, |D| |P| |D^{-1}|, |O D^{-1}|
  double changed_ = 0.0, largest_ = 0.0;
  Numbers work_; // begins with the factors of rows and those of columns
  std::vector<std::int64_t> pivot_;
};

Amplification measure_rows(const BlockGraph &graph, BlockRows &values, Row begin, Row end)
{
  Amplification result;
  RowMeasure rows(static_cast<int>(graph.bs));
  const double *diagonal = nullptr;
  const double *const *offdiag = nullptr;
  for (Row row = begin; row < end; ++row) {
    values.row(row, diagonal, offdiag);
    rows.include(diagonal, values.empty_of(row, static_cast<int>(graph.bs)), offdiag,
                 graph.ptr[row + 1] - graph.ptr[row], result);
  }
  return result;
}

} // namespace

Amplification measure_amplification(const BlockGraph &graph, BlockRows &values)
{
  return measure_rows(graph, values, 0, graph.rows);
}

Amplification measure_amplification(const BlockGraph &graph, const MatrixValues &values,
                                    int threads)
{
  Amplification result;
  std::mutex merging;
  share_range(graph.rows, threads, [&](Row begin, Row end) {
    const Amplification part = measure_rows(graph, *values.reader(), begin, end);
    const std::lock_guard<std::mutex> lock(merging);
    result.prescaled = std::max(result.prescaled, part.prescaled);
    result.factored = std::max(result.factored, part.factored);
  });
  return result;
}

} // namespace mcpi
