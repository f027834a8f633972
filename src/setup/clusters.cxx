#include "setup/clusters.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>

#include "core/dense.h"
#include "core/scaling.h"

namespace mcpi {
namespace {

// Blocks D_i^{-1} A_ij of one row after the other
class ScaledRows {
public:
  ScaledRows(BlockRows &values, int bs)
      : values_(values), bs_(bs), square_(static_cast<std::size_t>(bs) * bs), inverse_(square_),
        block_(square_), work_(3 * static_cast<std::size_t>(bs)),
        pivot_(static_cast<std::size_t>(bs))
  {
  }
  void open(Row row)
  {
    const double *diagonal = nullptr;
    values_.row(row, diagonal, offdiag_);
    regular_ =
        invert(bs_, diagonal, inverse_.data(), work_.data(), pivot_.data()) == Inversion::done;
  }
  // The k-th block. If D_i has no inverse, the set-up will fail, and any number will do.
  const std::vector<double> &block(Offset k)
  {
    for (int j = 0; j < bs_; ++j) {
      const double *column = offdiag_[k] + static_cast<std::ptrdiff_t>(j) * bs_;
      if (regular_)
        multiply(bs_, inverse_.data(), column,
                 block_.data() + static_cast<std::ptrdiff_t>(j) * bs_);
      else
        std::copy_n(column, bs_, block_.data() + static_cast<std::ptrdiff_t>(j) * bs_);
    }
    return block_;
  }

private:
  BlockRows &values_;
  const int bs_;
  const std::size_t square_;
  std::vector<double> inverse_, block_, work_;
  std::vector<std::int64_t> pivot_;
  const double *const *offdiag_ = nullptr;
  bool regular_ = false;
};

// Every kSample-th row is enough to find the sizes of the components.
constexpr Row kSample = 8;

// Factors of rows and columns that make the components of scaled blocks alike in size
Scales balance(const BlockGraph &graph, ScaledRows &rows)
{
  const int bs = static_cast<int>(graph.bs);
  std::vector<double> maxima(static_cast<std::size_t>(bs) * bs, 0.0);
  for (Row i = 0; i < graph.rows; i += kSample) {
    rows.open(i);
    for (Offset k = graph.ptr[i]; k < graph.ptr[i + 1]; ++k) {
      const std::vector<double> &block = rows.block(k - graph.ptr[i]);
      for (std::size_t n = 0; n < block.size(); ++n)
        if (std::isfinite(block[n])) maxima[n] = std::max(maxima[n], std::fabs(block[n]));
    }
  }
  ScaleMethods methods(bs);
  Scales scales = unit_scales(bs);
  compute_scales(PC_MCPI_FORM_PRESCALED, PC_MCPI_SCALING_BALANCED, PC_MCPI_PRECISION_FP64, bs,
                 maxima, methods, scales);
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

} // namespace

StrengthGraph make_strengths(const BlockGraph &graph, BlockRows &values)
{
  const SymmetrizedPattern pattern(graph);
  StrengthGraph result;
  result.ptr.push_back(0);
  for (Row i = 0; i < graph.rows; ++i) {
    std::copy_if(pattern.col.begin() + pattern.ptr[i], pattern.col.begin() + pattern.ptr[i + 1],
                 std::back_inserter(result.col), [&](Row column) { return column < graph.rows; });
    result.ptr.push_back(static_cast<Offset>(result.col.size()));
  }
  result.strength.assign(result.col.size(), 0.0);
  const auto add = [&](Row i, Row j, double strength) {
    const auto begin = result.col.begin() + result.ptr[i],
               end = result.col.begin() + result.ptr[i + 1];
    result
        .strength[static_cast<std::size_t>(std::lower_bound(begin, end, j) - result.col.begin())] +=
        strength;
  };
  const int bs = static_cast<int>(graph.bs);
  ScaledRows rows(values, bs);
  const Scales scales = balance(graph, rows);
  for (Row i = 0; i < graph.rows; ++i) {
    rows.open(i);
    for (Offset k = graph.ptr[i]; k < graph.ptr[i + 1]; ++k) {
      if (graph.col[k] >= graph.rows) continue;
      const double strength = norm_of(bs, rows.block(k - graph.ptr[i]), scales);
      add(i, graph.col[k], strength);
      add(graph.col[k], i, strength);
    }
  }
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
