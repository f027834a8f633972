// Dense algebra by LAPACK, and the sweeps by their formula
#pragma once

#include <map>
#include <tuple>

#include "petscmcpitypes.h"
#include "support/models.h"

namespace mcpi::test {

using LongVector = std::vector<long double>;

struct Dense {
  explicit Dense(std::size_t size) : n(size), a(size * size, 0.0) {}
  double &operator()(std::size_t i, std::size_t j) { return a[j * n + i]; }
  const double &operator()(std::size_t i, std::size_t j) const { return a[j * n + i]; }

  std::size_t n;
  Vector a; // column-major
};
// The inverse of a column-major block, by Gauss-Jordan elimination with complete pivoting in long
// double
LongVector exact_inverse(int n, std::span<const double> block);

struct Sweeps {
  PCMCPISweepType type = PC_MCPI_SWEEP_FORWARD;
  double omega = 1.0;
  int its = 1;
  int restart = 0;
};

// The iteration by its formula, x <- x + (D/w + T)^{-1} (b - A x). T holds the blocks of the colors
// that the pass has already visited. If owners are given, ghosts are exchanged once a pass: T then
// holds blocks inside a rank only, and the iteration is block Jacobi between ranks.
class DenseIteration {
public:
  DenseIteration(const BlockMatrix &matrix, const std::vector<int> &color,
                 const std::vector<int> &owner = {})
      : matrix_(matrix), color_(color), owner_(owner)
  {
  }
  Vector run(const Sweeps &sweeps, const Vector &b, Vector x);
  Vector run(const Sweeps &sweeps, const Vector &b) { return run(sweeps, b, Vector(b.size())); }
  // The transposed operator of sweeps from zero. It is made of the columns of the operator, so that
  // no transposed sweeps are used.
  Vector transposed(const Sweeps &sweeps, const Vector &b);

private:
  Vector sweep(const Sweeps &sweeps, int its, const Vector &b, Vector x);
  void pass(double omega, bool forward, const Vector &b, Vector &x);

  const BlockMatrix &matrix_;
  const std::vector<int> color_, owner_;
  std::map<std::tuple<double, bool>, Dense> solvers_;
};

} // namespace mcpi::test
