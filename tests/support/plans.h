// Comparisons of plans
#pragma once

#include <gtest/gtest.h>

#include "core/plan.h"

namespace mcpi::test {

// Compares all but the stages, the chunks and the sources of the blocks.
inline void expect_same_structure(const ColorPlan &plan, const ColorPlan &expected)
{
  EXPECT_EQ(plan.bs, expected.bs);
  EXPECT_EQ(plan.rows, expected.rows);
  EXPECT_EQ(plan.ghosts, expected.ghosts);
  EXPECT_EQ(plan.colors, expected.colors);
  EXPECT_EQ(plan.color_begin, expected.color_begin);
  EXPECT_EQ(plan.boundary_end, expected.boundary_end);
  EXPECT_EQ(plan.ghost_begin, expected.ghost_begin);
  EXPECT_EQ(plan.row_of, expected.row_of);
  EXPECT_EQ(plan.lower.ptr, expected.lower.ptr);
  EXPECT_EQ(plan.lower.col, expected.lower.col);
  EXPECT_EQ(plan.upper.ptr, expected.upper.ptr);
  EXPECT_EQ(plan.upper.col, expected.upper.col);
}

} // namespace mcpi::test
