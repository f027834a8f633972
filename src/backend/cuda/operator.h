// The stored blocks of one plan on the device, and the kernel that relaxes with them.
#pragma once

#include "backend/cuda/memory.h"
#include "backend/cuda/relax.h"
#include "core/stored_matrix.h"

namespace mcpi::cuda {

class Operator {
public:
  Operator(const ColorPlan &plan, PCMCPIPrecision storage, bool double_vectors);

  void upload(const std::byte *lower, const std::byte *upper); // records of core/codec.h

  // Launches for the plan rows [begin, end), one color's boundary or interior rows; the operator's part of args is filled in here.
  void relax(Row begin, Row end, RelaxArgs args, cudaStream_t stream) const;

  std::size_t bytes() const { return tiles_.bytes() + ends_.bytes() + rows_.bytes() + heads_.bytes() + blocks_.bytes(); }

private:
  // Of one color's boundary or interior rows: most blocks of a thread block of relax_resident, by the triangles that are read
  struct Capacity {
    std::uint32_t lower = 0, upper = 0, both = 0;
  };

  bool        small() const { return kernel_.capacity > 0; }
  std::size_t part(Row begin) const;
  void        add_rows();
  bool        resident(Row begin, RelaxArgs &args) const;
  void        pack_large(const std::byte *lower, const std::byte *upper, std::vector<std::byte> &out, std::vector<BlockHead> &heads) const;

  const ColorPlan       &plan_;
  const PCMCPIPrecision  storage_;
  const RelaxKernel      kernel_;
  int                    most_resident_ = 0; // bytes of shared memory
  TileLayout             layout_;            // small blocks
  DeviceArray<Tile>      tiles_;
  DeviceArray<RowEnds>   ends_;
  std::vector<Capacity>  capacity_; // large blocks
  DeviceArray<LargeRow>  rows_;
  DeviceArray<BlockHead> heads_;
  DeviceArray<std::byte> blocks_;
};

} // namespace mcpi::cuda
