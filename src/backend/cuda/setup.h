// Kernels of the numeric set-up, as the host sees them: from the matrix's values to stored blocks.
#pragma once

#include <cuda_runtime.h>

#include "backend/cuda/relax.h"
#include "core/numeric.h"

namespace mcpi::cuda {

struct SetupPiece {
  const double *values;       // of block `first` on
  const std::uint32_t *ptr;   // blocks before a matrix row
  const std::uint32_t *place; // of an off-diagonal block: its first slice in its row's tile, or its
                              // number among large blocks
  std::uint32_t first;
};

struct SetupArgs {
  SetupPiece piece[2]; // the second has no values if there is only one
  const Row *order;    // the matrix rows as they are taken, or null: ascending
  const Row *plan_row; // of a matrix row
  const Row *diagonal; // place of the diagonal block among a matrix row's in the first piece
  const std::uint32_t *tile_of; // of a matrix row; small blocks
  const Tile *tiles;
  std::byte *blocks;
  BlockHead *heads;
  void *diagonal_map;      // see diagonal.cuh
  const double *scales;    // left, then right
  std::uint32_t *maxima;   // upper words of the largest stored numbers, and behind them of the
                           // largest in the diagonal map: their order is that of the numbers
  unsigned long long *bad; // the least bad_key()
  double *scratch;         // large blocks that shared memory cannot hold
  Row begin, end;
  int rows; // that a thread block takes at a time; small blocks
  int bs;
  HeadBits head; // small blocks
  bool prescaled, store, scalar_rows, narrow_diagonal;
};

// Smaller for smaller rows, then for later defects
__host__ __device__ constexpr unsigned long long bad_key(Row row, Defect defect)
{
  return static_cast<unsigned long long>(row) << 3U | (7U - static_cast<unsigned>(defect));
}
constexpr Row bad_row(unsigned long long key)
{
  return static_cast<Row>(key >> 3U);
}
constexpr Defect bad_defect(unsigned long long key)
{
  return static_cast<Defect>(7U - (key & 7U));
}

struct SetupKernel {
  const void *function = nullptr;
  int threads = 0, rows = 1; // matrix rows that a thread block takes at a time, at most
  std::size_t shared = 0;    // bytes
  std::size_t scratch = 0;   // bytes for each thread block where shared memory is too small
};
template <PCMCPIPrecision storage> SetupKernel setup_kernel(int bs, bool packed);

// Entries of scalar rows to dense blocks, which are zero before; first: the chunk's first block
struct ExpandArgs {
  const double *values;
  const std::uint32_t *ptr; // blocks before a matrix row
  const Offset *entry_ptr;  // entries before a scalar row
  const std::uint32_t *slot;
  double *blocks;
  std::uint32_t first;
  Row begin, end;
  int bs;
};
void expand_blocks(const ExpandArgs &args, cudaStream_t stream);

} // namespace mcpi::cuda
