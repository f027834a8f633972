// Compares the order of the rows of a graph with that of PETSc.
#include "setup/graph_orders.h"

#include <gtest/gtest.h>
#include <petscmat.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "petsc/compat.h"
#include "petsc_environment.h"
#include "support/models.h"

namespace mcpi::test {
namespace {

struct OwnGraph {
  std::vector<Offset> ptr{0};
  std::vector<Row> col;

  explicit OwnGraph(const Pattern &pattern)
  {
    for (const auto &columns : pattern) {
      col.insert(col.end(), columns.begin(), columns.end());
      ptr.push_back(static_cast<Offset>(col.size()));
    }
  }
  RowGraph graph() const { return {ptr, col}; }
};

PetscErrorCode order_by_petsc(const Pattern &pattern, std::vector<Row> *order)
{
  std::vector<PetscInt> ptr{0}, col;
  Mat mat;
  IS rows, columns;
  const PetscInt *index;

  PetscFunctionBeginUser;
  for (std::size_t row = 0; row < pattern.size(); ++row) {
    col.insert(col.end(), pattern[row].begin(), pattern[row].end());
    col.push_back(static_cast<PetscInt>(row));
    std::sort(col.begin() + ptr.back(), col.end());
    ptr.push_back(static_cast<PetscInt>(col.size()));
  }
  std::vector<PetscScalar> values(col.size(), 1.0);
  const auto count = static_cast<PetscInt>(pattern.size());
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, count, count, ptr.data(), col.data(),
                                      values.data(), &mat));
  PetscCall(MatGetOrdering(mat, MATORDERINGRCM, &rows, &columns));
  PetscCall(ISGetIndices(rows, &index));
  order->assign(index, index + count);
  PetscCall(ISRestoreIndices(rows, &index));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscCall(MatDestroy(&mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

Pattern shuffled(const Pattern &pattern)
{
  std::vector<Row> number(pattern.size());
  std::iota(number.begin(), number.end(), 0);
  std::shuffle(number.begin(), number.end(), std::mt19937(3));
  Pattern result(pattern.size());
  for (std::size_t row = 0; row < pattern.size(); ++row) {
    for (const Row column : pattern[row]) result[number[row]].push_back(number[column]);
    std::sort(result[number[row]].begin(), result[number[row]].end());
  }
  return result;
}

// Several graphs without couplings to each other, and rows without neighbors
Pattern together(const std::vector<Pattern> &parts)
{
  Pattern result(2);
  for (const Pattern &part : parts) {
    const auto first = static_cast<Row>(result.size());
    for (std::vector<Row> columns : part) {
      for (Row &column : columns) column += first;
      result.push_back(columns);
    }
    result.emplace_back();
  }
  return result;
}

void expect_order_of_petsc(const Pattern &pattern)
{
  const OwnGraph own(pattern);
  std::vector<Row> expected, order(pattern.size(), -1);
  ASSERT_EQ(order_by_petsc(pattern, &expected), 0);
  order_by_rcm(own.graph(), &order);
  EXPECT_TRUE(order == expected) << "rcm of " << pattern.size() << " rows";
}

TEST(GraphOrders, are_those_of_petsc)
{
  const Pattern box = tetrahedral_pattern(9, 8, 7), line = tetrahedral_pattern(300, 2, 1),
                random = random_pattern(500, 3, true), ring = symmetrised(ring_pattern(200, 5, 2));
  for (const Pattern &pattern : {Pattern(1), Pattern(3), ring}) expect_order_of_petsc(pattern);
  for (const Pattern &pattern : {box, line, random, together({box, random, line, ring, box})}) {
    expect_order_of_petsc(pattern);
    expect_order_of_petsc(shuffled(pattern));
  }
}

TEST(GraphOrders, of_many_rows_are_those_of_petsc)
{
  const Pattern box = tetrahedral_pattern(60, 50, 40), small = tetrahedral_pattern(9, 8, 7);
  expect_order_of_petsc(box);
  expect_order_of_petsc(shuffled(box));
  expect_order_of_petsc(shuffled(together({small, box, box, small})));
}

} // namespace
} // namespace mcpi::test
