// DeviceGuard, which makes the CUDA device of a solver current during a call.
#pragma once

#if defined(MCPI_HAVE_CUDA)
#include <cuda_runtime.h>
#endif

namespace mcpi {

constexpr int kNoDevice = -1;

#if defined(MCPI_HAVE_CUDA)

// Makes a device current. Its destructor restores the device that was current before, because an
// application may use several devices.
class DeviceGuard {
public:
  explicit DeviceGuard(int device)
  {
    if (device == kNoDevice || cudaGetDevice(&before_) != cudaSuccess || before_ == device) {
      before_ = kNoDevice;
      return;
    }
    if (cudaSetDevice(device) != cudaSuccess) before_ = kNoDevice; // later calls report the error
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
