// The matrix's values for the set-up kernels, chunk by chunk of matrix rows: where they are, if
// that is the device, else through pinned buffers.
#pragma once

#include <functional>
#include <memory>

#include "backend/cuda/setup.h"
#include "core/numeric.h"
#include "cuda/memory.h"

namespace mcpi::cuda {

// A chunk's part of SetupArgs
struct Chunk {
  Row begin = 0, end = 0;
  const double *values[2] = {}; // of blocks first[...] on
  std::uint32_t first[2] = {};
  bool scalar_rows = false;
  bool whole = false; // all rows: they may be taken in any order
};

class Copiers;

class ValueUpload {
public:
  // Needs the source's arrays; off-diagonal blocks of a matrix row: what the structure of a source
  // without arrays is made of
  ValueUpload(BlockRows &source, Row rows, int bs,
              const std::function<Row(Row)> &offdiagonal_blocks);

  // Blocks before a matrix row, and the place of its diagonal block in the first piece
  const PieceStructure &piece(int p) const { return structure_[p]; }
  bool has(int p) const { return !structure_[p].ptr.empty(); }
  bool serves(BlockRows &source)
  {
    return source.arrays().layout == layout_ && source.arrays().device == device_;
  }
  const std::uint32_t *ptr(int p) const { return ptr_[p].data(); }
  const Row *diagonal() const { return diagonal_.data(); }

  // use(chunk) launches what reads the chunk on the stream.
  void run(BlockRows &source, cudaStream_t stream, const std::function<void(const Chunk &)> &use);

  std::size_t bytes() const;

private:
  struct Buffer {
    PinnedBytes host;
    DeviceArray<double> device;
    Event read; // the device has read both
  };

  Row chunk_end(Row begin) const;
  Chunk describe(Row begin, Row end, const double *values) const;
  void expand(const ValueArrays &arrays, const Chunk &chunk, double *blocks,
              cudaStream_t stream) const;
  void fill(BlockRows &source, const ValueArrays &arrays, const Chunk &chunk, Copiers *copiers,
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
  bool partial_ = false; // scalar rows whose blocks are not all full
  PieceStructure structure_[2];
  DeviceArray<std::uint32_t> ptr_[2], slot_[2];
  DeviceArray<Offset> entry_ptr_[2];
  DeviceArray<Row> diagonal_;
  Buffer buffer_[2];
};

} // namespace mcpi::cuda
