// The result of a numeric set-up on a CPU: inverse diagonal blocks in double precision, and
// off-diagonal blocks in storage precision.
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

  // Converts all values. The call is collective because of reduce, whose error code it returns. A
  // bad row is reported in status, not in the error code; sweeps must not use the stored blocks
  // then. If the scales stay the same, the call reads the values once and allocates nothing.
  int refresh(BlockRows &source, const MaxReduce &reduce, NumericStatus &status);

  // Stores the transposed blocks in the order of the transposed plan. received holds the records of
  // the other ranks' blocks.
  void build_transposed(const ColorPlan &transposed, const std::byte *received);
  // Copies the records of these stored blocks. Blocks are numbered from the lower to the upper
  // triangle.
  void pack_records(const std::vector<Offset> &stored, std::byte *records) const;
  // Replaces the records of all blocks, of the lower, then of the upper triangle.
  void adopt_records(const std::byte *records);

  StoredTriangle lower(bool transposed) const;
  StoredTriangle upper(bool transposed) const;
  // The inverse diagonal block, scaled. In the prescaled form it is diag(1/right) D^{-1}, in the
  // factored form the inverse of diag(left) D diag(right).
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
  // dmap_: see diagonal_map(). The others are work space for one row. left_ is the matrix that
  // multiplies its blocks from the left, scaled_ holds the blocks of one triangle after scaling.
  std::vector<double> dmap_, left_, scaled_, inverse_, work_;
  std::vector<std::int64_t> pivot_;
  std::vector<const double *> pointers_;
  std::vector<std::byte> lower_, upper_, transposed_lower_, transposed_upper_;
};

} // namespace mcpi
