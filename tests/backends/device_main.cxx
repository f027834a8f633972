// Tests the backends of a device. The tests are skipped if there is no device.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "engines.h"
#if defined(MCPI_HAVE_CUDA)
#include <cuda_runtime.h>

#include "backend/cuda/cuda_backend.h"
#endif
#if defined(MCPI_HAVE_KOKKOS)
#include "backend/kokkos/runtime.h"
#endif

int main(int argc, char **argv)
{
  using namespace mcpi;
#if defined(MCPI_HAVE_CUDA)
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0)
    test::test_engine(test::Engine::cuda, make_cuda_backend);
#endif
#if defined(MCPI_HAVE_KOKKOS)
  if (kokkos::on_device() && kokkos::start(false).empty())
    test::test_engine(test::Engine::kokkos, make_kokkos_backend);
#endif
  if (test::tested().engines.empty()) {
    std::puts("Skipped: no device");
    return EXIT_SUCCESS;
  }
  test::tested().block_sizes.resize(66);
  std::iota(test::tested().block_sizes.begin(), test::tested().block_sizes.end(), 1);
  test::tested().large_block_sizes = {100, 130};
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
#if defined(MCPI_HAVE_KOKKOS)
  kokkos::finish();
#endif
  return result;
}
