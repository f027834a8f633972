// Numeric set-up on the device. Diagonal blocks are inverted. Off-diagonal blocks are multiplied,
// scaled, rounded, and stored where the sweeps read them.
#pragma once

#include <algorithm>
#include <memory>

#include "backend/cuda/operator.h"
#include "backend/cuda/setup.h"
#include "backend/cuda/value_upload.h"
#include "core/scale_updater.h"

namespace mcpi::cuda {

class NumericSetup {
public:
  // row_of: the plan's array on the device. plan_row: its inverse on the device.
  NumericSetup(const NumericConfig &config, const VectorKind &vectors, Operator &target,
               const Row *row_of, const Row *plan_row);

  // See StoredMatrix::refresh().
  int refresh(BlockRows &source, const MaxReduce &reduce, NumericStatus &status,
              cudaStream_t stream);

  const NumericConfig &config() const { return config_; }
  const Scales &scales() const { return updater_.scales(); }
  double largest() const { return updater_.largest(); }
  const InverseRange &inverse_range() const { return inverse_range_; }
  // inverse diagonal blocks in plan order
  const void *diagonal_map() const { return diagonal_map_.data(); }
  const double *left() const { return scales_.data(); } // scales of rows and of columns
  const double *right() const { return scales_.data() + bs_; }
  std::size_t bytes() const;

private:
  void prepare(BlockRows &source);
  void convert(BlockRows &source, bool store, NumericStatus &status, cudaStream_t stream);
  void upload_scales(cudaStream_t stream);
  void launch(const Chunk &chunk, SetupArgs args, cudaStream_t stream);
  // matrix rows that a thread block takes at a time, at least
  Row least_rows() const { return std::min(kernel_.rows, kWarpSize); }

  const NumericConfig config_;
  Operator &target_;
  const Row *row_of_, *plan_row_;
  const ColorPlan &plan_;
  const int bs_;
  const std::size_t square_;
  const bool narrow_diagonal_;
  const SetupKernel kernel_;
  unsigned most_blocks_ = 1; // thread blocks that run at a time
  ScaleUpdater updater_;
  InverseRange inverse_range_;
  std::unique_ptr<ValueUpload> feed_;
  DeviceArray<std::uint32_t> tile_of_, place_[2], maxima_;
  DeviceArray<double> scales_, scratch_, replaced_;
  std::vector<double> sent_scales_; // scales on their way to the device
  DeviceArray<std::byte> diagonal_map_;
  DeviceArray<unsigned long long> bad_;
};

} // namespace mcpi::cuda
