// Inverts diagonal blocks of any size, by a team of threads for each. Steps and verdicts are those
// of core/dense.cxx.
#pragma once

#include "backend/kokkos/setup.h"

namespace mcpi::kokkos {

// Returns 1 over the largest power of two that is not above the value, which is positive.
KOKKOS_INLINE_FUNCTION double inverse_power_of_two(double value)
{
  constexpr long long kSum = 2046; // sum of the biased exponents of a power of two and its inverse
  long long exponent = static_cast<long long>(Kokkos::bit_cast<unsigned long long>(value) >> 52);
  exponent = exponent < 1 ? 1 : exponent > kSum - 1 ? kSum - 1 : exponent;
  return Kokkos::bit_cast<double>(static_cast<unsigned long long>(kSum - exponent) << 52);
}

// A team takes a row; its threads take columns of the diagonal block. What every thread needs, such
// as pivots and norms, every thread computes from the same numbers in the same order. Reads
// args.values; writes args.diagonal, which also serves as working memory.
template <class Space> struct InvertDiagonals {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;

  SetupArgs args;

  static KOKKOS_FUNCTION std::size_t scratch_bytes(int bs)
  {
    return static_cast<std::size_t>(bs) * (2 * sizeof(double) + sizeof(int)) + 16;
  }

  KOKKOS_FUNCTION void operator()(const Member &team) const
  {
    const int bs = args.shape.bs;
    const Row row = args.begin + team.league_rank();
    const double *block =
        args.replaced
            ? args.replaced + static_cast<std::size_t>(args.row_of[row]) * args.square()
            : args.values + static_cast<std::size_t>(args.blocks_before(row)) * args.square();
    double *inverse = args.diagonal + static_cast<std::size_t>(row) * args.square();
    // scales of rows, then of columns; pivots follow
    auto *scale =
        static_cast<double *>(team.team_scratch(0).get_shmem_aligned(scratch_bytes(bs) - 16, 16));
    const Defect defect =
        invert(team, block, inverse, scale, scale + bs, reinterpret_cast<int *>(scale + 2 * bs));
    team.team_barrier();
    // Prescaled form: d = diag(1/right) D^{-1} b. Factored form: the inverse of diag(left) D
    // diag(right).
    for (int j = team.team_rank(); j < bs; j += team.team_size()) {
      double largest = 0.0;
      for (int i = 0; i < bs; ++i) {
        const double value = inverse[j * bs + i] / args.right[i];
        inverse[j * bs + i] = defect != Defect::none ? 0.0
                              : args.prescaled       ? value
                                                     : value / args.left[j];
        largest = Kokkos::fmax(largest, Kokkos::fabs(inverse[j * bs + i]));
      }
      (void)raise_to(args.maxima + bs * bs, largest);
      (void)raise_to(args.maxima + bs * bs + 1, 1.0 / largest);
    }
    if (defect != Defect::none && team.team_rank() == 0) args.report(row, defect);
  }

private:
  KOKKOS_FUNCTION Defect invert(const Member &team, const double *block, double *inverse,
                                double *row_scale, double *column_scale, int *pivot) const
  {
    const int bs = args.shape.bs, rank = team.team_rank(), threads = team.team_size();
    bool finite = true;
    for (int n = 0; n < bs * bs; ++n) finite = finite && is_finite(block[n]);
    if (!finite) return Defect::nonfinite_diagonal;
    bool zero = false;
    for (int i = 0; i < bs; ++i) {
      double largest = 0.0;
      for (int j = 0; j < bs; ++j) largest = Kokkos::fmax(largest, Kokkos::fabs(block[j * bs + i]));
      zero = zero || largest == 0.0;
      if (rank == 0) row_scale[i] = inverse_power_of_two(largest);
    }
    if (zero) return Defect::singular;
    team.team_barrier();
    for (int j = 0; j < bs; ++j) {
      double largest = 0.0;
      for (int i = 0; i < bs; ++i)
        largest = Kokkos::fmax(largest, Kokkos::fabs(row_scale[i] * block[j * bs + i]));
      zero = zero || largest == 0.0;
      const double scale = inverse_power_of_two(largest);
      if (j % threads == rank) {
        column_scale[j] = scale;
        for (int i = 0; i < bs; ++i) inverse[j * bs + i] = row_scale[i] * block[j * bs + i] * scale;
      }
    }
    if (zero) return Defect::singular;
    team.team_barrier();
    const double block_norm = norm(inverse);
    if (!gauss_jordan(team, inverse, bs > 1 ? bs * DBL_EPSILON : 0.0, pivot))
      return Defect::singular;
    // Growth can leave a singular block with a last pivot of any size, but not with a correct digit
    // of its inverse.
    if (!(block_norm * norm(inverse) * DBL_EPSILON < 0.1)) return Defect::singular;
    team.team_barrier();
    for (int n = rank; n < bs * bs; n += threads)
      inverse[n] *= column_scale[n % bs] * row_scale[n / bs];
    team.team_barrier();
    for (int n = 0; n < bs * bs; ++n) finite = finite && is_finite(inverse[n]);
    return finite ? Defect::none : Defect::singular;
  }

  // Returns the column-sum norm.
  KOKKOS_FUNCTION double norm(const double *a) const
  {
    const int bs = args.shape.bs;
    double largest = 0.0;
    for (int j = 0; j < bs; ++j) {
      double sum = 0.0;
      for (int i = 0; i < bs; ++i) sum += Kokkos::fabs(a[j * bs + i]);
      largest = Kokkos::fmax(largest, sum);
    }
    return largest;
  }

  // Gauss-Jordan elimination in place, for rows a[i*n + ...]. The block is column-major, so its
  // transpose is inverted; that is the transpose of the inverse.
  KOKKOS_FUNCTION bool gauss_jordan(const Member &team, double *a, double tolerance,
                                    int *pivot) const
  {
    const int n = args.shape.bs, rank = team.team_rank(), threads = team.team_size();
    for (int k = 0; k < n; ++k) {
      int p = k;
      for (int i = k + 1; i < n; ++i)
        if (Kokkos::fabs(a[i * n + k]) > Kokkos::fabs(a[p * n + k])) p = i;
      const double largest = a[p * n + k];
      if (!(Kokkos::fabs(largest) > tolerance)) return false;
      const double scale = 1.0 / largest;
      team.team_barrier();
      if (rank == 0) pivot[k] = p;
      for (int j = rank; j < n; j += threads) {
        const double value = a[p * n + j];
        a[p * n + j] = a[k * n + j];
        a[k * n + j] = (j == k ? 1.0 : value) * scale;
      }
      team.team_barrier();
      for (int j = rank; j < n; j += threads)
        for (int i = 0; i < n && j != k; ++i)
          if (i != k) a[i * n + j] -= a[i * n + k] * a[k * n + j];
      team.team_barrier();
      for (int i = rank; i < n; i += threads)
        if (i != k) a[i * n + k] = -(a[i * n + k] * a[k * n + k]);
      team.team_barrier();
    }
    for (int k = n - 1; k >= 0; --k) {
      const int p = pivot[k];
      for (int i = rank; i < n && p != k; i += threads) {
        const double value = a[i * n + k];
        a[i * n + k] = a[i * n + p];
        a[i * n + p] = value;
      }
    }
    team.team_barrier();
    return true;
  }
};

template <class Space> void invert_diagonals(const Space &space, int team, const SetupArgs &args)
{
  if (args.begin == args.end) return;
  typename InvertDiagonals<Space>::Policy policy(space, args.end - args.begin, team);
  policy.set_scratch_size(
      0, Kokkos::PerTeam(static_cast<int>(InvertDiagonals<Space>::scratch_bytes(args.shape.bs))));
  Kokkos::parallel_for("mcpi invert", policy, InvertDiagonals<Space>{args});
}

} // namespace mcpi::kokkos
