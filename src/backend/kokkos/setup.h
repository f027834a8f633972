// What the numeric set-up's kernels are told.
#pragma once

#include "backend/kokkos/numbers.h"
#include "core/numeric.h"

namespace mcpi::kokkos {

// Rows [begin, end) of the plan, whose values lie together: a row's diagonal block, then those of
// its lower, then those of its upper triangle
struct SetupArgs {
  const double *values;
  Row begin, end;
  Offset first; // blocks before the first of values
  const Offset *ptr[2];
  Offset lowers;
  const Row *row_of;
  const Slot *slots;
  std::byte *blocks;
  double *diagonal; // inverse blocks: of D scaled (factored), or what makes the right-hand side
                    // (prescaled)
  const double *left, *right;
  unsigned long long *maxima; // bits of the largest magnitude of each component of a block; behind
                              // them that of the inverse diagonal blocks
  unsigned long long *bad;    // the first bad row and its defect
  Shape shape;
  bool prescaled, store;

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
  // The smallest is the first row's, and of its defects the last in order.
  static constexpr unsigned kDefects = 8;
  static KOKKOS_FORCEINLINE_FUNCTION unsigned long long bad_key(Row matrix_row, Defect defect)
  {
    return static_cast<unsigned long long>(matrix_row) * kDefects +
           (kDefects - 1 - static_cast<unsigned>(defect));
  }
};

// What is there or was before. An atomic load of a device is a loop of compare and swap: all
// threads would wait for each other.
KOKKOS_FORCEINLINE_FUNCTION unsigned long long glance(const unsigned long long *at)
{
  KOKKOS_IF_ON_DEVICE((return *static_cast<const volatile unsigned long long *>(at);))
  KOKKOS_IF_ON_HOST((return Kokkos::atomic_load(at);))
}

// Raises *maximum to the magnitude, whose bits are returned
KOKKOS_FORCEINLINE_FUNCTION unsigned long long raise_to(unsigned long long *maximum, double value)
{
  constexpr unsigned long long kMagnitude = ~0ULL >> 1;
  const unsigned long long bits = Kokkos::bit_cast<unsigned long long>(value) & kMagnitude;
  if (bits > glance(maximum)) Kokkos::atomic_max(maximum, bits); // rare
  return bits;
}

// Inverts the diagonal blocks; converts the others
template <class Space> using ConvertFn = void (*)(const Space &, const SetupArgs &);
template <class Space> void invert_diagonals(const Space &space, int team, const SetupArgs &args);

// Records of stored blocks
struct RecordsArgs {
  Shape from, to;
  const std::byte *blocks; // of from
  const Slot *slots;
  const Offset *stored; // which blocks; of a transposed plan: beyond count those that were received
  std::size_t size;
  Offset count;
  const std::byte *received;
  std::byte *records; // or the blocks of to
  const Slot *to_slots;
};
template <class Space> using RecordsFn = void (*)(const Space &, const RecordsArgs &);

} // namespace mcpi::kokkos
