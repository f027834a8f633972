// Tests the Kokkos backend on a host: in the default execution space, and in one thread with the
// layout for CPUs and with the layout for devices.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "backend/kokkos/kokkos_backend.h"
#include "backend/kokkos/runtime.h"
#include "engines.h"

int main(int argc, char **argv)
{
  using namespace mcpi;
  if (const std::string problem = kokkos::start(false); !problem.empty()) {
    std::puts(problem.c_str());
    return EXIT_FAILURE;
  }
  std::printf("Kokkos on %s with %d threads\n", kokkos::space_name(),
              Kokkos::DefaultExecutionSpace().concurrency());
  test::test_engine(test::Engine::kokkos, make_kokkos_backend);
  test::test_engine(test::Engine::kokkos_serial,
                    kokkos::make_backend<Kokkos::Serial, kokkos::CpuStyle>);
  test::test_engine(test::Engine::kokkos_tiles,
                    kokkos::make_backend<Kokkos::Serial, kokkos::DeviceStyle>);
  test::tested().block_sizes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 17};
  test::tested().large_block_sizes = {33, 65};
  test::tested().host_memory = !kokkos::on_device();
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  kokkos::finish();
  return result;
}
