#include "core/dense.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/add_product.h"
#include "core/dispatch.h"
#include "core/lapack.h"
#include "core/powers_of_two.h"
#include "core/tuning.h"

namespace mcpi {
namespace {

// Gauss-Jordan elimination in place. Returns false if a pivot is not larger than tolerance. The
// code is written for row-major blocks. It serves column-major blocks too, since the inverse of the
// transpose is the transpose of the inverse. N is the block size, or 0 if size gives it at run
// time.
template <int N> bool gauss_jordan(int size, double *a, double tolerance, std::int64_t *pivot)
{
  const int n = N > 0 ? N : size;
  for (int k = 0; k < n; ++k) {
    int p = k;
    for (int i = k + 1; i < n; ++i)
      if (std::fabs(a[i * n + k]) > std::fabs(a[p * n + k])) p = i;
    pivot[k] = p;
    if (!(std::fabs(a[p * n + k]) > tolerance)) return false;
    if (p != k) std::swap_ranges(a + p * n, a + p * n + n, a + k * n);
    const double scale = 1.0 / a[k * n + k];
    a[k * n + k] = 1.0;
    for (int j = 0; j < n; ++j) a[k * n + j] *= scale;
    for (int i = 0; i < n; ++i) {
      if (i == k) continue;
      const double factor = a[i * n + k];
      a[i * n + k] = 0.0;
      for (int j = 0; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
    }
  }
  for (int k = n - 1; k >= 0; --k)
    if (pivot[k] != k)
      for (int i = 0; i < n; ++i) std::swap(a[i * n + k], a[i * n + pivot[k]]);
  return true;
}

bool lapack_inverse(int n, double *a, double tolerance, double *work, std::int64_t *pivot)
{
  PetscBLASInt size = n, info = 0;
  // PetscBLASInt has 32 or 64 bits, and pivot has room for either.
  auto *swapped = reinterpret_cast<PetscBLASInt *>(pivot);
  static_assert(sizeof(PetscBLASInt) <= sizeof(*pivot));
  LAPACKgetrf_(&size, &size, a, &size, swapped, &info);
  if (info != 0) return false;
  for (int k = 0; k < n; ++k)
    if (!(std::fabs(a[k * n + k]) > tolerance)) return false;
  LAPACKgetri_(&size, a, &size, swapped, work, &size, &info);
  return info == 0;
}

} // namespace

double column_norm(int bs, const double *block)
{
  double largest = 0.0;
  for (int j = 0; j < bs; ++j) {
    double sum = 0.0;
    for (int i = 0; i < bs; ++i) sum += std::fabs(block[j * bs + i]);
    largest = std::max(largest, sum);
  }
  return largest;
}

Inversion invert(int bs, const double *block, double *inverse, double *work, std::int64_t *pivot,
                 double *condition)
{
  double *row = work, *column = work + bs, *rest = work + 2 * bs;
  std::fill(row, row + bs, 0.0);
  bool finite = true;
  for (int j = 0; j < bs; ++j)
    for (int i = 0; i < bs; ++i) {
      const double a = std::fabs(block[j * bs + i]);
      finite = finite && a <= std::numeric_limits<double>::max();
      row[i] = std::max(row[i], a);
    }
  if (!finite) return Inversion::nonfinite;
  for (int i = 0; i < bs; ++i) {
    if (row[i] == 0.0) return Inversion::singular;
    row[i] = inverse_power_of_two(row[i]);
  }
  for (int j = 0; j < bs; ++j) {
    double largest = 0.0;
    for (int i = 0; i < bs; ++i) {
      inverse[j * bs + i] = row[i] * block[j * bs + i];
      largest = std::max(largest, std::fabs(inverse[j * bs + i]));
    }
    if (largest == 0.0) return Inversion::singular;
    column[j] = inverse_power_of_two(largest);
    for (int i = 0; i < bs; ++i) inverse[j * bs + i] *= column[j];
  }
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  const double tolerance = bs > 1 ? bs * epsilon : 0.0, block_norm = column_norm(bs, inverse);
  const bool good =
      bs < CommonTuning::kLapackFrom
          ? with_block_size<1, 8>(
                bs, [&]<int size> { return gauss_jordan<size>(bs, inverse, tolerance, pivot); })
          : lapack_inverse(bs, inverse, tolerance, rest, pivot);
  if (!good) return Inversion::singular;
  // Element growth can give a singular block a last pivot above the tolerance. So the condition
  // number is tested, too.
  const double number = block_norm * column_norm(bs, inverse);
  if (!(number * epsilon < kNoDigits)) return Inversion::singular;
  if (condition) *condition = number;
  for (int j = 0; j < bs; ++j)
    for (int i = 0; i < bs; ++i) {
      double &entry = inverse[j * bs + i];
      // In this order only a product that is out of range overflows.
      entry = row[j] < 1.0 ? entry * (column[i] * row[j]) : entry * row[j] * column[i];
      finite = finite && std::isfinite(entry);
    }
  return finite ? Inversion::done : Inversion::singular;
}

Inversion invert_rest(int bs, const double *block, const std::uint8_t *empty, double *inverse,
                      double *work, std::int64_t *pivot, double *condition)
{
  const auto set_diagonal = [&](double *of, double value) {
    for (int i = 0; i < bs; ++i)
      if (empty[i]) of[static_cast<std::size_t>(i) * bs + i] = value;
  };
  if (!empty || std::all_of(empty, empty + bs, [](std::uint8_t flag) { return flag == 0; }))
    return invert(bs, block, inverse, work, pivot, condition);
  std::vector<double> regular(block, block + static_cast<std::size_t>(bs) * bs);
  set_diagonal(regular.data(), 1.0);
  const Inversion verdict = invert(bs, regular.data(), inverse, work, pivot, condition);
  set_diagonal(inverse, 0.0);
  return verdict;
}

void add_product(int bs, const double *a, const double *b, double *c)
{
  with_block_size<1, 8>(bs, [&]<int size> { add_product<size>(bs, a, b, c); });
}

void multiply(int bs, const double *m, const double *x, double *y)
{
  for (int i = 0; i < bs; ++i) y[i] = m[i] * x[0];
  for (int j = 1; j < bs; ++j)
    for (int i = 0; i < bs; ++i) y[i] += m[j * bs + i] * x[j];
}

void multiply_transposed(int bs, const double *m, const double *x, double *y)
{
  for (int j = 0; j < bs; ++j) {
    double sum = 0.0;
    for (int i = 0; i < bs; ++i) sum += m[j * bs + i] * x[i];
    y[j] = sum;
  }
}

} // namespace mcpi
