// Compares several ranks, simulated by threads, with one rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "support/system.h"

namespace mcpi::test {
namespace {

struct Partition {
  const char *what;
  std::vector<Row> start;
};
const Partition kPartitions[] = {{"two ranks", {0, 13, 30}},
                                 {"three ranks", {0, 4, 17, 30}},
                                 {"an empty rank", {0, 11, 11, 30}}};

class Distributed : public testing::TestWithParam<std::size_t> {
protected:
  const Partition &partition = kPartitions[GetParam()];
  const Pattern pattern = ring_pattern(30, 1, 14);
  const std::vector<int> color = greedy_coloring(pattern);
};
INSTANTIATE_TEST_SUITE_P(Partitions, Distributed, testing::Values(0, 1, 2));

TEST_P(Distributed, sweeps_give_the_bits_of_one_rank)
{
  const int bs = 3;
  const BlockMatrix matrix = make_matrix(bs, pattern, {.pivots = true, .seed = 15});
  const Ranks one = build_ranks(pattern, color, bs, {0, 30}),
              many = build_ranks(pattern, color, bs, partition.start);
  const Vector b = random_vector(2 * matrix.size(), 16),
               guess = random_vector(2 * matrix.size(), 17);
  std::vector<Kind> kinds = {reference_kind()};
  const NumericConfig fp32{PC_MCPI_PRECISION_FP32, PC_MCPI_FORM_PRESCALED};
  const NumericConfig int8{PC_MCPI_PRECISION_INT8, PC_MCPI_FORM_FACTORED};
  for (const CpuKernels *kernels : all_kernels())
    for (const NumericConfig &config : {fp32, int8}) kinds.push_back({{config, false}, kernels});
  for (const Kind &kind : kinds) {
    System serial(one, kind), distributed(many, kind);
    ASSERT_EQ(serial.refresh(matrix).defect, Defect::none);
    ASSERT_EQ(distributed.refresh(matrix).defect, Defect::none);
    EXPECT_EQ(distributed.backend(0).info().scales->right, serial.backend().info().scales->right);
    for_runs(3, [&](Smoothing run) {
      for (const bool transposed : {false, true})
        for (const bool shortcuts : {true, false}) {
          if (transposed && !run.from_zero) continue;
          run.apply = {transposed, 2, run.apply.omega};
          run.sweep.shortcuts = shortcuts;
          const Vector x = serial.apply(run, b, guess), y = distributed.apply(run, b, guess);
          EXPECT_TRUE(same_bits(x, y)) << partition.what << " " << name(kind) << " " << name(run)
                                       << " differs by " << difference(y, x);
          EXPECT_EQ(distributed.blocks_read(run), serial.blocks_read(run));
        }
    });
  }
}

// Long runs are launched in pieces, because backends may keep what a run launches. The products of
// the host sum a triangle in the order of the pass, in single precision. A piece of symmetric
// sweeps begins forward, so rounding errors differ. Hosts run no pieces
// (SweepConfig::max_relaxations).
TEST_P(Distributed, runs_in_pieces_give_the_bits_of_the_whole)
{
  const int bs = 3;
  const BlockMatrix matrix = make_matrix(bs, pattern, {.pivots = true, .seed = 15});
  const Vector b = random_vector(matrix.size(), 16), guess = random_vector(matrix.size(), 17);
  const NumericConfig int8{PC_MCPI_PRECISION_INT8, PC_MCPI_FORM_PRESCALED};
  std::vector<Kind> kinds = {reference_kind()};
  for (const CpuKernels *kernels : all_kernels()) kinds.push_back({{int8, false}, kernels});
  for (const std::vector<Row> &start : {std::vector<Row>{0, 30}, partition.start})
    for (const Kind &kind : kinds) {
      const Ranks ranks = build_ranks(pattern, color, bs, start);
      System system(ranks, kind);
      ASSERT_EQ(system.refresh(matrix).defect, Defect::none);
      for_runs(5, [&](Smoothing run) {
        for (const bool transposed : {false, true})
          for (const PCMCPIHaloFrequency frequency :
               {PC_MCPI_HALO_FREQUENCY_COLOR, PC_MCPI_HALO_FREQUENCY_SWEEP})
            for (const int sweeps : {1, 2}) {
              if (transposed && !run.from_zero) continue;
              run.apply.transposed = transposed;
              run.sweep.frequency = frequency;
              Smoothing pieces = run;
              const int passes = run.sweep.sweep == PC_MCPI_SWEEP_SYMMETRIC ? 2 : 1;
              pieces.sweep.least_sweeps = 1;
              pieces.sweep.max_relaxations =
                  sweeps * passes * (1 + *std::max_element(color.begin(), color.end()));
              const Vector x = system.apply(pieces, b, guess), whole = system.apply(run, b, guess);
              const bool rounds = passes == 2 && kind.kernels && kind.kernels != &plain_kernels();
              EXPECT_TRUE(rounds ? difference(x, whole) < 1e-6 : same_bits(x, whole))
                  << name(kind) << " " << name(run) << " in pieces of " << sweeps;
            }
      });
    }
}

TEST_P(Distributed, one_exchange_a_sweep_is_block_jacobi_across_ranks)
{
  const int bs = 2;
  const BlockMatrix matrix = make_matrix(bs, pattern, {.pivots = true, .seed = 18});
  const Ranks many = build_ranks(pattern, color, bs, partition.start);
  const Vector b = random_vector(matrix.size(), 19), guess = random_vector(matrix.size(), 20),
               zero(matrix.size(), 0.0);
  std::vector<int> owner(30);
  for (int r = 0; r < many.count(); ++r)
    std::fill(owner.begin() + many.start[r], owner.begin() + many.start[r + 1], r);
  DenseIteration dense(matrix, color, owner);
  System system(many, reference_kind());
  system.refresh(matrix);
  for_runs(3, [&](Smoothing run) {
    run.sweep.frequency = PC_MCPI_HALO_FREQUENCY_SWEEP;
    const Vector expected = dense.run(run, b, run.from_zero ? zero : guess);
    EXPECT_LT(difference(system.apply(run, b, guess), expected), 1e-12)
        << partition.what << " " << name(run);
  });
}

TEST_P(Distributed, transposed_with_one_exchange_a_sweep_is_the_transposed_matrix)
{
  const BlockMatrix matrix = make_matrix(1, pattern, {.pivots = true, .seed = 21});
  const Ranks many = build_ranks(pattern, color, 1, partition.start);
  System system(many, reference_kind());
  system.refresh(matrix);
  const Vector b = random_vector(matrix.size(), 22), c = random_vector(matrix.size(), 23);
  for_runs(3, [&](Smoothing run) {
    if (!run.from_zero) return;
    run.sweep.frequency = PC_MCPI_HALO_FREQUENCY_SWEEP;
    const Vector mb = system.apply(run, b);
    run.apply.transposed = true;
    const Vector tc = system.apply(run, c);
    EXPECT_NEAR(std::inner_product(mb.begin(), mb.end(), c.begin(), 0.0),
                std::inner_product(b.begin(), b.end(), tc.begin(), 0.0), 1e-12)
        << name(run);
  });
}

} // namespace
} // namespace mcpi::test
