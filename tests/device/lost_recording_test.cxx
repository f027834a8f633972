// Tests that an application still waits for its right-hand side if its recording as a CUDA graph is
// lost.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <thread>

#include "support/system.h"
#include "sweep/device_exchange.h"

namespace mcpi::test {
namespace {

// A halo in which another thread synchronizes while an application is recorded. CUDA then ends the
// recording.
class DisturbedHalo final : public Halo {
public:
  int prepare(std::size_t) override { return 0; }
  int begin(int, void *) override { return 0; }
  int end(int, void *) override { return 0; }
  int exchange_all(void *) override { return 0; }
  int start() override
  {
    if (disturb) std::thread([] { (void)cudaDeviceSynchronize(); }).join();
    disturb = false;
    return 0;
  }
  bool idle() const override { return true; }

  bool disturb = false;
};

TEST(CudaApplication, whose_recording_is_lost_reads_its_own_right_hand_side)
{
  constexpr int kRows = 20000, kBs = 5, kTimes = 50;
  const Pattern pattern = ring_pattern(kRows, 4, 31);
  const BlockMatrix matrix = make_matrix(kBs, pattern, {.pivots = true, .seed = 32});
  const Ranks ranks = build_ranks(pattern, greedy_coloring(pattern), kBs, {0, kRows});
  const auto size = static_cast<std::ptrdiff_t>(matrix.size());
  const Smoothing run = make_run(PC_MCPI_SWEEP_SYMMETRIC, 1.0, 1, true);
  const BackendConfig config{{PC_MCPI_PRECISION_FP32, PC_MCPI_FORM_PRESCALED}, false};
  System system(ranks, Kind{config, nullptr, Engine::cuda});
  DisturbedHalo halo;
  ASSERT_EQ(system.refresh(matrix).defect, Defect::none);
  Backend &backend = system.backend();
  MulticolorSweep sweep(ranks.forward[0], backend, halo, run.sweep);
  Vector x(matrix.size());
  for (int time = 0; time < kTimes; ++time) {
    const Vector b = random_vector(matrix.size(), 100 + static_cast<unsigned>(time));
    Vector disturbed(matrix.size(), kNaN), quiet(matrix.size(), kNaN);
    for (Vector *result : {&disturbed, &quiet}) {
      (void)backend.device_exchange()->launch_exchanges(
          false); // This call discards the recordings.
      halo.disturb = result == &disturbed;
      backend.load_rhs(run.apply, {b.data(), size});
      ASSERT_EQ(sweep.run(run.apply, run.its, run.from_zero), 0);
      EXPECT_FALSE(halo.disturb) << "nothing was recorded";
      backend.store(run.apply, {result->data(), size});
    }
    ASSERT_TRUE(same_bits(disturbed, quiet))
        << "application " << time << " differs by " << difference(disturbed, quiet);
  }
}

} // namespace
} // namespace mcpi::test
