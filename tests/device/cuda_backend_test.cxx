// The CUDA backend against the reference on the same stored numbers. Needs a device.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>

#include "backend/cuda/recorded_runs.h"
#include "system.h"

namespace mcpi::test {
namespace {

Kind cuda_kind(const BackendConfig &config)
{
  return {config, nullptr, true};
}

// One rank's matrix with vectors of up to nrhs columns
struct Problem {
  BlockMatrix matrix;
  Ranks       ranks;
  Vector      b, guess;

  Problem(const Pattern &pattern, int bs, int nrhs)
      : matrix(random_matrix(pattern, bs, 2)), ranks(build_ranks(pattern, greedy_coloring(pattern), bs, {0, matrix.rows()})),
        b(random_vector(nrhs * matrix.size(), 3)), guess(random_vector(nrhs * matrix.size(), 4))
  {
  }
};

// Each kind of set-up takes its turn at the runs.
void compare(const Pattern &pattern, int bs, std::size_t stride, int most_nrhs)
{
  const Problem problem(pattern, bs, most_nrhs);
  const auto &[matrix, ranks, b, guess] = problem;
  const std::vector<Smoothing> runs     = all_runs();
  std::size_t                  turn     = 0;
  for_configs([&](const BackendConfig &config) {
    System reference(ranks, {config, nullptr}), cuda(ranks, cuda_kind(config));
    for (System *system : {&reference, &cuda}) ASSERT_EQ(system->refresh(matrix).defect, Defect::none);
    reference.adopt(cuda);
    for (std::size_t k = turn++ % stride; k < runs.size(); k += stride) {
      Smoothing run         = runs[k];
      run.application.nrhs  = most_nrhs;
      const Vector expected = reference.apply(run, b, guess);
      for (const int nrhs : {most_nrhs, 1}) {
        run.application.nrhs = nrhs;
        const Vector x       = cuda.apply(run, first_columns(b, matrix.size(), nrhs), first_columns(guess, matrix.size(), nrhs));
        EXPECT_LT(difference(x, first_columns(expected, matrix.size(), nrhs)), tolerance(config))
            << "bs " << bs << " " << name(cuda_kind(config)) << " " << name(run);
      }
    }
  });
}

// Single precision: its rounding decides where a value lies between two integers of the copy, 2^-15 of a row's largest component apart.
constexpr double kGatherTolerance = 1e-4;

void compare_gathered(const Pattern &pattern, int bs, std::size_t stride, int most_nrhs)
{
  const Problem problem(pattern, bs, most_nrhs);
  const auto &[matrix, ranks, b, guess] = problem;
  const std::vector<Smoothing> runs     = all_runs();
  std::size_t                  turn     = 0;
  double                       acts     = 0.0;
  for_configs([&](BackendConfig config) {
    if (config.double_vectors) return;
    System plain(ranks, cuda_kind(config));
    config.bfp16_gather = true;
    System reference(ranks, {config, nullptr}), cuda(ranks, cuda_kind(config));
    for (System *system : {&reference, &cuda, &plain}) ASSERT_EQ(system->refresh(matrix).defect, Defect::none);
    reference.adopt(cuda);
    for (std::size_t k = turn++ % stride; k < runs.size(); k += stride) {
      Smoothing run        = runs[k];
      run.application.nrhs = most_nrhs;
      const Vector x       = cuda.apply(run, b, guess);
      EXPECT_LT(difference(x, reference.apply(run, b, guess)), kGatherTolerance)
          << "bs " << bs << " " << name(cuda_kind(config)) << " " << name(run);
      acts = std::max(acts, difference(plain.apply(run, b, guess), x));
    }
  });
  EXPECT_GT(acts, 1e-6) << "bs " << bs; // the copy is read
}

class CudaBackend : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(BlockSizes, CudaBackend, testing::Range(1, 67));
INSTANTIATE_TEST_SUITE_P(LargeBlocks, CudaBackend, testing::Values(100, 130));

// Of few rows where a host takes long
Pattern pattern_for(int bs)
{
  return random_pattern(bs <= 17 ? 36 : bs < 100 ? 8 : 4, 2, 1);
}

TEST_P(CudaBackend, AgreesWithTheReferenceInEveryCombination)
{
  const int bs = GetParam();
  compare(pattern_for(bs), bs, bs <= 8 ? 5 : bs <= 17 ? 23 : bs < 100 ? 61 : 199, 3);
}

TEST_P(CudaBackend, AgreesWithTheReferenceWhereProductsReadRoundedVectors)
{
  const int bs = GetParam();
  compare_gathered(pattern_for(bs), bs, bs <= 8 ? 7 : bs <= 17 ? 29 : bs < 100 ? 61 : 199, 3);
}

// Rows with more blocks than a thread block takes at a time, and tiles of many rows
TEST(CudaBackendRows, OfAnyLength)
{
  for (const int bs : {1, 2, 5, 8, 9}) {
    Pattern pattern = random_pattern(1200, 1, 7);
    for (Row column = 0; column < 1200; ++column)
      if (column != 17) pattern[17].push_back(column);
    std::sort(pattern[17].begin(), pattern[17].end());
    pattern[17].erase(std::unique(pattern[17].begin(), pattern[17].end()), pattern[17].end());
    compare(pattern, bs, 97, 2);
    compare_gathered(pattern, bs, 97, 2);
  }
}

// A few plain launches of each family, for compute-sanitizer
TEST(CudaKernels, OfEachFamilyAgreeWithTheReference)
{
  struct Family {
    int             bs;
    PCMCPIPrecision storage;
    PCMCPIForm      form;
    bool            rounded;
  };
  for (const Family &family : {Family{5, PC_MCPI_PRECISION_FP32, PC_MCPI_FORM_PRESCALED, false}, // small
                               Family{5, PC_MCPI_PRECISION_INT4, PC_MCPI_FORM_PRESCALED, true},  // in integers
                               Family{4, PC_MCPI_PRECISION_FP16, PC_MCPI_FORM_FACTORED, true},   // with the diagonal in the sweep
                               Family{8, PC_MCPI_PRECISION_FP32, PC_MCPI_FORM_PRESCALED, false}, // blocks in items
                               Family{12, PC_MCPI_PRECISION_FP32, PC_MCPI_FORM_FACTORED, true},  // resident, a warp a row
                               Family{40, PC_MCPI_PRECISION_FP16, PC_MCPI_FORM_PRESCALED, false},
                               Family{33, PC_MCPI_PRECISION_INT8, PC_MCPI_FORM_PRESCALED, false}}) { // streamed
    const Problem problem(random_pattern(24, 2, 1), family.bs, 2);
    const auto &[matrix, ranks, b, guess] = problem;
    const BackendConfig config{{family.storage, family.form, PC_MCPI_SCALING_BALANCED}, false, family.rounded};
    System              reference(ranks, {config, nullptr}), cuda(ranks, cuda_kind(config));
    for (System *system : {&reference, &cuda}) ASSERT_EQ(system->refresh(matrix).defect, Defect::none);
    reference.adopt(cuda);
    for (const int nrhs : {1, 2}) {
      Smoothing run;
      run.replayed         = false;
      run.application.nrhs = nrhs;
      run.sweep.sweep      = PC_MCPI_SWEEP_SYMMETRIC;
      run.its              = 1;
      const Vector rhs = first_columns(b, matrix.size(), nrhs), x = first_columns(guess, matrix.size(), nrhs);
      EXPECT_LT(difference(cuda.apply(run, rhs, x), reference.apply(run, rhs, x)), family.rounded ? kGatherTolerance : tolerance(config))
          << "bs " << family.bs << " " << name(cuda_kind(config)) << " " << name(run);
    }
  }
}

// Full tiles, several items a thread: two colors of so many blocks that tiles are as large as they get. Smaller ones have kernels for few rows.
class CudaTiles : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(BlockSizes, CudaTiles, testing::Range(1, 9));

TEST_P(CudaTiles, AsLargeAsTheyGet)
{
  constexpr Row kRows = 16000, kReach = 19;
  Pattern       pattern(kRows);
  for (Row row = 0; row < kRows; ++row)
    for (Row step = 1; step <= kReach; step += 2)
      for (const Row column : {(row + step) % kRows, (row + kRows - step) % kRows})
        pattern[static_cast<std::size_t>(row)].push_back(column);
  for (auto &row : pattern) std::sort(row.begin(), row.end());
  const int     bs = GetParam();
  const Problem problem(pattern, bs, 1);
  const auto &[matrix, ranks, b, guess] = problem;
  for (const PCMCPIPrecision storage : {PC_MCPI_PRECISION_FP32, PC_MCPI_PRECISION_FP16, PC_MCPI_PRECISION_INT8, PC_MCPI_PRECISION_INT4})
    for (const bool rounded : {false, true}) {
      const PCMCPIForm    form = rounded && storage == PC_MCPI_PRECISION_FP16 ? PC_MCPI_FORM_FACTORED : PC_MCPI_FORM_PRESCALED;
      const BackendConfig config{{storage, form, PC_MCPI_SCALING_BALANCED}, false, rounded};
      System              reference(ranks, {config, nullptr}), cuda(ranks, cuda_kind(config));
      for (System *system : {&reference, &cuda}) ASSERT_EQ(system->refresh(matrix).defect, Defect::none);
      reference.adopt(cuda);
      for (const Smoothing &run : {make_run(PC_MCPI_SWEEP_FORWARD, 1.0, 1, true), make_run(PC_MCPI_SWEEP_SYMMETRIC, 0.9, 1, false)})
        EXPECT_LT(difference(cuda.apply(run, b, guess), reference.apply(run, b, guess)), rounded ? kGatherTolerance : tolerance(config))
            << "bs " << bs << " " << name(cuda_kind(config)) << " " << name(run);
    }
}

TEST(CudaBackendBits, OfAReplayedApplicationAreThoseOfItsLaunches)
{
  for (const int bs : {1, 5, 8, 12, 40}) {
    const Pattern     pattern = random_pattern(300, 3, 14);
    const BlockMatrix matrix  = random_matrix(pattern, bs, 15);
    const Ranks       one     = build_ranks(pattern, greedy_coloring(pattern), bs, {0, 300});
    const Vector      b = random_vector(matrix.size(), 16), guess = random_vector(matrix.size(), 17);
    for (const PCMCPIPrecision storage : {PC_MCPI_PRECISION_FP32, PC_MCPI_PRECISION_INT4})
      for (const bool rounded : {false, true}) {
        System cuda(one, cuda_kind({{storage, PC_MCPI_FORM_PRESCALED, PC_MCPI_SCALING_BALANCED}, false, rounded}));
        cuda.refresh(matrix);
        for_runs(2, [&](Smoothing run) {
          const Vector x = cuda.apply(run, b, guess);
          run.replayed   = false;
          EXPECT_TRUE(same_bits(cuda.apply(run, b, guess), x)) << "bs " << bs << " " << name(run);
        });
      }
  }
}

TEST(CudaRecordedRuns, ThatAnotherThreadEndsAreLaunchedWithoutRecording)
{
  using namespace cuda;
  Stream           stream;
  DeviceArray<int> device(1);
  RecordedRuns     runs(stream);
  int              calls  = 0;
  const auto       fill   = [&](int value) { MCPI_CUDA(cudaMemsetAsync(device.data(), value, sizeof(int), stream)); };
  const auto       record = [&] {
    fill(0x70);
    if (++calls == 1) std::thread([] { (void)cudaDeviceSynchronize(); }).join(); // CUDA ends the capture
    fill(calls);
    return 0;
  };
  const auto filled = [&] {
    int value = 0;
    MCPI_CUDA(cudaMemcpyAsync(&value, device.data(), sizeof(int), cudaMemcpyDeviceToHost, stream));
    MCPI_CUDA(cudaStreamSynchronize(stream));
    return value;
  };
  EXPECT_EQ(runs.run({}, record), 0);
  EXPECT_EQ(calls, 2) << "lost, then launched";
  EXPECT_EQ(filled(), 0x02020202);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(runs.run({}, record), 0);
    EXPECT_EQ(calls, 3) << "recorded once";
    EXPECT_EQ(filled(), 0x03030303);
  }
}

TEST(CudaBackendBits, AreTheSameEveryTimeAndOnAnyNumberOfRanks)
{
  const int         bs      = 5;
  const Pattern     pattern = random_pattern(30, 1, 14);
  const BlockMatrix matrix  = random_matrix(pattern, bs, 15);
  const auto        color   = greedy_coloring(pattern);
  const Ranks       one = build_ranks(pattern, color, bs, {0, 30}), many = build_ranks(pattern, color, bs, {0, 4, 17, 30});
  const Vector      b = random_vector(2 * matrix.size(), 16), guess = random_vector(2 * matrix.size(), 17);
  for_precisions([&](PCMCPIPrecision storage, bool double_vectors) {
    for (const bool rounded : {false, !double_vectors}) {
      const BackendConfig config{{storage, PC_MCPI_FORM_PRESCALED, PC_MCPI_SCALING_BALANCED}, double_vectors, rounded};
      System              serial(one, cuda_kind(config)), distributed(many, cuda_kind(config));
      serial.refresh(matrix);
      distributed.refresh(matrix);
      for_runs(2, [&](Smoothing run) {
        run.application.nrhs = 2;
        const Vector x       = serial.apply(run, b, guess);
        EXPECT_TRUE(same_bits(x, serial.apply(run, b, guess))) << name(run);
        EXPECT_LT(difference(distributed.apply(run, b, guess), x), tolerance(config)) << name(run);
      });
    }
  });
}

} // namespace
} // namespace mcpi::test
