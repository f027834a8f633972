// Balancing of a block of maxima: a power of two for each component, so that couplings between
// components become alike in size.
#pragma once

#include <vector>

namespace mcpi {

// With maxima[p + q*bs] the largest |P(p,q)| over all blocks of P, diag(1/s) * P * diag(s) is P in
// other units of the components. No choice of units brings its largest entry below the largest
// geometric mean of the entries around a cycle of components, the level.
//
// Components that couple in both directions are balanced by Osborne's iteration (1960). Where only
// one direction counts, the iteration would have no end: it would move the component away for ever.
// Such couplings are brought to the level at most. They are
// - triangular patterns: a component that only reads, or is only read;
// - couplings whose way back is at rounding level, so that both would vanish beside the others if
// they were made alike.
class Balancing {
public:
  explicit Balancing(int bs);

  // s has bs entries, all powers of two. They are 1 if the result would be worse than the unscaled
  // maxima. The maxima must be finite. Nothing is allocated.
  void compute(const std::vector<double> &maxima, std::vector<double> &s);

  // of the factors: their products with each other stay normal numbers
  static constexpr int kLargestExponent = 500;

private:
  double weight(int p, int q) const
  {
    return weight_[static_cast<std::size_t>(p) +
                   static_cast<std::size_t>(q) * static_cast<std::size_t>(bs_)];
  }
  double scaled(int p, int q) const { return weight(p, q) + exponent_[q] - exponent_[p]; }
  double level();
  void find_groups(double level);
  void balance_groups();
  void move_groups_to(double level);
  void raise_weak_groups_to(double level);
  void shift_group(int group, int by);
  double largest_scaled() const;

  int bs_;
  std::vector<double> weight_; // log2 of the maxima
  std::vector<double>
      walk_; // the heaviest walks: by number of edges and end, then by start and end
  std::vector<double> shift_; // of groups
  std::vector<int> exponent_, group_;
};

} // namespace mcpi
