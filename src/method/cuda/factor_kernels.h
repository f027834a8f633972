// The kernels of incomplete factorizations as the host sees them. They work on the array of blocks
// that an Elimination describes, and find what they multiply in its SearchLists.
#pragma once

#include <cuda_runtime.h>

#include "backend/cuda/value_upload.h"
#include "method/cuda/search.h"

namespace mcpi::cuda {

// Copies the values of a batch to their places.
struct ArrangeArgs {
  const double *values[2];      // of the portions of the batch, see Batch
  const std::uint32_t *ptr[2];  // blocks of a portion before a matrix row; null: no such portion
  std::uint32_t first[2];       // first block of the batch
  const Row *diagonal;          // place of the diagonal block in the first portion's row
  const BlockNumber *row_begin; // SearchLists::row_begin
  double *blocks;               // output
  Row begin, end;               // matrix rows
  int bs;
  bool scalar_rows; // how the values lie, see ValueLayout
};
void arrange_values(const ArrangeArgs &args, cudaStream_t stream);

// Factors the plan rows [begin, end). Earlier rows have been factored. A row waits for the rows of
// the same launch that it reads.
struct FactorArgs {
  double *blocks;
  device::SearchArgs search;
  const Row *row_of;
  const std::uint8_t *empty; // BlockRows::empty()
  double *scratch;           // work_numbers() for each thread block, if shared memory is too small
  std::uint32_t *done;       // by plan row: the epoch in which the row was factored
  unsigned *next;            // working memory: the next row to be factored
  std::uint32_t epoch;       // of this factorization
  Row begin, end;
  int bs;
  bool fill; // whether off-diagonal blocks change
};

// The launch of factor_rows() on the device in use
struct FactorLaunch {
  const void *function;
  unsigned blocks; // most thread blocks, which are resident together
  std::size_t shared;
  std::size_t scratch; // doubles that FactorArgs::scratch must have
};
FactorLaunch factor_launch(int bs, Row rows);
void factor_rows(const FactorLaunch &launch, const FactorArgs &args, cudaStream_t stream);

// Copies blocks[from[k]] to block k of `to`.
void copy_blocks(const double *blocks, const BlockNumber *from, std::size_t count, int bs,
                 double *to, cudaStream_t stream);

} // namespace mcpi::cuda
