// Compares backends with the reference backend on the same stored numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "engines.h"

namespace mcpi::test {
namespace {

// The matrix of one rank, with vectors of up to nrhs columns
struct Problem {
  BlockMatrix matrix;
  Ranks ranks;
  Vector b, guess;

  Problem(const Pattern &pattern, int bs, int nrhs)
      : matrix(make_matrix(bs, pattern, {.pivots = true, .seed = 2})),
        ranks(build_ranks(pattern, greedy_coloring(pattern), bs, {0, matrix.rows()})),
        b(random_vector(nrhs * matrix.size(), 3)), guess(random_vector(nrhs * matrix.size(), 4))
  {
  }
};

// Sets what must not change results.
void set_hints(BackendConfig &config, std::size_t turn)
{
  config.one_triangle = turn % 2 == 1;
  config.several_parts = turn % 3 != 1;
}

// Compares an engine with the reference. The kinds of set-up take turns at the runs.
void compare(Engine engine, const Pattern &pattern, int bs, std::size_t stride, int most_nrhs)
{
  const Problem problem(pattern, bs, most_nrhs);
  const auto &[matrix, ranks, b, guess] = problem;
  const std::vector<Smoothing> runs = all_runs();
  std::size_t turn = 0;
  for_configs([&](BackendConfig config) {
    set_hints(config, turn);
    System reference(ranks, {config, nullptr}), other(ranks, Kind{config, nullptr, engine});
    for (System *system : {&reference, &other})
      ASSERT_EQ(system->refresh(matrix).defect, Defect::none);
    reference.adopt(other);
    for (std::size_t k = turn++ % stride; k < runs.size(); k += stride) {
      Smoothing run = runs[k];
      run.apply.nrhs = most_nrhs;
      const Vector expected = reference.apply(run, b, guess);
      for (const int nrhs : {most_nrhs, 1}) {
        run.apply.nrhs = nrhs;
        const Vector x = other.apply(run, first_columns(b, matrix.size(), nrhs),
                                     first_columns(guess, matrix.size(), nrhs));
        EXPECT_LT(difference(x, first_columns(expected, matrix.size(), nrhs)), tolerance(config))
            << "bs " << bs << " " << name(Kind{config, nullptr, engine}) << " " << name(run);
      }
    }
  });
}

// In single precision, rounding errors decide to which of two neighboring integers a value of the
// copy is rounded. These integers differ by 2^-15 of the row's largest component.
constexpr double kGatherTolerance = 1e-4;

void compare_gathered(Engine engine, const Pattern &pattern, int bs, std::size_t stride,
                      int most_nrhs)
{
  const Problem problem(pattern, bs, most_nrhs);
  const auto &[matrix, ranks, b, guess] = problem;
  const std::vector<Smoothing> runs = all_runs();
  std::size_t turn = 0;
  double acts = 0.0;
  for_configs([&](BackendConfig config) {
    if (config.double_vectors) return;
    set_hints(config, turn);
    System plain(ranks, Kind{config, nullptr, engine});
    config.bfp16_gather = true;
    System reference(ranks, {config, nullptr}), other(ranks, Kind{config, nullptr, engine});
    for (System *system : {&reference, &other, &plain})
      ASSERT_EQ(system->refresh(matrix).defect, Defect::none);
    reference.adopt(other);
    for (std::size_t k = turn++ % stride; k < runs.size(); k += stride) {
      Smoothing run = runs[k];
      run.apply.nrhs = most_nrhs;
      const Vector x = other.apply(run, b, guess);
      EXPECT_LT(difference(x, reference.apply(run, b, guess)), kGatherTolerance)
          << "bs " << bs << " " << name(Kind{config, nullptr, engine}) << " " << name(run);
      acts = std::max(acts, difference(plain.apply(run, b, guess), x));
    }
  });
  EXPECT_GT(acts, 1e-6) << "bs " << bs; // otherwise the copy is not read
}

INSTANTIATE_TEST_SUITE_P(Backends, AnyBackend, testing::ValuesIn(tested().engines), engine_name);
INSTANTIATE_TEST_SUITE_P(BlockSizes, AnyBackendAndSize,
                         testing::Combine(testing::ValuesIn(tested().engines),
                                          testing::ValuesIn(tested().block_sizes)),
                         engine_and_size_name);
INSTANTIATE_TEST_SUITE_P(LargeBlocks, AnyBackendAndSize,
                         testing::Combine(testing::ValuesIn(tested().engines),
                                          testing::ValuesIn(tested().large_block_sizes)),
                         engine_and_size_name);

// A pattern for this block size. It has few rows if the host would take long.
Pattern pattern_for(int bs)
{
  return ring_pattern(bs <= 17 ? 36 : bs < 100 ? 8 : 4, 2, 1);
}

TEST_P(AnyBackendAndSize, agrees_with_the_reference_in_every_combination)
{
  const int bs = this->bs();
  compare(engine(), pattern_for(bs), bs, bs <= 8 ? 5 : bs <= 17 ? 23 : bs < 100 ? 61 : 199, 3);
}

TEST_P(AnyBackendAndSize, agrees_with_the_reference_where_products_read_rounded_vectors)
{
  const int bs = this->bs();
  compare_gathered(engine(), pattern_for(bs), bs,
                   bs <= 8    ? 7
                   : bs <= 17 ? 29
                   : bs < 100 ? 61
                              : 199,
                   3);
}

// Rows have few neighbors, except for one row that reads all the others.
Pattern pattern_with_long_row(Row rows)
{
  constexpr Row kLong = 17;
  Pattern pattern = ring_pattern(rows, 1, 7);
  auto &columns = pattern[kLong];
  columns.resize(static_cast<std::size_t>(rows));
  std::iota(columns.begin(), columns.end(), 0);
  columns.erase(columns.begin() + kLong);
  return pattern;
}

// Some rows have more blocks than a thread block takes at a time, and some tiles have many rows.
TEST_P(AnyBackend, rows_of_any_length_agree_with_the_reference)
{
  for (const int bs : {1, 2, 5, 8, 9}) {
    const Pattern pattern = pattern_with_long_row(1200);
    compare(GetParam(), pattern, bs, 97, 2);
    compare_gathered(GetParam(), pattern, bs, 97, 2);
  }
}

// Blocks pass through stages in shared memory, and a row has more blocks than the stages can hold.
TEST_P(AnyBackend, long_rows_of_large_blocks_agree_with_the_reference)
{
  // A GPU has several kernels for large blocks, a host has one.
  const std::vector<int> sizes =
      tested().host_memory ? std::vector<int>{12, 33} : std::vector<int>{12, 17, 33, 40, 64, 65};
  for (const int bs : sizes)
    compare(GetParam(), pattern_with_long_row(40), bs, bs < 30 ? 197 : 797, 2);
}

// Makes a few plain launches of each family of kernels. The test is for compute-sanitizer.
TEST_P(AnyBackend, kernels_of_each_family_agree_with_the_reference)
{
  struct Family {
    int bs;
    PCMCPIPrecision storage;
    PCMCPIForm form;
    bool rounded;
  };
  for (const Family &family :
       {Family{5, PC_MCPI_PRECISION_FP32, PC_MCPI_FORM_PRESCALED, false}, // small blocks
        Family{5, PC_MCPI_PRECISION_INT4, PC_MCPI_FORM_PRESCALED, true},  // integer products
        // diagonal blocks inside the sweep
        Family{4, PC_MCPI_PRECISION_FP16, PC_MCPI_FORM_FACTORED, true},
        Family{8, PC_MCPI_PRECISION_FP32, PC_MCPI_FORM_PRESCALED, false}, // blocks in slices
        Family{12, PC_MCPI_PRECISION_FP32, PC_MCPI_FORM_FACTORED, true}, // resident, one warp a row
        Family{40, PC_MCPI_PRECISION_FP16, PC_MCPI_FORM_PRESCALED, false},
        Family{33, PC_MCPI_PRECISION_INT8, PC_MCPI_FORM_PRESCALED, false}}) { // streamed
    const Problem problem(ring_pattern(24, 2, 1), family.bs, 2);
    const auto &[matrix, ranks, b, guess] = problem;
    const BackendConfig config{{family.storage, family.form}, false, family.rounded};
    System reference(ranks, {config, nullptr}), other(ranks, kind(config));
    for (System *system : {&reference, &other})
      ASSERT_EQ(system->refresh(matrix).defect, Defect::none);
    reference.adopt(other);
    for (const int nrhs : {1, 2}) {
      Smoothing run;
      run.replayed = false;
      run.apply.nrhs = nrhs;
      run.sweep.sweep = PC_MCPI_SWEEP_SYMMETRIC;
      run.its = 1;
      const Vector rhs = first_columns(b, matrix.size(), nrhs),
                   x = first_columns(guess, matrix.size(), nrhs);
      EXPECT_LT(difference(other.apply(run, rhs, x), reference.apply(run, rhs, x)),
                family.rounded ? kGatherTolerance : tolerance(config))
          << "bs " << family.bs << " " << name(kind(config)) << " " << name(run);
    }
  }
}

// Two colors have so many blocks that tiles have their largest size, with several block slices a
// thread. The CUDA backend has other kernels for colors of fewer rows.
TEST_P(AnyBackend, tiles_as_large_as_they_get_agree_with_the_reference)
{
  // A GPU divides the rows of a color among many thread blocks.
  const Row rows = GetParam() == Engine::kokkos && tested().host_memory ? 2000 : 16000, reach = 19;
  Pattern pattern(static_cast<std::size_t>(rows));
  for (Row row = 0; row < rows; ++row)
    for (Row step = 1; step <= reach; step += 2)
      for (const Row column : {(row + step) % rows, (row + rows - step) % rows})
        pattern[static_cast<std::size_t>(row)].push_back(column);
  for (auto &row : pattern) std::sort(row.begin(), row.end());
  const std::vector<int> sizes = GetParam() == Engine::cuda
                                     ? std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8}
                                     : std::vector<int>{1, 3, 5, 8};
  for (const int bs : sizes) {
    const Problem problem(pattern, bs, 1);
    const auto &[matrix, ranks, b, guess] = problem;
    for (const PCMCPIPrecision storage : {PC_MCPI_PRECISION_FP32, PC_MCPI_PRECISION_FP16,
                                          PC_MCPI_PRECISION_INT8, PC_MCPI_PRECISION_INT4})
      for (const bool rounded : {false, true}) {
        const PCMCPIForm form = rounded && storage == PC_MCPI_PRECISION_FP16
                                    ? PC_MCPI_FORM_FACTORED
                                    : PC_MCPI_FORM_PRESCALED;
        const BackendConfig config{{storage, form}, false, rounded, rounded};
        System reference(ranks, {config, nullptr}), other(ranks, kind(config));
        for (System *system : {&reference, &other})
          ASSERT_EQ(system->refresh(matrix).defect, Defect::none);
        reference.adopt(other);
        for (const Smoothing &run : {make_run(PC_MCPI_SWEEP_FORWARD, 1.0, 1, true),
                                     make_run(PC_MCPI_SWEEP_SYMMETRIC, 0.9, 1, false)})
          EXPECT_LT(difference(other.apply(run, b, guess), reference.apply(run, b, guess)),
                    rounded ? kGatherTolerance : tolerance(config))
              << "bs " << bs << " " << name(kind(config)) << " " << name(run);
      }
  }
}

// A pattern whose colors are levels. The levels of a grid are oblique lines.
struct Levels {
  Pattern pattern;
  std::vector<int> level;
};

Levels levels_of_grid(Row width, Row height)
{
  Levels grid{Pattern(static_cast<std::size_t>(width) * static_cast<std::size_t>(height)), {}};
  for (Row row = 0; row < width * height; ++row) {
    const Row x = row % width, y = row / width;
    grid.level.push_back(x + 2 * y);
    for (Row v = std::max(y - 1, 0); v <= std::min(y + 1, height - 1); ++v)
      for (Row u = std::max(x - 1, 0); u <= std::min(x + 1, width - 1); ++u)
        if (u != x || v != y) grid.pattern[static_cast<std::size_t>(row)].push_back(u + width * v);
  }
  return grid;
}

// The first level has many rows, all others one row.
Levels levels_of_chain(Row first, Row chain)
{
  Levels levels{Pattern(static_cast<std::size_t>(first + chain)), {}};
  levels.level.assign(levels.pattern.size(), 0);
  for (Row row = first; row < first + chain; ++row) {
    levels.level[static_cast<std::size_t>(row)] = row - first + 1;
    for (const Row other : {row * 7 % first, row > first ? row - 1 : row * 3 % first}) {
      levels.pattern[static_cast<std::size_t>(row)].push_back(other);
      levels.pattern[static_cast<std::size_t>(other)].push_back(row);
    }
  }
  for (auto &columns : levels.pattern) {
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  }
  return levels;
}

void compare_levels(Engine engine, const Levels &levels, int bs)
{
  const BlockMatrix matrix = make_matrix(bs, levels.pattern, {.pivots = true, .seed = 2});
  const Ranks ranks = build_ranks(levels.pattern, levels.level, bs, {0, matrix.rows()});
  const Vector b = random_vector(matrix.size(), 3), guess = random_vector(matrix.size(), 4);
  for (const auto &[storage, double_vectors, rounded] :
       {std::tuple{PC_MCPI_PRECISION_FP64, true, false},
        {PC_MCPI_PRECISION_INT8, true, false},
        {PC_MCPI_PRECISION_FP32, false, false},
        {PC_MCPI_PRECISION_FP16, false, true},
        {PC_MCPI_PRECISION_INT8, false, true},
        {PC_MCPI_PRECISION_INT4, false, true}})
    for (const PCMCPIForm form : kForms) {
      const BackendConfig config{{storage, form}, double_vectors, rounded, bs % 2 == 1, true};
      const Kind kind{config, nullptr, engine};
      System reference(ranks, {config, nullptr}), other(ranks, kind);
      for (System *system : {&reference, &other})
        ASSERT_EQ(system->refresh(matrix).defect, Defect::none);
      reference.adopt(other);
      for (const Smoothing &run : {make_run(PC_MCPI_SWEEP_SYMMETRIC, 1.0, 2, true),
                                   make_run(PC_MCPI_SWEEP_SYMMETRIC, 0.9, 2, false),
                                   make_run(PC_MCPI_SWEEP_BACKWARD, 1.0, 1, true)})
        EXPECT_LT(difference(other.apply(run, b, guess), reference.apply(run, b, guess)),
                  rounded ? kGatherTolerance : tolerance(config))
            << "bs " << bs << " " << name(kind) << " " << name(run);
    }
}

// The CUDA backend takes all levels by one launch, in which rows wait for each other.
TEST_P(AnyBackend, many_levels_agree_with_the_reference)
{
  const std::vector<int> sizes = GetParam() == Engine::cuda
                                     ? std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9}
                                     : std::vector<int>{1, 5};
  for (const int bs : sizes) {
    compare_levels(GetParam(), levels_of_grid(40, 25), bs);
    compare_levels(GetParam(), levels_of_chain(100, 61), bs);
  }
}

// A kept preconditioner may have to serve a method that needs vectors in double precision. Devices
// then keep inverse diagonal blocks that are rounded to single precision.
TEST_P(AnyBackend, vectors_in_double_precision_get_the_blocks_that_are_stored)
{
  constexpr double kRoundedInverse = 1e-6;
  std::size_t turn = 0;
  for (const int bs : {1, 4, 5, 7, 12}) {
    const Problem problem(ring_pattern(70, 3, 14), bs, 1);
    const auto &[matrix, ranks, b, guess] = problem;
    const std::vector<Smoothing> runs = all_runs();
    for_configs([&](BackendConfig config) {
      if (config.double_vectors) return;
      set_hints(config, turn);
      config.bfp16_gather = turn % 2 == 0;
      System other(ranks, kind(config));
      config.double_vectors = true;
      config.bfp16_gather = false;
      System reference(ranks, {config, nullptr});
      for (System *system : {&reference, &other})
        ASSERT_EQ(system->refresh(matrix).defect, Defect::none);
      reference.adopt(other);
      other.widen_vectors();
      const Smoothing &run = runs[turn++ % runs.size()];
      EXPECT_LT(difference(other.apply(run, b, guess), reference.apply(run, b, guess)),
                kRoundedInverse)
          << "bs " << bs << " " << name(kind(config)) << " " << name(run);
    });
  }
}

TEST_P(AnyBackend, bits_of_a_replayed_application_are_those_of_its_launches)
{
  for (const int bs : {1, 5, 8, 12, 40}) {
    const Pattern pattern = ring_pattern(300, 3, 14);
    const BlockMatrix matrix = make_matrix(bs, pattern, {.pivots = true, .seed = 15});
    const Ranks one = build_ranks(pattern, greedy_coloring(pattern), bs, {0, 300});
    const Vector b = random_vector(matrix.size(), 16), guess = random_vector(matrix.size(), 17);
    for (const PCMCPIPrecision storage : {PC_MCPI_PRECISION_FP32, PC_MCPI_PRECISION_INT4})
      for (const bool rounded : {false, true}) {
        BackendConfig config{{storage, PC_MCPI_FORM_PRESCALED}, false, rounded};
        config.several_parts = true;
        System other(one, kind(config));
        other.refresh(matrix);
        for_runs(2, [&](Smoothing run) {
          const Vector x = other.apply(run, b, guess);
          run.replayed = false;
          EXPECT_TRUE(same_bits(other.apply(run, b, guess), x)) << "bs " << bs << " " << name(run);
        });
      }
  }
}

TEST_P(AnyBackend, bits_are_the_same_every_time)
{
  const int bs = 5;
  const Pattern pattern = ring_pattern(30, 1, 14);
  const BlockMatrix matrix = make_matrix(bs, pattern, {.pivots = true, .seed = 15});
  const auto color = greedy_coloring(pattern);
  const Ranks one = build_ranks(pattern, color, bs, {0, 30}),
              many = build_ranks(pattern, color, bs, {0, 4, 17, 30});
  const Vector b = random_vector(2 * matrix.size(), 16),
               guess = random_vector(2 * matrix.size(), 17);
  for_precisions([&](PCMCPIPrecision storage, bool double_vectors) {
    for (const bool rounded : {false, !double_vectors}) {
      BackendConfig config{{storage, PC_MCPI_FORM_PRESCALED}, double_vectors, rounded};
      config.several_parts = true;
      System serial(one, kind(config)), distributed(many, kind(config));
      serial.refresh(matrix);
      distributed.refresh(matrix);
      for_runs(2, [&](Smoothing run) {
        run.apply.nrhs = 2;
        const Vector x = serial.apply(run, b, guess);
        EXPECT_TRUE(same_bits(x, serial.apply(run, b, guess))) << name(run);
        EXPECT_LT(difference(distributed.apply(run, b, guess), x), tolerance(config)) << name(run);
      });
    }
  });
}

} // namespace
} // namespace mcpi::test
