// The stored blocks of one plan on the device, and the kernel that relaxes with them.
#pragma once

#include "backend/cuda/cache_window.h"
#include "backend/cuda/relax.h"
#include "backend/cuda/stored_numbers.h"
#include "cuda/memory.h"
#include "sweep/backend.h"

namespace mcpi::cuda {

class Operator {
public:
  // Numbers are zero, columns are there.
  Operator(const ColorPlan &plan, const BackendConfig &config);

  // Launches for the plan rows [begin, end), one color's boundary or interior rows; the operator's
  // part of args is filled in here. early: it may begin before what was launched before has ended,
  // which must not be what loads the right-hand side
  void relax(Row begin, Row end, RelaxArgs args, const CacheUse &cache, bool early,
             cudaStream_t stream) const;

  const ColorPlan &plan() const { return plan_; }
  bool small() const { return kernel_.capacity > 0; }
  bool packed() const { return layout_.shape.packed; }
  // Whether some rank may pack exponents: the same on all of them
  static bool may_pack(int bs, const BackendConfig &config);
  StoredNumbers numbers();
  // The largest stored number that set-ups may bring
  void set_largest(double largest);
  // Whether a relaxation from a color's first row to its last may exchange by itself
  // (RelaxArgs::inside)
  bool may_exchange() const
  {
    return small() && kernel_.exchanging && !layout_.long_rows && !layout_.long_boundary_rows;
  }
  std::size_t bytes() const
  {
    return tiles_.bytes() + ends_.bytes() + rows_.bytes() + heads_.bytes() + blocks_.bytes();
  }

  // Where each block lies: visit(plan row, triangle, block in the triangle, tile, place). place:
  // its first slice in the tile; of large blocks, whose tile is 0, its number.
  template <class Visit> void for_blocks(const Visit &visit) const
  {
    if (small()) {
      for (std::size_t t = 0; t < layout_.tiles.size(); ++t) {
        const Tile &tile = layout_.tiles[t];
        const Row begin = static_cast<Row>(tile.row), end = begin + static_cast<Row>(rows_of(tile));
        Offset slice = 0;
        for (const Triangle *triangle : {&plan_.lower, &plan_.upper})
          for (Row row = begin; row < end; ++row)
            for (Offset k = triangle->ptr[row]; k < triangle->ptr[row + 1];
                 ++k, slice += layout_.shape.slices)
              visit(row, *triangle, k, static_cast<std::uint32_t>(t),
                    static_cast<std::uint32_t>(slice));
      }
      return;
    }
    std::uint32_t place = 0;
    for (Row row = 0; row < plan_.rows; ++row)
      for (const Triangle *triangle : {&plan_.lower, &plan_.upper})
        for (Offset k = triangle->ptr[row]; k < triangle->ptr[row + 1]; ++k)
          visit(row, *triangle, k, 0U, place++);
  }
  // The number of a slice over all tiles, of a large block over all blocks
  std::size_t slice_number(std::uint32_t tile, std::uint32_t place) const
  {
    if (!small()) return place;
    return static_cast<std::size_t>(layout_.tiles[tile].offset) * kPiece /
               static_cast<std::size_t>(layout_.shape.bytes) +
           place;
  }
  std::size_t slices() const
  {
    return static_cast<std::size_t>(small() ? layout_.shape.slices : 1);
  } // of a block
  std::uint32_t tile_count() const { return static_cast<std::uint32_t>(layout_.tiles.size()); }
  std::size_t slice_count() const
  {
    return small() ? layout_.bytes / static_cast<std::size_t>(layout_.shape.bytes)
                   : static_cast<std::size_t>(plan_.blocks());
  }

private:
  // Of one color's boundary or interior rows: most blocks of a thread block of relax_resident, by
  // the triangles that are read
  struct Capacity {
    std::uint32_t lower = 0, upper = 0, both = 0;
  };

  void init_small();
  void init_large();
  void add_rows();
  std::size_t part(Row begin) const;
  bool resident(Row begin, RelaxArgs &args) const;
  bool has_slices(Row begin, Row end, unsigned flags) const;

  const ColorPlan &plan_;
  const PCMCPIPrecision storage_;
  HeadBits head_; // small blocks
  const bool packed_;
  const RelaxKernel kernel_;
  const void *const rows_kernel_;    // small blocks
  const std::size_t largest_window_; // bytes that a launch may say how to cache; 0 where it may not
  int most_resident_ = 0;            // bytes of shared memory
  TileLayout layout_;                // small blocks
  DeviceArray<Tile> tiles_;
  DeviceArray<RowEnds> ends_;
  std::vector<Capacity> capacity_; // large blocks
  DeviceArray<LargeRow> rows_;
  DeviceArray<BlockHead> heads_;
  DeviceArray<std::byte> blocks_;
};

} // namespace mcpi::cuda
