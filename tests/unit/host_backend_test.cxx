// Compares the host backend with the reference backend on the same stored numbers, for every
// combination of options. Also tests how the storage precision affects a solution.
#include "backend/host/host_backend.h"
#include "sweep/backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/system.h"

namespace mcpi::test {
namespace {

#ifdef MCPI_SANITIZED // Sanitizers are slow: fewer block sizes, set-ups and runs of each set-up
constexpr std::size_t kSparser = 13;
constexpr int kBlockSizes[] = {1, 3, 4, 5, 8, 17, 33};
#else
constexpr std::size_t kSparser = 1;
constexpr int kBlockSizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33, 64, 65};
#endif

// The kinds of set-up and the runs are combined. For small blocks, each kind of set-up takes all
// runs; for large blocks, each kind takes some of them.
class HostBackend : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(BlockSizes, HostBackend, testing::ValuesIn(kBlockSizes));

TEST_P(HostBackend, agrees_with_the_reference_in_every_combination)
{
  const int bs = GetParam();
  const std::size_t stride = kSparser * (bs <= 5 ? 1 : bs <= 17 ? 7 : 31);
  const Pattern pattern = ring_pattern(bs <= 17 ? 36 : 8, 2, 1);
  const BlockMatrix matrix = make_matrix(bs, pattern, {.pivots = true, .seed = 2});
  const Ranks ranks = build_ranks(pattern, greedy_coloring(pattern), bs, {0, matrix.rows()});
  const std::vector<Smoothing> runs = all_runs();
  const Vector b = random_vector(8 * matrix.size(), 3), guess = random_vector(8 * matrix.size(), 4);
  std::size_t turn = 0;
  for_configs([&](const BackendConfig &config) {
    System reference(ranks, {config, nullptr}), plain(ranks, {config, &plain_kernels()}),
        simd(ranks, {config, &simd_kernels()});
    for (System *system : {&reference, &plain, &simd})
      ASSERT_EQ(system->refresh(matrix).defect, Defect::none);
    for (std::size_t k = turn++ % stride; k < runs.size(); k += stride) {
      Smoothing run = runs[k];
      run.apply.nrhs = 8;
      const Vector expected = reference.apply(run, b, guess);
      for (const int nrhs : {8, 1, 3, 2}) {
        run.apply.nrhs = nrhs;
        const Vector columns = first_columns(expected, matrix.size(), nrhs);
        for (System *system : {&plain, &simd}) {
          const Vector x = system->apply(run, first_columns(b, matrix.size(), nrhs),
                                         first_columns(guess, matrix.size(), nrhs));
          EXPECT_LT(difference(x, columns), tolerance(config))
              << name(Kind{config, system == &plain ? &plain_kernels() : &simd_kernels()}) << " "
              << name(run);
        }
      }
    }
  });
}

// Colors with many rows are relaxed in tiles. The ends of the tiles must not affect the result.
TEST(HostBackendTiles, give_the_reference)
{
  for (const int bs : {1, 5}) {
    const Pattern pattern = ring_pattern(bs == 1 ? 9000 : 2000, 1, 5);
    const BlockMatrix matrix = make_matrix(bs, pattern, {.pivots = true, .seed = 6});
    const Ranks ranks = build_ranks(pattern, greedy_coloring(pattern), bs, {0, matrix.rows()});
    const Vector b = random_vector(3 * matrix.size(), 7),
                 guess = random_vector(3 * matrix.size(), 8);
    for (const PCMCPIForm form : kForms) {
      const BackendConfig config{{PC_MCPI_PRECISION_FP32, form}, false};
      System reference(ranks, {config, nullptr});
      reference.refresh(matrix);
      for (const CpuKernels *kernels : all_kernels()) {
        System host(ranks, {config, kernels});
        host.refresh(matrix);
        for (const bool from_zero : {true, false}) {
          Smoothing run = make_run(PC_MCPI_SWEEP_SYMMETRIC, 1.3, 2, from_zero);
          run.apply.nrhs = 3;
          EXPECT_LT(difference(host.apply(run, b, guess), reference.apply(run, b, guess)), 1e-5)
              << kernels->name << " bs " << bs;
        }
      }
    }
  }
}

class HostKernels : public testing::TestWithParam<const CpuKernels *> {};
INSTANTIATE_TEST_SUITE_P(Kernels, HostKernels, testing::ValuesIn(all_kernels()),
                         [](const auto &instance) { return instance.param->name; });

// Where rows of a step follow each other, so do the parts of the step. With a color for each row,
// each part is one row that reads the rows before it.
TEST_P(HostKernels, take_the_parts_of_a_step_one_after_the_other)
{
  constexpr Row kRows = 40;
  std::vector<int> own(kRows);
  std::iota(own.begin(), own.end(), 0);
  for (const int bs : {1, 3, 5, 8, 17}) {
    const Pattern pattern = ring_pattern(kRows, 2, 9);
    const BlockMatrix matrix = make_matrix(bs, pattern, {.pivots = true, .seed = 10});
    const Vector b = random_vector(5 * matrix.size(), 11),
                 guess = random_vector(5 * matrix.size(), 12);
    std::size_t kind = 0; // The second coloring takes other set-ups than the first one.
    for (const std::vector<int> &color : {greedy_coloring(pattern), own}) {
      const Ranks ranks = build_ranks(pattern, color, bs, {0, kRows});
      std::size_t turn = 0;
      for_configs([&](BackendConfig config) {
        if ((kind++ + static_cast<std::size_t>(bs)) % kSparser != 0) return;
        config.bfp16_gather = !config.double_vectors && turn++ % 3 == 0;
        System host(ranks, {config, GetParam()});
        host.refresh(matrix);
        for_runs(2, [&](Smoothing run) {
          run.apply.nrhs = 1 + static_cast<int>(turn++ % 5);
          run.apply.transposed = run.from_zero && turn % 2 == 0;
          const Vector x = host.apply(run, first_columns(b, matrix.size(), run.apply.nrhs),
                                      first_columns(guess, matrix.size(), run.apply.nrhs));
          run.part_by_part = true;
          EXPECT_TRUE(same_bits(host.apply(run, first_columns(b, matrix.size(), run.apply.nrhs),
                                           first_columns(guess, matrix.size(), run.apply.nrhs)),
                                x))
              << "bs " << bs << " " << name(run);
        });
      });
    }
  }
}

TEST_P(HostKernels, transposed_application_is_the_adjoint)
{
  for (const int bs : {1, 3, 5, 8, 17}) {
    const Pattern pattern = ring_pattern(20, 2, 9);
    const BlockMatrix matrix = make_matrix(bs, pattern, {.pivots = true, .seed = 10});
    const Ranks ranks = build_ranks(pattern, greedy_coloring(pattern), bs, {0, matrix.rows()});
    const Vector b = random_vector(matrix.size(), 11), c = random_vector(matrix.size(), 12);
    for_configs([&](const BackendConfig &config) {
      System system(ranks, {config, GetParam()});
      system.refresh(matrix);
      for_runs(2, [&](Smoothing run) {
        if (!run.from_zero) return;
        const Vector mb = system.apply(run, b);
        run.apply.transposed = true;
        const Vector tc = system.apply(run, c);
        const double left = std::inner_product(mb.begin(), mb.end(), c.begin(), 0.0);
        const double right = std::inner_product(b.begin(), b.end(), tc.begin(), 0.0);
        EXPECT_NEAR(left, right, (config.double_vectors ? 1e-13 : 1e-6) * norm(mb) * norm(c))
            << name(Kind{config, GetParam()}) << " bs " << bs << " " << name(run);
      });
    });
  }
}

// The result is the same again after other work and NaN have used the same memory, and in another
// object.
TEST_P(HostKernels, same_run_gives_the_same_bits)
{
  const int bs = 5;
  const Pattern pattern = ring_pattern(25, 2, 13);
  const BlockMatrix matrix = make_matrix(bs, pattern, {.pivots = true, .seed = 14});
  const Ranks ranks = build_ranks(pattern, greedy_coloring(pattern), bs, {0, matrix.rows()});
  const Vector b = random_vector(3 * matrix.size(), 15),
               guess = random_vector(3 * matrix.size(), 16);
  const Vector nans(8 * matrix.size(), kNaN);
  for_configs([&](const BackendConfig &config) {
    System system(ranks, {config, GetParam()}), other(ranks, {config, GetParam()});
    system.refresh(matrix);
    other.refresh(matrix);
    for_runs(2, [&](Smoothing run) {
      run.apply.nrhs = 3;
      const Vector x = system.apply(run, b, guess);
      Smoothing spoil = make_run(PC_MCPI_SWEEP_SYMMETRIC, 0.7, 2, false);
      for (const int nrhs : {8, 1}) {
        spoil.apply.nrhs = nrhs;
        system.apply(spoil, first_columns(nans, matrix.size(), nrhs), nans);
      }
      EXPECT_TRUE(same_bits(system.apply(run, b, guess), x))
          << name(Kind{config, GetParam()}) << " " << name(run);
      EXPECT_TRUE(same_bits(other.apply(run, b, guess), x))
          << name(Kind{config, GetParam()}) << " " << name(run);
    });
  });
}

// Units that are powers of two do not change the bits of a result in double precision. The order of
// the rows inside a color does not change them in any precision. Diagonal blocks are diagonal,
// because units may change the pivots of others.
TEST_P(HostKernels, units_and_order_inside_colors_keep_the_bits)
{
  const int bs = 5;
  const Pattern pattern = ring_pattern(30, 2, 17);
  const std::vector<int> color = greedy_coloring(pattern);
  BlockMatrix matrix = make_matrix(bs, pattern, {.seed = 18});
  for (Row row = 0; row < matrix.rows(); ++row)
    for (int k = 0; k < bs * bs; ++k)
      if (k % (bs + 1) != 0) matrix.diagonal(row)[k] = 0.0;
  const Vector equation = {0x1p-10, 0x1p7, 0x1p7, 0x1p7, 0x1p17},
               unknown = {1, 0x1p-7, 0x1p-7, 0x1p-7, 0x1p-17};
  BlockMatrix in_units = matrix;
  scale_components(in_units, equation, unknown);
  std::vector<Row> backwards(30);
  std::iota(backwards.rbegin(), backwards.rend(), 0);
  const Ranks natural = build_ranks(pattern, color, bs, {0, 30}),
              reordered = build_ranks(pattern, color, bs, {0, 30}, backwards);
  const Vector b = random_vector(matrix.size(), 19), guess = random_vector(matrix.size(), 20);
  const auto times = [](const Vector &x, const Vector &unit, double power) {
    Vector y = x;
    for (std::size_t i = 0; i < y.size(); ++i) y[i] *= std::pow(unit[i % unit.size()], power);
    return y;
  };
  for (const PCMCPIForm form : kForms) {
    const BackendConfig config{{PC_MCPI_PRECISION_FP64, form}, true};
    System plain(natural, {config, GetParam()}), scaled(natural, {config, GetParam()}),
        other(reordered, {config, GetParam()});
    plain.refresh(matrix);
    scaled.refresh(in_units);
    other.refresh(in_units);
    for_runs(2, [&](Smoothing run) {
      for (const bool transposed : {false, true}) {
        if (transposed && !run.from_zero) continue;
        run.apply.transposed = transposed;
        const Vector &left = transposed ? unknown : equation,
                     &right = transposed ? equation : unknown;
        const Vector x = times(plain.apply(run, b, guess), right, -1.0),
                     scaled_b = times(b, left, 1.0), scaled_guess = times(guess, right, -1.0);
        for (System *system : {&scaled, &other})
          EXPECT_TRUE(same_bits(system->apply(run, scaled_b, scaled_guess), x))
              << name(Kind{config, GetParam()}) << " " << name(run);
      }
    });
  }
}

TEST_P(HostKernels, symmetric_sweep_of_a_symmetric_matrix_is_symmetric)
{
  const Pattern pattern = symmetrised(ring_pattern(14, 1, 21));
  const BlockMatrix matrix = make_matrix(4, pattern, {.symmetric = true, .seed = 22});
  const Ranks ranks = build_ranks(pattern, greedy_coloring(pattern), 4, {0, 14});
  for (const PCMCPIForm form : kForms) {
    System system(ranks, {{{PC_MCPI_PRECISION_FP64, form}, true}, GetParam()});
    system.refresh(matrix);
    for (const double omega : kOmegas) {
      const Dense m = system.matrix(make_run(PC_MCPI_SWEEP_SYMMETRIC, omega, 2, true));
      Vector transposed(m.a.size());
      for (std::size_t i = 0; i < m.n; ++i)
        for (std::size_t j = 0; j < m.n; ++j) transposed[i * m.n + j] = m(i, j);
      EXPECT_LT(difference(m.a, transposed), 1e-13) << "omega " << omega;
    }
  }
}

// ---- units

// Density, momentum, energy and a turbulence variable in SI units. The equations have the same
// units. Entries span more than 12 decades. The residual is measured in each equation's own unit.
class SiUnits {
public:
  SiUnits() : matrix_(make_matrix(6, pattern_, {.pivots = true, .dominance = 1.0, .seed = 24}))
  {
    Vector equation(6), unknown(6);
    for (int i = 0; i < 6; ++i) equation[i] = 1e-3 * unit_[i], unknown[i] = 1.0 / unit_[i];
    scale_components(matrix_, equation, unknown);
    b_ = random_vector(matrix_.size(), 25);
    for (std::size_t i = 0; i < b_.size(); ++i) b_[i] *= unit_[i % 6];
  }

  // Relative residuals after 1 to 15 sweeps
  Vector history(const Kind &kind) const
  {
    const Ranks ranks = build_ranks(pattern_, greedy_coloring(pattern_), 6, {0, 40});
    System system(ranks, kind);
    EXPECT_EQ(system.refresh(matrix_).defect, Defect::none);
    Vector residuals;
    for (int its = 1; its <= 15; ++its) {
      const Vector x = system.apply(make_run(PC_MCPI_SWEEP_FORWARD, 1.0, its, true), b_);
      residuals.push_back(norm(in_units(residual(matrix_, x, b_))) / norm(in_units(b_)));
    }
    return residuals;
  }

  double decades() const
  {
    double least = kInf, largest = 0.0;
    BlockMatrix matrix = matrix_;
    for_offdiag(matrix, [&](std::span<double> block) {
      for (const double value : block)
        least = std::min(least, std::fabs(value)), largest = std::max(largest, std::fabs(value));
    });
    return std::log10(largest / least);
  }

private:
  Vector in_units(Vector r) const
  {
    for (std::size_t i = 0; i < r.size(); ++i) r[i] /= unit_[i % 6];
    return r;
  }

  const Vector unit_ = {1.2, 3e2, 3e2, 3e2, 3e5, 1e-4};
  const Pattern pattern_ = ring_pattern(40, 3, 23);
  BlockMatrix matrix_;
  Vector b_;
};

TEST_P(HostKernels, balancing_makes_low_precision_follow_fp64_in_si_units)
{
  struct Storage {
    PCMCPIPrecision storage;
    double floor;
  };
  const SiUnits si;
  const auto history = [&](PCMCPIPrecision storage, PCMCPIForm form, bool double_vectors) {
    return si.history({{{storage, form}, double_vectors}, GetParam()});
  };
  ASSERT_GT(si.decades(), 12.0);
  for (const PCMCPIForm form : kForms) {
    const Vector exact = history(PC_MCPI_PRECISION_FP64, form, true);
    ASSERT_LT(exact.back(), 1e-10);
    for (const auto &[storage, floor] :
         {Storage{PC_MCPI_PRECISION_FP32, 1e-6}, Storage{PC_MCPI_PRECISION_FP16, 2e-4},
          Storage{PC_MCPI_PRECISION_INT8, 8e-3}, Storage{PC_MCPI_PRECISION_INT4, 1e-1}}) {
      const Vector balanced = history(storage, form, false);
      for (std::size_t k = 0; k < balanced.size(); ++k)
        EXPECT_LT(balanced[k], 1.2 * exact[k] + floor)
            << name(Kind{{{storage, form}, false}, GetParam()}) << " sweep " << k + 1;
    }
    // Here, products also read x in 16 bits.
    for (const auto &[storage, floor] :
         {Storage{PC_MCPI_PRECISION_FP32, 2e-4}, Storage{PC_MCPI_PRECISION_FP16, 4e-4},
          Storage{PC_MCPI_PRECISION_INT8, 8e-3}}) {
      const Kind kind{{{storage, form}, false, true}, GetParam()};
      const Vector balanced = si.history(kind);
      for (std::size_t k = 0; k < balanced.size(); ++k)
        EXPECT_LT(balanced[k], 1.2 * exact[k] + floor) << name(kind) << " sweep " << k + 1;
    }
  }
}

} // namespace
} // namespace mcpi::test
