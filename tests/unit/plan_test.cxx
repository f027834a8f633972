// Compares the plans of simulated ranks with an independent construction from the list of blocks.
#include "setup/plan_build.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "petsc_environment.h"
#include "support/plans.h"
#include "support/ranks.h"

namespace mcpi::test {
namespace {

using Block = std::pair<Row, Row>; // global row, global column

// The graph that BlockGraphCreate() would give one rank, made without messages. The owners of the
// ghosts are not the true ones: all ghosts are given as rows of this rank.
struct RankGraph {
  BlockGraph graph;
  Coloring coloring;
  std::vector<Block> leaves;   // off-process blocks in the order of graph.edges' leaves
  std::vector<Block> arriving; // blocks from other ranks, by slot
};

void make_rank_graph(const Pattern &pattern, const std::vector<int> &color,
                     const std::vector<Row> &start, int rank, RankGraph &result)
{
  BlockGraph &graph = result.graph;
  const Row first = start[rank], last = start[rank + 1];
  const auto local = [&](Row i) { return i >= first && i < last; };
  graph.comm = PETSC_COMM_SELF;
  graph.bs = 3;
  graph.row_start = first;
  graph.global_rows = static_cast<PetscInt>(pattern.size());
  graph.rows = last - first;
  for (Row i = 0; i < static_cast<Row>(pattern.size()); ++i)
    for (const Row j : pattern[i]) {
      if (local(i) && !local(j)) graph.ghosts.push_back(j);
      if (local(j) && !local(i)) graph.ghosts.push_back(i);
    }
  std::sort(graph.ghosts.begin(), graph.ghosts.end());
  graph.ghosts.erase(std::unique(graph.ghosts.begin(), graph.ghosts.end()), graph.ghosts.end());
  const auto column = [&](Row j) {
    return local(j) ? j - first
                    : graph.rows + static_cast<Row>(std::lower_bound(graph.ghosts.begin(),
                                                                     graph.ghosts.end(), j) -
                                                    graph.ghosts.begin());
  };
  graph.ptr.assign(1, 0);
  graph.in_ptr.assign(1, 0);
  for (Row i = first; i < last; ++i) {
    for (const bool own : {true, false})
      for (const Row j : pattern[i]) {
        if (local(j) != own) continue;
        graph.col.push_back(column(j));
        if (!own) result.leaves.emplace_back(i, j);
      }
    graph.ptr.push_back(static_cast<Offset>(graph.col.size()));
    std::vector<Row> readers;
    for (Row j = 0; j < static_cast<Row>(pattern.size()); ++j)
      if (!local(j) && std::count(pattern[j].begin(), pattern[j].end(), i)) readers.push_back(j);
    // Blocks arrive in another order than that of their rows.
    for (std::size_t k = 0; k < readers.size(); ++k) {
      graph.in_col.push_back(column(readers[k]));
      graph.in_slot.push_back(graph.in_ptr.back() + static_cast<Offset>(readers.size() - 1 - k));
      result.arriving.emplace_back(readers[readers.size() - 1 - k], i);
    }
    graph.in_ptr.push_back(static_cast<Offset>(graph.in_col.size()));
  }
  std::vector<PetscSFNode> remote;
  for (std::size_t g = 0; g < graph.ghosts.size(); ++g) {
    PetscSFNode node;
    node.rank = 0;
    node.index = static_cast<PetscInt>(g) % graph.rows;
    remote.push_back(node);
  }
  ASSERT_EQ(PetscSFCreate(graph.comm, &graph.ghost_sf), 0);
  ASSERT_EQ(PetscSFSetGraph(graph.ghost_sf, graph.rows, static_cast<PetscInt>(remote.size()),
                            nullptr, PETSC_COPY_VALUES, remote.data(), PETSC_COPY_VALUES),
            0);
  result.coloring.colors = 1 + *std::max_element(color.begin(), color.end());
  result.coloring.color.assign(color.begin() + first, color.begin() + last);
  for (const PetscInt g : graph.ghosts) result.coloring.ghost_color.push_back(color[g]);
}

// The block of the matrix that each stored block holds, lower triangle first
std::vector<Block> stored_blocks(const RankGraph &rank, const ColorPlan &plan)
{
  std::vector<Block> blocks;
  for (const Triangle *triangle : {&plan.lower, &plan.upper})
    for (Row p = 0; p < plan.rows; ++p)
      for (Offset k = triangle->ptr[p]; k < triangle->ptr[p + 1]; ++k) {
        const Row i = plan.row_of[p];
        blocks.emplace_back(
            rank.graph.row_start + i,
            rank.graph.global_row(rank.graph.col[rank.graph.ptr[i] + triangle->source[k]]));
      }
  return blocks;
}

class Plans : public testing::TestWithParam<std::vector<Row>> {
protected:
  void SetUp() override
  {
    ranks_.resize(static_cast<std::size_t>(expected.count()));
    built_.resize(ranks_.size());
    for (int r = 0; r < expected.count(); ++r) {
      make_rank_graph(pattern, color, start, r, ranks_[r]);
      std::vector<Row> local;
      for (const Row i : order)
        if (i >= start[r] && i < start[r + 1]) local.push_back(i - start[r]);
      ASSERT_EQ(PlanBuild(ranks_[r].graph, ranks_[r].coloring, local, {.equal_rows_together = true},
                          &built_[r]),
                0);
    }
  }
  void TearDown() override
  {
    for (RankGraph &rank : ranks_) EXPECT_EQ(BlockGraphDestroy(&rank.graph), 0);
  }

  static std::vector<Row> shuffled(Row rows)
  {
    std::vector<Row> order(rows);
    for (Row i = 0; i < rows; ++i) order[i] = (7 * i + 3) % rows;
    return order;
  }

  const std::vector<Row> start = GetParam();
  const Pattern pattern = ring_pattern(30, 1, 1);
  const std::vector<int> color = greedy_coloring(pattern);
  const std::vector<Row> order = shuffled(30);
  const Ranks expected = build_ranks(pattern, color, 3, start, order);
  std::vector<RankGraph> ranks_;
  std::vector<BuiltPlan> built_;
};
INSTANTIATE_TEST_SUITE_P(Partitions, Plans,
                         testing::Values(std::vector<Row>{0, 30}, std::vector<Row>{0, 13, 30},
                                         std::vector<Row>{0, 4, 17, 30},
                                         std::vector<Row>{0, 11, 11, 30}));

TEST_P(Plans, forward_plan_holds_every_block_in_its_place)
{
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    expect_same_structure(built_[r].plan, expected.forward[r]);
    std::vector<Block> mine = stored_blocks(ranks_[r], built_[r].plan), theirs;
    const ColorPlan &plan = expected.forward[r];
    for (const Triangle *triangle : {&plan.lower, &plan.upper})
      for (Row p = 0; p < plan.rows; ++p)
        for (Offset k = triangle->ptr[p]; k < triangle->ptr[p + 1]; ++k) {
          const Row i = start[r] + plan.row_of[p];
          theirs.emplace_back(i, pattern[i][triangle->source[k]]);
        }
    EXPECT_EQ(mine, theirs);
  }
}

TEST_P(Plans, ghosts_know_their_place_and_their_owners_plan_row)
{
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const BlockGraph &graph = ranks_[r].graph;
    const ColorPlan &plan = built_[r].plan;
    ASSERT_EQ(built_[r].ghost_place.size(), graph.ghosts.size());
    ASSERT_EQ(built_[r].ghost_owner.size(), graph.ghosts.size());
    for (std::size_t g = 0; g < graph.ghosts.size(); ++g) {
      const Row place = built_[r].ghost_place[g];
      EXPECT_EQ(expected.global_ghosts[r][place], graph.ghosts[g]);
      const PetscSFNode owner = built_[r].ghost_owner[place];
      EXPECT_EQ(owner.rank, 0);
      EXPECT_EQ(plan.row_of.at(static_cast<std::size_t>(owner.index)),
                static_cast<Row>(g) % graph.rows);
    }
  }
}

TEST_P(Plans, transposed_plan_reads_the_transposed_blocks)
{
  std::vector<ColorPlan> transposed(ranks_.size());
  std::vector<std::vector<Offset>> outgoing(ranks_.size());
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    outgoing[r].assign(5, -1);
    PlanBuildTransposed(ranks_[r].graph, built_[r], &transposed[r], &outgoing[r]);
    // The outgoing blocks are the off-process blocks, in the order of the leaves.
    const std::vector<Block> stored = stored_blocks(ranks_[r], built_[r].plan);
    std::vector<Block> sent;
    for (const Offset block : outgoing[r])
      sent.push_back(stored.at(static_cast<std::size_t>(block)));
    EXPECT_EQ(sent, ranks_[r].leaves);
  }
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const ColorPlan &plan = transposed[r];
    expect_same_structure(plan, expected.transposed[r]);
    std::vector<Block> blocks = stored_blocks(ranks_[r], built_[r].plan);
    ASSERT_EQ(static_cast<Offset>(blocks.size()), built_[r].plan.blocks());
    blocks.insert(blocks.end(), ranks_[r].arriving.begin(), ranks_[r].arriving.end());
    for (const Triangle *triangle : {&plan.lower, &plan.upper})
      for (Row p = 0; p < plan.rows; ++p)
        for (Offset k = triangle->ptr[p]; k < triangle->ptr[p + 1]; ++k) {
          const Row column = triangle->col[k];
          const Row global = column < plan.rows ? start[r] + plan.row_of[column]
                                                : expected.global_ghosts[r][column - plan.rows];
          EXPECT_EQ(blocks.at(static_cast<std::size_t>(triangle->source[k])),
                    Block(global, start[r] + plan.row_of[p]));
        }
  }
}

} // namespace
} // namespace mcpi::test
