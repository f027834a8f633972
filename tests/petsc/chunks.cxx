// Tests of chunks: they keep the order of coupled rows, and sweeps from chunk to chunk have the
// bits of sweeps from color to color.
#include "setup/chunks.h"

#include <algorithm>
#include <numeric>

#include "graph_of.h"
#include "setup/plan_build.h"
#include "support/petsc.h"

using namespace mcpi::test;
using namespace mcpi;

namespace {

struct Problem {
  const char *name;
  BlockMatrix matrix;
  MatType type;
  Layout layout;
};

// Two graphs without a coupling between them
Pattern two_parts(const Pattern &first, const Pattern &second)
{
  Pattern both = first;
  for (std::vector<Row> row : second) {
    for (Row &column : row) column += static_cast<Row>(first.size());
    both.push_back(std::move(row));
  }
  return both;
}

// Rows that read the two rows before them
Pattern band_pattern(Row rows)
{
  Pattern pattern(static_cast<std::size_t>(rows));
  for (Row row = 1; row < rows; ++row)
    for (Row column = std::max(row - 2, 0); column < row; ++column) pattern[row].push_back(column);
  return pattern;
}

// Long thin graphs, whose layers are many and small
std::vector<Problem> problems()
{
  return {
      {"tetrahedra", make_matrix(5, tetrahedral_pattern(2, 3, 100)), MATBAIJ, Layout::even},
      {"tetrahedra, numbered along", make_matrix(2, tetrahedral_pattern(60, 3, 3)), MATBAIJ,
       Layout::uneven},
      {"ring", make_matrix(3, ring_pattern(300, 0, 1)), MATAIJ, Layout::uneven},
      {"one-way couplings", make_matrix(2, band_pattern(300)), MATAIJ, Layout::even},
      {"two parts",
       make_matrix(4, two_parts(tetrahedral_pattern(40, 2, 2), ring_pattern(150, 0, 2))), MATBAIJ,
       Layout::empty_ranks},
      {"no couplings", make_matrix(1, diagonal_pattern(200)), MATAIJ, Layout::even},
      {"an arrow, which is one layer", make_matrix(2, arrow_pattern(60)), MATBAIJ,
       Layout::all_on_last},
  };
}

// The chunk of each plan row
std::vector<int> chunks_of(const ColorPlan &plan)
{
  std::vector<int> chunk(static_cast<std::size_t>(plan.rows), 0);
  for (int c = 0; c < plan.colors; ++c)
    for (int k = 1; k < plan.chunks; ++k) {
      const auto at = plan.chunk_begin.begin() + c * plan.chunks + k;
      std::fill(chunk.begin() + *at,
                chunk.begin() + (k + 1 < plan.chunks ? at[1] : plan.color_begin[c + 1]), k);
    }
  return chunk;
}

// Rows of the lower triangle are relaxed before, those of the upper triangle afterwards.
void expect_chunks(const ColorPlan &plan)
{
  ASSERT_EQ(plan.chunk_begin.size(), static_cast<std::size_t>(plan.colors) * plan.chunks);
  EXPECT_TRUE(std::is_sorted(plan.chunk_begin.begin(), plan.chunk_begin.end()));
  for (int c = 0; c < plan.colors; ++c)
    EXPECT_EQ(plan.chunk_begin[c * plan.chunks], plan.boundary_end[c]);
  const std::vector<int> chunk = chunks_of(plan);
  for (const Triangle *triangle : {&plan.lower, &plan.upper})
    for (Row row = 0; row < plan.rows; ++row)
      for (Offset k = triangle->ptr[row]; k < triangle->ptr[row + 1]; ++k) {
        const int own = chunk[row];
        if (triangle->col[k] >= plan.rows) {
          EXPECT_EQ(own, 0);
          continue;
        }
        const int other = chunk[triangle->col[k]];
        EXPECT_TRUE(triangle == &plan.lower ? other <= own : other >= own);
        EXPECT_TRUE((own == 0) == (other == 0) || std::max(own, other) >= plan.near_begin);
      }
}

PetscErrorCode make_plan(const Problem &problem, Row chunk_rows, BuiltPlan *built)
{
  OwnedMat mat;
  Preconditioner pc;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, problem.matrix, problem.layout, problem.type, &mat));
  PetscCall(create_pc(mat, "", &pc));
  PetscCall(with_graph(mat, [&](const MatrixPortions &, const BlockGraph &graph) -> PetscErrorCode {
    Coloring coloring;
    std::vector<Row> order(static_cast<std::size_t>(graph.rows));

    PetscFunctionBeginUser;
    std::iota(order.begin(), order.end(), 0);
    PetscCall(ColoringCreate(graph, "jplf", (PetscObject)(PC)pc, &coloring));
    PetscCall(PlanBuild(graph, coloring, order,
                        {.equal_rows_together = true, .chunk_rows = chunk_rows}, built));
    PetscCall(ColoringDestroy(&coloring));
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A matrix, and two preconditioners of it that differ in their chunks
struct Pair {
  OwnedMat mat;
  Preconditioner chunks, none;

  PetscErrorCode create(const Problem &problem, const std::string &options)
  {
    PetscFunctionBeginUser;
    PetscCall(create_mat(PETSC_COMM_WORLD, problem.matrix, problem.layout, problem.type, &mat));
    PetscCall(create_pc(mat, options + " -pc_mcpi_chunk_rows 4", &chunks));
    PetscCall(create_pc(mat, options + " -pc_mcpi_chunk_rows 0", &none));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  template <class Apply> PetscErrorCode expect_same_bits(const Apply &apply_to, const Vector &guess)
  {
    Vector with = guess, without = guess;

    PetscFunctionBeginUser;
    PetscCall(apply_to(chunks, &with));
    PetscCall(apply_to(none, &without));
    EXPECT_TRUE(same_bits(with, without));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

PetscErrorCode set(PC pc, PCMCPISweepType sweep, double omega, PetscInt its)
{
  PetscFunctionBeginUser;
  PetscCall(PCMCPISetSweep(pc, sweep));
  PetscCall(PCMCPISetOmega(pc, omega));
  PetscCall(PCMCPISetIts(pc, its));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode compare(const Problem &problem, const std::string &options)
{
  const bool factors = options.find("dilu") != std::string::npos; // needs the defaults
  Pair pair;
  const Vector b = random_vector(problem.matrix.size(), 3),
               guess = random_vector(problem.matrix.size(), 4);

  PetscFunctionBeginUser;
  PetscCall(pair.create(problem, options));
  struct Run {
    double omega;
    PetscInt its;
  };
  for (const PCMCPISweepType sweep :
       {PC_MCPI_SWEEP_FORWARD, PC_MCPI_SWEEP_BACKWARD, PC_MCPI_SWEEP_SYMMETRIC})
    for (const auto &[omega, its] : {Run{1.0, 2}, Run{0.7, 1}}) {
      if (factors && (sweep != PC_MCPI_SWEEP_SYMMETRIC || omega != 1.0)) continue;
      describe(std::string(problem.name) + options + ", sweep " + std::to_string(sweep) +
               ", omega " + std::to_string(omega));
      PetscCall(set(pair.chunks, sweep, omega, its));
      PetscCall(set(pair.none, sweep, omega, its));
      PetscCall(pair.expect_same_bits([&](PC pc, Vector *x) { return apply(pc, b, x); }, {}));
      PetscCall(
          pair.expect_same_bits([&](PC pc, Vector *x) { return apply_transpose(pc, b, x); }, {}));
      PetscCall(pair.expect_same_bits(
          [&](PC pc, Vector *x) { return apply_richardson(pc, b, false, 2, x); }, guess));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(Chunks, keep_the_order_of_coupled_rows_and_hold_the_boundary_in_the_first)
{
  PetscFunctionBeginUser;
  for (const Problem &problem : problems())
    for (const Row chunk_rows : {1, 4, 20}) {
      BuiltPlan built;
      describe(std::string(problem.name) + ", rows " + std::to_string(chunk_rows));
      PetscCall(make_plan(problem, chunk_rows, &built));
      if (built.plan.chunks > 1) expect_chunks(built.plan);
      if (problem.name == std::string("tetrahedra")) {
        EXPECT_GT(built.plan.chunks, 1);
        EXPECT_TRUE(world_size() > 1 || built.plan.near_begin == built.plan.chunks);
        EXPECT_TRUE(world_size() == 1 || built.plan.near_begin < built.plan.chunks);
      }
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Chunks, are_not_made_if_they_are_not_wanted)
{
  BuiltPlan built;

  PetscFunctionBeginUser;
  PetscCall(make_plan(problems().front(), 0, &built));
  EXPECT_EQ(built.plan.chunks, 1);
  EXPECT_TRUE(built.plan.chunk_begin.empty());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Chunks, give_the_bits_of_sweeps_from_color_to_color)
{
  int turn = 0;

  PetscFunctionBeginUser;
  for (const Problem &problem : problems())
    for (const char *options :
         {" -pc_mcpi_offdiag_precision fp64", " -pc_mcpi_offdiag_precision int8",
          " -pc_mcpi_offdiag_precision fp16 -pc_mcpi_form factored -pc_mcpi_vector_precision fp32",
          " -pc_mcpi_halo_frequency sweep",
          " -pc_mcpi_gather_precision bfp16 -pc_mcpi_vector_precision fp32",
          " -pc_mcpi_backend reference", " -pc_mcpi_schedule cluster -pc_mcpi_cluster_rows 5",
          " -pc_mcpi_schedule cluster -pc_mcpi_offdiag_precision int4", " -pc_mcpi_method dilu",
          " -pc_mcpi_mat_coloring_type natural"})
      if (turn++ % world_size() == 0) PetscCall(compare(problem, options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Chunks, are_counted_by_views)
{
  Pair pair;
  std::string text;
  const Problem problem = problems().front();

  PetscFunctionBeginUser;
  PetscCall(pair.create(problem, ""));
  PetscCall(PCSetUp(pair.chunks));
  PetscCall(PCSetUp(pair.none));
  PetscCall(view(pair.chunks, &text));
  if (world_size() == 1) {
    EXPECT_NE(text.find("  chunks: at most "), std::string::npos);
  }
  PetscCall(view(pair.none, &text));
  EXPECT_EQ(text.find("  chunks: "), std::string::npos);
  PetscFunctionReturn(PETSC_SUCCESS);
}
