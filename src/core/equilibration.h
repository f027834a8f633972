// Equilibration of a block of maxima: powers of two for its rows and its columns, so that its
// entries become alike in size.
#pragma once

#include <vector>

namespace mcpi {

// For blocks that are not similar to anything (factored form): rows and columns have factors of
// their own, as in Ruiz's method (2001).
class Equilibration {
public:
  explicit Equilibration(int bs);

  // left and right have bs entries, all powers of two. maxima[p + q*bs] must be finite. Nothing is
  // allocated.
  void compute(const std::vector<double> &maxima, std::vector<double> &left,
               std::vector<double> &right);

  // 2^exponent, kept to normal numbers whose inverses are normal, too
  static double power_of_two(double exponent);
  static constexpr double kLargestExponent = 1020.0;

private:
  struct Side {
    explicit Side(int bs) : exponent(bs), coupled(bs) {}

    std::vector<int> exponent;
    std::vector<bool> coupled; // some entry of the row or column is not zero
  };

  bool balance_rows(const std::vector<double> &maxima);
  bool balance_columns(const std::vector<double> &maxima);
  void keep_together(Side &side);

  int bs_;
  Side rows_, columns_;
  std::vector<int> known_;
};

} // namespace mcpi
