// Balancing of a block of maxima: it finds a power of two for each component, so that the couplings
// between components become similar in size.
#pragma once

#include <vector>

namespace mcpi {

// Let P be the matrix of all blocks, and maxima[p + q*bs] the largest |P(p,q)| over its blocks.
// diag(1/s) * P * diag(s) is P in other units of the components. Consider the geometric mean of the
// entries around a cycle of components. The largest such mean is called the level. No choice of
// units makes the largest entry of the scaled P smaller than the level.
//
// Osborne's iteration (1960) balances components that couple in both directions. It does not
// converge for a coupling that counts in one direction only: it would change the units of such
// components without end. Such a coupling is only reduced to the level, if it is above it. There
// are two kinds:
// - triangular patterns: a component only reads others, or is only read by others;
// - couplings whose opposite direction is at rounding level. If the two were made equal, both would
//   vanish beside the other couplings.
class Balancing {
public:
  explicit Balancing(int bs);

  // Sets the bs entries of s to powers of two. All are 1 if balancing would increase the largest
  // entry. The maxima must be finite. The call allocates nothing.
  void compute(const std::vector<double> &maxima, std::vector<double> &s);

  // Largest magnitude of a factor's exponent. With it, products of two factors are normal numbers.
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
  // Weights of the heaviest walks: level() indexes them by number of edges and end, find_groups()
  // by start and end.
  std::vector<double> walk_;
  std::vector<double> shift_;         // by group: what move_groups_to() adds to its exponents
  std::vector<int> exponent_, group_; // by component: log2 of its factor, and its group
};

} // namespace mcpi
