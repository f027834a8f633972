// Tests applications that are recorded as CUDA graphs.
#include "cuda/recorded_runs.h"

#include <gtest/gtest.h>

#include <thread>

#include "cuda/memory.h"

namespace mcpi::test {
namespace {

TEST(CudaRecordedRuns, that_another_thread_ends_are_launched_without_recording)
{
  using namespace cuda;
  Stream stream;
  DeviceArray<int> device(1);
  RecordedRuns runs;
  int calls = 0;
  const auto fill = [&](int value) {
    MCPI_CUDA(cudaMemsetAsync(device.data(), value, sizeof(int), stream));
  };
  const auto record = [&] {
    fill(0x70);
    if (++calls == 1)
      std::thread([] { (void)cudaDeviceSynchronize(); }).join(); // CUDA ends the capture
    fill(calls);
    return 0;
  };
  const auto filled = [&] {
    int value = 0;
    MCPI_CUDA(cudaMemcpyAsync(&value, device.data(), sizeof(int), cudaMemcpyDeviceToHost, stream));
    MCPI_CUDA(cudaStreamSynchronize(stream));
    return value;
  };
  EXPECT_EQ(runs.run(stream, {}, record), 0);
  EXPECT_EQ(calls, 2) << "lost, then launched";
  EXPECT_EQ(filled(), 0x02020202);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(runs.run(stream, {}, record), 0);
    EXPECT_EQ(calls, 3) << "recorded once";
    EXPECT_EQ(filled(), 0x03030303);
  }
}

} // namespace
} // namespace mcpi::test
