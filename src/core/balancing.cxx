#include "core/balancing.h"

#include <algorithm>
#include <cmath>

#include "core/magnitude.h"

namespace mcpi {
namespace {

constexpr double kNone = kNoEntry; // log2 of a coupling that does not exist
constexpr int kPasses = 50;
constexpr double kSingleBits = 24.0; // bits of the significand in single precision
// If the product of the couplings in both directions is this many powers of two below the level's
// square, at most one direction counts.
constexpr double kWayAndBack = 2.0 * kSingleBits;
constexpr double kDoubleBits = 52.0; // a coupling this far below the level is a rounding error
constexpr double kWeak = 6.0;        // a coupling this far below the level loses digits in 8 bits

} // namespace

Balancing::Balancing(int bs)
    : bs_(bs), weight_(static_cast<std::size_t>(bs) * bs),
      walk_(static_cast<std::size_t>(bs) * (bs + 1)), shift_(bs), exponent_(bs), group_(bs)
{
}

void Balancing::compute(const std::vector<double> &maxima, std::vector<double> &s)
{
  std::fill(s.begin(), s.end(), 1.0);
  std::fill(exponent_.begin(), exponent_.end(), 0);
  std::transform(maxima.begin(), maxima.begin() + static_cast<std::ptrdiff_t>(weight_.size()),
                 weight_.begin(), log2_or_none);
  const double unscaled = largest_scaled();
  if (bs_ == 1 || unscaled == kNone) return;
  const double target = level();
  find_groups(target);
  balance_groups();
  move_groups_to(target);
  raise_weak_groups_to(target);
  for (int &exponent : exponent_)
    exponent = std::clamp(exponent, -kLargestExponent, kLargestExponent);
  if (largest_scaled() > unscaled) return;
  for (int p = 0; p < bs_; ++p) s[p] = std::ldexp(1.0, exponent_[p]);
}

double Balancing::largest_scaled() const
{
  double largest = kNone;
  for (int q = 0; q < bs_; ++q)
    for (int p = 0; p < bs_; ++p) largest = std::max(largest, scaled(p, q));
  return largest;
}

// The largest mean weight of a cycle (Karp 1978). The mean is meaningless if it is at rounding
// level compared with 1 and with the largest entry. The level is then 1, or the largest entry if
// that is smaller.
double Balancing::level()
{
  const auto walk = [&](int edges, int end) -> double & {
    return walk_[static_cast<std::size_t>(edges) * bs_ + end];
  };
  for (int end = 0; end < bs_; ++end) walk(0, end) = 0.0;
  for (int edges = 1; edges <= bs_; ++edges)
    for (int end = 0; end < bs_; ++end) {
      double best = kNone;
      for (int p = 0; p < bs_; ++p) best = std::max(best, walk(edges - 1, p) + weight(p, end));
      walk(edges, end) = best;
    }
  double mean = kNone;
  for (int end = 0; end < bs_; ++end) {
    if (walk(bs_, end) == kNone) continue;
    double least = -kNone;
    for (int edges = 0; edges < bs_; ++edges)
      if (walk(edges, end) != kNone)
        least = std::min(least, (walk(bs_, end) - walk(edges, end)) / (bs_ - edges));
    mean = std::max(mean, least);
  }
  const double largest_of_no_cycle = std::min(0.0, largest_scaled());
  return mean >= largest_of_no_cycle - kSingleBits ? mean : largest_of_no_cycle;
}

// Two components are in one group if some walk from one to the other and back is heavy enough. The
// heaviest walks come from the Floyd-Warshall algorithm. It applies because no cycle has a mean
// weight above the level: to go around a cycle again makes no walk heavier.
void Balancing::find_groups(double level)
{
  const auto walk = [&](int p, int q) -> double & {
    return walk_[static_cast<std::size_t>(p) + static_cast<std::size_t>(q) * bs_];
  };
  for (int q = 0; q < bs_; ++q)
    for (int p = 0; p < bs_; ++p) walk(p, q) = weight(p, q) - level;
  for (int over = 0; over < bs_; ++over)
    for (int q = 0; q < bs_; ++q) {
      const double rest = walk(over, q);
      if (rest == kNone) continue;
      for (int p = 0; p < bs_; ++p) walk(p, q) = std::max(walk(p, q), walk(p, over) + rest);
    }
  for (int p = 0; p < bs_; ++p) group_[p] = p;
  for (int p = 0; p < bs_; ++p)
    for (int q = 0; q < p; ++q)
      if (group_[p] != group_[q] && walk(p, q) + walk(q, p) >= -kWayAndBack) {
        const int from = group_[p], to = group_[q];
        std::replace(group_.begin(), group_.end(), from, to);
      }
}

// Osborne's iteration in every group. A step makes the largest entry of a row and that of its
// column equal up to a factor of 2. It always decreases the larger of the two, so the iteration
// ends.
void Balancing::balance_groups()
{
  bool changed = true;
  for (int pass = 0; pass < kPasses && changed; ++pass) {
    changed = false;
    for (int p = 0; p < bs_; ++p) {
      double row = kNone, column = kNone;
      for (int q = 0; q < bs_; ++q) {
        if (q == p || group_[q] != group_[p]) continue;
        row = std::max(row, scaled(p, q));
        column = std::max(column, scaled(q, p));
      }
      if (row == kNone || column == kNone) continue;
      const double half = (row - column) / 2.0;
      const int by = static_cast<int>(half > 0.0 ? std::ceil(half - 0.5)
                                                 : std::floor(half + 0.5)); // a tie changes nothing
      exponent_[p] += by;
      changed = changed || by != 0;
    }
  }
}

void Balancing::shift_group(int group, int by)
{
  for (int p = 0; p < bs_; ++p)
    if (group_[p] == group) exponent_[p] += by;
}

// A group gets larger units if it reads couplings above the level. The shifts are the smallest with
// which no coupling between groups is above the level (Bellman-Ford algorithm).
void Balancing::move_groups_to(double level)
{
  std::fill(shift_.begin(), shift_.end(), 0.0);
  bool changed = true;
  for (int pass = 0; pass < bs_ && changed; ++pass) {
    changed = false;
    for (int q = 0; q < bs_; ++q)
      for (int p = 0; p < bs_; ++p) {
        if (group_[p] == group_[q]) continue;
        const double needed = scaled(p, q) - level + shift_[group_[q]];
        if (needed <= shift_[group_[p]]) continue;
        shift_[group_[p]] = needed;
        changed = true;
      }
  }
  for (int p = 0; p < bs_; ++p) exponent_[p] += static_cast<int>(std::floor(shift_[group_[p]]));
}

// The units of a group that only reads the others, or is only read by them, are free. They are
// chosen so that weak couplings are raised to the level and keep their digits.
void Balancing::raise_weak_groups_to(double level)
{
  for (int group = 0; group < bs_; ++group) {
    double reads = kNone, is_read = kNone;
    for (int q = 0; q < bs_; ++q)
      for (int p = 0; p < bs_; ++p) {
        if (group_[p] == group_[q]) continue;
        if (group_[p] == group) reads = std::max(reads, scaled(p, q) - level);
        if (group_[q] == group) is_read = std::max(is_read, scaled(p, q) - level);
      }
    const double coupling = std::max(reads, is_read);
    if (std::min(reads, is_read) != kNone || coupling < -kDoubleBits || coupling >= -kWeak)
      continue;
    shift_group(group,
                static_cast<int>(reads == kNone ? std::floor(-coupling) : -std::floor(-coupling)));
  }
}

} // namespace mcpi
