// The relaxation kernels of the CUDA backend as the host sees them: their arguments, and how each
// kernel is launched.
#pragma once

#include <cuda_runtime.h>

#include "backend/cuda/large_shape.h"
#include "backend/device/relax_terms.h"
#include "backend/device/tiles.h"
#include "cuda/ghost_packets.h"

namespace mcpi::cuda {
using namespace device;

// A plan row of large blocks. A thread reads it with one load.
struct alignas(16) LargeRow {
  std::uint32_t block = 0, lower = 0, upper = 0; // first block; number of blocks of each triangle
};

// What belongs to a large block besides its numbers.
struct BlockHead {
  Row column;   // plan column
  int exponent; // of integer storage
};

constexpr unsigned kOneWaits = 1U << 31; // a flag besides those of RelaxFlag: TileLaunch::one_waits

// The arguments of every relaxation kernel. Blocks are in the operator's layout (device/shapes.h).
// Vectors are in plan order and in vector precision: component i of a row and right-hand side r is
// entry (row*nrhs + r)*bs + i. A kernel reads tiles or rows, blocks, x (or its rounded copy), rhs,
// kept and diagonal. It writes x and kept as flags say, and gathered if products read that copy.
struct RelaxArgs {
  const Tile *tiles;      // small blocks: the tiles of this launch
  const RowEnds *ends;    // small blocks: of all plan rows
  const LargeRow *rows;   // large blocks: all plan rows
  const BlockHead *heads; // large blocks: of each block
  const void *blocks;     // small blocks: slices of all tiles; large blocks: records
  void *x;                // rows, then ghosts
  const void *rhs;        // right-hand sides, read before the kernel waits
  void *kept;             // sums over one triangle, kept for the next pass
  // small blocks: the bfp16 copy of x, with gather_words() words for each row and right-hand side;
  // not used if products read x itself
  std::uint32_t *gathered;
  const void *read;                // large blocks: what products read, x or its rounded values
  const void *diagonal;            // inverse diagonal blocks in plan order, see diagonal.cuh
  Scalar alpha = 1.0, omega = 1.0; // alpha multiplies the products; omega is the damping factor
  // large blocks, and rows without slices: the plan rows of this launch
  std::uint32_t first_row, row_count;
  // large blocks: number of blocks for which a thread block of relax_resident has room
  std::uint32_t capacity;
  int bs, nrhs;
  unsigned flags;        // RelaxFlag, kOneWaits
  HeadBits head;         // small blocks
  StreamShape stream;    // large blocks
  InlineExchange inside; // small blocks: used if the relaxation exchanges ghosts itself
};

// The kernels of one kind and block size, and their launch limits. The limits of small blocks are
// those of TileLimits, which make_tiles() takes. Large blocks have a capacity of 0.
struct RelaxKernel {
  // function: for every case; of large blocks, relax_streamed.
  // simple: of small blocks, for one right-hand side and no long rows; of large blocks,
  // relax_resident for rows that fit shared memory, or null for other block sizes.
  // exchanging: of small blocks, like simple with the exchange of ghosts inside, or null.
  // few: of small blocks, like simple for colors of few rows, or null.
  const void *function = nullptr, *simple = nullptr, *exchanging = nullptr, *few = nullptr;
  int threads = 0,           // threads of a thread block, small blocks
      capacity = 0,          // slices that a thread block takes at a time
      boundary = 0,          // the same for tiles of boundary rows
      tile_rows = 0,         // most rows of a tile
      few_rows = 0,          // most rows of a tile of `few`
      blocks = 0,            // thread blocks of `function` and `simple` that a multiprocessor holds
      exchanging_blocks = 0; // the same for `exchanging`
  StreamShape stream{};      // large blocks: launch of relax_streamed
  ResidentShape resident{};  // large blocks: launch of relax_resident
};

// What distinguishes kernels of the same storage precision and block size. gather_rounded: products
// read the rounded copy of x. packed: heads of slices hold exponents.
struct RelaxKind {
  bool double_vectors = false, gather_rounded = false, packed = false;
};
// The kernels for a kind and block size. Each storage precision is compiled in a file of its own
// (relax_precision.cu.in).
template <PCMCPIPrecision storage> RelaxKernel relax_kernel(const RelaxKind &kind, int bs);

// The kernel for rows of small blocks that have no slices in the triangles to be read; nullptr for
// large blocks. Each thread takes one row and one right-hand side of args.row_count rows from
// args.first_row on.
constexpr unsigned kRowsThreads = 128;
const void *rows_kernel(const RelaxKind &kind, int bs);

} // namespace mcpi::cuda
