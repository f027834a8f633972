// The CUDA device of a solver, while its calls last.
#pragma once

#if defined(MCPI_HAVE_CUDA)
#include <cuda_runtime.h>
#endif

namespace mcpi {

constexpr int kNoDevice = -1;

#if defined(MCPI_HAVE_CUDA)

// Makes a device current, and at its end the one that was current before: an application may use
// several.
class DeviceGuard {
public:
  explicit DeviceGuard(int device)
  {
    if (device == kNoDevice || cudaGetDevice(&before_) != cudaSuccess || before_ == device) {
      before_ = kNoDevice;
      return;
    }
    if (cudaSetDevice(device) != cudaSuccess) before_ = kNoDevice; // what follows says so
  }
  DeviceGuard(const DeviceGuard &) = delete;
  DeviceGuard &operator=(const DeviceGuard &) = delete;
  ~DeviceGuard()
  {
    if (before_ != kNoDevice) (void)cudaSetDevice(before_);
  }

private:
  int before_ = kNoDevice;
};

#else

struct DeviceGuard {
  explicit DeviceGuard(int /*device*/) {}
};

#endif

} // namespace mcpi
