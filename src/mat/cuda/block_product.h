// The products y = A x of a matrix in scalar rows on a device (CSR) whose blocks are full. A column
// is stored for each block, not for each number.
#pragma once

#include <cstdint>

#include "cuda/memory.h"

namespace mcpi::cuda {

class BlockProduct {
public:
  // Reads the structure of a matrix with this number of block rows. i, j: row pointers and columns
  // in device memory; null for a matrix without numbers. Waits for the device.
  template <class Index>
  BlockProduct(int rows, int bs, const Index *i, const Index *j, cudaStream_t stream);

  // Whether all blocks are full, in the same order in each scalar row of a block row, and few
  // enough to be counted in 32 bits. Otherwise no products can be made.
  bool full() const { return full_; }
  // scalar rows that have numbers
  double nonempty_rows() const { return static_cast<double>(nonempty_) * bs_; }
  // Launches y = A x, or y = A x + z where z is not null. All arrays are in device memory. values:
  // the matrix's numbers. z may be y.
  void multiply(const double *values, const double *x, const double *z, double *y,
                cudaStream_t stream) const;

private:
  int rows_, bs_, nonempty_ = 0; // block rows; block size; block rows with blocks
  bool full_ = false;
  double mean_row_ = 0.0;              // numbers of a scalar row that has some
  DeviceArray<std::uint32_t> ptr_;     // blocks before each block row
  DeviceArray<std::uint32_t> columns_; // block columns
};

} // namespace mcpi::cuda
