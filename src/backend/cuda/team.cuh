// Threads that work on one block together (device/invert.h).
#pragma once

#include "backend/device/invert.h"
#include "backend/device/shapes.h"

namespace mcpi::cuda {

using namespace device;

constexpr unsigned kAllLanes = ~0U;

// A warp or the whole thread block. Each warp scans whole blocks.
struct Team {
  static constexpr int lanes = kWarpSize;
  int rank, size, lane = static_cast<int>(threadIdx.x) % kWarpSize;

  __device__ void sync() const
  {
    if (size == kWarpSize)
      __syncwarp();
    else
      __syncthreads();
  }
  // Whether value is true for a thread of the team. Waits for all of them.
  __device__ bool any_of_team(bool value) const
  {
    if (size > kWarpSize) return __syncthreads_or(value) != 0;
    const bool some = any(value);
    __syncwarp();
    return some;
  }
  __device__ bool all(bool value) const { return __all_sync(kAllLanes, value); }
  __device__ bool any(bool value) const { return __any_sync(kAllLanes, value); }
  __device__ double max(double value) const
  {
    for (int step = kWarpSize / 2; step > 0; step /= 2)
      value = fmax(value, __shfl_xor_sync(kAllLanes, value, step));
    return value;
  }
  __device__ void best(double &value, int &at) const
  {
    for (int step = kWarpSize / 2; step > 0; step /= 2) {
      const double other = __shfl_xor_sync(kAllLanes, value, step);
      const int place = __shfl_xor_sync(kAllLanes, at, step);
      if (other > value || (other == value && place < at)) {
        value = other;
        at = place;
      }
    }
  }
};

} // namespace mcpi::cuda
