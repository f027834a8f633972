// The factors of the methods dilu and ilu0 by their formula, and checks of an application.
#pragma once

#include <algorithm>
#include <numeric>

#include "plan_places.h"

namespace mcpi::test {

// c = a b
inline Vector product(PetscInt bs, const double *a, const double *b)
{
  Vector c(static_cast<std::size_t>(bs * bs), 0.0);
  for (PetscInt j = 0; j < bs; ++j)
    for (PetscInt k = 0; k < bs; ++k)
      for (PetscInt i = 0; i < bs; ++i) c[j * bs + i] += a[k * bs + i] * b[j * bs + k];
  return c;
}

// The factors (E + L) E^{-1} (E + U) for an order of the rows. Rows of one place must not be
// coupled.
struct Factors {
  // a_ij is replaced by a_ij minus the sum over k before i and j of a_ik E_k^{-1} a_kj, in which
  // all blocks are replaced ones and are stored. fill: also outside the diagonal
  Factors(const BlockMatrix &matrix, const std::vector<int> &order, bool fill)
      : a(matrix), place(order), inverse(order.size())
  {
    const std::vector<Row> rows = in_order(place);
    for (const Row i : rows) {
      for (const Row j : rows)
        if (place[j] < place[i]) replace(i, j, fill);
      replace(i, i, true);
      const LongVector exact = exact_inverse(a.bs, a.diagonal(i));
      inverse[i].assign(exact.begin(), exact.end());
      for (const Row j : rows)
        if (place[j] > place[i]) replace(i, j, fill);
    }
  }

  static std::vector<Row> in_order(const std::vector<int> &place)
  {
    std::vector<Row> rows(place.size());
    std::iota(rows.begin(), rows.end(), 0);
    std::stable_sort(rows.begin(), rows.end(), [&](Row i, Row j) { return place[i] < place[j]; });
    return rows;
  }
  void replace(Row i, Row j, bool fill)
  {
    double *block = a.block(i, j);
    for (Row k = 0; block && fill && k < a.rows(); ++k) {
      if (place[k] >= std::min(place[i], place[j]) || !a.block(i, k) || !a.block(k, j)) continue;
      const Vector left = product(a.bs, a.block(i, k), inverse[k].data()),
                   change = product(a.bs, left.data(), a.block(k, j));
      for (std::size_t n = 0; n < change.size(); ++n) block[n] -= change[n];
    }
  }

  // y += block x, or block^T x
  void add(const double *block, bool transposed, const double *x, double *y) const
  {
    for (PetscInt q = 0; q < a.bs; ++q)
      for (PetscInt p = 0; p < a.bs; ++p)
        y[transposed ? q : p] += block[q * a.bs + p] * x[transposed ? p : q];
  }
  // E x + (couplings to earlier or to later rows) x, or the same with transposed blocks
  Vector triangle(bool earlier, bool transposed, const Vector &x)
  {
    Vector y(x.size(), 0.0);
    for (Row i = 0; i < a.rows(); ++i)
      for (Row j = 0; j < a.rows(); ++j) {
        const double *block = transposed ? a.block(j, i) : a.block(i, j);
        const bool taken = i == j || (earlier ? place[j] < place[i] : place[j] > place[i]);
        if (block && taken) add(block, transposed, x.data() + j * a.bs, y.data() + i * a.bs);
      }
    return y;
  }
  // (E + L) E^{-1} (E + U) x, or the transpose
  Vector multiply(bool transposed, const Vector &x)
  {
    const Vector right = triangle(false, transposed, x);
    Vector middle(x.size(), 0.0);
    for (Row i = 0; i < a.rows(); ++i)
      add(inverse[i].data(), transposed, right.data() + i * a.bs, middle.data() + i * a.bs);
    return triangle(true, transposed, middle);
  }

  BlockMatrix a; // the replaced blocks
  const std::vector<int> &place;
  std::vector<Vector> inverse;
};

// Checks one application and a transposed one, by |M x - b| / |b|.
inline PetscErrorCode check_application(PC pc, const BlockMatrix &matrix, bool fill,
                                        double tolerance)
{
  const Vector b = random_vector(matrix.size(), 3);
  std::vector<int> place;
  Mat mat;
  Vector x;

  PetscFunctionBeginUser;
  PetscCall(PCGetOperators(pc, nullptr, &mat));
  PetscCall(apply(pc, b, &x));
  PetscCall(gather_places(pc, mat, &place));
  Factors factors(matrix, place, fill);
  EXPECT_LE(difference(factors.multiply(false, x), b), tolerance);
  PetscCall(apply_transpose(pc, b, &x));
  EXPECT_LE(difference(factors.multiply(true, x), b), tolerance);
  PetscFunctionReturn(PETSC_SUCCESS);
}

inline PetscErrorCode check_method(const std::string &method, const BlockMatrix &matrix,
                                   MatType type, Layout layout, const std::string &options,
                                   double tolerance)
{
  OwnedMat mat;
  Preconditioner pc;

  PetscFunctionBeginUser;
  describe(std::string(type) + " bs " + std::to_string(matrix.bs) + " " + name_of(layout) + " " +
           options);
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, layout, type, &mat));
  PetscCall(create_pc(mat, "-pc_mcpi_method " + method + " " + options, &pc));
  PetscCall(check_application(pc, matrix, method == "ilu0", tolerance));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Checks that a second sweep is applied to the residual of the first one, in an application and in
// Richardson's method. options: those of the method, with blocks in double precision
inline PetscErrorCode check_more_sweeps(const std::string &options)
{
  BlockMatrix matrix = make_matrix(3, random_pattern(40, 3, false));
  const Vector b = random_vector(matrix.size(), 1);
  OwnedMat mat;
  Preconditioner pc;
  Vector x, correction, twice;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, options, &pc));
  PetscCall(apply(pc, b, &x));
  Vector residual = matrix.multiply(x);
  for (std::size_t i = 0; i < b.size(); ++i) residual[i] = b[i] - residual[i];
  PetscCall(apply(pc, residual, &correction));
  Vector expected = x;
  for (std::size_t i = 0; i < b.size(); ++i) expected[i] += correction[i];
  PetscCall(apply_richardson(pc, b, false, 1, &x)); // from the first iterate
  EXPECT_LE(difference(x, expected), 1e-13);
  PetscCall(PCMCPISetIts(pc, 2));
  PetscCall(apply(pc, b, &twice));
  EXPECT_LE(difference(twice, expected), 1e-13);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi::test
