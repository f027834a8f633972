// The relaxation kernels of the CUDA backend as the host sees them: their arguments, how teams of
// threads take large blocks, and how each kernel is launched.
#pragma once

#include <cuda_runtime.h>

#include "backend/device/places.h"
#include "backend/device/relax_update.h"
#include "backend/device/tiles.h"
#include "cuda/ghost_packets.h"
#include "cuda/tuning_hopper.h"

namespace mcpi::cuda {
using namespace device;

// A column of a large block is split among `lanes` threads with `vector` numbers each, and a team
// multiplies `slots` columns at a time.

// Numbers that a thread loads at a time from shared memory. They divide a column evenly.
constexpr int large_vector(PCMCPIPrecision storage, int bs)
{
  const int ld = leading_dimension(storage, bs);
  int vector = value_bits(storage) == 64 ? 2 : value_bits(storage) == 4 ? 8 : 4;
  while (ld % vector != 0) vector /= 2;
  return vector;
}
constexpr int column_bytes(PCMCPIPrecision storage, int bs)
{
  return leading_dimension(storage, bs) * value_bits(storage) / 8;
}

// The launch of relax_streamed: how a row passes through stages in shared memory.
struct StreamShape {
  int bs = 0, ld = 0;       // block size; numbers in a column as stored
  int lanes = 1, slots = 1; // threads for a column; columns at a time
  // Passes over the row: more than one if a column has more vectors than the team has threads
  int parts = 1;
  int team = 32, rows = 1;        // threads of a team; rows of a thread block
  int chunk = 1;                  // blocks in a stage, if a block is not larger than a stage
  int slices = 1, width = 1;      // otherwise: stages for a block; columns in a stage
  int stages = 1;                 // stages of a row in shared memory
  int segment = 1;                // blocks whose entries of x are gathered at a time
  std::uint32_t inverse = 0;      // above 2^32 / bs: a multiplication with it divides by bs
  int record = 0, column = 0;     // bytes of a block; bytes of a column
  int stage_bytes = 0, bytes = 0; // bytes of shared memory for a stage; for a row
  // Bytes from the start of a row's shared memory: entries of x, partial sums, sums and residuals,
  // heads, barriers
  int x_at = 0, partial_at = 0, sums_at = 0, heads_at = 0, barriers_at = 0;
};

// number: bytes of a number of the vectors
constexpr StreamShape stream_shape(PCMCPIPrecision storage, int bs, int number)
{
  StreamShape s;
  s.bs = bs;
  s.ld = leading_dimension(storage, bs);
  s.record = record_pieces(storage, bs) * kPiece;
  s.column = column_bytes(storage, bs);
  const int vectors = s.ld / large_vector(storage, bs);
  const StreamTuning tuned = Tuning::stream(s.record, vectors, bs);
  s.team = tuned.team;
  s.rows = s.team == kWarpSize ? 2 : 1;
  s.chunk = tuned.chunk;
  s.stages = tuned.stages;
  s.segment = tuned.segment;
  while (Tuning::kMostSegment % s.chunk != 0) --s.chunk;

  s.lanes = std::min(vectors, s.team);
  s.parts = (vectors + s.lanes - 1) / s.lanes;
  s.slots = s.team / s.lanes;
  s.width = (bs + (s.record - 1) / Tuning::kMostStage) / ((s.record - 1) / Tuning::kMostStage + 1);
  s.slices = (bs + s.width - 1) / s.width;
  s.inverse = static_cast<std::uint32_t>((std::uint64_t{1} << 32) / static_cast<unsigned>(bs) + 1);
  s.stage_bytes =
      s.slices == 1 ? s.chunk * s.record : round_up(s.width * s.column, kPiece) + kPiece;
  s.x_at = s.stages * s.stage_bytes;
  s.partial_at = s.x_at + round_up(s.segment * bs * number, kPiece);
  s.sums_at = s.partial_at + round_up(s.team * large_vector(storage, bs) * number, kPiece);
  s.heads_at = s.sums_at + round_up(3 * bs * number, kPiece);
  s.barriers_at = s.heads_at + s.segment * 8;
  s.bytes = round_up(s.barriers_at + s.stages * 8, kPiece);
  return s;
}

// The launch of relax_resident: a thread block takes `rows` rows, whose blocks lie one after the
// other in shared memory.
struct ResidentShape {
  int team = 0, rows = 1; // threads of a team; rows of a thread block
  int record = 0, entries = 0,
      // bytes of shared memory for a block, for its entries of x, for all else that a row needs
      fixed = 0;

  // Bytes of shared memory before a row's fixed part, and in all, for so many blocks in a thread
  // block
  constexpr int fixed_at(int blocks) const
  {
    return blocks * record + round_up(blocks * entries, kPiece);
  }
  constexpr int bytes(int blocks) const { return fixed_at(blocks) + rows * fixed; }
};

// A plan row of large blocks. A thread reads it with one load.
struct alignas(16) LargeRow {
  std::uint32_t block = 0, lower = 0, upper = 0; // first block; number of blocks of each triangle
};

constexpr unsigned kOneWaits = 1U << 31; // a flag besides those of RelaxFlag: TileLaunch::one_waits

// The arguments of the relaxations of small blocks. They read rhs before they wait for the launch
// before them. They write gathered if products read that copy.
struct SmallArgs : RelaxTerms {
  const Tile *tiles = nullptr;   // the tiles of this launch
  const RowEnds *ends = nullptr; // of all plan rows
  const void *blocks = nullptr;  // slices of all tiles (device/shapes.h)
  // the bfp16 copy of x, with gather_words() words for each row and right-hand side; not used if
  // products read x itself. relax_ordered() and relax_ordered_rows() take null if nothing reads it.
  std::uint32_t *gathered = nullptr;
  HeadBits head{};
  // the plan rows of this launch, for rows without slices
  std::uint32_t first_row = 0, row_count = 0;
  InlineExchange inside{}; // used if the relaxation exchanges ghosts itself
};

// The arguments of relax_ordered() and relax_ordered_rows(). The plan rows of this launch are in
// first_row and row_count.
struct OrderedArgs : SmallArgs {
  uint4 *packets = nullptr; // of all plan rows, packets_of() each
  // the epoch of the launch in the upper half, the next ticket in the lower half
  unsigned long long *tickets = nullptr;
  std::uint32_t ahead = 1; // rows from the row of wait_for_turn() to the tile; at least 1
  bool forward = true;     // whether the tiles are taken in their order, or in the opposite one
};

// The arguments of the relaxations of large blocks
struct LargeArgs : RelaxTerms {
  const LargeRow *rows = nullptr;   // all plan rows
  const BlockHead *heads = nullptr; // of each block
  const void *blocks = nullptr;     // records (device/shapes.h)
  // the plan rows of this launch
  std::uint32_t first_row = 0, row_count = 0;
  std::uint32_t capacity =
      0;                // number of blocks for which a thread block of relax_resident has room
  StreamShape stream{}; // of relax_streamed
};

// A kernel that takes several parts by one launch, and its largest tile
struct OrderedKernel {
  const void *function = nullptr;
  int threads = 0, rows = 0, slices = 0; // threads of a thread block; most of a tile
};

// The kernels for small blocks of one kind and block size, and their limits. A pointer is null if
// there is no such kernel.
struct SmallKernels {
  const void *general = nullptr;      // for every case
  const void *simple = nullptr;       // for one right-hand side, no long rows, and no kept sums
  const void *one_triangle = nullptr; // like simple, for one triangle, and maybe kept sums
  const void *exchanging = nullptr;   // like simple, with the exchange of ghosts inside
  const void *few = nullptr;          // like simple, for colors of few rows
  const void *rows = nullptr;         // for rows that have no slices in the triangles to be read
  TileLimits limits{};                // without what depends on the device or the plan
  int exchanging_blocks = 0;          // TileLimits::blocks for `exchanging`
  // for several parts of few rows each, and of at least many_rows rows in the mean
  OrderedKernel few_ordered, many_ordered;
  Row many_rows = 0;
  // mean rows of a color, and of a part of clusters, up to which these are faster than a launch for
  // each part
  Row ordered_color = 0, ordered_cluster_part = 0;
};

// The kernels for large blocks of one kind and block size
struct LargeKernels {
  const void *streamed = nullptr; // for every case
  const void *resident = nullptr; // for rows that fit shared memory; null for other block sizes
  StreamShape stream{};           // launch of `streamed`
  ResidentShape shape{};          // launch of `resident`
};

// A kernel as these tables hold it
template <class Kernel> const void *address_of(Kernel *kernel)
{
  return reinterpret_cast<const void *>(kernel);
}

// What distinguishes kernels of the same storage precision and block size. gather_rounded: products
// read the rounded copy of x. packed: heads of slices hold exponents.
struct RelaxKind {
  bool double_vectors = false, gather_rounded = false, packed = false;
};
// The kernels for a kind and block size, except SmallKernels::rows. Each storage precision is
// compiled in a file of its own (relax_precision.cu.in).
template <PCMCPIPrecision storage> SmallKernels small_kernels(const RelaxKind &kind, int bs);
template <PCMCPIPrecision storage> LargeKernels large_kernels(const RelaxKind &kind, int bs);

// SmallKernels::rows: each thread takes one row and one right-hand side.
const void *rows_kernel(const RelaxKind &kind, int bs);

} // namespace mcpi::cuda
