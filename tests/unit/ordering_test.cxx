// Tests the order of rows inside colors. Each order is a permutation, coordinates give a Hilbert
// curve, and the automatic choice is not worse than the natural order.
#include "setup/ordering.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "petsc_environment.h"
#include "support/ranks.h"

namespace mcpi::test {
namespace {

constexpr PCMCPIOrderingType kGraphTypes[] = {PC_MCPI_ORDERING_AUTO, PC_MCPI_ORDERING_NATURAL,
                                              PC_MCPI_ORDERING_RCM};

BlockGraph make_graph(const Pattern &pattern)
{
  BlockGraph graph;
  graph.comm = PETSC_COMM_SELF;
  graph.bs = 1;
  graph.rows = static_cast<Row>(pattern.size());
  graph.global_rows = graph.rows;
  graph.ptr.assign(1, 0);
  graph.in_ptr.assign(pattern.size() + 1, 0);
  for (const auto &columns : pattern) {
    graph.col.insert(graph.col.end(), columns.begin(), columns.end());
    graph.ptr.push_back(static_cast<Offset>(graph.col.size()));
  }
  return graph;
}

Coloring make_coloring(const Pattern &pattern)
{
  Coloring coloring;
  coloring.color = greedy_coloring(pattern);
  coloring.colors =
      pattern.empty() ? 0 : 1 + *std::max_element(coloring.color.begin(), coloring.color.end());
  return coloring;
}

// A grid of n x n points. number: the row of each point
Pattern grid(Row n, const std::vector<Row> &number)
{
  Pattern pattern(number.size());
  for (Row i = 0; i < n; ++i)
    for (Row j = 0; j < n; ++j)
      for (const auto &[k, l] :
           {std::pair{i - 1, j}, std::pair{i + 1, j}, std::pair{i, j - 1}, std::pair{i, j + 1}})
        if (k >= 0 && k < n && l >= 0 && l < n)
          pattern[number[i * n + j]].push_back(number[k * n + l]);
  for (auto &columns : pattern) std::sort(columns.begin(), columns.end());
  return pattern;
}

std::vector<Row> scrambled(Row count)
{
  std::vector<Row> number(count);
  std::iota(number.begin(), number.end(), 0);
  std::shuffle(number.begin(), number.end(), std::mt19937(1));
  return number;
}

std::vector<Row> natural(Row count)
{
  std::vector<Row> number(count);
  std::iota(number.begin(), number.end(), 0);
  return number;
}

bool is_permutation_of_rows(std::vector<Row> order, std::size_t rows)
{
  std::sort(order.begin(), order.end());
  return order == natural(static_cast<Row>(rows));
}

std::vector<Row> ordered(const Pattern &pattern, PCMCPIOrderingType type,
                         const Coordinates &coordinates, PCMCPIOrderingType expected)
{
  std::vector<Row> order = {-1, -1};
  OrderingUsed used{PC_MCPI_ORDERING_AUTO, true};
  EXPECT_EQ(
      OrderingCreate(make_graph(pattern), make_coloring(pattern), type, coordinates, &order, &used),
      0);
  if (expected != PC_MCPI_ORDERING_AUTO) {
    EXPECT_EQ(used.type, expected);
  }
  EXPECT_NE(used.type, PC_MCPI_ORDERING_AUTO);
  EXPECT_TRUE(is_permutation_of_rows(order, pattern.size()));
  return order;
}

// The number of distinct groups of 4 rows of x that each tile of 32 rows reads, summed over tiles
std::size_t gathered_lines(const Pattern &pattern, const std::vector<Row> &order)
{
  const std::vector<int> color = greedy_coloring(pattern);
  std::vector<Row> sorted(order), place(order.size());
  std::stable_sort(sorted.begin(), sorted.end(), [&](Row a, Row b) { return color[a] < color[b]; });
  for (std::size_t p = 0; p < sorted.size(); ++p) place[sorted[p]] = static_cast<Row>(p);
  std::size_t lines = 0;
  for (std::size_t tile = 0; tile < sorted.size(); tile += 32) {
    std::set<Row> touched;
    for (std::size_t p = tile; p < std::min(tile + 32, sorted.size()); ++p)
      for (const Row j : pattern[sorted[p]]) touched.insert(place[j] / 4);
    lines += touched.size();
  }
  return lines;
}

TEST(Ordering, of_every_type_is_a_permutation)
{
  const Pattern disconnected = {{}, {2}, {}, {1}, {}};
  for (const Pattern &pattern :
       {ring_pattern(50, 2, 1), grid(9, scrambled(81)), disconnected, Pattern(1), Pattern()})
    for (const PCMCPIOrderingType type : kGraphTypes)
      ordered(pattern, type, {}, pattern.empty() ? PC_MCPI_ORDERING_AUTO : type);
}

TEST(Ordering, natural_is_the_matrix_order)
{
  EXPECT_EQ(ordered(ring_pattern(50, 2, 1), PC_MCPI_ORDERING_NATURAL, {}, PC_MCPI_ORDERING_NATURAL),
            natural(50));
}

// The graph has rows that couple to other ranks' rows only, and columns that are ghosts.
TEST(Ordering, ignores_ghosts)
{
  BlockGraph graph = make_graph({{1}, {0, 2}, {1}});
  graph.ghosts = {7, 9};
  graph.col = {1, 3, 0, 2, 1, 4};
  graph.ptr = {0, 2, 4, 6};
  graph.in_ptr = {0, 0, 1, 1};
  graph.in_col = {3};
  graph.in_slot = {0};
  Coloring coloring;
  coloring.colors = 2;
  coloring.color = {0, 1, 0};
  coloring.ghost_color = {0, 1};
  for (const PCMCPIOrderingType type : kGraphTypes) {
    std::vector<Row> order;
    OrderingUsed used;
    EXPECT_EQ(OrderingCreate(graph, coloring, type, {}, &order, &used), 0);
    EXPECT_TRUE(is_permutation_of_rows(order, 3));
  }
}

TEST(Ordering, auto_takes_the_most_local)
{
  const std::vector<Row> good = natural(30 * 30), bad = scrambled(30 * 30);
  for (const auto &number : {good, bad}) {
    const Pattern pattern = grid(30, number);
    const std::size_t by_auto =
        gathered_lines(pattern, ordered(pattern, PC_MCPI_ORDERING_AUTO, {}, PC_MCPI_ORDERING_AUTO));
    std::size_t least = gathered_lines(pattern, natural(30 * 30));
    if (number == bad) {
      EXPECT_LT(2 * by_auto, least);
    }
    least = std::min(least, gathered_lines(pattern, ordered(pattern, PC_MCPI_ORDERING_RCM, {},
                                                            PC_MCPI_ORDERING_RCM)));
    EXPECT_EQ(by_auto, least);
  }
}

// A Hilbert curve through a grid moves by one point at a time, and visits a square or cube of
// points completely before the next one. This holds for any unit and origin of the coordinates.
TEST(Ordering, coordinates_follow_hilberts_curve)
{
  for (const int dim : {1, 2, 3}) {
    const Row n = 8, count = static_cast<Row>(std::lround(std::pow(n, dim)));
    const std::vector<Row> place = scrambled(count);
    std::vector<Row> number(count);
    Coordinates coordinates{dim, Vector(static_cast<std::size_t>(count) * dim)};
    const auto cell = [&](Row point, int d) {
      return point / static_cast<Row>(std::lround(std::pow(n, d))) % n;
    };
    for (Row point = 0; point < count; ++point) {
      number[place[point]] = point;
      for (int d = 0; d < dim; ++d)
        coordinates.points[static_cast<std::size_t>(place[point]) * dim + d] =
            -5.0e3 + 1.7e-3 * cell(point, d) * (d + 1);
    }
    const Pattern pattern(count);
    const std::vector<Row> order =
        ordered(pattern, PC_MCPI_ORDERING_COORDINATES, coordinates, PC_MCPI_ORDERING_COORDINATES);
    for (Row k = 1; k < count; ++k) {
      int steps = 0;
      for (int d = 0; d < dim; ++d)
        steps += std::abs(cell(number[order[k]], d) - cell(number[order[k - 1]], d));
      ASSERT_EQ(steps, 1) << dim << " dimensions, at " << k;
    }
    for (Row size = 2, whole = 1 << dim; size < n; size *= 2, whole <<= dim)
      for (Row k = 0; k < count; ++k)
        for (int d = 0; d < dim; ++d)
          ASSERT_EQ(cell(number[order[k]], d) / size,
                    cell(number[order[k / whole * whole]], d) / size)
              << dim << " dimensions, at " << k;
    EXPECT_EQ(ordered(pattern, PC_MCPI_ORDERING_AUTO, coordinates, PC_MCPI_ORDERING_COORDINATES),
              order)
        << dim;
    EXPECT_EQ(ordered(pattern, PC_MCPI_ORDERING_NATURAL, coordinates, PC_MCPI_ORDERING_NATURAL),
              natural(count))
        << dim;
  }
}

TEST(Ordering, degenerate_coordinates_keep_the_natural_order)
{
  for (const int dim : {1, 2, 3})
    for (const double value : {0.0, -3.5, 1e300})
      EXPECT_EQ(ordered(Pattern(20), PC_MCPI_ORDERING_COORDINATES, {dim, Vector(20 * dim, value)},
                        PC_MCPI_ORDERING_COORDINATES),
                natural(20));
  ordered(Pattern(), PC_MCPI_ORDERING_COORDINATES, {3, {}}, PC_MCPI_ORDERING_COORDINATES);
  ordered(Pattern(2), PC_MCPI_ORDERING_COORDINATES, {1, {-1.7e308, 1.7e308}},
          PC_MCPI_ORDERING_COORDINATES);
}

TEST(Ordering, coordinates_without_coordinates_is_an_error)
{
  std::vector<Row> order;
  OrderingUsed used;
  const Pattern pattern = ring_pattern(5, 1, 1);
  ASSERT_EQ(PetscPushErrorHandler(PetscReturnErrorHandler, nullptr), 0);
  EXPECT_EQ(OrderingCreate(make_graph(pattern), make_coloring(pattern),
                           PC_MCPI_ORDERING_COORDINATES, {}, &order, &used),
            PETSC_ERR_ORDER);
  ASSERT_EQ(PetscPopErrorHandler(), 0);
}

} // namespace
} // namespace mcpi::test
