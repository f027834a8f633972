// Skips the tests of a program if there is no CUDA device.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdio>

namespace {

class NeedsDevice final : public testing::Environment {
public:
  void SetUp() override
  {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) return;
    std::puts("Skipped: no CUDA device");
    GTEST_SKIP();
  }
};

[[maybe_unused]] testing::Environment *const needs_device =
    testing::AddGlobalTestEnvironment(new NeedsDevice);

} // namespace
