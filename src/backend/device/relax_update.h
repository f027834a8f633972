// How every relaxation turns a row's sums into the new x: residual, inverse diagonal block,
// damping. Yes-or-no choices are bits of one word. Factors are given in both precisions, so that no
// thread converts them.
#pragma once

#include <bit>
#include <cstddef>
#include <type_traits>

#include "backend/device/numbers.h"

namespace mcpi::device {

// Bits of RelaxTerms::flags. They restate ApplyArgs and RelaxStep (sweep/backend.h). The near
// triangle is the one whose sum may be kept for the next pass.
enum RelaxFlag : unsigned {
  kLower = 1,        // products read the lower triangle
  kUpper = 2,        // products read the upper triangle
  kFromZero = 4,     // x of these rows counts as zero, whatever memory holds
  kUseKept = 8,      // add the sum that the previous pass kept
  kKeepSum = 16,     // keep the sum over the near triangle
  kKeepZero = 32,    // keep zero
  kLowerIsNear = 64, // the near triangle is the lower one, not the upper one
  kFactored = 128,   // factored form: multiply residuals by inverse diagonal blocks
  kTransposed = 256, // the inverse diagonal blocks are transposed
  kReadLater = 512,  // store x itself: more than off-diagonal products read it
};

// A factor in double and in single precision.
struct Scalar {
  double wide;
  float narrow;

  Scalar(double value) : wide(value), narrow(to_fp32(value)) {}
  template <class T> constexpr T as() const
  {
    if constexpr (sizeof(T) == sizeof(double))
      return wide;
    else
      return narrow;
  }
};

// The arguments that all relaxation kernels have. Vectors are in plan order and in vector
// precision: component i of a row and right-hand side r is entry (row*nrhs + r)*bs + i. A kernel
// reads `read`, rhs, kept and diagonal; it writes x and kept as flags say.
struct RelaxTerms {
  void *x = nullptr;               // rows, then ghosts
  const void *read = nullptr;      // what products read: x, its rounded copy, or another vector
  const void *rhs = nullptr;       // right-hand sides
  void *kept = nullptr;            // sums over one triangle, kept for the next pass
  const void *diagonal = nullptr;  // inverse diagonal blocks in plan order
  Scalar alpha = 1.0, omega = 1.0; // alpha multiplies the products; omega is the damping factor
  int bs = 0, nrhs = 1;
  unsigned flags = 0; // RelaxFlag
};

// The terms of y = B x, where B holds the off-diagonal blocks as they are stored: a relaxation from
// zero of another vector. zeros: a right-hand side.
inline RelaxTerms product_terms(const void *x, void *y, const void *zeros)
{
  RelaxTerms terms;
  terms.x = y;
  terms.read = x;
  terms.rhs = zeros;
  terms.alpha = -1.0; // A relaxation subtracts.
  terms.flags = kLower | kUpper | kFromZero | kReadLater;
  return terms;
}

// Sums of one component of a row over the two triangles
template <class T> struct TriangleSums {
  T lower = 0, upper = 0;
};

// Returns the sum that the previous pass has kept, or zero if none is used.
template <class T> MCPI_HD T kept_sum(const RelaxTerms &terms, std::size_t at)
{
  return terms.flags & kUseKept ? static_cast<const T *>(terms.kept)[at] : T(0);
}

// Returns a component of the row's residual, and keeps a sum or zero as terms.flags say. before:
// kept_sum(). at: the component's place in the vectors.
template <class T>
MCPI_HD T residual(const RelaxTerms &terms, T rhs, TriangleSums<T> sums, T before, std::size_t at)
{
  const bool lower_near = terms.flags & kLowerIsNear;
  const T near_sum = lower_near ? sums.lower : sums.upper,
          far_sum = lower_near ? sums.upper : sums.lower;
  T *kept = static_cast<T *>(terms.kept);
  const T sum = near_sum + far_sum + before;
  if (terms.flags & kKeepSum) kept[at] = near_sum;
  if (terms.flags & kKeepZero) kept[at] = T(0);
  return rhs - terms.alpha.template as<T>() * sum;
}

// Inverse diagonal blocks are column-major and in plan order. A block is bs*bs doubles, or, if
// narrow, bs*bs floats and a word with the exponent of the power of two by which they are
// multiplied. Narrow blocks take half the bytes and suit any units, since each block has its own
// power of two. Returns component i of a row's block, or of its transpose, times v, whose
// components are v(0), v(1), ... size: bs if it is known at compile time, otherwise 0.
MCPI_HD_FOR_ALL template <int size, bool narrow, class V>
MCPI_HD double diagonal_product(const void *diagonal, std::size_t row, int bs, int i,
                                bool transposed, const V &v)
{
  using Stored = std::conditional_t<narrow, float, double>;
  if constexpr (size > 0) bs = size;
  const Stored *block = static_cast<const Stored *>(diagonal) +
                        row * static_cast<std::size_t>(bs * bs + (narrow ? 1 : 0));
  const int first = transposed ? i * bs : i, step = transposed ? 1 : bs;
  double sum = 0.0;
  MCPI_UNROLL
  for (int j = 0; j < bs; ++j)
    sum += static_cast<double>(block[first + j * step]) * static_cast<double>(v(j));
  if constexpr (narrow) sum *= power_of_two<double>(std::bit_cast<int>(block[bs * bs]));
  return sum;
}

// The product of the factored form, which keeps double. v: the row's residuals.
MCPI_HD_FOR_ALL template <int size, class T, class V>
MCPI_HD T apply_diagonal(const RelaxTerms &terms, std::size_t row, int i, const V &v)
{
  return static_cast<T>(diagonal_product<size, false>(terms.diagonal, row, terms.bs, i,
                                                      terms.flags & kTransposed, v));
}

// Returns the new x: the update damped by omega. *x is the old one.
template <class T> MCPI_HD T damped(const RelaxTerms &terms, T update, const T *x)
{
  const T omega = terms.omega.template as<T>();
  if (omega != T(1))
    update = terms.flags & kFromZero ? omega * update : (T(1) - omega) * *x + omega * update;
  return update;
}

// Damps the update, stores it in x if flags contain kReadLater, and returns it.
template <class T> MCPI_HD T relax_component(const RelaxTerms &terms, T update, std::size_t at)
{
  T *x = static_cast<T *>(terms.x) + at;
  update = damped(terms, update, x);
  if (terms.flags & kReadLater) *x = update;
  return update;
}

} // namespace mcpi::device
