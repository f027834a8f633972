// The blocks of a matrix as a device stores them: values in, records out, products. Backends sweep
// with them. They need no backend.
#pragma once

#include <memory>
#include <vector>

#include "backend/cuda/numeric_setup.h"
#include "core/plan.h"

namespace mcpi::cuda {

class StoredBlocks {
public:
  StoredBlocks(const ColorPlan &plan, const NumericConfig &config, const VectorKind &vectors);

  // See StoredMatrix::refresh(). Work is launched to the stream.
  int refresh(BlockRows &source, const MaxReduce &reduce, NumericStatus &status,
              cudaStream_t stream)
  {
    return setup_.refresh(source, reduce, status, stream);
  }
  // Copies the records (core/codec.h) of these stored blocks to host memory. Blocks are numbered
  // from the lower to the upper triangle.
  void pack_records(const std::vector<Offset> &stored, std::byte *records, cudaStream_t stream);
  // Stores the transposed blocks in the order of the transposed plan. received: the records of
  // other ranks' blocks.
  void build_transposed(const ColorPlan &plan, const std::byte *received, cudaStream_t stream);
  // Launches y = B x, where B holds the off-diagonal blocks as they are stored. Vectors are in
  // device memory, in plan order and vector precision; x has ghosts after the rows.
  void multiply(const void *x, void *y, cudaStream_t stream);

  const Operator &forward() const { return forward_; }
  const Operator &transposed() const { return *transposed_; }
  const NumericSetup &setup() const { return setup_; }
  const Row *row_of() const { return row_of_.data(); } // matrix row of a plan row
  const Row *plan_row() const { return plan_row_.data(); }
  bool prescaled() const { return setup_.config().form == PC_MCPI_FORM_PRESCALED; }
  std::size_t record_size() const { return record_bytes(setup_.config().storage, plan_.bs); }
  std::size_t bytes() const;

private:
  std::vector<Location> locations() const;
  void map_transposed(const Operator &transposed);

  const ColorPlan &plan_;
  const VectorKind vectors_;
  Operator forward_;
  DeviceArray<Row> row_of_, plan_row_;
  NumericSetup setup_;
  std::unique_ptr<Operator> transposed_;
  DeviceArray<Location> sources_;   // of each slice of the transposed operator
  std::size_t received_blocks_ = 0; // blocks received from other ranks
  DeviceArray<std::byte> received_;
  DeviceArray<std::byte> zeros_; // right-hand side of products
};

} // namespace mcpi::cuda
