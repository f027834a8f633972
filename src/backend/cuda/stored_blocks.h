// The blocks of a matrix as a device stores them: values in, records out, products. Backends sweep
// with them. They need no backend.
#pragma once

#include <memory>
#include <vector>

#include "backend/cuda/operator.h"
#include "backend/cuda/setup.h"
#include "backend/cuda/value_upload.h"
#include "core/scale_updater.h"

namespace mcpi::cuda {

class StoredBlocks {
public:
  StoredBlocks(const ColorPlan &plan, const BackendConfig &config);

  // See StoredMatrix::refresh(). Diagonal blocks are inverted. Off-diagonal blocks are multiplied,
  // scaled, rounded, and stored where the sweeps read them. Work is launched to the stream.
  int refresh(BlockRows &source, const MaxReduce &reduce, NumericStatus &status,
              cudaStream_t stream);
  // Copies the records (core/codec.h) of these stored blocks to host memory. Blocks are numbered
  // from the lower to the upper triangle.
  void pack_records(const std::vector<Offset> &stored, std::byte *records, cudaStream_t stream);
  // Stores the transposed blocks in the order of the transposed plan. received: the records of
  // other ranks' blocks.
  void build_transposed(const ColorPlan &plan, const std::byte *received, cudaStream_t stream);
  // Copies the blocks of the same plan as they are stored for vectors in single precision.
  void copy(StoredBlocks &from, cudaStream_t stream);
  // Launches y = B x, where B holds the off-diagonal blocks as they are stored; not if products
  // read rounded x. Vectors are in device memory, in plan order and vector precision; x has ghosts
  // after the rows.
  void multiply(const void *x, void *y, cudaStream_t stream);

  const Operator &forward() const { return forward_; }
  const Operator &transposed() const { return *transposed_; }
  const Scales &scales() const { return updater_.scales(); }
  double largest() const { return updater_.largest(); } // largest number that is stored
  const InverseRange &inverse_range() const { return inverse_range_; }
  // inverse diagonal blocks in plan order
  const void *diagonal_map() const { return diagonal_map_.data(); }
  const double *left() const { return scales_.data(); } // scales of rows and of columns
  const double *right() const { return scales_.data() + plan_.bs; }
  const Row *row_of() const { return row_of_.data(); } // matrix row of a plan row
  const Row *plan_row() const { return plan_row_.data(); }
  bool prescaled() const { return config_.numeric.form == PC_MCPI_FORM_PRESCALED; }
  std::size_t record_size() const { return record_bytes(config_.numeric.storage, plan_.bs); }
  std::size_t bytes() const;

private:
  void prepare(BlockRows &source);
  void convert(BlockRows &source, bool store, NumericStatus &status, cudaStream_t stream);
  void upload_scales(cudaStream_t stream);
  void launch(const Batch &batch, SetupArgs args, cudaStream_t stream);
  // matrix rows that a thread block takes at a time, at least
  Row least_rows() const { return std::min(kernel_.rows, kWarpSize); }
  std::vector<Location> locations() const;
  Offset stored_number(const Triangle &triangle, Offset k) const;
  template <class Stored>
  std::vector<Location> sources_of(const Operator &to, const Stored &stored) const;

  const ColorPlan &plan_;
  const BackendConfig config_;
  const std::size_t square_; // numbers of a block
  Operator forward_;
  DeviceArray<Row> row_of_, plan_row_;

  // the numeric set-up
  const bool narrow_diagonal_;
  const SetupKernel kernel_;
  unsigned most_blocks_ = 1; // thread blocks that run at a time
  ScaleUpdater updater_;
  InverseRange inverse_range_;
  std::unique_ptr<ValueUpload> feed_;
  DeviceArray<std::uint32_t> tile_of_, place_[2], maxima_;
  DeviceArray<std::uint8_t> empty_;
  DeviceArray<double> scales_, scratch_;
  std::vector<double> sent_scales_; // scales on their way to the device
  DeviceArray<std::byte> diagonal_map_;
  DeviceArray<unsigned long long> bad_;

  // the transposed operator
  std::unique_ptr<Operator> transposed_;
  DeviceArray<Location> sources_;   // of each slice of the transposed operator
  std::size_t received_blocks_ = 0; // blocks received from other ranks
  DeviceArray<std::byte> received_;
  DeviceArray<std::byte> zeros_; // right-hand side of products
};

} // namespace mcpi::cuda
