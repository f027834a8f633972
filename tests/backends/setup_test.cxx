// Compares the numeric set-up of other backends with that of the host backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "backend/host/host_backend.h"
#include "core/codec.h"
#include "engines.h"
#include "laid_out_rows.h"

namespace mcpi::test {
namespace {

// The allowed difference of two stored numbers of a block, relative to the block's largest number.
// It is two quanta, because the sums before rounding differ in their last digits.
double quantum(PCMCPIPrecision storage)
{
  switch (storage) {
  case PC_MCPI_PRECISION_FP64:
    return 1e-11;
  case PC_MCPI_PRECISION_FP32:
    return 0x1p-22;
  case PC_MCPI_PRECISION_FP16:
    return 0x1p-9;
  case PC_MCPI_PRECISION_INT8:
    return 2.0 / 63;
  case PC_MCPI_PRECISION_INT4:
    return 2.0 / 3;
  case PC_MCPI_PRECISION_AUTO:
    break;
  }
  return 0.0;
}

std::vector<Vector> stored_blocks(Backend &backend, const ColorPlan &plan, PCMCPIPrecision storage)
{
  std::vector<Offset> all(static_cast<std::size_t>(plan.blocks()));
  std::iota(all.begin(), all.end(), 0);
  const std::size_t size = backend.info().record_bytes;
  std::vector<std::byte> records(all.size() * size, std::byte{0xff});
  backend.pack_records(all, records.data());
  std::vector<Vector> blocks;
  for (std::size_t k = 0; k < all.size(); ++k) {
    Vector block(static_cast<std::size_t>(plan.bs) * plan.bs, kNaN);
    decode_block(storage, plan.bs, records.data() + k * size, block.data());
    blocks.push_back(block);
  }
  return blocks;
}

double largest(const Vector &block)
{
  double most = 0.0;
  for (const double value : block) most = std::max(most, std::abs(value));
  return most;
}

// The largest difference of two blocks, relative to the first one's largest number
double worst_difference(const std::vector<Vector> &expected, const std::vector<Vector> &blocks)
{
  double worst = expected.size() == blocks.size() ? 0.0 : kNaN;
  for (std::size_t k = 0; k < expected.size(); ++k) {
    const double most = largest(expected[k]);
    for (std::size_t n = 0; n < expected[k].size(); ++n) {
      const double difference = std::abs(blocks[k][n] - expected[k][n]);
      if (!(difference <= worst * most)) worst = most > 0.0 ? difference / most : difference;
    }
  }
  return worst;
}

// Makes a matrix with some zeros in each block. The layout of partial rows leaves these entries
// out.
BlockMatrix holed_matrix(const Pattern &pattern, int bs, unsigned seed)
{
  BlockMatrix matrix = make_matrix(bs, pattern, {.pivots = true, .seed = seed});
  for_offdiag(matrix, [](std::span<double> block) {
    for (std::size_t n = 1; n < block.size(); n += 3) block[n] = 0.0;
  });
  return matrix;
}

struct Problem {
  BlockMatrix matrix;
  Ranks ranks;

  Problem(Row rows, int bs, unsigned seed)
      : matrix(holed_matrix(ring_pattern(rows, 3, seed), bs, seed + 1))
  {
    ranks = build_ranks(matrix.pattern(), greedy_coloring(matrix.pattern()), bs, {0, rows});
  }
  const ColorPlan &plan() const { return ranks.forward[0]; }
  // Empties every third component of some rows, and all components of others. Rows have zero, one
  // and two first components that stay.
  void empty_some()
  {
    std::vector<Row> unknowns;
    for (Row row = 1; row < matrix.rows(); row += 3)
      for (Row i = row / 3 % 4 == 0 ? 0 : row % matrix.bs; i < matrix.bs;
           i += row / 3 % 4 == 0 ? 1 : 3)
        unknowns.push_back(row * matrix.bs + i);
    empty_unknowns(matrix, unknowns);
    empty = flags_of(matrix, unknowns);
  }
  const std::uint8_t *flags() const { return empty.empty() ? nullptr : empty.data(); }
  NumericStatus refresh(System &system) const
  {
    MatrixRows rows(matrix);
    rows.set_empty(flags());
    return system.refresh(rows);
  }

  std::vector<std::uint8_t> empty;
};

void compare(const Problem &problem, const BackendConfig &config, System &other,
             const std::string &what)
{
  System host(problem.ranks, {config, &simd_kernels()});
  ASSERT_EQ(problem.refresh(host).defect, Defect::none);
  const PCMCPIPrecision storage = config.numeric.storage;
  const auto blocks = stored_blocks(other.backend(), problem.plan(), storage);
  EXPECT_LT(worst_difference(stored_blocks(host.backend(), problem.plan(), storage), blocks),
            quantum(storage))
      << what;
  EXPECT_EQ(other.backend().info().scales->right, host.backend().info().scales->right) << what;
  EXPECT_EQ(other.backend().info().scales->left, host.backend().info().scales->left) << what;
  const Vector b = random_vector(problem.matrix.size(), 5);
  // With one color, the first sweep computes D^{-1}b. It tests the diagonal maps of all rows.
  const Smoothing once = make_run(PC_MCPI_SWEEP_FORWARD, 1.0, 1, true);
  System reference(problem.ranks, {config, nullptr});
  ASSERT_EQ(problem.refresh(reference).defect, Defect::none);
  reference.adopt(other);
  EXPECT_LT(difference(other.apply(once, b), reference.apply(once, b)), tolerance(config)) << what;
}

class Setup : public AnyBackendAndSize {};
INSTANTIATE_TEST_SUITE_P(BlockSizes, Setup,
                         testing::Combine(testing::ValuesIn(tested().engines),
                                          testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16,
                                                          17, 24, 32, 33, 50, 64, 65, 100, 130)),
                         engine_and_size_name);
class AnyBackendSetup : public AnyBackend {};
INSTANTIATE_TEST_SUITE_P(Backends, AnyBackendSetup, testing::ValuesIn(tested().engines),
                         engine_name);

TEST_P(Setup, stores_what_the_host_stores_from_every_layout)
{
  const int bs = this->bs();
  const Problem problem(bs <= 8 ? 90 : bs <= 33 ? 30 : 5, bs, 11);
  std::size_t turn = 0; // Layouts take turns, because large blocks take the host long.
  for_configs([&](const BackendConfig &config) {
    for (const Layout layout : layouts()) {
      if (bs > 16 && turn++ % (bs > 65 ? 43 : bs > 33 ? 31 : 7) != 0) continue;
      System other(problem.ranks, {config, nullptr, engine()});
      LaidOutRows rows(problem.matrix, layout);
      ASSERT_EQ(other.refresh(rows).defect, Defect::none);
      compare(problem, config, other,
              name(Kind{config, nullptr, engine()}) + " layout " +
                  std::to_string(static_cast<int>(layout)));
    }
  });
}

// Applies the engine and the reference to three right-hand sides, and looks at the empty unknowns.
void compare_runs(const Problem &problem, const BackendConfig &config, System &other,
                  const std::string &what)
{
  System reference(problem.ranks, {config, nullptr});
  ASSERT_EQ(problem.refresh(reference).defect, Defect::none);
  reference.adopt(other);
  const Vector b = random_vector(3 * problem.matrix.size(), 5);
  for (Smoothing run : {make_run(PC_MCPI_SWEEP_SYMMETRIC, 1.0, 2, true),
                        make_run(PC_MCPI_SWEEP_FORWARD, 0.7, 3, true),
                        make_run(PC_MCPI_SWEEP_BACKWARD, 1.0, 1, true)})
    for (const bool transposed : {false, true}) {
      run.apply.transposed = transposed;
      run.apply.nrhs = 3;
      const Vector x = other.apply(run, b);
      EXPECT_LT(difference(x, reference.apply(run, b)), tolerance(config)) << what;
      for (std::size_t k = 0; k < x.size(); ++k)
        if (problem.empty[k % problem.empty.size()]) {
          EXPECT_EQ(x[k], 0.0) << what << " unknown " << k;
        }
    }
}

TEST_P(Setup, leaves_out_empty_unknowns)
{
  const int bs = this->bs();
  Problem problem(bs <= 8 ? 60 : bs <= 33 ? 30 : 5, bs, 13);
  problem.empty_some();
  std::size_t turn = 0;
  for_configs([&](const BackendConfig &config) {
    for (const Layout layout : layouts()) {
      if (turn++ % (bs > 33 ? 31 : bs > 8 ? 7 : 2) != 0) continue;
      System other(problem.ranks, {config, nullptr, engine()});
      LaidOutRows rows(problem.matrix, layout);
      const std::string what = name(Kind{config, nullptr, engine()}) + " layout " +
                               std::to_string(static_cast<int>(layout));
      EXPECT_EQ(other.refresh(rows).defect, Defect::singular) << what;
      rows.set_empty(problem.flags());
      ASSERT_EQ(other.refresh(rows).defect, Defect::none) << what;
      compare(problem, config, other, what);
      compare_runs(problem, config, other, what);
      const InverseRange range = other.backend().info().inverse;
      EXPECT_TRUE(std::isfinite(range.largest) && std::isfinite(range.reciprocal)) << what;
    }
  });
}

// Flags end with the values for which they were set.
TEST_P(AnyBackendSetup, empty_unknowns_come_and_go)
{
  const BackendConfig config{{PC_MCPI_PRECISION_FP32, PC_MCPI_FORM_PRESCALED, false}, false};
  for (const int bs : {1, 5, 12, 40}) {
    const Problem full(20, bs, 17);
    Problem some = full;
    some.empty_some();
    System other(full.ranks, kind(config));
    for (int turn = 0; turn < 2; ++turn) {
      ASSERT_EQ(full.refresh(other).defect, Defect::none);
      compare(full, config, other, "bs " + std::to_string(bs));
      ASSERT_EQ(some.refresh(other).defect, Defect::none);
      compare(some, config, other, "bs " + std::to_string(bs));
      EXPECT_EQ(other.refresh(some.matrix).defect, Defect::singular);
    }
  }
}

TEST_P(AnyBackendSetup, batches_of_many_rows_give_one_matrix)
{
  const BackendConfig config{{PC_MCPI_PRECISION_FP32, PC_MCPI_FORM_PRESCALED}, false};
  for (const auto &[bs, rows] : {std::pair{5, 30000}, std::pair{12, 6000}}) {
    const Problem problem(rows, bs, 21);
    for (const Layout layout : layouts()) {
      System other(problem.ranks, kind(config));
      LaidOutRows laid_out(problem.matrix, layout);
      ASSERT_EQ(other.refresh(laid_out).defect, Defect::none);
      compare(problem, config, other,
              "bs " + std::to_string(bs) + " layout " + std::to_string(static_cast<int>(layout)));
    }
  }
}

// There are so many rows that thread blocks of a device take as many at a time as they can.
TEST_P(AnyBackendSetup, many_rows_in_place_give_one_matrix)
{
  if (tested().host_memory) GTEST_SKIP() << "there are no such thread blocks";
  struct Case {
    PCMCPIPrecision storage;
    PCMCPIForm form;
    int bs;
    Row rows;
  };
  for (const Case &one : {Case{PC_MCPI_PRECISION_FP32, PC_MCPI_FORM_PRESCALED, 5, 70000},
                          {PC_MCPI_PRECISION_INT4, PC_MCPI_FORM_PRESCALED, 5, 70000},
                          {PC_MCPI_PRECISION_INT8, PC_MCPI_FORM_PRESCALED, 7, 20000},
                          {PC_MCPI_PRECISION_FP16, PC_MCPI_FORM_FACTORED, 6, 34000},
                          {PC_MCPI_PRECISION_FP64, PC_MCPI_FORM_PRESCALED, 8, 20000}}) {
    const BackendConfig config{{one.storage, one.form}, one.storage == PC_MCPI_PRECISION_FP64};
    const Problem problem(one.rows, one.bs, 21);
    System other(problem.ranks, kind(config));
    LaidOutRows laid_out(problem.matrix, Layout::device_full_rows);
    ASSERT_EQ(other.refresh(laid_out).defect, Defect::none);
    compare(problem, config, other, name(kind(config)) + " bs " + std::to_string(one.bs));
  }
}

// Attributes of a device's kernels hold for all backends that use the kernels, so backends with
// different block sizes must not disturb each other.
TEST_P(AnyBackendSetup, block_sizes_live_side_by_side)
{
  const BackendConfig config{{PC_MCPI_PRECISION_FP32, PC_MCPI_FORM_PRESCALED}, false};
  for (const auto &[large, small] : {std::pair{20, 10}, std::pair{63, 41}, std::pair{64, 48}}) {
    const Problem first(12, large, 51), second(12, small, 52);
    System other(first.ranks, kind(config)), beside(second.ranks, kind(config));
    const Vector b = random_vector(first.matrix.size(), 5);
    for (int turn = 0; turn < 2; ++turn) {
      ASSERT_EQ(other.refresh(first.matrix).defect, Defect::none)
          << "bs " << large << " turn " << turn;
      compare(first, config, other, "bs " + std::to_string(large));
      ASSERT_EQ(beside.refresh(second.matrix).defect, Defect::none);
      compare(second, config, beside, "bs " + std::to_string(small));
      System reference(first.ranks, {config, nullptr});
      ASSERT_EQ(reference.refresh(first.matrix).defect, Defect::none);
      reference.adopt(other);
      const Smoothing symmetric = make_run(PC_MCPI_SWEEP_SYMMETRIC, 1.0, 2 + turn, true);
      EXPECT_LT(difference(other.apply(symmetric, b), reference.apply(symmetric, b)),
                tolerance(config));
    }
  }
}

// If there are more than a million rows, column numbers leave few bits to the exponents packed with
// them. Values that grow beyond these exponents must not damage the columns.
TEST_P(AnyBackendSetup, values_that_outgrow_their_exponents_spare_the_columns)
{
  if (tested().host_memory) GTEST_SKIP() << "exponents have bytes of their own";
  const BackendConfig config{{PC_MCPI_PRECISION_INT4, PC_MCPI_FORM_PRESCALED}, false};
  Problem problem((1 << 20) + 5, 1, 41);
  System other(problem.ranks, kind(config)), reference(problem.ranks, {config, nullptr});
  ASSERT_EQ(other.refresh(problem.matrix).defect, Defect::none);
  scale_offdiag(problem.matrix, 3000.0);
  ASSERT_EQ(other.refresh(problem.matrix).defect, Defect::none);
  ASSERT_EQ(reference.refresh(problem.matrix).defect, Defect::none);
  reference.adopt(other);
  const Smoothing run = make_run(PC_MCPI_SWEEP_FORWARD, 1.0, 2, true);
  const Vector b = random_vector(problem.matrix.size(), 5);
  EXPECT_LT(difference(other.apply(run, b), reference.apply(run, b)), tolerance(config));
}

TEST_P(AnyBackendSetup, follows_values_and_scales)
{
  for (const PCMCPIPrecision storage : kStorages)
    for (const int bs : {3, 11}) {
      const BackendConfig config{{storage, PC_MCPI_FORM_PRESCALED},
                                 storage == PC_MCPI_PRECISION_FP64};
      Problem problem(40, bs, 31);
      System other(problem.ranks, kind(config));
      LaidOutRows rows(problem.matrix,
                       layouts().size() > 2 ? Layout::device_full_rows : Layout::rows);
      ASSERT_EQ(other.refresh(rows).defect, Defect::none);
      Vector equation(static_cast<std::size_t>(bs), 1.0), unknown(equation);
      equation[0] = 1e7; // other units than those of the other components
      unknown[0] = 1e-5;
      unknown[2] = 300.0;
      scale_components(problem.matrix, equation, unknown);
      rows.update();
      (void)other.apply(make_run(PC_MCPI_SWEEP_FORWARD, 1.0, 1, true),
                        random_vector(problem.matrix.size(), 5));
      const std::size_t before = other.backend().info().memory_bytes;
      ASSERT_EQ(other.refresh(rows).defect, Defect::none);
      compare(problem, config, other, name(kind(config)));
      EXPECT_EQ(other.backend().info().memory_bytes, before);
      scale_offdiag(problem.matrix, 3000.0); // The factors of the components are kept.
      rows.update();
      ASSERT_EQ(other.refresh(rows).defect, Defect::none);
      compare(problem, config, other, name(kind(config)) + " grown");
    }
}

// For small blocks, inverse diagonal blocks are stored in single precision, but have a larger
// range.
TEST_P(AnyBackendSetup, takes_units_of_any_size)
{
  for (const int bs : {1, 5, 8, 9, 33})
    for (const PCMCPIForm form : {PC_MCPI_FORM_PRESCALED, PC_MCPI_FORM_FACTORED})
      for (const double unit : {1e-60, 1e60}) {
        const BackendConfig config{{PC_MCPI_PRECISION_FP32, form}, false};
        Problem problem(40, bs, 41);
        Vector b = random_vector(problem.matrix.size(), 5);
        scale_components(problem.matrix, Vector(static_cast<std::size_t>(bs), unit),
                         Vector(static_cast<std::size_t>(bs), 1.0));
        for (double &value : b) value *= unit;
        System other(problem.ranks, kind(config)), reference(problem.ranks, {config, nullptr});
        for (System *system : {&other, &reference})
          ASSERT_EQ(system->refresh(problem.matrix).defect, Defect::none);
        reference.adopt(other);
        const Smoothing run = make_run(PC_MCPI_SWEEP_FORWARD, 1.0, 2, true);
        EXPECT_LT(difference(other.apply(run, b), reference.apply(run, b)), tolerance(config))
            << "bs " << bs << " form " << form << " unit " << unit;
      }
}

// In every other row, b scaled by the power of two of the inverse block is outside the range of a
// float, but x is not.
TEST_P(AnyBackendSetup, takes_right_hand_sides_in_units_that_are_far_apart)
{
  for (const int bs : {2, 5, 8, 9})
    for (const int nrhs : {1, 2}) {
      const BackendConfig config{{PC_MCPI_PRECISION_FP32, PC_MCPI_FORM_PRESCALED}, false};
      Problem problem(700, bs, 43);
      const std::size_t n = problem.matrix.size();
      Vector b = random_vector(n * nrhs, 5), equation(static_cast<std::size_t>(bs), 1e12);
      const auto beyond = [&](std::size_t k) { return k / equation.size() % 2 == 0; };
      equation.back() = 1e-12;
      scale_components(problem.matrix, equation, Vector(static_cast<std::size_t>(bs), 1.0));
      scale_offdiag(problem.matrix, 0.0); // x is D^{-1}b.
      for (std::size_t k = 0; k < b.size(); ++k)
        b[k] *= equation[k % equation.size()] * (beyond(k % n) ? 1e28 : 1.0);
      System other(problem.ranks, kind(config)), reference(problem.ranks, {config, nullptr});
      for (System *system : {&other, &reference})
        ASSERT_EQ(system->refresh(problem.matrix).defect, Defect::none);
      reference.adopt(other);
      Smoothing run = make_run(PC_MCPI_SWEEP_FORWARD, 1.0, 1, true);
      run.apply.nrhs = nrhs;
      Vector x = other.apply(run, b), y = reference.apply(run, b);
      for (std::size_t k = 0; k < x.size(); ++k)
        for (Vector *vector : {&x, &y}) (*vector)[k] *= beyond(k % n) ? 1e-28 : 1.0;
      EXPECT_LT(difference(x, y), tolerance(config)) << "bs " << bs << " right-hand sides " << nrhs;
    }
}

// Terms of D^{-1}b are outside the range of a float, but their sum is not.
TEST_P(AnyBackendSetup, takes_right_hand_sides_whose_terms_cancel)
{
  const BackendConfig config{{PC_MCPI_PRECISION_FP32, PC_MCPI_FORM_PRESCALED}, false};
  Problem problem(40, 2, 47);
  // The inverse is ((1.9, -1.8), (0.1, 1)), and this is its determinant.
  const double determinant = 1.9 + 0.18;
  const Vector block = {1.0 / determinant, -0.1 / determinant, 1.8 / determinant,
                        1.9 / determinant};
  for (Row row = 0; row < problem.matrix.rows(); ++row)
    std::copy(block.begin(), block.end(), problem.matrix.diagonal(row).begin());
  scale_offdiag(problem.matrix, 0.0); // x is D^{-1}b.
  System other(problem.ranks, kind(config)), reference(problem.ranks, {config, nullptr});
  for (System *system : {&other, &reference})
    ASSERT_EQ(system->refresh(problem.matrix).defect, Defect::none);
  reference.adopt(other);
  const Smoothing run = make_run(PC_MCPI_SWEEP_FORWARD, 1.0, 1, true);
  const Vector b(problem.matrix.size(), 2.5e38);
  Vector x = other.apply(run, b), y = reference.apply(run, b);
  for (Vector *vector : {&x, &y})
    for (double &value : *vector) value *= 1e-38;
  EXPECT_LT(difference(x, y), tolerance(config));
  EXPECT_NEAR(y[0], 0.25, 1e-3);
}

struct Spoiled {
  const char *what;
  void (*spoil)(BlockMatrix &, Row);
  Defect defect;
};
const Spoiled kSpoiled[] = {
    {"a singular block",
     [](BlockMatrix &m, Row row) { std::fill_n(m.diagonal(row).begin(), m.bs, 0.0); },
     Defect::singular},
    {"two equal rows",
     [](BlockMatrix &m, Row row) {
       for (int j = 0; j < m.bs; ++j)
         m.diagonal(row)[static_cast<std::size_t>(j) * m.bs + 1] =
             m.diagonal(row)[static_cast<std::size_t>(j) * m.bs];
     },
     Defect::singular},
    {"NaN on the diagonal", [](BlockMatrix &m, Row row) { m.diagonal(row).back() = kNaN; },
     Defect::nonfinite_diagonal},
    {"Inf beside the diagonal",
     [](BlockMatrix &m, Row row) {
       m.offdiag(row, -1)[1] = std::numeric_limits<double>::infinity();
     },
     Defect::nonfinite_offdiagonal},
    {"overflow",
     [](BlockMatrix &m, Row row) {
       std::fill(m.offdiag(row, 0).begin(), m.offdiag(row, 0).end(), 1e308);
     },
     Defect::unrepresentable},
};

TEST_P(AnyBackendSetup, names_the_first_bad_row_and_forgets_it)
{
  for (const int bs : {2, 5, 8, 9, 40})
    for (const Spoiled &spoiled : kSpoiled)
      for (const Layout layout : layouts()) {
        if (layout == Layout::device_blocks || layout == Layout::device_partial_rows) continue;
        const BackendConfig config{{PC_MCPI_PRECISION_FP32, PC_MCPI_FORM_PRESCALED, false}, false};
        Problem problem(40, bs, 41);
        const BlockMatrix good = problem.matrix;
        spoiled.spoil(problem.matrix, 29);
        spoiled.spoil(problem.matrix, 7);
        System other(problem.ranks, kind(config));
        LaidOutRows rows(problem.matrix, layout);
        const auto status = other.refresh(rows);
        EXPECT_EQ(status.defect, spoiled.defect) << spoiled.what << " bs " << bs;
        EXPECT_EQ(status.row, 7) << spoiled.what << " bs " << bs;
        problem.matrix = good;
        rows.update();
        ASSERT_EQ(other.refresh(rows).defect, Defect::none) << spoiled.what << " bs " << bs;
        compare(problem, config, other, spoiled.what);
      }
}

} // namespace
} // namespace mcpi::test
