// Tests when scales are computed again, and how many passes over the values that takes.
#include "core/scale_updater.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/errors.h"
#include "support/ranks.h"

namespace mcpi::test {
namespace {

// Returns the number of passes over the values of a matrix with these maxima.
int passes(ScaleUpdater &updater, const Vector &maxima)
{
  const int bs = static_cast<int>(std::lround(std::sqrt(static_cast<double>(maxima.size()))));
  int count = 0;
  NumericStatus status;
  const auto convert = [&](ScaleUpdater::Pass) {
    ++count;
    for (int q = 0; q < bs; ++q)
      for (int p = 0; p < bs; ++p)
        updater.maxima()[p + q * bs] =
            updater.scales().left[p] * maxima[p + q * bs] * updater.scales().right[q];
  };
  EXPECT_EQ(updater.refresh(
                convert, [](double *, int) { return 0; }, status),
            0);
  return count;
}

Vector times(double factor, Vector values)
{
  for (double &value : values) value *= factor;
  return values;
}

const NumericConfig kInt4{PC_MCPI_PRECISION_INT4, PC_MCPI_FORM_PRESCALED};
const Vector kMaxima = {1.0, 1e-4, 1e4, 2.0};

TEST(ScaleUpdater, reads_twice_at_first_and_then_once)
{
  ScaleUpdater updater(kInt4, 2);
  EXPECT_EQ(passes(updater, kMaxima), 2);
  const Scales first = updater.scales();
  EXPECT_EQ(passes(updater, times(3.0, kMaxima)), 1);
  EXPECT_EQ(passes(updater, times(1000.0, kMaxima)), 1);
  EXPECT_EQ(updater.scales().right, first.right);
}

// This rank still takes part in the reduction, because the other ranks wait for it. The reduced
// value tells them of the failure.
template <class Exception> void expect_step_is_kept(const Exception &exception)
{
  ScaleUpdater updater(kInt4, 2);
  NumericStatus status;
  int reductions = 0;
  double largest = 0.0;
  const auto reduce = [&](double *values, int count) {
    ++reductions;
    largest = *std::max_element(values, values + count);
    return 0;
  };
  EXPECT_EQ(updater.refresh([&](ScaleUpdater::Pass) { throw exception; }, reduce, status), 0);
  EXPECT_EQ(reductions, 1);
  EXPECT_TRUE(std::isinf(largest));
  EXPECT_EQ(status.defect, Defect::backend);
  EXPECT_EQ(status.problem, "unreadable");
  EXPECT_EQ(passes(updater, kMaxima), 2); // The next set-up is like a first one.
}

TEST(ScaleUpdater, keeps_step_with_other_ranks_when_values_cannot_be_read)
{
  expect_step_is_kept(std::runtime_error("unreadable"));
  expect_step_is_kept(OutOfMemory("unreadable"));
}

// The maxima of a matrix with a bad row lack those of this row.
TEST(ScaleUpdater, makes_new_scales_after_bad_values)
{
  ScaleUpdater updater(kInt4, 2);
  NumericStatus status;
  const auto convert = [&](ScaleUpdater::Pass) {
    updater.maxima() = kMaxima;
    status = {Defect::singular, 3};
  };
  EXPECT_EQ(updater.refresh(
                convert, [](double *, int) { return 0; }, status),
            0);
  EXPECT_EQ(status.defect, Defect::singular);
  EXPECT_EQ(passes(updater, kMaxima), 2); // The next set-up is like a first one.
  EXPECT_EQ(passes(updater, kMaxima), 1);
}

// A row does not fit the scales. If another rank's values make new scales necessary, the row is
// stored again with these. Otherwise the row is reported.
TEST(ScaleUpdater, tells_what_outgrew_its_scales_from_what_is_bad)
{
  for (const bool worse : {false, true}) {
    ScaleUpdater updater(kInt4, 2);
    NumericStatus status;
    int count = 0;
    EXPECT_EQ(passes(updater, kMaxima), 2);
    const auto convert = [&](ScaleUpdater::Pass pass) {
      ++count;
      updater.maxima()[1] = std::numeric_limits<double>::infinity();
      if (pass == ScaleUpdater::Pass::store) status = {Defect::unrepresentable, 3};
    };
    const auto reduce = [&](double *values, int size) {
      if (worse) values[size - 1] = 1.0;
      return 0;
    };
    EXPECT_EQ(updater.refresh(convert, reduce, status), 0);
    EXPECT_EQ(count, worse ? 2 : 1);
    EXPECT_EQ(status.defect, worse ? Defect::none : Defect::unrepresentable);
  }
}

TEST(ScaleUpdater, stores_again_what_outgrows_a_limited_storage)
{
  ScaleUpdater updater(kInt4, 2, true);
  EXPECT_EQ(passes(updater, kMaxima), 2);
  const double first = updater.largest();
  EXPECT_GE(first, 2.0);
  EXPECT_EQ(passes(updater, times(3.0, kMaxima)), 1);
  EXPECT_EQ(updater.largest(), first);
  EXPECT_EQ(passes(updater, times(5.0, kMaxima)), 2);
  EXPECT_EQ(updater.largest(), 5.0 * first);
  EXPECT_EQ(passes(updater, kMaxima), 1); // Scales are kept if values shrink a little.
  EXPECT_EQ(passes(updater, times(1e-6, kMaxima)), 2);
}

} // namespace
} // namespace mcpi::test
