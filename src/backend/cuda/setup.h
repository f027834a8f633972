// The kernels of the numeric set-up as the host sees them. They turn the values of the matrix into
// inverse diagonal blocks and stored off-diagonal blocks.
#pragma once

#include <cuda_runtime.h>

#include "backend/cuda/relax.h"
#include "core/numeric.h"

namespace mcpi::cuda {

// One of the two portions in which a matrix holds its blocks (PortionStructure).
struct SetupPortion {
  const double *values;     // values from block `first` on
  const std::uint32_t *ptr; // blocks before a matrix row
  // place of an off-diagonal block: its first slice in the tile of its row; for large blocks, its
  // number
  const std::uint32_t *place;
  std::uint32_t first; // first block of this batch
};

constexpr int kRangeWords = 3; // of SetupArgs::maxima

// The arguments of a set-up kernel. It takes the matrix rows [begin, end) of a batch.
struct SetupArgs {
  SetupPortion portion[2]; // The second portion has no values if the matrix has only one portion.
  const Row *order;        // the matrix rows in the order in which they are taken; null: ascending
  const Row *plan_row;     // plan row of a matrix row
  // place of the diagonal block among the blocks of a matrix row in the first portion
  const Row *diagonal;
  const std::uint32_t *tile_of; // small blocks: tile of a matrix row
  const Tile *tiles;            // small blocks
  std::byte *blocks;            // output: stored blocks
  BlockHead *heads;             // large blocks, output: exponents
  void *diagonal_map;           // output: inverse diagonal blocks, see diagonal_product()
  const std::uint8_t *empty;    // BlockRows::empty()
  const double *scales;         // scales of rows (left), then of columns (right)
  // Output: upper 32 bits of the largest magnitude of each component of the stored blocks, bs*bs
  // words. kRangeWords more follow, for the inverse diagonal blocks (InverseRange): the largest of
  // the columns' largest magnitudes, the largest inverse of these, and the largest condition
  // number. Upper words compare like the numbers.
  std::uint32_t *maxima;
  unsigned long long *bad; // output: the least bad_key()
  double *scratch;         // large blocks: used if shared memory is too small
  Row begin, end;          // matrix rows
  int rows;                // small blocks: matrix rows that a thread block takes at a time
  int bs;
  HeadBits head; // small blocks
  // prescaled: the form of the stored blocks. store: store blocks, do not only find maxima.
  // scalar_rows: values are stored by scalar rows, not by blocks. narrow_diagonal: inverse diagonal
  // blocks are floats.
  bool prescaled, store, scalar_rows, narrow_diagonal;
};

// A set-up kernel and its launch.
struct SetupKernel {
  const void *function = nullptr;
  int threads = 0, rows = 1; // threads of a thread block; most matrix rows that it takes at a time
  std::size_t shared = 0;    // bytes of shared memory
  // bytes of scratch memory for each thread block, if shared memory is too small
  std::size_t scratch = 0;
};
template <PCMCPIPrecision storage> SetupKernel setup_kernel(int bs, bool packed);

#if defined(__CUDACC__)

// What the set-up kernels share

// Reports a defect of a matrix row. The least key is kept.
__device__ __forceinline__ void report(const SetupArgs &args, Row row, Defect defect)
{
  atomicMin(args.bad, bad_key(row, defect));
}

// InverseRange::include() for a block, with upper 32 bits. range: the numbers of the range.
// largest, least: the largest and the least of the columns' largest magnitudes. Infinity is the
// least of no columns.
__device__ __forceinline__ void raise_inverse_range(std::uint32_t *range, double largest,
                                                    double least)
{
  atomicMax(range, static_cast<std::uint32_t>(__double2hiint(largest)));
  atomicMax(range + 1, static_cast<std::uint32_t>(__double2hiint(1.0 / least)));
}

__device__ __forceinline__ void raise_condition(std::uint32_t *range, double condition)
{
  atomicMax(range + 2, static_cast<std::uint32_t>(__double2hiint(condition)));
}

// Returns the k-th matrix row to be taken.
__device__ __forceinline__ Row matrix_row(const SetupArgs &args, Row k)
{
  return args.order ? args.order[k] : k;
}

// Where the numbers of a block lie: number (i, j) is data[i * row + j * column].
struct BlockView {
  const double *data;
  std::size_t row, column;
};
__device__ __forceinline__ BlockView block_view(const SetupArgs &args, const SetupPortion &portion,
                                                std::uint32_t block, std::uint32_t row_begin,
                                                std::uint32_t row_end)
{
  const std::size_t bs = static_cast<std::size_t>(args.bs);
  if (!args.scalar_rows) return {portion.values + (block - portion.first) * bs * bs, 1, bs};
  return {portion.values + (row_begin - portion.first) * bs * bs + (block - row_begin) * bs,
          (row_end - row_begin) * bs, 1};
}

// Flags of the empty unknowns of a matrix row; null: none is empty
__device__ __forceinline__ const std::uint8_t *empty_of(const SetupArgs &args, Row row)
{
  return args.empty ? args.empty + static_cast<std::size_t>(row) * args.bs : nullptr;
}

// The diagonal block of a matrix row
__device__ __forceinline__ BlockView diagonal_view(const SetupArgs &args, Row row, int bs)
{
  const std::uint32_t begin = args.portion[0].ptr[row], end = args.portion[0].ptr[row + 1];
  return block_view(args, args.portion[0], begin + static_cast<std::uint32_t>(args.diagonal[row]),
                    begin, end);
}

#endif

} // namespace mcpi::cuda
