// Tests the rounded copy of x that products read: its numbers, and the backends that read it.
#include "backend/host/host_backend.h"
#include "core/gather.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "support/system.h"

namespace mcpi::test {
namespace {

// ---- the numbers

constexpr float kLargestFloat = std::numeric_limits<float>::max();
constexpr float kSmallestFloat = std::numeric_limits<float>::denorm_min();

template <class X> std::vector<X> rounded(const std::vector<X> &row)
{
  std::vector<X> result(row.size(), std::numeric_limits<X>::quiet_NaN());
  round_gathered(static_cast<int>(row.size()), row.data(), result.data());
  return result;
}

// Rounds a row by the definition. All computations are exact in double precision.
std::vector<float> defined(const std::vector<float> &row)
{
  float largest = 0;
  for (const float v : row) largest = std::max(largest, std::fabs(v));
  int e = 0;
  (void)std::frexp(largest, &e); // largest in [2^(e-1), 2^e)
  e = std::max(e, -111);
  std::vector<float> result;
  for (const float v : row) {
    const double q = std::nearbyint(std::ldexp(static_cast<double>(v), 15 - e));
    result.push_back(
        static_cast<float>(std::ldexp(std::clamp(q, -32767.0, 32767.0) + 0.0, e - 15)));
  }
  return result;
}

std::vector<float> random_row(int bs, int exponent, int decay, std::mt19937 &generator)
{
  std::uniform_real_distribution<float> value(-1, 1);
  std::uniform_int_distribution<int> smaller(0, decay);
  std::vector<float> row(static_cast<std::size_t>(bs));
  for (float &v : row) v = std::ldexp(value(generator), exponent - smaller(generator));
  return row;
}

bool same(const std::vector<float> &a, const std::vector<float> &b)
{
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  });
}

TEST(GatherRounding, follows_its_definition_at_every_exponent)
{
  std::mt19937 generator(1);
  for (const int bs : {1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 65})
    for (int exponent = -150; exponent <= 128; ++exponent)
      for (const int decay : {0, 3, 20}) {
        const std::vector<float> row = random_row(bs, exponent, decay, generator),
                                 result = rounded(row);
        ASSERT_TRUE(same(result, defined(row)))
            << "bs " << bs << " exponent " << exponent << " decay " << decay;
        ASSERT_TRUE(same(rounded(result), result)); // A second rounding changes nothing.
        const Vector wide(row.begin(), row.end());
        ASSERT_EQ(rounded(wide), Vector(result.begin(), result.end()));
      }
}

TEST(GatherRounding, ties_go_to_even_and_magnitudes_stay_below_32768)
{
  // The quantum is 1.
  EXPECT_TRUE(same(rounded<float>({16384, 0.5F, 1.5F, 2.5F, -0.5F, -1.5F, -2.5F, 3.25F}),
                   {16384, 0, 2, 2, 0, -2, -2, 3}));
  EXPECT_TRUE(same(rounded<float>({16384.5F, 16385.5F, -16385.5F}), {16384, 16386, -16386}));
  EXPECT_TRUE(same(rounded<float>({32767.5F, -32767.75F, 32766.5F}), {32767, -32767, 32766}));
  // The next power of two doubles the quantum.
  EXPECT_TRUE(same(rounded<float>({32768, 1, 3, 5, -1}), {32768, 0, 4, 4, 0}));
}

TEST(GatherRounding, zeros_are_positive)
{
  EXPECT_TRUE(same(rounded<float>({0, -0.0F, 0}), {0, 0, 0}));
  EXPECT_TRUE(same(rounded<float>({1, -1e-6F, -0.0F}), {1, 0, 0}));
}

TEST(GatherRounding, largest_floats_stay_finite)
{
  const float most = std::ldexp(32767.0F, 113);
  EXPECT_TRUE(same(rounded<float>({kLargestFloat, -kLargestFloat, 1}), {most, -most, 0}));
}

TEST(GatherRounding, quantum_is_never_a_denormal)
{
  const float normal = std::numeric_limits<float>::min(); // 2^-126, the least quantum
  EXPECT_TRUE(same(rounded<float>({kSmallestFloat}), {0}));
  EXPECT_TRUE(same(rounded<float>({normal, normal / 2, 0.75F * normal, -1.5F * normal}),
                   {normal, 0, normal, -2 * normal}));
  // The exponents lie on both sides of the limit below which the quantum stays the same.
  for (int exponent = -112; exponent <= -110; ++exponent) {
    const float largest = std::ldexp(1.0F, exponent),
                quantum = std::ldexp(1.0F, std::max(exponent + 1, -111) - 15);
    std::vector<float> row = {largest, 1.25F * quantum, -1.75F * quantum};
    EXPECT_TRUE(same(rounded(row), {largest, quantum, -2 * quantum})) << exponent;
  }
}

TEST(GatherRounding, hides_nothing_that_is_not_finite)
{
  for (const double bad : {kNaN, kInf, -kInf, -kNaN, 1e300})
    for (std::size_t at = 0; at < 3; ++at) {
      Vector row(3, 1.0);
      row[at] = bad;
      for (const double v : rounded(row)) EXPECT_TRUE(std::isnan(v)) << bad;
      std::vector<float> narrow(row.begin(), row.end());
      for (const float v : rounded(narrow)) EXPECT_TRUE(std::isnan(v)) << bad;
    }
}

// ---- backends

// Rounding changes x by about 1e-5, and by less if few blocks take part. Two backends round an
// entry differently if their floats lie on both sides of a tie. The difference is then at most
// 2^-14 of the row's largest entry. Fewer than one entry in a hundred differs. The largest
// difference of x that was seen is 4e-6.
constexpr double kFlips = 2e-5, kLeastEffect = 1e-7, kLargestEffect = 3e-4;

#ifdef MCPI_SANITIZED // sanitizers make the program many times slower
constexpr bool kSanitized = true;
constexpr int kBlockSizes[] = {1, 3, 5, 8, 17};
#else
constexpr bool kSanitized = false;
constexpr int kBlockSizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 65};
#endif

struct Problem {
  explicit Problem(int block) : bs(block) {}
  Ranks on(const std::vector<Row> &start) const
  {
    return build_ranks(pattern, greedy_coloring(pattern), bs, start);
  }

  const int bs;
  const Pattern pattern = ring_pattern(bs <= 17 ? 30 : 8, 2, 31);
  const BlockMatrix matrix = make_matrix(bs, pattern, {.pivots = true, .seed = 32});
  const Vector b = random_vector(3 * matrix.size(), 33),
               guess = random_vector(3 * matrix.size(), 34);
};

Kind with_gather(BackendConfig config, bool bfp16, const CpuKernels *kernels)
{
  config.bfp16_gather = bfp16;
  return {config, kernels};
}

class GatherBackends : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(BlockSizes, GatherBackends, testing::ValuesIn(kBlockSizes));

// In double precision, two backends do not round differently, so the test finds any row that is
// read before it is rounded. In single precision, the differences are small.
TEST_P(GatherBackends, agree_in_every_combination)
{
  const Problem p(GetParam());
  const Ranks ranks = p.on({0, p.matrix.rows()});
  const std::vector<Smoothing> runs = all_runs();
  const std::size_t stride = (kSanitized ? 13 : 1) * (p.bs <= 5 ? 7 : p.bs <= 17 ? 19 : 61);
  std::size_t turn = 0;
  for_configs([&](const BackendConfig &config) {
    System reference(ranks, with_gather(config, true, nullptr)),
        plain(ranks, with_gather(config, true, &plain_kernels())),
        simd(ranks, with_gather(config, true, &simd_kernels())),
        unrounded(ranks, with_gather(config, false, nullptr));
    for (System *system : {&reference, &plain, &simd, &unrounded})
      ASSERT_EQ(system->refresh(p.matrix).defect, Defect::none);
    for (std::size_t k = turn++ % stride; k < runs.size(); k += stride) {
      Smoothing run = runs[k];
      run.apply.nrhs = 3;
      const Vector expected = reference.apply(run, p.b, p.guess);
      const double effect = difference(unrounded.apply(run, p.b, p.guess), expected);
      EXPECT_TRUE(effect > kLeastEffect && effect < kLargestEffect) << effect << " " << name(run);
      for (const int nrhs : {3, 1}) {
        run.apply.nrhs = nrhs;
        const Vector columns = first_columns(expected, p.matrix.size(), nrhs);
        for (System *system : {&plain, &simd}) {
          const Vector x = system->apply(run, first_columns(p.b, p.matrix.size(), nrhs),
                                         first_columns(p.guess, p.matrix.size(), nrhs));
          EXPECT_LT(difference(x, columns), config.double_vectors ? 1e-12 : kFlips)
              << name(with_gather(config, true,
                                  system == &plain ? &plain_kernels() : &simd_kernels()))
              << " " << name(run);
        }
      }
    }
  });
}

TEST_P(GatherBackends, give_the_bits_of_one_rank_on_several)
{
  const Problem p(GetParam());
  const Row n = p.matrix.rows();
  const Ranks one = p.on({0, n}), many = p.on({0, n / 7, n / 2, n});
  for (const PCMCPIPrecision storage : {PC_MCPI_PRECISION_FP32, PC_MCPI_PRECISION_INT8})
    for (const CpuKernels *kernels :
         {static_cast<const CpuKernels *>(nullptr), &plain_kernels(), &simd_kernels()}) {
      const Kind kind = with_gather({{storage, PC_MCPI_FORM_PRESCALED}, false}, true, kernels);
      System serial(one, kind), distributed(many, kind);
      ASSERT_EQ(serial.refresh(p.matrix).defect, Defect::none);
      ASSERT_EQ(distributed.refresh(p.matrix).defect, Defect::none);
      for (Smoothing run : all_runs()) {
        if ((p.bs > 5 || kSanitized) && run.its != 2) continue;
        run.apply.nrhs = 3;
        const Vector x = serial.apply(run, p.b, p.guess);
        EXPECT_TRUE(same_bits(distributed.apply(run, p.b, p.guess), x))
            << name(kind) << " " << name(run);
      }
    }
}

// With one exchange a sweep, ghosts arrive before the pass, or are zero. The reference backend on
// the same ranks gives the same result.
TEST_P(GatherBackends, agree_with_one_exchange_a_sweep)
{
  const Problem p(GetParam());
  const Row n = p.matrix.rows();
  const Ranks many = p.on({0, n / 7, n / 2, n});
  for (const CpuKernels *kernels : all_kernels()) {
    const BackendConfig config{{PC_MCPI_PRECISION_FP64, PC_MCPI_FORM_PRESCALED}, true};
    System reference(many, with_gather(config, true, nullptr)),
        host(many, with_gather(config, true, kernels));
    for (System *system : {&reference, &host})
      ASSERT_EQ(system->refresh(p.matrix).defect, Defect::none);
    for (Smoothing run : all_runs()) {
      if ((p.bs > 5 || kSanitized) && run.its != 2) continue;
      run.apply.nrhs = 3;
      run.sweep.frequency = PC_MCPI_HALO_FREQUENCY_SWEEP;
      EXPECT_LT(difference(host.apply(run, p.b, p.guess), reference.apply(run, p.b, p.guess)),
                1e-12)
          << kernels->name << " " << name(run);
    }
  }
}

TEST(Gather, columns_are_rounded_each_for_itself)
{
  const Problem p(5);
  const Ranks ranks = p.on({0, p.matrix.rows()});
  System system(
      ranks, with_gather({{PC_MCPI_PRECISION_FP32, PC_MCPI_FORM_PRESCALED}, false}, true, nullptr));
  system.refresh(p.matrix);
  Vector b = p.b;
  for (std::size_t i = p.matrix.size(); i < b.size(); ++i)
    b[i] *= 1e6; // If columns shared an exponent, the first column would lose its digits.
  Smoothing run = make_run(PC_MCPI_SWEEP_SYMMETRIC, 1.0, 2, true);
  const Vector alone = system.apply(run, first_columns(b, p.matrix.size(), 1));
  run.apply.nrhs = 3;
  EXPECT_TRUE(same_bits(first_columns(system.apply(run, b), p.matrix.size(), 1), alone));
}

// If the right-hand side is multiplied by a power of two, so is the result, because the exponents
// follow the size of x.
TEST(Gather, follows_the_size_of_the_vector)
{
  const Problem p(5);
  const Ranks ranks = p.on({0, p.matrix.rows()});
  for (const CpuKernels *kernels : all_kernels()) {
    System system(ranks, with_gather({{PC_MCPI_PRECISION_INT8, PC_MCPI_FORM_PRESCALED}, false},
                                     true, kernels));
    system.refresh(p.matrix);
    const Smoothing run = make_run(PC_MCPI_SWEEP_FORWARD, 1.0, 3, true);
    const Vector b = first_columns(p.b, p.matrix.size(), 1), x = system.apply(run, b);
    for (const double factor : {0x1p-60, 0x1p60}) {
      Vector scaled = b, expected = x;
      for (double &v : scaled) v *= factor;
      for (double &v : expected) v *= factor;
      EXPECT_TRUE(same_bits(system.apply(run, scaled), expected)) << kernels->name << " " << factor;
    }
  }
}

TEST(Gather, nan_reaches_the_rows_that_read_it)
{
  const Problem p(5);
  const Ranks ranks = p.on({0, p.matrix.rows()});
  for (const CpuKernels *kernels :
       {static_cast<const CpuKernels *>(nullptr), &plain_kernels(), &simd_kernels()}) {
    System system(ranks, with_gather({{PC_MCPI_PRECISION_FP32, PC_MCPI_FORM_PRESCALED}, false},
                                     true, kernels));
    system.refresh(p.matrix);
    Vector b = first_columns(p.b, p.matrix.size(), 1);
    b[7] = kNaN;
    const Vector x = system.apply(make_run(PC_MCPI_SWEEP_SYMMETRIC, 1.0, 8, true), b);
    EXPECT_TRUE(std::all_of(x.begin(), x.end(), [](double v) {
      return std::isnan(v);
    })); // The graph contains a ring, so the NaN reaches all rows.
  }
}

TEST(Gather, holds_a_copy_only_if_asked)
{
  const Problem p(5);
  const Ranks ranks = p.on({0, p.matrix.rows()});
  for (const CpuKernels *kernels : {static_cast<const CpuKernels *>(nullptr), &simd_kernels()}) {
    const BackendConfig config{{PC_MCPI_PRECISION_FP32, PC_MCPI_FORM_PRESCALED}, false};
    System off(ranks, with_gather(config, false, kernels)),
        on(ranks, with_gather(config, true, kernels));
    const Smoothing run = make_run(PC_MCPI_SWEEP_FORWARD, 1.0, 1, true);
    for (System *system : {&off, &on}) {
      system->refresh(p.matrix);
      system->apply(run, first_columns(p.b, p.matrix.size(), 1));
    }
    const std::size_t number = kernels ? sizeof(float) : sizeof(double),
                      padding = kernels ? kReadPadding : 0;
    EXPECT_EQ(on.backend().info().memory_bytes - off.backend().info().memory_bytes,
              number * p.matrix.size() + padding);
    EXPECT_EQ(off.backend().row_bytes(run.apply).gathered, 0u);
    EXPECT_EQ(on.backend().row_bytes(run.apply).gathered, number * p.bs);
  }
}

} // namespace
} // namespace mcpi::test
