// The numeric result of a set-up on a CPU: D^{-1} in double, O in storage precision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/kernels.h"
#include "core/scale_updater.h"

namespace mcpi {

class StoredMatrix {
public:
  StoredMatrix(const ColorPlan &plan, const NumericConfig &config, const CpuKernels &kernels);

  // Convert all values; collective through reduce. A bad row is reported in status, not in the
  // error code; what is stored then is not to be swept. Without a move of the scales this reads the
  // values once and allocates nothing.
  int refresh(BlockRows &source, const MaxReduce &reduce, NumericStatus &status);

  // The stored blocks, transposed, in the order of the transposed plan; received holds the records
  // of other ranks' blocks.
  void build_transposed(const ColorPlan &transposed, const std::byte *received);
  void pack_records(const std::vector<Offset> &stored, std::byte *records) const;
  // Records of all blocks, lower, then upper triangle, in the place of those of the last refresh
  void adopt_records(const std::byte *records);

  StoredTriangle lower(bool transposed) const;
  StoredTriangle upper(bool transposed) const;
  const double *diagonal_map(Row plan_row) const
  {
    return dmap_.data() + static_cast<std::size_t>(plan_row) * block_size_squared_;
  }

  const ColorPlan &plan() const { return plan_; }
  const InverseRange &inverse_range() const { return inverse_range_; }
  const Scales &scales() const { return updater_.scales(); }
  const NumericConfig &config() const { return config_; }
  std::size_t record_size() const { return record_size_; }
  std::size_t memory_bytes() const;

private:
  using Pass = ScaleUpdater::Pass;
  void convert(BlockRows &source, Pass pass, NumericStatus &status);
  Defect convert_row(Row plan_row, BlockRows &source, Pass pass);
  Defect convert_triangle(const Triangle &triangle, Row plan_row, const double *const *offdiag,
                          Pass pass, std::byte *records);
  const std::byte *record(Offset stored) const;

  const ColorPlan &plan_;
  const ColorPlan *transposed_plan_ = nullptr;
  NumericConfig config_;
  const CpuKernels &kernels_;
  std::size_t block_size_squared_, record_size_;
  ScaleUpdater updater_;
  InverseRange inverse_range_; // of dmap_
  std::vector<double> dmap_, left_, scaled_, inverse_, work_;
  std::vector<std::int64_t> pivot_;
  std::vector<const double *> pointers_;
  std::vector<std::byte> lower_, upper_, transposed_lower_, transposed_upper_;
};

} // namespace mcpi
