// The numeric result of a set-up on a CPU: D^{-1} in double, O in storage precision.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/kernels.h"
#include "core/plan.h"
#include "core/scaling.h"

namespace mcpi {

// Values of the matrix, one block row at a time, column-major blocks.
class BlockRows {
public:
  virtual ~BlockRows() = default;
  // diagonal: the row's diagonal block; offdiag[k]: its k-th off-diagonal block. Valid until the next call.
  virtual void row(Row local_row, const double *&diagonal, const double *const *&offdiag) = 0;
};

enum class Defect : int { none, unrepresentable, nonfinite_offdiagonal, nonfinite_diagonal, singular };

// The first (smallest local block row) bad row of this rank.
struct NumericStatus {
  Defect defect = Defect::none;
  Row    row    = -1;
};

struct NumericConfig {
  PCMCPIPrecision storage;
  PCMCPIForm      form;
  PCMCPIScaling   scaling;
};

// Elementwise maximum over all ranks, in place; 0 or an error code.
using MaxReduce = std::function<int(double *values, int count)>;

class StoredMatrix {
public:
  StoredMatrix(const ColorPlan &plan, const NumericConfig &config, const CpuKernels &kernels);

  // Convert all values; collective through reduce. A bad row is reported in status, not in the error code; what is stored then is not to be swept.
  // Without a move of the scales this reads the values once and allocates nothing.
  int refresh(BlockRows &source, const MaxReduce &reduce, NumericStatus &status);

  // The stored blocks, transposed, in the order of the transposed plan; received holds the records of other ranks' blocks.
  void build_transposed(const ColorPlan &transposed, const std::byte *received);
  void pack_records(const std::vector<Offset> &stored, std::byte *records) const;

  StoredTriangle lower(bool transposed) const;
  StoredTriangle upper(bool transposed) const;
  const double  *diagonal_map(Row plan_row) const { return dmap_.data() + static_cast<std::size_t>(plan_row) * block_size_squared_; }

  const ColorPlan     &plan() const { return plan_; }
  const Scales        &scales() const { return scales_; }
  const NumericConfig &config() const { return config_; }
  std::size_t          record_size() const { return record_size_; }
  std::size_t          memory_bytes() const;

private:
  enum class Pass { maxima_only, store };
  void             convert(BlockRows &source, Pass pass, NumericStatus &status);
  Defect           convert_row(Row plan_row, BlockRows &source, Pass pass);
  Defect           convert_triangle(const Triangle &triangle, Row plan_row, const double *const *offdiag, Pass pass, std::byte *records);
  int              reduce_maxima(const MaxReduce &reduce, const NumericStatus &status);
  const std::byte *record(Offset stored) const;

  const ColorPlan            &plan_;
  const ColorPlan            *transposed_plan_ = nullptr;
  NumericConfig               config_;
  const CpuKernels           &kernels_;
  std::size_t                 block_size_squared_, record_size_;
  Scales                      scales_, candidate_;
  bool                        have_scales_ = false;
  std::vector<double>         dmap_, left_, maxima_, global_maxima_, scaled_, inverse_, work_;
  std::vector<int>            pivot_;
  std::vector<const double *> pointers_;
  std::vector<std::byte>      lower_, upper_, transposed_lower_, transposed_upper_;
};

} // namespace mcpi
