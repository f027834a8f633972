// The kernels of the numeric set-up: inversion of diagonal blocks, conversion of off-diagonal
// blocks, records of stored blocks, and the blocks of a transposed plan.
#pragma once

#include "backend/device/invert.h"
#include "backend/kokkos/spaces.h"
#include "core/dispatch.h"
#include "core/held_exceptions.h"
#include "core/numeric.h"

namespace mcpi::kokkos {

constexpr int kRangeNumbers = 3; // of SetupArgs::maxima

// The set-up of the plan rows [begin, end). Their values lie together: each row's diagonal block,
// then the blocks of its lower triangle, then those of its upper triangle. Blocks are column-major.
// Output: the stored blocks
struct SetupArgs : BlockMemory {
  const double *values;
  Row begin, end;
  Offset first;              // number of blocks before the first one of values
  const Offset *ptr[2];      // lower and upper triangle
  Offset lowers;             // number of blocks of the lower triangle
  const Row *row_of;         // matrix row of a plan row
  const std::uint8_t *empty; // BlockRows::empty()
  const Slot *slots;         // places of the stored blocks; not for records
  // output: inverse diagonal blocks; in the factored form those of the scaled D, in the prescaled
  // form the matrices by which the right-hand side is multiplied
  double *diagonal;
  const double *left, *right; // scales of rows and of columns
  // Output: bits of the largest magnitude of each component of the stored blocks, bs*bs words.
  // kRangeNumbers more follow, for the inverse diagonal blocks (InverseRange): the largest of the
  // columns' largest magnitudes, the largest inverse of these, and the largest condition number.
  unsigned long long *maxima;
  // output: the least bad_key(): the first row with a defect, and which defect
  unsigned long long *bad;
  // prescaled: the form of the stored blocks. store: store blocks, do not only find maxima.
  bool prescaled, store;

  // Blocks of values before those of a plan row
  MCPI_HD Offset blocks_before(Row row) const { return row + ptr[0][row] + ptr[1][row] - first; }
  MCPI_HD std::size_t square() const
  {
    return static_cast<std::size_t>(shape.bs) * static_cast<std::size_t>(shape.bs);
  }
  MCPI_HD const double *diagonal_block(Row row) const
  {
    return values + static_cast<std::size_t>(blocks_before(row)) * square();
  }
  MCPI_HD const std::uint8_t *empty_of(Row row) const
  {
    return empty
               ? empty + static_cast<std::size_t>(row_of[row]) * static_cast<std::size_t>(shape.bs)
               : nullptr;
  }
  MCPI_HD void report(Row row, Defect defect) const
  {
    Kokkos::atomic_min(bad, bad_key(row_of[row], defect));
  }
};

// Reads a value that other threads may be changing: the present value or an earlier one. On a
// device, an atomic load is a loop of compare-and-swap, for which all threads would wait for each
// other.
MCPI_HD unsigned long long glance(const unsigned long long *at)
{
  KOKKOS_IF_ON_DEVICE((return *static_cast<const volatile unsigned long long *>(at);))
  KOKKOS_IF_ON_HOST((return Kokkos::atomic_load(at);))
}

// Raises *maximum to the bits of |value|, and returns these bits.
MCPI_HD unsigned long long raise_to(unsigned long long *maximum, double value)
{
  constexpr unsigned long long kMagnitude = ~0ULL >> 1;
  const unsigned long long bits = Kokkos::bit_cast<unsigned long long>(value) & kMagnitude;
  if (bits > glance(maximum)) Kokkos::atomic_max(maximum, bits); // seldom true
  return bits;
}

// Stores column j of a row's inverse diagonal block, and raises the maxima for it. Prescaled form:
// d = diag(1/right) D^{-1} b. Factored form: the inverse of diag(left) D diag(right).
MCPI_HD void put_inverse_column(const SetupArgs &args, Row row, int j, const double *inverse,
                                Inversion verdict)
{
  const int bs = args.shape.bs;
  double *out = args.diagonal + static_cast<std::size_t>(row) * args.square() + j * bs;
  double largest = 0.0;
  for (int i = 0; i < bs; ++i) {
    const double value = inverse[i] / args.right[i];
    out[i] = verdict != Inversion::done ? 0.0 : args.prescaled ? value : value / args.left[j];
    largest = larger(largest, Kokkos::fabs(out[i]));
  }
  if (largest == 0.0) return;
  (void)raise_to(args.maxima + bs * bs, largest);
  (void)raise_to(args.maxima + bs * bs + 1,
                 largest > InverseRange::kLeast ? 1.0 / largest : InverseRange::kNone);
}
MCPI_HD void report(const SetupArgs &args, Row row, Inversion verdict, double condition)
{
  if (verdict != Inversion::done) args.report(row, defect_of(verdict));
  (void)raise_to(args.maxima + args.square() + 2, condition);
}

// A kernel whose results are tested. On a host its threads hold their floating-point exceptions.
template <class Kernel> struct Tested {
  Kernel kernel;

  template <class Index> KOKKOS_FUNCTION void operator()(const Index &index) const
  {
    KOKKOS_IF_ON_HOST((const HeldExceptions held; kernel(index);))
    KOKKOS_IF_ON_DEVICE((kernel(index);))
  }
};

// A thread inverts the diagonal block of a row. Reads args.values; writes args.diagonal.
template <int bs> struct InvertSmallDiagonals {
  SetupArgs args;

  KOKKOS_FUNCTION void operator()(const Row row) const
  {
    const double *block = args.diagonal_block(row);
    double a[bs][bs];
    MCPI_UNROLL
    for (int n = 0; n < bs * bs; ++n) a[n / bs][n % bs] = block[n];
    double condition = 0.0;
    const Inversion verdict = invert_rest(a, args.empty_of(row), &condition);
    MCPI_UNROLL
    for (int j = 0; j < bs; ++j) put_inverse_column(args, row, j, a[j], verdict);
    report(args, row, verdict, condition);
  }
};

// A team inverts the diagonal block of a row. What every thread needs, such as pivots and norms,
// every thread computes from the same numbers in the same order. Reads args.values; writes
// args.diagonal, which also serves as working memory.
template <class Space> struct InvertDiagonals {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;

  // See device/invert.h.
  struct Team {
    static constexpr int lane = 0, lanes = 1;
    const Member &member;
    int rank, size;

    KOKKOS_FUNCTION void sync() const { member.team_barrier(); }
    static KOKKOS_FUNCTION bool all(bool value) { return value; }
    static KOKKOS_FUNCTION bool any(bool value) { return value; }
    static KOKKOS_FUNCTION double max(double value) { return value; }
    static KOKKOS_FUNCTION void best(double &, int &) {}
  };

  SetupArgs args;

  static KOKKOS_FUNCTION std::size_t scratch_bytes(int bs)
  {
    return static_cast<std::size_t>(bs) * (2 * sizeof(double) + sizeof(int)) + 16;
  }

  KOKKOS_FUNCTION void operator()(const Member &member) const
  {
    const int bs = args.shape.bs;
    const Row row = args.begin + member.league_rank();
    const double *block = args.diagonal_block(row);
    double *inverse = args.diagonal + static_cast<std::size_t>(row) * args.square();
    const Team team{member, member.team_rank(), member.team_size()};
    // scales of rows, then of columns; pivots follow
    auto *scale =
        static_cast<double *>(member.team_scratch(0).get_shmem_aligned(scratch_bytes(bs) - 16, 16));
    for (int n = team.rank; n < bs * bs; n += team.size) inverse[n] = block[n];
    team.sync();
    double condition = 0.0;
    const Inversion verdict = invert_rest(team, inverse, bs, args.empty_of(row), scale, scale + bs,
                                          reinterpret_cast<int *>(scale + 2 * bs), &condition);
    if (verdict != Inversion::done) condition = 0.0;
    for (int j = team.rank; j < bs; j += team.size)
      put_inverse_column(args, row, j, inverse + j * bs, verdict);
    if (team.rank == 0) report(args, row, verdict, condition);
  }
};

template <class Space> void invert_diagonals(const Space &space, int team, const SetupArgs &args)
{
  if (args.begin == args.end) return;
  with_block_size<1, kMaxSmallBlock>(args.shape.bs, [&]<int size> {
    if constexpr (size > 0) {
      using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<Row>>;
      Kokkos::parallel_for("mcpi invert", Policy(space, args.begin, args.end),
                           Tested<InvertSmallDiagonals<size>>{{args}});
    } else {
      using Kernel = InvertDiagonals<Space>;
      typename Kernel::Policy policy(space, args.end - args.begin, team);
      policy.set_scratch_size(
          0, Kokkos::PerTeam(static_cast<int>(Kernel::scratch_bytes(args.shape.bs))));
      Kokkos::parallel_for("mcpi invert", policy, Tested<Kernel>{{args}});
    }
  });
}

// Converts the off-diagonal blocks to stored blocks. invert_diagonals() must come first.
template <class Space> using ConvertFn = void (*)(const Space &, const SetupArgs &);

// The arguments of copy_blocks(). Slots are not used for records.
struct CopyArgs {
  BlockMemory from, received, to; // blocks of this rank; received records; output
  const Slot *slots, *to_slots;   // places of the blocks that are read and written
  // The number of each block to read. Numbers from `count` on are those of received records.
  const Offset *stored;
  Offset count;     // number of blocks of this rank
  std::size_t size; // number of blocks to write
  bool transposed;  // whether blocks are transposed
};
template <class Space> using CopyFn = void (*)(const Space &, const CopyArgs &);

// A team takes a row; each thread takes one block of the row after the other. Reads args.values,
// and args.diagonal for the prescaled form. Writes args.blocks and raises args.maxima.
template <class Space, PCMCPIPrecision storage> struct ConvertBlocks {
  static constexpr int threads = team_size<Space>(kSetupTeam);
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;

  SetupArgs args;

  KOKKOS_FUNCTION void operator()(const Member &team) const
  {
    const Row row = args.begin + team.league_rank();
    const Offset lowers = args.ptr[0][row + 1] - args.ptr[0][row],
                 blocks = lowers + args.ptr[1][row + 1] - args.ptr[1][row];
    for (Offset k = team.team_rank(); k < blocks; k += threads) {
      const Offset stored =
          k < lowers ? args.ptr[0][row] + k : args.lowers + args.ptr[1][row] + k - lowers;
      convert(row,
              args.values +
                  static_cast<std::size_t>(args.blocks_before(row) + 1 + k) * args.square(),
              slot_of(args.shape, args.slots, static_cast<std::size_t>(stored)));
    }
  }

private:
  // Returns number (p, q) of a block as it is stored, before rounding.
  MCPI_HD double scaled(Row row, const double *in, int p, int q) const
  {
    const int bs = args.shape.bs;
    const double *column = in + q * bs;
    if (!args.prescaled) return args.left[p] * column[p] * args.right[q];
    // The factor left[p] * right[p] turns args.diagonal, which holds D^{-1} divided by right, into
    // D^{-1} times left.
    const double *map = args.diagonal + static_cast<std::size_t>(row) * args.square() + p;
    double sum = 0.0;
    for (int l = 0; l < bs; ++l) sum += map[l * bs] * column[l];
    return sum * (args.left[p] * args.right[p]) * args.right[q];
  }

  // Converts one block: finds its maxima, then stores it if args.store is set.
  KOKKOS_FUNCTION void convert(Row row, const double *in, const Slot &slot) const
  {
    const int bs = args.shape.bs;
    unsigned long long largest = 0;
    for (int q = 0; q < bs; ++q)
      for (int p = 0; p < bs; ++p) {
        const unsigned long long bits = raise_to(args.maxima + p + q * bs, scaled(row, in, p, q));
        largest = bits > largest ? bits : largest;
      }
    if (largest >> 32 >= overflow_from<storage>(args.store)) {
      bool finite = true;
      for (int n = 0; n < bs * bs; ++n) finite = finite && is_finite(in[n]);
      args.report(row, finite ? Defect::unrepresentable : Defect::nonfinite_offdiagonal);
    } else if (args.store) {
      put(row, in, std::bit_cast<double>(largest), slot);
    }
  }

  // Rounds and stores a block.
  KOKKOS_FUNCTION void put(Row row, const double *in, double max_abs, const Slot &slot) const
  {
    const int bs = args.shape.bs;
    int e = 0;
    if constexpr (has_exponent(storage)) {
      e = shared_exponent(max_abs, integer_limit(storage));
      put_exponent(args, slot, e);
    }
    for (int q = 0; q < bs; ++q)
      for (int p = 0; p < bs; ++p)
        put_number<storage>(args, slot, p, q, number_bits<storage>(scaled(row, in, p, q), e));
  }
};

template <class Space, PCMCPIPrecision storage>
void convert_blocks(const Space &space, const SetupArgs &args)
{
  using Kernel = ConvertBlocks<Space, storage>;
  if (args.begin < args.end)
    Kokkos::parallel_for("mcpi convert",
                         typename Kernel::Policy(space, args.end - args.begin, Kernel::threads),
                         Tested<Kernel>{{args}});
}

// Each thread copies one block of the list args.stored to records, or to the blocks of a transposed
// plan.
template <class Space, PCMCPIPrecision storage>
void copy_blocks(const Space &space, const CopyArgs &args)
{
  Kokkos::parallel_for(
      "mcpi records", Kokkos::RangePolicy<Space>(space, 0, args.size),
      KOKKOS_LAMBDA(const std::size_t k) {
        const Offset stored = args.stored[k], remote = stored - args.count;
        const BlockMemory &from = remote < 0 ? args.from : args.received;
        copy_columns<storage>(
            from,
            slot_of(from.shape, args.slots, static_cast<std::size_t>(remote < 0 ? stored : remote)),
            args.transposed, args.to, slot_of(args.to.shape, args.to_slots, k), 0,
            args.to.shape.bs);
      });
}

} // namespace mcpi::kokkos
