// Inner products of a vector with several others on a device, and sums of several vectors.
#pragma once

#include <vector>

#include "cuda/memory.h"

namespace mcpi::cuda {

class InnerProducts {
public:
  InnerProducts(); // takes memory of the current device

  // Sets result[k] = v[k] . x for vectors of n numbers in device memory. Waits for the device. The
  // order of the sums depends on n and on the device only.
  void compute(const std::vector<const double *> &v, const double *x, std::size_t n, double *result,
               cudaStream_t stream);

private:
  std::size_t most_blocks_; // thread blocks of a launch
  DeviceArray<double> partial_, sum_;
  PinnedBytes copied_;
};

// Launches x -= sum over k of coefficient[k] v[k].
void subtract_combination(const std::vector<const double *> &v,
                          const std::vector<double> &coefficient, double *x, std::size_t n,
                          cudaStream_t stream);

} // namespace mcpi::cuda
