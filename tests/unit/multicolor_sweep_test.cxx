// Compares the sweeps with the iteration in dense matrices by its formula, and the shortcuts with
// the plain iteration. Also tests the calls of the halo.
#include "sweep/multicolor_sweep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "core/plan_parts.h"
#include "support/idle_backend.h"
#include "support/system.h"

namespace mcpi::test {
namespace {

class SweepsOfSize : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(BlockSizes, SweepsOfSize,
                         testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17));

TEST_P(SweepsOfSize, of_the_reference_are_those_of_the_dense_iteration)
{
  const int bs = GetParam();
  const Pattern pattern = ring_pattern(bs < 10 ? 24 : 9, 2, 1);
  const std::vector<int> color = greedy_coloring(pattern);
  const BlockMatrix matrix = make_matrix(bs, pattern, {.pivots = true, .seed = 2});
  const Ranks ranks = build_ranks(pattern, color, bs, {0, matrix.rows()});
  const Vector b = random_vector(matrix.size(), 3), guess = random_vector(matrix.size(), 4),
               zero(matrix.size(), 0.0);
  DenseIteration dense(matrix, color);
  for (const PCMCPIForm form : kForms) {
    const Kind kind = reference_kind(PC_MCPI_PRECISION_FP64, form);
    System system(ranks, kind);
    ASSERT_EQ(system.refresh(matrix).defect, Defect::none);
    for_runs(3, [&](const Smoothing &run) {
      const Vector expected = dense.run(run, b, run.from_zero ? zero : guess);
      EXPECT_LT(difference(system.apply(run, b, guess), expected), 1e-12)
          << name(kind) << " " << name(run);
    });
  }
}

// With one color there are no neighbors, and each pass begins with the color that ended the
// preceding pass.
TEST(Sweeps, of_a_block_diagonal_matrix_are_those_of_the_dense_iteration)
{
  const BlockMatrix matrix = make_matrix(3, Pattern(4), {.pivots = true, .seed = 40});
  const Ranks ranks = build_ranks(matrix.pattern(), {0, 0, 0, 0}, 3, {0, 4});
  const Vector b = random_vector(12, 41), guess = random_vector(12, 42), zero(12, 0.0);
  DenseIteration dense(matrix, {0, 0, 0, 0});
  System system(ranks, reference_kind());
  system.refresh(matrix);
  for_runs(3, [&](const Smoothing &run) {
    EXPECT_LT(
        difference(system.apply(run, b, guess), dense.run(run, b, run.from_zero ? zero : guess)),
        1e-14)
        << name(run);
  });
}

// Backends that round x for products need not store x itself before (RelaxStep::read_later).
TEST(Sweeps, store_x_of_each_row_when_they_relax_it_for_the_last_time)
{
  for (const std::size_t colors : {1, 2, 3})
    for (const bool clustered : {false, true})
      for_runs(3, [&](const Smoothing &run) {
        ColorPlan plan;
        plan.colors = static_cast<int>(colors);
        plan.color_begin.assign(colors + 1, 0);
        plan.boundary_end.assign(colors, 0);
        plan.clustered = clustered;
        const Schedule schedule(plan, run.sweep, run.apply, run.its, run.from_zero);
        std::vector<char> stored(colors, 0); // by color
        for (int pass = 0; pass < schedule.passes(); ++pass)
          for (int k = 0; k < plan.colors; ++k) {
            const Step step = schedule.step(pass, k);
            if (!step.skips_interior) stored[step.color] = step.interior.read_later;
          }
        EXPECT_EQ(std::count(stored.begin(), stored.end(), 1), plan.colors)
            << name(run) << ", " << colors << " colors, clustered: " << clustered;
      });
}

// The matrix of the transposed application is the transpose of the operator's matrix. The test
// above compares the operator with the formula.
TEST(TransposedSweeps, of_the_reference_are_the_transposed_matrix)
{
  const Pattern pattern = ring_pattern(12, 2, 5);
  const std::vector<int> color = greedy_coloring(pattern);
  const BlockMatrix matrix = make_matrix(3, pattern, {.pivots = true, .seed = 6});
  const Ranks ranks = build_ranks(pattern, color, 3, {0, matrix.rows()});
  for (const PCMCPIForm form : kForms) {
    System system(ranks, reference_kind(PC_MCPI_PRECISION_FP64, form));
    system.refresh(matrix);
    for_runs(3, [&](Smoothing run) {
      if (!run.from_zero) return;
      const Dense m = system.matrix(run);
      run.apply.transposed = true;
      const Dense t = system.matrix(run);
      Vector expected(m.a.size());
      for (std::size_t i = 0; i < m.n; ++i)
        for (std::size_t j = 0; j < m.n; ++j) expected[i * m.n + j] = m(i, j);
      EXPECT_LT(difference(t.a, expected), 1e-13) << name(run);
    });
  }
}

TEST(SymmetricSweeps, of_a_symmetric_matrix_are_a_symmetric_operator)
{
  const Pattern pattern = symmetrised(ring_pattern(12, 2, 7));
  const std::vector<int> color = greedy_coloring(pattern);
  const BlockMatrix matrix = make_matrix(3, pattern, {.symmetric = true, .seed = 8});
  const Ranks ranks = build_ranks(pattern, color, 3, {0, matrix.rows()});
  for (const PCMCPIForm form : kForms) {
    System system(ranks, reference_kind(PC_MCPI_PRECISION_FP64, form));
    system.refresh(matrix);
    for (const double omega : kOmegas)
      for (const int its : {1, 2, 3}) {
        const Dense m = system.matrix(make_run(PC_MCPI_SWEEP_SYMMETRIC, omega, its, true));
        Vector transposed(m.a.size());
        for (std::size_t i = 0; i < m.n; ++i)
          for (std::size_t j = 0; j < m.n; ++j) transposed[i * m.n + j] = m(i, j);
        EXPECT_LT(difference(m.a, transposed), 1e-13) << "omega " << omega << " its " << its;
      }
  }
}

// Reading only the triangles that are needed changes nothing but rounding. This also holds if the
// plain iteration starts from a guess of zero.
TEST(Shortcuts, give_the_plain_iteration)
{
  for (const int bs : {1, 5}) {
    const Pattern pattern = ring_pattern(20, 2, 9);
    const std::vector<int> color = greedy_coloring(pattern);
    const BlockMatrix matrix = make_matrix(bs, pattern, {.pivots = true, .seed = 10});
    const Ranks ranks = build_ranks(pattern, color, bs, {0, matrix.rows()});
    const Vector b = random_vector(matrix.size(), 11), guess = random_vector(matrix.size(), 12),
                 zero(matrix.size(), 0.0);
    System system(ranks, reference_kind());
    system.refresh(matrix);
    for_runs(4, [&](const Smoothing &run) {
      for (const bool transposed : {false, true}) {
        Smoothing mine = run, plain = run;
        plain.sweep.shortcuts = false;
        plain.from_zero = false;
        mine.apply.transposed = plain.apply.transposed = transposed;
        if (transposed && !run.from_zero) continue;
        const Vector expected = system.apply(plain, b, run.from_zero ? zero : guess);
        EXPECT_LT(difference(system.apply(mine, b, guess), expected), 1e-14) << name(mine);
      }
    });
  }
}

TEST(Shortcuts, read_the_blocks_that_they_claim)
{
  const Pattern pattern = ring_pattern(30, 2, 13);
  const auto color = greedy_coloring(pattern);
  const Ranks ranks = build_ranks(pattern, color, 2, {0, 30});
  const ColorPlan plan = ranks.forward[0];
  const Offset lower = plan.lower.ptr.back(), upper = plan.upper.ptr.back(), all = plan.blocks();
  System system(ranks, reference_kind());
  const auto read = [&](PCMCPISweepType sweep, double omega, int its, bool from_zero) {
    return system.blocks_read(make_run(sweep, omega, its, from_zero));
  };
  ASSERT_NE(lower, upper);
  for (const double omega : kOmegas)
    for (int its = 1; its <= 4; ++its) {
      EXPECT_EQ(read(PC_MCPI_SWEEP_FORWARD, omega, its, true), lower + (its - 1) * all);
      EXPECT_EQ(read(PC_MCPI_SWEEP_BACKWARD, omega, its, true), upper + (its - 1) * all);
      EXPECT_EQ(read(PC_MCPI_SWEEP_FORWARD, omega, its, false), its * all);
      EXPECT_EQ(read(PC_MCPI_SWEEP_BACKWARD, omega, its, false), its * all);
      // Each pass reads one triangle, and the passes alternate. The color at which the direction
      // changes has no triangle to read.
      EXPECT_EQ(read(PC_MCPI_SWEEP_SYMMETRIC, omega, its, true), its * all);
      EXPECT_EQ(read(PC_MCPI_SWEEP_SYMMETRIC, omega, its, false), all + upper + (its - 1) * all);
      EXPECT_EQ(system.blocks_read(make_run(PC_MCPI_SWEEP_SYMMETRIC, omega, its, true, false)),
                lower + (2 * its - 1) * all);
    }
}

class LoggingHalo final : public Halo {
public:
  int prepare(std::size_t) override { return 0; }
  int begin(int color, void *) override { return note("begin", color); }
  int end(int color, void *) override { return note("end", color); }
  int exchange_all(void *) override { return note("all", 0); }

  std::vector<std::string> log;
  std::string fails;

private:
  int note(const std::string &call, int number)
  {
    log.push_back(call + " " + std::to_string(number));
    return call == fails ? 99 : 0;
  }
};

TEST(MulticolorSweep, errors_end_the_run)
{
  const Pattern pattern = ring_pattern(10, 1, 24);
  const BlockMatrix matrix = make_matrix(2, pattern, {.pivots = true, .seed = 25});
  const Ranks ranks = build_ranks(pattern, greedy_coloring(pattern), 2, {0, 10});
  System system(ranks, reference_kind());
  system.refresh(matrix);
  const Vector b = random_vector(20, 26);
  for (const char *call : {"begin", "end", "all"}) {
    const Smoothing run = make_run(PC_MCPI_SWEEP_FORWARD, 1.0, 2, false);
    LoggingHalo halo;
    halo.fails = call;
    system.backend().load_rhs(run.apply, {b.data(), 20});
    system.backend().load_guess(run.apply, {b.data(), 20});
    MulticolorSweep sweep(ranks.forward[0], system.backend(), halo, run.sweep);
    EXPECT_EQ(sweep.run(run.apply, run.its, run.from_zero), 99);
    EXPECT_EQ(halo.log.back().rfind(call, 0), 0u) << "went on after an error of " << call;
  }
}

// After an application that failed, other ranks may still wait for its exchanges. This rank refuses
// further applications, because it can no longer make the same exchanges as the other ranks.
TEST(MulticolorSweep, no_application_follows_one_that_failed_half_way)
{
  LoggingHalo halo;
  {
    ApplyGuard apply(halo);
    apply.end();
  }
  EXPECT_NO_THROW(halo.require_usable());
  try {
    ApplyGuard apply(halo);
    throw std::runtime_error("a device");
  } catch (const std::runtime_error &) {
  }
  EXPECT_THROW(ApplyGuard apply(halo), std::runtime_error);

  NoHalo nobody; // No other rank waits.
  nobody.abandon();
  EXPECT_NO_THROW(ApplyGuard apply(nobody));
}

// Values that no rank reads again are not sent. A forward sweep from zero needs one exchange fewer
// than there are colors.
TEST(MulticolorSweep, nothing_is_sent_in_vain)
{
  const Pattern pattern = {{1, 2}, {0, 2}, {0, 1}};
  const BlockMatrix matrix = make_matrix(1, pattern, {.pivots = true, .seed = 27});
  const Ranks ranks = build_ranks(pattern, {0, 1, 2}, 1, {0, 3});
  System system(ranks, reference_kind());
  system.refresh(matrix);
  const Vector b = random_vector(3, 28);
  const auto log = [&](const Smoothing &run) {
    LoggingHalo halo;
    system.backend().load_rhs(run.apply, {b.data(), 3});
    system.backend().load_guess(run.apply, {b.data(), 3});
    MulticolorSweep sweep(ranks.forward[0], system.backend(), halo, run.sweep);
    EXPECT_EQ(sweep.run(run.apply, run.its, run.from_zero), 0);
    return halo.log;
  };
  using Log = std::vector<std::string>;
  EXPECT_EQ(log(make_run(PC_MCPI_SWEEP_FORWARD, 1.0, 1, true)),
            (Log{"begin 0", "end 0", "begin 1", "end 1"}));
  EXPECT_EQ(log(make_run(PC_MCPI_SWEEP_BACKWARD, 1.0, 1, false)),
            (Log{"all 0", "begin 2", "end 2", "begin 1", "end 1"}));
  EXPECT_EQ(log(make_run(PC_MCPI_SWEEP_SYMMETRIC, 1.0, 1, true)),
            (Log{"begin 0", "end 0", "begin 1", "end 1", "begin 2", "end 2", "begin 1", "end 1"}));
  Smoothing by_sweep = make_run(PC_MCPI_SWEEP_FORWARD, 1.0, 3, true);
  by_sweep.sweep.frequency = PC_MCPI_HALO_FREQUENCY_SWEEP;
  EXPECT_EQ(log(by_sweep), (Log{"all 0", "all 0"}));
}

// Counts the interior rows that are relaxed between begin and end of an exchange. x is NaN before.
class OverlapHalo final : public Halo {
public:
  explicit OverlapHalo(const ColorPlan &plan) : plan_(plan) {}
  int prepare(std::size_t) override { return 0; }
  int begin(int color, void *x) override { return note(at_begin, color, x); }
  int end(int color, void *x) override { return note(at_end, color, x); }
  int exchange_all(void *) override { return 0; }

  int at_begin = 0, at_end = 0; // rows that were relaxed at that time

private:
  int note(int &ready, int color, const void *x)
  {
    const double *values = static_cast<const double *>(x);
    for (Row row = plan_.color_begin[color]; row < plan_.color_begin[color + 1]; ++row)
      ready += values[row * plan_.bs] == values[row * plan_.bs];
    return 0;
  }
  const ColorPlan &plan_;
};

TEST(MulticolorSweep, interior_rows_are_relaxed_while_ghosts_travel)
{
  const Pattern pattern = ring_pattern(20, 1, 30);
  const BlockMatrix matrix = make_matrix(2, pattern, {.pivots = true, .seed = 31});
  const Ranks ranks = build_ranks(pattern, greedy_coloring(pattern), 2, {0, 20});
  const ColorPlan &plan = ranks.forward[0];
  // The rows of the last color are not sent.
  const Row last = plan.color_begin[plan.colors] - plan.color_begin[plan.colors - 1];
  System system(ranks, reference_kind());
  system.refresh(matrix);
  const Smoothing run = make_run(PC_MCPI_SWEEP_FORWARD, 1.0, 1, true);
  system.backend().load_rhs(run.apply, {random_vector(40, 32).data(), 40});
  double *x = static_cast<double *>(system.backend().vector());
  std::fill(x, x + 40, kNaN);
  OverlapHalo halo(plan);
  EXPECT_EQ(MulticolorSweep(plan, system.backend(), halo, run.sweep)
                .run(run.apply, run.its, run.from_zero),
            0);
  EXPECT_EQ(halo.at_begin, 0);
  EXPECT_EQ(halo.at_end, 20 - last);
}

class RecordingBackend final : public IdleBackend {
public:
  void relax(const ApplyArgs &, const RelaxStep &step) override { steps.push_back(step); }

  std::vector<RelaxStep> steps;
};

// Returns the steps of a run, with or without several parts in a step.
std::vector<RelaxStep> steps_of(const ColorPlan &plan, Smoothing run, bool several_parts)
{
  RecordingBackend backend;
  NoHalo halo;
  run.sweep.several_parts = several_parts;
  MulticolorSweep sweep(plan, backend, halo, run.sweep);
  EXPECT_EQ(sweep.run(run.apply, run.its, run.from_zero), 0);
  std::vector<RelaxStep> steps = backend.steps;
  std::erase_if(steps, [](const RelaxStep &step) { return step.begin == step.end; });
  return steps;
}

TEST(MulticolorSweep, several_parts_in_a_step_are_the_parts_one_after_the_other)
{
  const Pattern pattern = ring_pattern(60, 3, 33);
  const Ranks ranks = build_ranks(pattern, greedy_coloring(pattern), 2, {0, 60});
  const ColorPlan &plan = ranks.forward[0];
  for_runs(3, [&](const Smoothing &run) {
    const std::vector<RelaxStep> parts = steps_of(plan, run, false),
                                 steps = steps_of(plan, run, true);
    std::size_t part = 0;
    for (const RelaxStep &step : steps) {
      Row rows = 0;
      const Row all = step.end - step.begin;
      for (; rows < all && part < parts.size(); ++part) {
        const RelaxStep &at = parts[part];
        EXPECT_EQ(step.forward ? at.begin : step.end,
                  step.forward ? step.begin + rows : at.end + rows);
        RelaxStep alike = at;
        alike.begin = step.begin;
        alike.end = step.end;
        EXPECT_TRUE(alike == step) << name(run);
        rows += at.end - at.begin;
      }
      EXPECT_EQ(rows, all) << name(run);
    }
    EXPECT_EQ(part, parts.size()) << name(run);
    const int passes = run.sweep.sweep == PC_MCPI_SWEEP_SYMMETRIC ? 2 * run.its : run.its;
    EXPECT_LE(steps.size(), 2 * static_cast<std::size_t>(passes)) << name(run);
  });
}

// Each row has a color, as with levels of a chain of rows.
TEST(MulticolorSweep, symmetric_sweeps_over_many_colors_read_one_triangle_in_a_pass)
{
  constexpr Row kRows = 1000;
  Pattern pattern(kRows);
  std::vector<int> color(kRows);
  for (Row row = 0; row < kRows; ++row) {
    if (row > 0) pattern[row].push_back(row - 1);
    if (row + 1 < kRows) pattern[row].push_back(row + 1);
    color[row] = static_cast<int>(row);
  }
  const Ranks ranks = build_ranks(pattern, color, 2, {0, kRows});
  RecordingBackend backend;
  NoHalo halo;
  for (const bool several_parts : {false, true}) {
    SweepConfig config;
    config.sweep = PC_MCPI_SWEEP_SYMMETRIC;
    config.several_parts = several_parts;
    const MulticolorSweep sweep(ranks.forward[0], backend, halo, config);
    const int its = several_parts ? 32 : 8;
    EXPECT_EQ(sweep.blocks_read({}, its, true), Offset{its} * 2 * (kRows - 1));
    config.max_relaxations = 0; // one piece, however long
    const MulticolorSweep whole(ranks.forward[0], backend, halo, config);
    EXPECT_EQ(whole.blocks_read({}, 1000, true), Offset{1000} * 2 * (kRows - 1));
  }
}

TEST(PlanParts, are_visited_from_and_to_any_row_in_both_orders)
{
  using Parts = std::vector<std::pair<Row, Row>>;
  const std::vector<Row> starts = {0, 4, 4, 6, 10};
  const auto visited = [&](Row begin, Row end, bool forward) {
    Parts parts;
    for_parts(starts, begin, end, forward, [&](Row b, Row e) { parts.emplace_back(b, e); });
    return parts;
  };
  EXPECT_EQ(visited(0, 12, true), (Parts{{0, 4}, {4, 6}, {6, 10}, {10, 12}}));
  EXPECT_EQ(visited(2, 11, false), (Parts{{10, 11}, {6, 10}, {4, 6}, {2, 4}}));
  EXPECT_EQ(visited(4, 5, true), (Parts{{4, 5}}));
  EXPECT_EQ(visited(7, 9, false), (Parts{{7, 9}}));
  EXPECT_EQ(visited(5, 5, true), Parts{});
}

} // namespace
} // namespace mcpi::test
