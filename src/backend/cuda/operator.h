// The stored off-diagonal blocks of one plan on the device, and the launch of relaxations with
// them.
#pragma once

#include "backend/cuda/relax.h"
#include "cuda/memory.h"
#include "sweep/backend.h"

namespace mcpi::cuda {

// Access to single stored numbers (stored_numbers.cu, device/places.h). It is slow, but seldom
// needed: for column indices, records for other ranks, and transposed blocks.

// The stored blocks of an operator: slices or pieces
struct StoredNumbers : BlockMemory {
  const Tile *tiles = nullptr; // of slices
};

// Where a block lies. Small blocks: its tile in the upper half, its first slice in the tile in the
// lower half. Large blocks: its number.
using Location = std::uint64_t;
constexpr Location location(std::uint32_t tile, std::uint32_t place)
{
  return static_cast<Location>(tile) << 32U | place;
}
// The location is a record that another rank sent. The other bits are the number of the record.
constexpr Location kReceived = Location{1} << 63U;

// Writes the column indices of all slices, tile after tile.
void set_columns(const StoredNumbers &to, std::uint32_t tiles, const Row *columns);
// Writes the records (core/codec.h) of the blocks at `count` locations, one after the other.
void read_records(const StoredNumbers &from, const Location *locations, std::size_t count,
                  std::byte *records, cudaStream_t stream);
// Fills `to` with blocks or with transposed blocks. sources: for each slice of `to` (each block, if
// large), the location in `from` of the block whose numbers it takes, or the number of a received
// record.
void fill(const StoredNumbers &to, const StoredNumbers &from, const Location *sources,
          std::uint32_t tiles, std::size_t blocks, const std::byte *received, bool transposed,
          cudaStream_t stream);
// Writes narrow inverse diagonal blocks (device/relax_update.h) of some rows as doubles.
void widen_diagonals(const std::byte *narrow, Row rows, int bs, std::byte *wide,
                     cudaStream_t stream);

// How a relaxation uses the L2 cache.
struct CacheUse {
  // bytes of a row's right-hand side, if the next sweep will not find it in the cache; 0 if it will
  std::size_t passing;
  std::size_t kept; // bytes of blocks that the next sweep shall find in the cache
};

// Computes the use of a cache of so many bytes. vectors: bytes of the vectors that a sweep reads.
// row_rhs: bytes of one row's right-hand side. Each half of the device caches what it reads in its
// half of the L2 cache. If vectors do not fit that half, right-hand sides are marked to be evicted
// first. Otherwise blocks may use four fifths of the half, less the vectors, and stay there from
// sweep to sweep. The last fifth is for everything else: ghosts, kept sums, ends of rows. Loads of
// small blocks bypass the first-level cache, and blocks outside the window are the first to leave
// the L2 cache.
constexpr CacheUse cache_use(std::size_t cache, std::size_t vectors, std::size_t row_rhs)
{
  const std::size_t half = cache / 2, most = Tuning::kept_share(half);
  return {vectors > half ? row_rhs : 0, vectors < most ? most - vectors : 0};
}

// Whether products read the copy of x that is rounded as in core/gather.h
constexpr bool rounds(const BackendConfig &config)
{
  return config.bfp16_gather && !config.double_vectors;
}

// A relaxation to launch.
struct Relaxation {
  RelaxTerms terms;
  std::uint32_t *gathered = nullptr;      // the rounded copy of x, if products read it
  const InlineExchange *inside = nullptr; // if the relaxation exchanges ghosts itself
  CacheUse cache{};
  uint4 *packets = nullptr;              // OrderedArgs::packets, if Operator::ordered()
  unsigned long long *tickets = nullptr; // OrderedArgs::tickets
  bool forward = true;                   // the order of the parts
  // The kernel may begin before the previous launch has ended. That launch must not be the one that
  // loads the right-hand side.
  bool early = false;
};

class Operator {
public:
  // Stores the column indices; numbers are zero until the numeric set-up.
  Operator(const ColorPlan &plan, const BackendConfig &config);

  // Launches the relaxation of the plan rows [begin, end), which are one part, or all rows of a
  // color if the relaxation exchanges ghosts itself.
  void relax(Row begin, Row end, const Relaxation &relaxation, cudaStream_t stream) const;

  // Whether the kernel for several parts at a time suits the plan. It needs packets_of_row()
  // packets for each plan row, and two counters for tickets.
  bool ordered() const { return ordered_; }
  std::size_t packets_of_row() const;
  // Whether that kernel takes such relaxations.
  bool takes_parts(const Relaxation &relaxation) const;
  // Launches the relaxation of the plan rows [begin, end), which are several parts, one after the
  // other.
  void relax_parts(Row begin, Row end, const Relaxation &relaxation, cudaStream_t stream) const;

  bool small() const { return plan_.bs <= kMaxSmallBlock; } // whether blocks are stored in slices
  bool packed() const { return layout_.shape.packed; } // whether heads of slices hold exponents
  // Whether some rank may pack exponents. The answer is the same on all ranks.
  static bool may_pack(int bs, const BackendConfig &config);
  StoredNumbers numbers();
  // Sets the range of packed exponents by the largest number that is stored.
  void set_largest(double largest);
  // Whether a relaxation of a whole color may exchange ghosts itself (Relaxation::inside).
  bool may_exchange() const
  {
    return small_.exchanging && !layout_.long_rows && !layout_.long_boundary_rows;
  }
  std::size_t bytes() const
  {
    return tiles_.bytes() + ends_.bytes() + rows_.bytes() + heads_.bytes() + blocks_.bytes();
  }

  // Calls visit(plan row, triangle, block in the triangle, tile, place) for each block. For small
  // blocks, place is the block's first slice in the tile. For large blocks, tile is 0 and place is
  // the number of the block.
  template <class Visit> void for_blocks(const Visit &visit) const
  {
    if (small()) {
      for (std::size_t t = 0; t < layout_.tiles.size(); ++t) {
        const Tile &tile = layout_.tiles[t];
        const Row begin = static_cast<Row>(tile.row), end = begin + static_cast<Row>(rows_of(tile));
        Offset slice = 0;
        for (const Triangle *triangle : {&plan_.lower, &plan_.upper})
          for (Row row = begin; row < end; ++row)
            for (Offset k = triangle->ptr[row]; k < triangle->ptr[row + 1]; ++k) {
              visit(row, *triangle, k, static_cast<std::uint32_t>(t),
                    static_cast<std::uint32_t>(slice));
              slice += layout_.shape.slices;
            }
      }
      return;
    }
    std::uint32_t place = 0;
    for (Row row = 0; row < plan_.rows; ++row)
      for (const Triangle *triangle : {&plan_.lower, &plan_.upper})
        for (Offset k = triangle->ptr[row]; k < triangle->ptr[row + 1]; ++k)
          visit(row, *triangle, k, 0U, place++);
  }
  // Returns the number of a slice over all tiles; for large blocks, the number of the block.
  std::size_t slice_number(std::uint32_t tile, std::uint32_t place) const
  {
    if (!small()) return place;
    return static_cast<std::size_t>(layout_.tiles[tile].offset) * kPiece /
               static_cast<std::size_t>(layout_.shape.bytes) +
           place;
  }
  // slices of a block
  std::size_t slices() const
  {
    return static_cast<std::size_t>(small() ? layout_.shape.slices : 1);
  }
  std::uint32_t tile_count() const { return static_cast<std::uint32_t>(layout_.tiles.size()); }
  std::size_t slice_count() const
  {
    return small() ? layout_.bytes / static_cast<std::size_t>(layout_.shape.bytes)
                   : static_cast<std::size_t>(plan_.blocks());
  }

private:
  // The most blocks that a thread block of relax_resident takes in one part of the plan (a color's
  // boundary or interior rows), by the triangles that are read.
  struct Capacity {
    std::uint32_t lower = 0, upper = 0, both = 0;
  };

  // The launch of a kernel: its grid and its arguments
  struct Launch {
    const void *function;
    unsigned blocks, threads;
    std::size_t shared;
  };

  void init_small();
  void init_large();
  void add_rows();
  bool resident(Row begin, LargeArgs &args) const;
  Row rows_of_part() const;
  bool has_slices(Row begin, Row end, unsigned flags) const;
  bool sends_all(Row begin, Row end, unsigned flags) const;
  void set(SmallArgs &args, Row begin, Row end, const Relaxation &relaxation) const;
  Launch small_launch(Row begin, Row end, SmallArgs &args) const;
  Launch large_launch(Row begin, LargeArgs &args) const;
  void launch(const Launch &launch, void *args, Row begin, Row end, const Relaxation &relaxation,
              cudaStream_t stream) const;

  const ColorPlan &plan_;
  const PCMCPIPrecision storage_;
  bool one_triangle_; // whether tiles are made for relaxations that read one triangle
  HeadBits head_;     // small blocks
  const bool packed_;
  const std::size_t number_; // bytes of a number of the vectors
  const bool rounded_;       // rounds()
  bool ordered_;             // whether tiles suit relax_ordered()
  OrderedKernel ordered_kernel_;
  SmallKernels small_;
  LargeKernels large_;
  // most bytes of an access policy window; 0 if the device has none
  const std::size_t largest_window_;
  int most_resident_ = 0; // bytes of shared memory for relax_resident
  TileLayout layout_;     // small blocks
  DeviceArray<Tile> tiles_;
  DeviceArray<RowEnds> ends_;
  std::vector<Capacity> capacity_; // large blocks, by part
  DeviceArray<LargeRow> rows_;
  DeviceArray<BlockHead> heads_;
  DeviceArray<std::byte> blocks_;
};

} // namespace mcpi::cuda
