// Tests what a numeric set-up stores, what repeated set-ups cost, and how bad values are reported.
#include "core/stored_matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/codec.h"
#include "support/allocations.h"
#include "support/system.h"

namespace mcpi::test {
namespace {

const MaxReduce kOneRank = [](double *, int) { return 0; };

Ranks one_rank(const Pattern &pattern, int bs)
{
  return build_ranks(pattern, greedy_coloring(pattern), bs, {0, static_cast<Row>(pattern.size())});
}

NumericStatus refresh(StoredMatrix &stored, const BlockMatrix &matrix)
{
  MatrixRows rows(matrix);
  NumericStatus status{Defect::singular, -7};
  EXPECT_EQ(stored.refresh(rows, kOneRank, status), 0);
  return status;
}

Vector decoded(const StoredMatrix &stored, const StoredTriangle &triangle, Offset k)
{
  const int bs = stored.plan().bs;
  Vector block(static_cast<std::size_t>(bs) * bs, kNaN);
  decode_block(stored.config().storage, bs,
               triangle.records + static_cast<std::size_t>(k) * stored.record_size(), block.data());
  return block;
}

// All stored numbers: both triangles, then the diagonal maps
Vector contents(const StoredMatrix &stored)
{
  Vector all;
  const ColorPlan &plan = stored.plan();
  for (const bool lower : {true, false}) {
    const StoredTriangle triangle = lower ? stored.lower(false) : stored.upper(false);
    for (Offset k = 0; k < triangle.ptr[plan.rows]; ++k) {
      const Vector block = decoded(stored, triangle, k);
      all.insert(all.end(), block.begin(), block.end());
    }
  }
  all.insert(all.end(), stored.diagonal_map(0), stored.diagonal_map(plan.rows));
  return all;
}

// The distance of neighboring stored numbers near value, in a block with this largest number
long double quantum(PCMCPIPrecision storage, long double value, long double largest)
{
  const auto shared = [&](int limit) {
    return largest > 0 ? std::exp2(std::ceil(std::log2(largest / limit))) : 0.0L;
  };
  switch (storage) {
  case PC_MCPI_PRECISION_FP64:
    return std::fabs(value) * 0x1p-52L;
  case PC_MCPI_PRECISION_FP32:
    return std::fabs(value) * 0x1p-23L;
  case PC_MCPI_PRECISION_FP16:
    return std::max(std::fabs(value) * 0x1p-10L, 0x1p-24L);
  case PC_MCPI_PRECISION_INT8:
    return shared(127);
  case PC_MCPI_PRECISION_INT4:
    return shared(7);
  case PC_MCPI_PRECISION_AUTO:
    break;
  }
  return 0;
}

// The largest error of the stored blocks and diagonal maps, in quanta. The rounding errors of the
// set-up's own arithmetic are not counted.
double worst_error(const StoredMatrix &stored, const BlockMatrix &matrix)
{
  const ColorPlan &plan = stored.plan();
  const int bs = plan.bs;
  const bool scale = stored.config().form == PC_MCPI_FORM_PRESCALED;
  const Vector &left = stored.scales().left, &right = stored.scales().right;
  const long double rounding = 1e-13L * bs;
  long double worst = 0;
  // A NaN is noted, because its comparison is false.
  const auto note = [&](long double error) { worst = error <= worst ? worst : error; };
  for (Row p = 0; p < plan.rows; ++p) {
    const Row i = plan.row_of[p];
    const LongVector inverse = exact_inverse(bs, matrix.diagonal(i));
    long double size = 0;
    for (int c = 0; c < bs; ++c)
      for (int r = 0; r < bs; ++r)
        size = std::max(size, std::fabs(inverse[c * bs + r]) * (scale ? 1 : right[0] * left[0]));
    for (int c = 0; c < bs; ++c)
      for (int r = 0; r < bs; ++r) {
        const long double exact = inverse[c * bs + r] / right[r] / (scale ? 1.0L : left[c]);
        note(std::fabs(stored.diagonal_map(p)[c * bs + r] * right[r] * (scale ? 1 : left[c]) -
                       inverse[c * bs + r]) /
             (rounding * size));
        if (!std::isfinite(static_cast<double>(exact))) return kInf;
      }
    for (const bool lower : {true, false}) {
      const Triangle &symbolic = lower ? plan.lower : plan.upper;
      const StoredTriangle triangle = lower ? stored.lower(false) : stored.upper(false);
      for (Offset k = symbolic.ptr[p]; k < symbolic.ptr[p + 1]; ++k) {
        const std::span<const double> block = matrix.offdiag(i, symbolic.source[k]);
        const Vector mine = decoded(stored, triangle, k);
        LongVector exact(block.size()), absolute(block.size());
        long double largest = 0;
        for (int c = 0; c < bs; ++c)
          for (int r = 0; r < bs; ++r) {
            for (int l = 0; l < bs; ++l) {
              const long double factor = scale ? inverse[l * bs + r] : (l == r ? 1.0L : 0.0L);
              exact[c * bs + r] += factor * block[c * bs + l];
              absolute[c * bs + r] += std::fabs(factor * block[c * bs + l]);
            }
            exact[c * bs + r] *= static_cast<long double>(left[r]) * right[c];
            absolute[c * bs + r] *= static_cast<long double>(left[r]) * right[c];
            largest = std::max(largest, std::fabs(exact[c * bs + r]));
          }
        for (std::size_t e = 0; e < exact.size(); ++e)
          note((std::fabs(mine[e] - exact[e]) - rounding * absolute[e]) /
               quantum(stored.config().storage, exact[e], largest));
      }
    }
  }
  return static_cast<double>(worst);
}

class Stored : public testing::TestWithParam<const CpuKernels *> {};
INSTANTIATE_TEST_SUITE_P(Kernels, Stored, testing::ValuesIn(all_kernels()),
                         [](const auto &instance) { return instance.param->name; });

template <class Visit> void for_configs(const Visit &visit)
{
  for (const PCMCPIForm form : kForms)
    for (const PCMCPIPrecision storage : kStorages) visit(NumericConfig{storage, form});
}

TEST_P(Stored, values_are_within_one_quantum_of_the_exact_ones)
{
  for (const int bs : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33, 64, 65}) {
    const Pattern pattern = ring_pattern(bs < 20 ? 12 : 4, 2, 5);
    const BlockMatrix matrix = make_matrix(bs, pattern, {.pivots = true, .seed = 6});
    const Ranks ranks = one_rank(pattern, bs);
    for_configs([&](const NumericConfig &config) {
      StoredMatrix stored(ranks.forward[0], config, *GetParam());
      EXPECT_EQ(refresh(stored, matrix).defect, Defect::none);
      EXPECT_LE(worst_error(stored, matrix), 1.0)
          << name(Kind{{config, true}, GetParam()}) << " bs " << bs;
    });
  }
}

// The second refresh has other values in the same pattern. Its result is that of a first refresh,
// unless the scales are kept.
TEST_P(Stored, refreshes_like_a_new_one_when_values_grow)
{
  const Pattern pattern = ring_pattern(15, 2, 7);
  const BlockMatrix small = make_matrix(5, pattern, {.pivots = true, .seed = 8});
  const Ranks ranks = one_rank(pattern, 5);
  for (const double growth : {0.01, 0.5, 2.0, 100.0, 1e4})
    for_configs([&](const NumericConfig &config) {
      BlockMatrix grown = small;
      scale_offdiag(grown, growth);
      StoredMatrix refreshed(ranks.forward[0], config, *GetParam()),
          fresh(ranks.forward[0], config, *GetParam());
      refresh(refreshed, small);
      const NumericStatus first = refresh(fresh, grown), second = refresh(refreshed, grown);
      EXPECT_EQ(first.defect, Defect::none);
      EXPECT_EQ(second.defect, Defect::none);
      EXPECT_LE(worst_error(refreshed, grown), 1.0);
      EXPECT_FALSE(scales_moved(refreshed.scales(), fresh.scales()));
      if (refreshed.scales().left == fresh.scales().left &&
          refreshed.scales().right == fresh.scales().right) {
        EXPECT_TRUE(same_bits(contents(refreshed), contents(fresh)));
      }
    });
}

// A kept balancing factor may be off by 4, and two together by 16. Values that fit with new factors
// must not be reported as unrepresentable.
TEST_P(Stored, kept_scales_do_not_make_values_unrepresentable)
{
  const Pattern pattern = {{1}, {0}};
  const Vector unit = {1, 0, 0, 0, 1, 0, 0, 0, 1},
               first = {4096, 2048, 2048, 8192, 4096, 2048, 8192, 2048, 1024},
               second = {8192, 256, 256, 262144, 8192, 65536, 16384, 32, 2048};
  BlockMatrix before = make_matrix(3, pattern), after = before;
  for (const Row i : {0, 1})
    for (BlockMatrix *matrix : {&before, &after}) {
      std::copy(unit.begin(), unit.end(), matrix->diagonal(i).begin());
      const Vector &coupling = matrix == &before ? first : second;
      std::copy(coupling.begin(), coupling.end(), matrix->offdiag(i, 0).begin());
    }
  const Ranks ranks = one_rank(pattern, 3);
  for (const BlockMatrix *start : {&before, &after}) {
    StoredMatrix stored(ranks.forward[0], {PC_MCPI_PRECISION_FP16, PC_MCPI_FORM_PRESCALED},
                        *GetParam());
    EXPECT_EQ(refresh(stored, *start).defect, Defect::none);
    EXPECT_EQ(refresh(stored, after).defect, Defect::none);
    EXPECT_LE(worst_error(stored, after), 1.0);
  }
}

TEST_P(Stored, refresh_of_the_same_pattern_allocates_nothing_and_reads_once)
{
  const Pattern pattern = ring_pattern(40, 2, 9);
  const BlockMatrix matrix = make_matrix(5, pattern, {.pivots = true, .seed = 10}),
                    other = make_matrix(5, pattern, {.pivots = true, .seed = 11});
  const Ranks ranks = one_rank(pattern, 5);
  std::vector<std::string> allocating;
  for_configs([&](const NumericConfig &config) {
    StoredMatrix stored(ranks.forward[0], config, *GetParam());
    refresh(stored, matrix);
    stored.build_transposed(ranks.transposed[0], nullptr);
    const std::size_t bytes = stored.memory_bytes();
    const StoredTriangle lower = stored.lower(false), transposed = stored.upper(true);
    MatrixRows rows(other);
    const double *diagonal;
    const double *const *offdiag;
    rows.row(0, diagonal, offdiag); // This call allocates the memory of rows.
    rows.reads = 0;
    NumericStatus status;
    const std::size_t before = allocations().calls;
    stored.refresh(rows, kOneRank, status);
    stored.build_transposed(ranks.transposed[0], nullptr);
    if (allocations().calls != before) allocating.push_back(name(Kind{{config, true}, GetParam()}));
    EXPECT_EQ(rows.reads, 40) << name(Kind{{config, true}, GetParam()});
    EXPECT_EQ(stored.memory_bytes(), bytes);
    EXPECT_EQ(stored.lower(false).records, lower.records);
    EXPECT_EQ(stored.upper(true).records, transposed.records);
    EXPECT_LE(worst_error(stored, other), 1.0);
  });
  EXPECT_TRUE(allocating.empty()) << allocating.size()
                                  << " of 10 allocate, first: " << allocating[0];
}

struct Planted {
  const char *what;
  Defect defect;
  void (*plant)(BlockMatrix &, Row);
};
const Planted kPlanted[] = {
    {"NaN in O", Defect::nonfinite_offdiagonal,
     [](BlockMatrix &m, Row i) { m.offdiag(i, 0)[0] = kNaN; }},
    {"last entry of O NaN", Defect::nonfinite_offdiagonal,
     [](BlockMatrix &m, Row i) { m.offdiag(i, -1).back() = kNaN; }},
    {"Inf in O", Defect::nonfinite_offdiagonal,
     [](BlockMatrix &m, Row i) { m.offdiag(i, 0)[0] = kInf; }},
    {"-Inf in O", Defect::nonfinite_offdiagonal,
     [](BlockMatrix &m, Row i) { m.offdiag(i, -1).back() = -kInf; }},
    {"NaN in D", Defect::nonfinite_diagonal,
     [](BlockMatrix &m, Row i) { m.diagonal(i).back() = kNaN; }},
    {"Inf in D", Defect::nonfinite_diagonal,
     [](BlockMatrix &m, Row i) { m.diagonal(i)[0] = kInf; }},
    {"singular D", Defect::singular,
     [](BlockMatrix &m, Row i) { std::fill(m.diagonal(i).begin(), m.diagonal(i).end(), 0.0); }},
};

// Makes set-ups with bad values from some row on, then with good values. Returns the first error,
// or an empty string.
std::string bad_rows(const Ranks &ranks, const BlockMatrix &good, const NumericConfig &config,
                     const CpuKernels &kernels, const Planted &planted, bool good_before)
{
  StoredMatrix stored(ranks.forward[0], config, kernels), fresh(ranks.forward[0], config, kernels);
  refresh(fresh, good);
  if (good_before) refresh(stored, good);
  for (const Row row : {0, 5, 12}) {
    BlockMatrix bad = good;
    for (Row planted_row = row; planted_row < bad.rows(); ++planted_row)
      planted.plant(bad, planted_row);
    const NumericStatus status = refresh(stored, bad);
    if (status.defect == Defect::none) return "not seen";
    if (status.row != row) return "wrong row";
    if (status.defect != planted.defect)
      return "wrong defect " + std::to_string(static_cast<int>(status.defect));
  }
  const NumericStatus status = refresh(stored, good);
  if (status.defect != Defect::none || status.row != -1) return "not forgotten";
  if (!(worst_error(stored, good) <= 1.0)) return "wrong values afterwards";
  if (good_before && !same_bits(contents(stored), contents(fresh))) return "other bits afterwards";
  return "";
}

// After any history, the smallest of the bad rows is reported. Good values afterwards are stored as
// in a first set-up.
TEST_P(Stored, bad_rows_are_reported_and_forgotten)
{
  for (const int bs : {1, 2, 5}) {
    const Pattern pattern = ring_pattern(13, 2, 12);
    const BlockMatrix good = make_matrix(bs, pattern, {.pivots = true, .seed = 13});
    const Ranks ranks = one_rank(pattern, bs);
    for (const Planted &planted : kPlanted)
      for (const bool good_before : {false, true}) {
        std::vector<std::string> wrong;
        for_configs([&](const NumericConfig &config) {
          const std::string problem =
              bad_rows(ranks, good, config, *GetParam(), planted, good_before);
          if (!problem.empty())
            wrong.push_back(problem + " with " + name(Kind{{config, true}, GetParam()}));
        });
        EXPECT_TRUE(wrong.empty()) << planted.what << " bs " << bs
                                   << (good_before ? " after good values: " : " at first: ")
                                   << wrong.size() << " of 10 wrong, first: " << wrong[0];
      }
  }
}

// Finite values that the storage precision cannot hold, and a D^{-1}O that no double can hold, are
// reported.
TEST_P(Stored, overflow_is_reported)
{
  const std::pair<PCMCPIPrecision, double> cases[] = {{PC_MCPI_PRECISION_FP16, 1e6},
                                                      {PC_MCPI_PRECISION_FP32, 1e39},
                                                      {PC_MCPI_PRECISION_INT8, 1e60},
                                                      {PC_MCPI_PRECISION_INT4, 1e60},
                                                      {PC_MCPI_PRECISION_FP64, 1e200}};
  const Pattern pattern = ring_pattern(9, 2, 14);
  const Ranks ranks = one_rank(pattern, 3);
  for_configs([&](const NumericConfig &config) {
    for (const auto &[storage, value] : cases) {
      const bool tiny_diagonal = storage == PC_MCPI_PRECISION_FP64;
      if (config.storage != storage || (tiny_diagonal && config.form == PC_MCPI_FORM_FACTORED))
        continue;
      BlockMatrix matrix = make_matrix(3, pattern, {.pivots = true, .seed = 15});
      std::fill(matrix.offdiag(4, 1).begin(), matrix.offdiag(4, 1).end(), value);
      if (tiny_diagonal)
        for (int e = 0; e < 9; ++e) matrix.diagonal(4)[e] = e % 4 == 0 ? 1e-200 : 0.0;
      StoredMatrix stored(ranks.forward[0], config, *GetParam());
      const NumericStatus status = refresh(stored, matrix);
      // Balanced factored blocks fit, and fp16 has a factor for all blocks, too.
      const bool rescued = !tiny_diagonal && (config.form == PC_MCPI_FORM_FACTORED ||
                                              storage == PC_MCPI_PRECISION_FP16);
      const auto expected = rescued ? Defect::none : Defect::unrepresentable;
      EXPECT_EQ(static_cast<int>(status.defect), static_cast<int>(expected))
          << name(Kind{{config, true}, GetParam()});
      EXPECT_EQ(status.row, rescued ? -1 : 4);
    }
  });
}

// The error code of the reduction is returned, and the following set-up is like a first one.
TEST_P(Stored, errors_of_the_reduction_come_through)
{
  const Pattern pattern = ring_pattern(6, 1, 18);
  const BlockMatrix matrix = make_matrix(2, pattern, {.pivots = true, .seed = 19});
  const Ranks ranks = one_rank(pattern, 2);
  StoredMatrix stored(ranks.forward[0], {PC_MCPI_PRECISION_FP16, PC_MCPI_FORM_PRESCALED},
                      *GetParam());
  MatrixRows rows(matrix);
  NumericStatus status;
  EXPECT_EQ(stored.refresh(
                rows, [](double *, int) { return 42; }, status),
            42);
  EXPECT_EQ(refresh(stored, matrix).defect, Defect::none);
  EXPECT_EQ(stored.refresh(
                rows, [](double *, int) { return 43; }, status),
            43);
  EXPECT_EQ(refresh(stored, matrix).defect, Defect::none);
  EXPECT_LE(worst_error(stored, matrix), 1.0);
}

TEST_P(Stored, transposed_records_are_the_same_numbers_transposed)
{
  const Pattern pattern = ring_pattern(14, 2, 20);
  const BlockMatrix matrix = make_matrix(5, pattern, {.pivots = true, .seed = 21});
  const Ranks ranks = one_rank(pattern, 5);
  const ColorPlan &plan = ranks.forward[0], &transposed = ranks.transposed[0];
  for_configs([&](const NumericConfig &config) {
    StoredMatrix stored(plan, config, *GetParam());
    refresh(stored, matrix);
    stored.build_transposed(transposed, nullptr);
    for (const bool lower : {true, false}) {
      const Triangle &triangle = lower ? transposed.lower : transposed.upper;
      for (std::size_t k = 0; k < triangle.col.size(); ++k) {
        const Offset lowers = static_cast<Offset>(plan.lower.col.size()),
                     source = triangle.source[k];
        const Vector from = source < lowers ? decoded(stored, stored.lower(false), source)
                                            : decoded(stored, stored.upper(false), source - lowers);
        const Vector to = decoded(stored, lower ? stored.lower(true) : stored.upper(true),
                                  static_cast<Offset>(k));
        for (int c = 0; c < 5; ++c)
          for (int r = 0; r < 5; ++r) ASSERT_EQ(to[c * 5 + r], from[r * 5 + c]);
      }
    }
  });
}

} // namespace
} // namespace mcpi::test
