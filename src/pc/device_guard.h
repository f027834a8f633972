// The CUDA device of a solver, while its calls last.
#pragma once

#if defined(MCPI_HAVE_CUDA)
#include <cuda_runtime.h>
#endif

namespace mcpi {

constexpr int kNoDevice = -1;

// Makes a device current, and at its end the one that was current before: an application may use several.
class DeviceGuard {
public:
  explicit DeviceGuard([[maybe_unused]] int device)
  {
#if defined(MCPI_HAVE_CUDA)
    if (device == kNoDevice || cudaGetDevice(&before_) != cudaSuccess || before_ == device) {
      before_ = kNoDevice;
      return;
    }
    if (cudaSetDevice(device) != cudaSuccess) before_ = kNoDevice; // what follows says so
#endif
  }
  DeviceGuard(const DeviceGuard &)            = delete;
  DeviceGuard &operator=(const DeviceGuard &) = delete;
  ~DeviceGuard()
  {
#if defined(MCPI_HAVE_CUDA)
    if (before_ != kNoDevice) (void)cudaSetDevice(before_);
#endif
  }

private:
  [[maybe_unused]] int before_ = kNoDevice;
};

} // namespace mcpi
