// The values of the matrix for the set-up kernels, in batches of matrix rows. Values in device
// memory are read in place, or expanded to device buffers if some blocks are not full. Values in
// host memory pass through two pinned buffers, one of which is filled while the device reads the
// other.
#pragma once

#include <functional>

#include "backend/cuda/setup.h"
#include "core/numeric.h"
#include "core/threads.h"
#include "cuda/memory.h"

namespace mcpi::cuda {

// The part of SetupArgs that differs between batches.
struct Batch {
  Row begin = 0, end = 0;
  const double *values[2] = {}; // values of the blocks from first[...] on
  std::uint32_t first[2] = {};
  bool scalar_rows = false;
  bool whole = false; // The batch has all rows, so they may be taken in any order.
};

// Copies the flags of the empty unknowns to the device. Returns null if there are none.
inline const std::uint8_t *upload_empty(const BlockRows &source, const ColorPlan &plan,
                                        DeviceArray<std::uint8_t> &flags)
{
  if (!source.empty()) return nullptr;
  flags.upload(source.empty(), static_cast<std::size_t>(plan.rows) * plan.bs);
  return flags.data();
}

class ValueUpload {
public:
  // The arrays of the source must be up to date.
  ValueUpload(BlockRows &source, const ColorPlan &plan);

  // The structure of a portion: blocks before each matrix row, and places of diagonal blocks.
  const PortionStructure &portion(int p) const { return structure_[p]; }
  bool has(int p) const { return !structure_[p].ptr.empty(); }
  // Whether this upload suits the source: same layout, same memory.
  bool serves(BlockRows &source)
  {
    return source.arrays().layout == layout_ && source.arrays().device == device_;
  }
  const std::uint32_t *ptr(int p) const { return ptr_[p].data(); }
  const Row *diagonal() const { return diagonal_.data(); }

  // Brings the batches to the device one after the other. use(batch) launches to the stream what
  // reads a batch.
  void run(BlockRows &source, cudaStream_t stream, const std::function<void(const Batch &)> &use);

  std::size_t bytes() const;

private:
  // A batch on its way to the device
  struct Buffer {
    PinnedBytes host;
    DeviceArray<double> device;
    Event read; // The device has read host and device memory of the buffer.
  };

  Row batch_end(Row begin) const;
  Batch describe(Row begin, Row end, const double *values) const;
  void expand(const ValueArrays &arrays, const Batch &batch, double *blocks,
              cudaStream_t stream) const;
  void fill(BlockRows &source, const ValueArrays &arrays, const Batch &batch, mcpi::Team &copiers,
            double *out) const;
  Offset blocks(int p, Row begin, Row end) const
  {
    return has(p) ? structure_[p].ptr[static_cast<std::size_t>(end)] -
                        structure_[p].ptr[static_cast<std::size_t>(begin)]
                  : 0;
  }

  const Row rows_;
  const int bs_;
  const std::size_t square_;
  ValueLayout layout_;
  bool device_;
  bool partial_ = false; // whether the source has scalar rows whose blocks are not all full
  PortionStructure structure_[2];
  DeviceArray<std::uint32_t> ptr_[2], slot_[2];
  DeviceArray<Offset> entry_ptr_[2];
  DeviceArray<Row> diagonal_;
  Buffer buffer_[2];
};

} // namespace mcpi::cuda
