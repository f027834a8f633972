// Tests what a factorization does to the blocks of a rank, and the memory that it takes.
#include "method/elimination.h"
#include "graph_of.h"

#include <numeric>
#include <set>

#include "halo/ghost_rows.h"
#include "method/cuda/search.h"
#include "method/method.h"
#include "setup/coloring.h"
#include "setup/plan_build.h"
#include "support/allocations.h"

using namespace mcpi::test;
using namespace mcpi;

namespace {

// Calls use(plan, graph), which returns a PetscErrorCode.
template <class Use> PetscErrorCode with_plan(const BlockMatrix &matrix, Layout layout, Use use)
{
  OwnedMat mat;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, layout, MATBAIJ, &mat));
  PetscCall(with_graph(mat, [&](const MatrixPortions &, const BlockGraph &graph) -> PetscErrorCode {
    Coloring coloring;
    BuiltPlan built;
    std::vector<Row> order(static_cast<std::size_t>(graph.rows));
    PetscFunctionBeginUser;
    std::iota(order.begin(), order.end(), 0);
    PetscCall(ColoringCreate(graph, "jplf", (PetscObject)(Mat)mat, &coloring));
    PetscCall(PlanBuild(graph, coloring, order, {}, &built));
    PetscCall(use(built, graph));
    PetscCall(ColoringDestroy(&coloring));
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode build_ghost_rows(const BuiltPlan &built, const BlockGraph &graph, bool fill,
                                BuiltGhostRows *ghosts)
{
  return GhostRowsBuild(graph.comm, built.plan, built.ghost_owner,
                        {graph.row_start, graph.ghosts, built.ghost_place}, fill, ghosts);
}

using Updates =
    std::set<std::pair<BlockNumber, BlockNumber>>; // the block of U_j, and that of row i

// What eliminates block k of the lower triangle from a row
Updates updates_of(const Elimination &elimination, const ColorPlan &plan, Row row, BlockNumber k)
{
  const Elimination::Upper upper = elimination.upper(plan.lower.col[k]);
  Updates updates;
  const auto add = [&](Row column, BlockNumber target) {
    const std::size_t n = elimination.find(upper, column);
    if (n < upper.col.size()) updates.emplace(upper.block(n), target);
    EXPECT_EQ(n < upper.col.size(),
              std::find(upper.col.begin(), upper.col.end(), column) != upper.col.end());
  };
  add(row, elimination.diagonal(row));
  for (const Triangle *triangle : {&plan.lower, &plan.upper})
    for (Offset n = triangle->ptr[row]; n < triangle->ptr[row + 1]; ++n)
      add(triangle->col[n], elimination.block(row, *triangle, n));
  return updates;
}

void expect_equal_on_device(const ColorPlan &plan, const GhostRows &ghosts)
{
  const Elimination elimination(plan, ghosts, true);
  const SearchLists lists = elimination.search_lists();
  const device::SearchArgs args{lists.row_begin.data(),   lists.lower.data(),
                                lists.lower_begin.data(), lists.col.data(),
                                lists.plan_row.data(),    lists.ghost_begin.data(),
                                lists.ghost_end.data(),   lists.first_inverse,
                                lists.first_ghost,        lists.ascending};
  EXPECT_TRUE(lists.ascending);
  for (Row row = 0; row < plan.rows; ++row) {
    const auto matrix_row = static_cast<std::uint32_t>(plan.row_of[row]);
    BlockNumber number = lists.lower_begin[row];
    for (const BlockNumber k : elimination.lower(row)) {
      const device::Step step = device::find_step(args, number++, matrix_row);
      Updates updates;
      if (step.opposite != device::kNone) updates.emplace(step.opposite, elimination.diagonal(row));
      for (BlockNumber n = step.blocks.begin; n < step.blocks.end; ++n) {
        const BlockNumber target =
            device::find_target(args, step, device::blocks_of(args, matrix_row), n);
        if (target != device::kNone) updates.emplace(n, target);
      }
      EXPECT_EQ(step.lower, elimination.block(row, plan.lower, k));
      EXPECT_EQ(step.inverse, elimination.inverse(plan.lower.col[k]));
      EXPECT_TRUE(updates == updates_of(elimination, plan, row, k)) << "row " << row;
    }
    EXPECT_EQ(number, lists.lower_begin[row + 1]);
  }
}

// Values of a matrix whose factors are finite
class EasyValues final : public BlockRows {
public:
  explicit EasyValues(const ColorPlan &plan)
      : diagonal_(static_cast<std::size_t>(plan.bs) * plan.bs, 0.0), zero_(diagonal_.size(), 0.0),
        offdiag_(longest_row(plan.lower.ptr) + longest_row(plan.upper.ptr), zero_.data())
  {
    for (int i = 0; i < plan.bs; ++i) diagonal_[static_cast<std::size_t>(i) * (plan.bs + 1)] = 1.0;
  }
  void row(Row, const double *&diagonal, const double *const *&offdiag) override
  {
    diagonal = diagonal_.data();
    offdiag = offdiag_.data();
  }

private:
  Vector diagonal_, zero_;
  std::vector<const double *> offdiag_;
};

// Bytes of the blocks of the local rows, and of those that they read of other ranks
double bytes_of_factors(const BlockMatrix &matrix, const BlockGraph &graph)
{
  double blocks = 0.0;
  std::set<PetscInt> rows(graph.ghosts.begin(), graph.ghosts.end());
  for (Row row = 0; row < graph.rows; ++row) rows.insert(graph.row_start + row);
  for (const PetscInt row : rows) blocks += matrix.ptr[row + 1] - matrix.ptr[row];
  return blocks * matrix.bs * matrix.bs * sizeof(double);
}

// The most memory that a factorization takes beside the plan, and what it holds afterwards
PetscErrorCode measure(PCMCPIMethod method, const BuiltPlan &built, const BlockGraph &graph,
                       double *peak, double *held)
{
  EasyValues values(built.plan);
  BuiltGhostRows ghosts;
  std::unique_ptr<BlockExchange> exchange;
  PetscLogEvent event;
  const bool fill = changes_offdiagonal(method);

  PetscFunctionBeginUser;
  PetscCall(PetscLogEventRegister("Exchange", PC_CLASSID, &event));
  const auto before = static_cast<double>(allocations().held);
  count_peak();
  PetscCall(build_ghost_rows(built, graph, fill, &ghosts));
  if (world_size() > 1) PetscCall(CreateBlockExchange(graph.comm, ghosts.parts, event, &exchange));
  const std::unique_ptr<Method> made = make_method(method, built.plan, ghosts.rows);
  made->read(values);
  PetscCall(static_cast<PetscErrorCode>(made->factor(exchange.get())));
  made->release();
  *peak = static_cast<double>(allocations().peak) - before;
  *held = static_cast<double>(allocations().held) - before;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(Elimination, a_device_finds_the_updates_of_the_host)
{
  PetscFunctionBeginUser;
  for (const Pattern &pattern : {tetrahedral_pattern(4, 4, 3), random_pattern(40, 3, false),
                                 hub_pattern(90), one_way_pattern(40, 4), box_pattern(4, 2)})
    for (const Layout layout : {Layout::even, Layout::uneven, Layout::empty_ranks})
      PetscCall(with_plan(make_matrix(1, pattern), layout,
                          [&](const BuiltPlan &built, const BlockGraph &graph) -> PetscErrorCode {
                            BuiltGhostRows ghosts;
                            PetscFunctionBeginUser;
                            PetscCall(build_ghost_rows(built, graph, true, &ghosts));
                            expect_equal_on_device(built.plan, ghosts.rows);
                            PetscFunctionReturn(PETSC_SUCCESS);
                          }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Elimination, a_factorization_takes_at_most_twice_the_memory_of_its_factors)
{
  PetscFunctionBeginUser;
  for (const Pattern &pattern : {box_pattern(8, 2), box_pattern(5, 4)})
    for (const int bs : {1, 2, 5})
      for (const PCMCPIMethod method : {PC_MCPI_METHOD_DILU, PC_MCPI_METHOD_ILU0}) {
        const BlockMatrix matrix = make_matrix(bs, pattern);
        describe(std::string(method == PC_MCPI_METHOD_DILU ? "dilu" : "ilu0") + " bs " +
                 std::to_string(bs) + ", " + std::to_string(pattern.size()) + " rows");
        PetscCall(with_plan(matrix, Layout::even,
                            [&](const BuiltPlan &built, const BlockGraph &graph) -> PetscErrorCode {
                              double peak, held;
                              PetscFunctionBeginUser;
                              PetscCall(measure(method, built, graph, &peak, &held));
                              const double factors = bytes_of_factors(matrix, graph);
                              EXPECT_LE(peak, 2.0 * factors);
                              EXPECT_LE(held, factors);
                              PetscFunctionReturn(PETSC_SUCCESS);
                            }));
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}
