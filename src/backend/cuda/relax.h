// Relaxation kernels, as the host sees them.
#pragma once

#include <cuda_runtime.h>

#include "backend/cuda/large_shape.h"
#include "backend/device/relax_terms.h"
#include "backend/device/tiles.h"
#include "cuda/ghost_packets.h"

namespace mcpi::cuda {
using namespace device;

struct alignas(16) LargeRow {
  std::uint32_t block = 0, lower = 0, upper = 0; // first block, and how many of each triangle
};

// Of a large block
struct BlockHead {
  Row column;
  int exponent;
};

constexpr unsigned kOneWaits = 1U << 31; // a flag besides those of RelaxFlag, see TileLaunch

// Pointers to the operator, then to vectors in the sweep's precision, in plan order: entry
// (row*nrhs + r)*bs + i
struct RelaxArgs {
  const Tile *tiles; // small blocks: of this launch
  const RowEnds *ends;
  const LargeRow *rows; // large blocks: of all plan rows
  const BlockHead *heads;
  const void *blocks;
  void *x;
  const void *rhs;
  void *kept;
  std::uint32_t *gathered; // small blocks: x rounded to gather_words() a row and right-hand side,
                           // if products read that
  const void *read;        // large blocks: what products read, x or its rounded values
  const void *diagonal;    // inverse blocks, see diagonal.cuh
  Scalar alpha = 1.0, omega = 1.0;
  std::uint32_t first_row, row_count; // large blocks, and rows without slices
  std::uint32_t capacity; // large blocks: how many a thread block of relax_resident has room for
  int bs, nrhs;
  unsigned flags;
  HeadBits head;         // small blocks
  StreamShape stream;    // large blocks
  InlineExchange inside; // small blocks: if the relaxation exchanges by itself
};

// A kernel with how it wants to be launched. Small blocks: capacity, boundary (capacity of boundary
// tiles), tile_rows, few_rows and blocks (of threads, a multiprocessor takes) are for make_tiles(),
// simple is for one right-hand side and no long rows, exchanging for the same with the exchange of
// ghosts inside, few for simple colors of few rows. Large blocks: capacity is 0, function streams
// rows, simple is for rows that fit shared memory, if there is one for this block size.
struct RelaxKernel {
  const void *function = nullptr, *simple = nullptr, *exchanging = nullptr, *few = nullptr;
  int threads = 0, capacity = 0, boundary = 0, tile_rows = 0, few_rows = 0, blocks = 0,
      exchanging_blocks = 0;
  StreamShape stream{};
  ResidentShape resident{};
};

// What tells the kernels of one storage precision and block size apart
struct RelaxKind {
  bool double_vectors = false, gather_rounded = false, packed = false;
};
template <PCMCPIPrecision storage> RelaxKernel relax_kernel(const RelaxKind &kind, int bs);

// For rows of small blocks without slices in the triangles that are read; nullptr for large blocks.
// A thread takes one of the row_count rows and one right-hand side.
constexpr unsigned kRowsThreads = 128;
const void *rows_kernel(const RelaxKind &kind, int bs);

} // namespace mcpi::cuda
