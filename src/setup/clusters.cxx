#include "setup/clusters.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <queue>
#include <utility>

#include "core/dense.h"
#include "core/held_exceptions.h"
#include "core/scaling.h"
#include "core/threads.h"
#include "core/tuning.h"

namespace mcpi {
namespace {

// Blocks D_i^{-1} A_ij of one row after the other
class ScaledRows {
public:
  ScaledRows(const MatrixValues &values, int bs)
      : values_(values.reader()), bs_(bs), square_(static_cast<std::size_t>(bs) * bs),
        inverse_(square_), block_(square_), work_(3 * static_cast<std::size_t>(bs)),
        factor_(static_cast<std::size_t>(bs), 1.0), pivot_(static_cast<std::size_t>(bs)),
        empty_(static_cast<std::size_t>(bs))
  {
  }
  void open(Row row)
  {
    const double *diagonal = nullptr;
    values_->row(row, diagonal, offdiag_);
    if (bs_ >= CommonTuning::kManyUnknowns) {
      regular_ = false;
      divide_by_rows(diagonal);
      return;
    }
    regular_ = invert_rest(bs_, diagonal, empty_in(diagonal), inverse_.data(), work_.data(),
                           pivot_.data()) == Inversion::done;
  }
  // The k-th block. Unknowns of D_i without entries count as empty. If D_i has no inverse then, or
  // some of them are not empty, the set-up will fail, and any number will do.
  const std::vector<double> &block(Offset k)
  {
    if (regular_) {
      std::fill(block_.begin(), block_.end(), 0.0);
      add_product(bs_, inverse_.data(), offdiag_[k], block_.data());
    } else {
      for (std::size_t n = 0; n < square_; ++n)
        block_[n] = factor_[n % factor_.size()] * offdiag_[k][n];
    }
    return block_;
  }

private:
  // Makes the largest number of each row of the diagonal block 1. This takes the place of D^{-1} for
  // blocks of many unknowns, whose inverses would cost more than clusters save.
  void divide_by_rows(const double *diagonal)
  {
    std::fill(factor_.begin(), factor_.end(), 0.0);
    for (std::size_t n = 0; n < square_; ++n) {
      double &largest = factor_[n % factor_.size()];
      largest = std::max(largest, std::fabs(diagonal[n]));
    }
    for (double &number : factor_) number = number > 0.0 ? 1.0 / number : 1.0;
  }
  // Flags the unknowns whose row and column of the block are zero.
  const std::uint8_t *empty_in(const double *block)
  {
    std::fill(empty_.begin(), empty_.end(), 1);
    for (std::size_t n = 0; n < square_; ++n)
      if (block[n] != 0.0) empty_[n % empty_.size()] = empty_[n / empty_.size()] = 0;
    return empty_.data();
  }

  const HeldExceptions held_; // A block without an inverse is no failure here.
  std::unique_ptr<BlockRows> values_;
  const int bs_;
  const std::size_t square_;
  std::vector<double> inverse_, block_, work_, factor_;
  std::vector<std::int64_t> pivot_;
  std::vector<std::uint8_t> empty_;
  const double *const *offdiag_ = nullptr;
  bool regular_ = false;
};

// Raises maxima to the sizes of these numbers, where they are finite.
void raise(const std::vector<double> &numbers, std::vector<double> &maxima)
{
  for (std::size_t n = 0; n < numbers.size(); ++n)
    if (std::isfinite(numbers[n])) maxima[n] = std::max(maxima[n], std::fabs(numbers[n]));
}

// Factors of rows and columns that make the components of scaled blocks alike in size
Scales balance(const BlockGraph &graph, const MatrixValues &values)
{
  const int bs = static_cast<int>(graph.bs);
  std::vector<double> maxima(static_cast<std::size_t>(bs) * bs, 0.0);
  std::mutex raising;
  constexpr Row kSample = CommonTuning::kSampledRow;
  share_range((graph.rows + kSample - 1) / kSample, graph.threads, [&](Row begin, Row end) {
    ScaledRows rows(values, bs);
    std::vector<double> mine(maxima.size(), 0.0);
    for (Row n = begin; n < end; ++n) {
      const Row i = n * kSample;
      rows.open(i);
      for (Offset k = graph.ptr[i]; k < graph.ptr[i + 1]; ++k)
        raise(rows.block(k - graph.ptr[i]), mine);
    }
    const std::lock_guard<std::mutex> lock(raising);
    raise(mine, maxima);
  });
  ScaleMethods methods(bs);
  Scales scales = unit_scales(bs);
  compute_scales(PC_MCPI_FORM_PRESCALED, PC_MCPI_PRECISION_FP64, bs, maxima, methods, scales);
  return scales;
}

double norm_of(int bs, const std::vector<double> &block, const Scales &scales)
{
  double sum = 0.0;
  const double *number = block.data();
  for (int q = 0; q < bs; ++q)
    for (int p = 0; p < bs; ++p, ++number) {
      const double value = scales.left[p] * *number * scales.right[q];
      sum += value * value;
    }
  return std::isfinite(sum) ? std::sqrt(sum) : 0.0;
}

// The pattern of the couplings between local rows in both directions
StrengthGraph local_couplings(const BlockGraph &graph)
{
  const SymmetrizedPattern pattern(graph);
  StrengthGraph result;
  result.ptr.reserve(static_cast<std::size_t>(graph.rows) + 1);
  result.col.reserve(pattern.col.size());
  result.ptr.push_back(0);
  for (Row i = 0; i < graph.rows; ++i) {
    std::copy_if(pattern.col.begin() + pattern.ptr[i], pattern.col.begin() + pattern.ptr[i + 1],
                 std::back_inserter(result.col), [&](Row column) { return column < graph.rows; });
    result.ptr.push_back(static_cast<Offset>(result.col.size()));
  }
  return result;
}

// The place of the coupling of row i to row j
std::size_t place_of(const StrengthGraph &couplings, Row i, Row j)
{
  const auto begin = couplings.col.begin() + couplings.ptr[i],
             end = couplings.col.begin() + couplings.ptr[i + 1];
  return static_cast<std::size_t>(std::lower_bound(begin, end, j) - couplings.col.begin());
}

// The norms of the blocks D_i^{-1} A_ij at the places of their couplings
std::vector<double> norms_of_blocks(const BlockGraph &graph, const MatrixValues &values,
                                    const StrengthGraph &couplings)
{
  const int bs = static_cast<int>(graph.bs);
  const Scales scales = balance(graph, values);
  std::vector<double> norm(couplings.col.size(), 0.0);
  share_range(graph.rows, graph.threads, [&](Row begin, Row end) {
    ScaledRows rows(values, bs);
    for (Row i = begin; i < end; ++i) {
      rows.open(i);
      for (Offset k = graph.ptr[i]; k < graph.ptr[i + 1]; ++k)
        if (graph.col[k] < graph.rows)
          norm[place_of(couplings, i, graph.col[k])] +=
              norm_of(bs, rows.block(k - graph.ptr[i]), scales);
    }
  });
  return norm;
}

} // namespace

StrengthGraph make_strengths(const BlockGraph &graph, const MatrixValues &values)
{
  StrengthGraph result = local_couplings(graph);
  const std::vector<double> norm = norms_of_blocks(graph, values, result);
  result.strength.resize(norm.size());
  share_range(graph.rows, graph.threads, [&](Row begin, Row end) {
    for (Row i = begin; i < end; ++i)
      for (Offset k = result.ptr[i]; k < result.ptr[i + 1]; ++k)
        result.strength[k] = norm[k] + norm[place_of(result, result.col[k], i)];
  });
  return result;
}

std::vector<Row> grow_clusters(const StrengthGraph &graph, const std::vector<Row> &order,
                               Row most_rows)
{
  // A coupling of any strength is better than none.
  constexpr double kLeast = 1e-12;
  struct Candidate {
    double gain;
    Row number, row; // number: in the order in which rows became candidates of the cluster
    bool operator<(const Candidate &other) const
    {
      return std::pair(gain, -number) < std::pair(other.gain, -other.number);
    }
  };
  std::vector<Row> cluster(order.size(), -1), number(order.size(), -1), candidates;
  std::vector<double> gain(order.size(), 0.0);
  Row clusters = 0;
  for (const Row seed : order) {
    if (cluster[seed] >= 0) continue;
    candidates.clear();
    std::priority_queue<Candidate> queue; // holds a row again for each gain that it had
    Row next = seed;
    for (Row rows = 0; rows < most_rows; ++rows) {
      cluster[next] = clusters;
      for (Offset k = graph.ptr[next]; k < graph.ptr[next + 1]; ++k) {
        const Row neighbor = graph.col[k];
        if (cluster[neighbor] >= 0) continue;
        if (gain[neighbor] == 0.0) {
          number[neighbor] = static_cast<Row>(candidates.size());
          candidates.push_back(neighbor);
        }
        gain[neighbor] += graph.strength[k] + kLeast;
        queue.push({gain[neighbor], number[neighbor], neighbor});
      }
      while (!queue.empty() && cluster[queue.top().row] >= 0) queue.pop();
      if (queue.empty()) break;
      next = queue.top().row;
    }
    for (const Row candidate : candidates) gain[candidate] = 0.0;
    ++clusters;
  }
  return cluster;
}

} // namespace mcpi
