// What was measured for the Kokkos backend, in one table. Each row names the record of
// benchmarks/results on which it rests. "Not recorded": no record was kept.
#pragma once

#include <cstddef>

#include "backend/kokkos/layout.h"

namespace mcpi::kokkos {

// How relaxation with slices is launched. A team has `threads` threads, each thread takes `each`
// slices, and a processor of the device holds `resident` teams at once. On a host, a team is one
// thread, which takes all slices of a team.
struct SliceLaunch {
  int threads, each, resident;
  // A thread sums all components of a row. This takes fewer instructions, and is done where it
  // leaves enough loads in flight.
  bool by_row;

  constexpr int capacity() const { return threads * each; }
};
// The launch by storage precision, vector precision and block size (nvidia-h200-kokkos.json).
// Kernels of the CUDA backend keep as many bytes in flight, but need fewer registers.
constexpr SliceLaunch slice_launch(PCMCPIPrecision storage, bool double_vectors, int bs)
{
  const int bytes = slice_shape(storage, bs).bytes;
  const bool by_row = !double_vectors && (storage != PC_MCPI_PRECISION_FP32 || bs <= 3);
  const int few = bytes > 60 ? 1 : bytes > 32 ? 2 : 3;
  const int each = by_row ? (bytes <= 16 ? 4 : few) : bytes <= 12 ? 3 : bytes > 72 ? 1 : 2;
  const int row = bytes > 104 ? 6 : bytes > 60 ? 14 - bs : bytes > 32 ? 15 - bs : bs > 5 ? 10 : 12;
  const int resident = double_vectors ? 1
                       : by_row       ? row
                       : bytes > 104  ? 6
                       : bytes > 72   ? 9
                       : bytes > 60   ? 6
                       : bytes > 32   ? 9
                                      : 8;
  return {bytes > 60 || !by_row ? 128 : 96, each, resident, by_row};
}

// Slices of a tile by rows whose partial products are loaded together, as registers allow
// (nvidia-h200-kokkos.json)
constexpr int partials_at_once(int bs)
{
  return bs <= 3 ? 4 : bs <= 6 ? 2 : 1;
}
// A color is cut into at least this many tiles for each processor (tiles_19683_rows of
// nvidia-h200-tuning.json).
constexpr int kTilesEach = 3;

// Threads of a team: for a row of large blocks, and for a row in a set-up (not recorded)
constexpr int kLargeTeam = 128, kSetupTeam = 32;

// Most bytes of values that are converted at a time, unless a single row has more (not recorded)
constexpr std::size_t kMostValues = 32UL << 20U;

} // namespace mcpi::kokkos
