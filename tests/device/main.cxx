// Device tests skip themselves where there is no device.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char **argv)
{
  testing::InitGoogleTest(&argc, argv);
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("Skipped: no CUDA device");
    return EXIT_SUCCESS;
  }
  return RUN_ALL_TESTS();
}
