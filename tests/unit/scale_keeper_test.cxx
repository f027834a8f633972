// When scales are made again, and what that costs.
#include "core/scale_keeper.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support.h"

namespace mcpi::test {
namespace {

// Passes over the values of a matrix whose true maxima are these
int passes(ScaleKeeper &keeper, const Vector &maxima)
{
  const int     bs    = static_cast<int>(std::lround(std::sqrt(static_cast<double>(maxima.size()))));
  int           count = 0;
  NumericStatus status;
  const auto    convert = [&](ScaleKeeper::Pass) {
    ++count;
    for (int q = 0; q < bs; ++q)
      for (int p = 0; p < bs; ++p) keeper.maxima()[p + q * bs] = keeper.scales().left[p] * maxima[p + q * bs] * keeper.scales().right[q];
  };
  EXPECT_EQ(keeper.refresh(
                convert, [](double *, int) { return 0; }, status),
            0);
  return count;
}

Vector times(double factor, Vector values)
{
  for (double &value : values) value *= factor;
  return values;
}

const NumericConfig kInt4{PC_MCPI_PRECISION_INT4, PC_MCPI_FORM_PRESCALED, PC_MCPI_SCALING_BALANCED};
const Vector        kMaxima = {1.0, 1e-4, 1e4, 2.0};

TEST(ScaleKeeper, ReadsTwiceAtFirstAndThenOnce)
{
  ScaleKeeper keeper(kInt4, 2);
  EXPECT_EQ(passes(keeper, kMaxima), 2);
  const Scales first = keeper.scales();
  EXPECT_EQ(passes(keeper, times(3.0, kMaxima)), 1);
  EXPECT_EQ(passes(keeper, times(1000.0, kMaxima)), 1);
  EXPECT_EQ(keeper.scales().right, first.right);
}

TEST(ScaleKeeper, StoresAgainWhatOutgrowsALimitedStorage)
{
  ScaleKeeper keeper(kInt4, 2, true);
  EXPECT_EQ(passes(keeper, kMaxima), 2);
  const double first = keeper.largest();
  EXPECT_GE(first, 2.0);
  EXPECT_EQ(passes(keeper, times(3.0, kMaxima)), 1);
  EXPECT_EQ(keeper.largest(), first);
  EXPECT_EQ(passes(keeper, times(5.0, kMaxima)), 2);
  EXPECT_EQ(keeper.largest(), 5.0 * first);
  EXPECT_EQ(passes(keeper, kMaxima), 1); // what shrinks a little still fits
  EXPECT_EQ(passes(keeper, times(1e-6, kMaxima)), 2);
}

TEST(ScaleKeeper, WithoutScalingReadsOnceAndReducesNothing)
{
  ScaleKeeper keeper({PC_MCPI_PRECISION_INT4, PC_MCPI_FORM_PRESCALED, PC_MCPI_SCALING_NONE}, 2, true);
  EXPECT_EQ(passes(keeper, kMaxima), 1);
  EXPECT_EQ(passes(keeper, times(100.0, kMaxima)), 1);
}

} // namespace
} // namespace mcpi::test
