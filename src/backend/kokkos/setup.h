// The arguments of the numeric set-up's kernels.
#pragma once

#include "backend/kokkos/numbers.h"
#include "core/numeric.h"

namespace mcpi::kokkos {

// The set-up of the plan rows [begin, end). Their values lie together: each row's diagonal block,
// then the blocks of its lower triangle, then those of its upper triangle. Blocks are column-major.
struct SetupArgs {
  const double *values;
  // diagonal blocks by matrix row, instead of those of values; null: none
  const double *replaced;
  Row begin, end;
  Offset first;         // number of blocks before the first one of values
  const Offset *ptr[2]; // lower and upper triangle
  Offset lowers;        // number of blocks of the lower triangle
  const Row *row_of;    // matrix row of a plan row
  const Slot *slots;    // places of the stored blocks; not for records
  std::byte *blocks;    // output: stored blocks
  // output: inverse diagonal blocks. Factored form: of the scaled D. Prescaled form: the matrix by
  // which the right-hand side is multiplied
  double *diagonal;
  const double *left, *right; // scales of rows and of columns
  // Output: bits of the largest magnitude of each component of the stored blocks, bs*bs words. Two
  // more words follow, for the inverse diagonal blocks (InverseRange): the largest of the columns'
  // largest magnitudes, and the largest inverse of these.
  unsigned long long *maxima;
  // output: the least bad_key(): the first row with a defect, and which defect
  unsigned long long *bad;
  Shape shape;
  // prescaled: the form of the stored blocks. store: store blocks, do not only find maxima.
  bool prescaled, store;

  // Blocks of values before those of a plan row
  KOKKOS_FORCEINLINE_FUNCTION Offset blocks_before(Row row) const
  {
    return row + ptr[0][row] + ptr[1][row] - first;
  }
  KOKKOS_FORCEINLINE_FUNCTION std::size_t square() const
  {
    return static_cast<std::size_t>(shape.bs) * static_cast<std::size_t>(shape.bs);
  }
  KOKKOS_FORCEINLINE_FUNCTION Slot slot(Offset stored) const
  {
    return shape.kind == LayoutKind::records
               ? Slot{static_cast<std::uint64_t>(stored) * shape.record, 0, 0}
               : slots[stored];
  }
  KOKKOS_FORCEINLINE_FUNCTION void report(Row row, Defect defect) const
  {
    Kokkos::atomic_min(bad, bad_key(row_of[row], defect));
  }
  // The key of a defect. The smallest key is that of the first row; for one row, that of the last
  // defect in order.
  static constexpr unsigned kDefects = 8;
  static KOKKOS_FORCEINLINE_FUNCTION unsigned long long bad_key(Row matrix_row, Defect defect)
  {
    return static_cast<unsigned long long>(matrix_row) * kDefects +
           (kDefects - 1 - static_cast<unsigned>(defect));
  }
};

// Reads a value that other threads may be changing: the present value or an earlier one. On a
// device, an atomic load is a loop of compare-and-swap, for which all threads would wait for each
// other.
KOKKOS_FORCEINLINE_FUNCTION unsigned long long glance(const unsigned long long *at)
{
  KOKKOS_IF_ON_DEVICE((return *static_cast<const volatile unsigned long long *>(at);))
  KOKKOS_IF_ON_HOST((return Kokkos::atomic_load(at);))
}

// Raises *maximum to the bits of |value|, and returns these bits.
KOKKOS_FORCEINLINE_FUNCTION unsigned long long raise_to(unsigned long long *maximum, double value)
{
  constexpr unsigned long long kMagnitude = ~0ULL >> 1;
  const unsigned long long bits = Kokkos::bit_cast<unsigned long long>(value) & kMagnitude;
  if (bits > glance(maximum)) Kokkos::atomic_max(maximum, bits); // seldom true
  return bits;
}

// Converts the off-diagonal blocks to stored blocks. invert_diagonals() must come first: it inverts
// the diagonal blocks.
template <class Space> using ConvertFn = void (*)(const Space &, const SetupArgs &);
template <class Space> void invert_diagonals(const Space &space, int team, const SetupArgs &args);

// The arguments of kernels that write records of stored blocks, or a transposed plan's blocks. See
// setup_blocks.h.
struct RecordsArgs {
  Shape from, to;          // layouts of the blocks that are read and written
  const std::byte *blocks; // the stored blocks that are read
  const Slot *slots;       // their places; not for records
  // The number of each block to read. For a transposed plan, numbers from `count` on are those of
  // received records.
  const Offset *stored;
  std::size_t size;          // number of blocks to write
  Offset count;              // number of stored blocks
  const std::byte *received; // received records
  std::byte *records;        // output: records, or the blocks of the transposed plan
  const Slot *to_slots;      // places of the blocks that are written; not for records
};
template <class Space> using RecordsFn = void (*)(const Space &, const RecordsArgs &);

} // namespace mcpi::kokkos
