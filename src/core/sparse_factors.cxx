#include "core/sparse_factors.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/memory.h"
#include "core/powers_of_two.h"

namespace mcpi {
namespace {

// Subtracts multiples of numbers of x from others, entry by entry. The transposed of a sequence of
// subtractions runs the other way, with rows and columns exchanged.
void subtract(const SparseEntries &entries, std::size_t block, bool from_last, bool transposed,
              double *x)
{
  const Offset begin = entries.begin[block], end = entries.begin[block + 1];
  for (Offset n = begin; n < end; ++n) {
    const auto k = static_cast<std::size_t>(from_last ? end - 1 - (n - begin) : n);
    const auto [row, column] = entries.place[k];
    if (transposed)
      x[column] -= entries.value[k] * x[row];
    else
      x[row] -= entries.value[k] * x[column];
  }
}

} // namespace

SparseFactors::SparseFactors(int bs)
    : bs_(bs), work_(static_cast<std::size_t>(bs) * bs), row_entries_(bs), column_entries_(bs),
      row_done_(bs), column_done_(bs)
{
}

void SparseFactors::clear()
{
  lower_.clear();
  upper_.clear();
  reciprocal_.clear();
  pivot_row_.clear();
  pivot_column_.clear();
  row_scale_.clear();
  column_scale_.clear();
}

// Copies the block, scales its rows and columns by powers of two, and counts its entries.
Inversion SparseFactors::equilibrate(const double *block, const std::uint8_t *empty)
{
  const std::size_t from = row_scale_.size();
  row_scale_.resize(from + bs_, 0.0);
  column_scale_.resize(from + bs_, 1.0);
  double *row = row_scale_.data() + from, *column = column_scale_.data() + from;
  std::fill(row_entries_.begin(), row_entries_.end(), 0);
  std::copy_n(block, work_.size(), work_.begin());
  for (int j = 0; j < bs_; ++j)
    for (int i = 0; i < bs_; ++i) {
      if (!std::isfinite(entry(i, j))) return Inversion::nonfinite;
      row[i] = std::max(row[i], std::fabs(entry(i, j)));
    }
  for (int i = 0; i < bs_; ++i) row[i] = row[i] > 0.0 ? inverse_power_of_two(row[i]) : 1.0;
  for (int j = 0; j < bs_; ++j) {
    double largest = 0.0;
    column_entries_[j] = 0;
    for (int i = 0; i < bs_; ++i) {
      if (entry(i, j) == 0.0) continue;
      ++row_entries_[i];
      ++column_entries_[j];
      largest = std::max(largest, std::fabs(entry(i, j) *= row[i]));
    }
    if (largest > 0.0) column[j] = inverse_power_of_two(largest);
    for (int i = 0; i < bs_; ++i) entry(i, j) *= column[j];
  }
  for (int i = 0; i < bs_; ++i) row_done_[i] = column_done_[i] = empty && empty[i];
  return Inversion::done;
}

// Chooses the column with the fewest entries, and of its entries that are not small the one whose
// row has the fewest (Markowitz, 1957). So elimination makes few new entries. Returns false if
// there is no pivot.
bool SparseFactors::choose_pivot(int *pivot_row, int *pivot_column) const
{
  constexpr double kNotSmall = 0.1;
  const double tolerance = bs_ > 1 ? bs_ * std::numeric_limits<double>::epsilon() : 0.0;
  int column = -1, row = -1;
  double largest = 0.0;
  for (int j = 0; j < bs_; ++j)
    if (!column_done_[j] && (column < 0 || column_entries_[j] < column_entries_[column]))
      column = j;
  for (int i = 0; i < bs_; ++i)
    if (!row_done_[i]) largest = std::max(largest, std::fabs(entry(i, column)));
  if (!(largest > tolerance)) return false;
  for (int i = 0; i < bs_; ++i)
    if (!row_done_[i] && std::fabs(entry(i, column)) >= kNotSmall * largest &&
        (row < 0 || row_entries_[i] < row_entries_[row]))
      row = i;
  *pivot_row = row;
  *pivot_column = column;
  return true;
}

void SparseFactors::eliminate_with(int pivot_row, int pivot_column)
{
  const double reciprocal = 1.0 / entry(pivot_row, pivot_column);
  row_done_[pivot_row] = column_done_[pivot_column] = 1;
  reciprocal_.push_back(reciprocal);
  pivot_row_.push_back(static_cast<std::uint16_t>(pivot_row));
  pivot_column_.push_back(static_cast<std::uint16_t>(pivot_column));
  columns_.clear();
  for (int j = 0; j < bs_; ++j)
    if (!column_done_[j] && entry(pivot_row, j) != 0.0) {
      columns_.push_back(j);
      --column_entries_[j];
      upper_.add(pivot_column, j, entry(pivot_row, j) * reciprocal);
    }
  for (int i = 0; i < bs_; ++i) {
    if (row_done_[i] || entry(i, pivot_column) == 0.0) continue;
    const double multiplier = entry(i, pivot_column) * reciprocal;
    lower_.add(i, pivot_row, multiplier);
    --row_entries_[i];
    for (const int j : columns_) {
      if (entry(i, j) == 0.0) {
        ++row_entries_[i];
        ++column_entries_[j];
      }
      entry(i, j) -= multiplier * entry(pivot_row, j);
    }
  }
}

bool SparseFactors::eliminate(const std::uint8_t *empty)
{
  int row = 0, column = 0;
  for (int k = 0; k < bs_; ++k) {
    if (!empty || !empty[k]) continue;
    reciprocal_.push_back(0.0);
    pivot_row_.push_back(static_cast<std::uint16_t>(k));
    pivot_column_.push_back(static_cast<std::uint16_t>(k));
  }
  while (reciprocal_.size() < row_scale_.size()) {
    if (!choose_pivot(&row, &column)) return false;
    eliminate_with(row, column);
  }
  return true;
}

Inversion SparseFactors::add(const double *block, const std::uint8_t *empty)
{
  const std::size_t number = lower_.begin.size() - 1;
  const Inversion verdict = equilibrate(block, empty);
  const double norm = column_norm(bs_, work_.data());
  const bool good = verdict == Inversion::done && eliminate(empty);
  // Blocks after a bad one are judged, too.
  lower_.end_block();
  upper_.end_block();
  reciprocal_.resize(row_scale_.size());
  pivot_row_.resize(row_scale_.size());
  pivot_column_.resize(row_scale_.size());
  if (verdict != Inversion::done) return verdict;
  const bool regular = good &&
                       norm * inverse_norm(number, &SparseFactors::solve_scaled) *
                               std::numeric_limits<double>::epsilon() <
                           kNoDigits &&
                       std::isfinite(inverse_norm(number, &SparseFactors::solve));
  return regular ? Inversion::done : Inversion::singular;
}

void SparseFactors::solve_scaled(std::size_t block, bool transposed, double *right_side,
                                 double *solution) const
{
  const std::size_t from = block * bs_;
  if (transposed)
    subtract(upper_, block, false, true, right_side);
  else
    subtract(lower_, block, false, false, right_side);
  for (std::size_t k = from; k < from + bs_; ++k) {
    if (transposed)
      solution[pivot_row_[k]] = right_side[pivot_column_[k]] * reciprocal_[k];
    else
      solution[pivot_column_[k]] = right_side[pivot_row_[k]] * reciprocal_[k];
  }
  if (transposed)
    subtract(lower_, block, true, true, solution);
  else
    subtract(upper_, block, true, false, solution);
}

void SparseFactors::solve(std::size_t block, bool transposed, double *right_side,
                          double *solution) const
{
  const double *before = (transposed ? column_scale_ : row_scale_).data() + block * bs_,
               *after = (transposed ? row_scale_ : column_scale_).data() + block * bs_;
  for (int i = 0; i < bs_; ++i) right_side[i] *= before[i];
  solve_scaled(block, transposed, right_side, solution);
  for (int i = 0; i < bs_; ++i) solution[i] *= after[i];
}

// Estimates the largest column sum of the inverse from a few solutions (Hager, 1984). The estimate
// is a lower bound. Nearly always it is within a factor of 3.
double SparseFactors::inverse_norm(std::size_t block, Solve solve_by) const
{
  constexpr int kRounds = 5;
  std::vector<double> x(bs_, 1.0 / bs_), right_side(bs_), y(bs_), z(bs_);
  double norm = 0.0;
  for (int round = 0; round < kRounds; ++round) {
    right_side = x;
    (this->*solve_by)(block, false, right_side.data(), y.data());
    double sum = 0.0;
    for (const double number : y) sum += std::fabs(number);
    if (!std::isfinite(sum)) return std::numeric_limits<double>::infinity();
    if (!(sum > norm)) break;
    norm = sum;
    for (int i = 0; i < bs_; ++i) right_side[i] = y[i] < 0.0 ? -1.0 : 1.0;
    (this->*solve_by)(block, true, right_side.data(), z.data());
    const auto most = std::max_element(
        z.begin(), z.end(), [](double a, double b) { return std::fabs(a) < std::fabs(b); });
    std::fill(x.begin(), x.end(), 0.0);
    x[static_cast<std::size_t>(most - z.begin())] = 1.0;
  }
  return norm;
}

void SparseFactors::shrink()
{
  lower_.shrink();
  upper_.shrink();
}

std::size_t SparseFactors::memory_bytes() const
{
  return static_cast<std::size_t>(bytes_of(lower_.begin, lower_.place, lower_.value, upper_.begin,
                                           upper_.place, upper_.value, reciprocal_, pivot_row_,
                                           pivot_column_, row_scale_, column_scale_, work_));
}

} // namespace mcpi
