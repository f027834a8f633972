// The kernels of one storage precision as the backend sees them: their arguments, and the table of
// kernels. Each storage precision is compiled in a file of its own, for every execution space in
// use.
#pragma once

#include "backend/device/block_slice.h"
#include "backend/kokkos/setup.h"
#include "core/dispatch.h"

namespace mcpi::kokkos {

// The arguments of every relaxation kernel. On CUDA, launches of Kokkos kernels above 512 bytes
// wait for each other. Kokkos adds its policy to the arguments, so these stay below 400 bytes.
struct RelaxArgs : RelaxTerms {
  const std::byte *blocks = nullptr;
  const Tile *tiles = nullptr;   // slices: all tiles
  const RowEnds *ends = nullptr; // slices: all plan rows
  const Offset *ptr[2] = {}; // records: blocks before a row, in the lower and in the upper triangle
  const Row *col[2] = {};    // records: column index of each block
  Offset lowers = 0;         // number of blocks of the lower triangle
  Shape shape{};
  Row begin = 0, end = 0;                      // records: the plan rows to relax
  std::uint32_t first_tile = 0, last_tile = 0; // slices: the tiles to relax
  bool long_rows = false; // slices: some row has more slices than a team takes at a time
};
static_assert(sizeof(RelaxArgs) < 400);

// Launches the relaxation of the tiles of args, or, with records, of the rows.
template <class Space> using RelaxFn = void (*)(const Space &, const RelaxArgs &);

template <class Space, PCMCPIPrecision storage, class T, int bs>
void relax_slices(const Space &space, const RelaxArgs &args);
template <class Space, PCMCPIPrecision storage, class T>
void relax_records(const Space &space, const RelaxArgs &args);

// Updates one component of x, at its place in the vectors.
template <class T> MCPI_HD void store_component(const RelaxArgs &args, T update, std::size_t at)
{
  T *x = static_cast<T *>(args.x) + at;
  *x = damped(args, update, x);
}
// The same for n neighboring components.
template <class T, int n>
MCPI_HD void relax_components(const RelaxArgs &args, T (&update)[n], std::size_t at)
{
  T *x = static_cast<T *>(args.x) + at;
  MCPI_UNROLL
  for (int c = 0; c < n; ++c) update[c] = damped(args, update[c], x + c);
  store_run(update, x);
}

// Relaxation, conversion of off-diagonal blocks, copies to records and transposed blocks
template <class Space> struct Kernels {
  RelaxFn<Space> relax;
  ConvertFn<Space> convert;
  CopyFn<Space> copy;
};

// Returns the kernels for a storage precision, a vector precision and a block size.
template <class Space, PCMCPIPrecision storage> Kernels<Space> kernels(bool double_vectors, int bs);

template <class Space> Kernels<Space> kernels(PCMCPIPrecision storage, bool double_vectors, int bs)
{
  return with_precision(storage,
                        [&]<PCMCPIPrecision of> { return kernels<Space, of>(double_vectors, bs); });
}

} // namespace mcpi::kokkos
