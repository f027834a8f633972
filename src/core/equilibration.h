// Equilibration of a block of maxima: it finds powers of two for the rows and for the columns, so
// that the entries become similar in size.
#pragma once

#include <vector>

namespace mcpi {

// Equilibration is used with the factored form, where the factors of rows and columns are
// independent. The method is Ruiz's (2001).
class Equilibration {
public:
  explicit Equilibration(int bs);

  // Sets the bs entries of left (rows) and of right (columns) to powers of two. All
  // maxima[p + q*bs] must be finite. The call allocates nothing.
  void compute(const std::vector<double> &maxima, std::vector<double> &left,
               std::vector<double> &right);

  // 2^exponent. The exponent is clamped so that the result and its inverse are normal numbers.
  static double factor(int exponent);
  static constexpr int kLargestExponent = 1020;

private:
  struct Side {
    explicit Side(int bs) : exponent(bs), coupled(bs) {}

    std::vector<int> exponent;
    std::vector<bool> coupled; // whether some entry of the row or column is not zero
  };

  bool balance_rows(const std::vector<double> &maxima);
  bool balance_columns(const std::vector<double> &maxima);
  void keep_together(Side &side);

  int bs_;
  Side rows_, columns_;
  std::vector<int> known_; // work space of keep_together()
};

} // namespace mcpi
