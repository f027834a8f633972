// Tests the schedule of clusters: the plan keeps coupled rows in sequence, and the sweeps are those
// of the formula in the order of the plan.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

#include "plan_places.h"
#include "setup/clusters.h"

using namespace mcpi::test;

namespace {

const char *const kClusters = "-pc_mcpi_schedule cluster -pc_mcpi_cluster_rows 6 ";
const char *const kExact = "-pc_mcpi_offdiag_precision fp64 ";

PetscErrorCode create(const BlockMatrix &matrix, Layout layout, const std::string &options,
                      OwnedMat *mat, Preconditioner *pc)
{
  PetscFunctionBeginUser;
  describe("bs " + std::to_string(matrix.bs) + " " + name_of(layout) + " " + options);
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, layout, MATBAIJ, mat));
  PetscCall(create_pc(*mat, kClusters + options, pc));
  PetscCall(PCSetUp(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Checks an application, a transposed one, and Richardson's method from a guess.
PetscErrorCode check_sweeps(const BlockMatrix &matrix, Layout layout, const Sweeps &sweeps,
                            const std::string &options, double tolerance)
{
  static const char *const kSweeps[] = {"forward", "backward", "symmetric"};
  const Vector b = random_vector(matrix.size(), 1), guess = random_vector(matrix.size(), 2);
  OwnedMat mat;
  Preconditioner pc;
  std::vector<int> place;
  Vector x;

  PetscFunctionBeginUser;
  PetscCall(create(matrix, layout,
                   options + " -pc_mcpi_sweep " + kSweeps[sweeps.type] + " -pc_mcpi_its " +
                       std::to_string(sweeps.its) + " -pc_mcpi_omega " +
                       std::to_string(sweeps.omega),
                   &mat, &pc));
  PetscCall(gather_places(pc, mat, &place));
  DenseIteration formula(matrix, place);
  PetscCall(apply(pc, b, &x));
  EXPECT_LE(difference(x, formula.run(sweeps, b)), tolerance);
  PetscCall(apply_transpose(pc, b, &x));
  EXPECT_LE(difference(x, formula.transposed(sweeps, b)), tolerance);
  x = guess;
  PetscCall(apply_richardson(pc, b, false, 2, &x));
  Sweeps twice = sweeps;
  twice.its *= 2;
  EXPECT_LE(difference(x, formula.run(twice, b, guess)), tolerance);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A grid of 12 x 12 rows with these factors of the couplings along x and along y
BlockMatrix grid(double along_x, double along_y)
{
  constexpr Row kSide = 12;
  Pattern pattern(static_cast<std::size_t>(kSide * kSide));
  for (Row i = 0; i < kSide * kSide; ++i)
    for (const auto &[step, inside] :
         {std::pair(-kSide, i >= kSide), std::pair(-1, i % kSide > 0),
          std::pair(1, i % kSide < kSide - 1), std::pair(kSide, i < kSide * (kSide - 1))})
      if (inside) pattern[i].push_back(i + step);
  BlockMatrix matrix = make_matrix(2, pattern);
  for (Row i = 0; i < matrix.rows(); ++i)
    for (const Row column : pattern[i])
      for (int k = 0; k < 4; ++k)
        matrix.block(i, column)[k] *= std::abs(column - i) == 1 ? along_x : along_y;
  return matrix;
}

} // namespace

PETSC_TEST(Clusters, are_relaxed_in_stages_of_rows_that_are_not_coupled)
{
  PetscFunctionBeginUser;
  for (const bool symmetric : {true, false}) {
    const BlockMatrix matrix = make_matrix(2, random_pattern(90, 3, symmetric));
    for (const Layout layout : {Layout::even, Layout::uneven, Layout::empty_ranks}) {
      OwnedMat mat;
      Preconditioner pc;
      PetscCall(create(matrix, layout, kExact, &mat, &pc));
      const mcpi::ColorPlan &plan = plan_of(pc);
      EXPECT_TRUE(plan.clustered);
      EXPECT_TRUE(std::is_sorted(plan.stage_begin.begin(), plan.stage_begin.end()));
      const auto stage_of = [&](Row row) {
        return std::upper_bound(plan.stage_begin.begin(), plan.stage_begin.end(), row) -
               plan.stage_begin.begin();
      };
      std::set<Row> starts(plan.stage_begin.begin(), plan.stage_begin.end());
      for (int c = 0; c < plan.colors; ++c)
        for (const auto &[begin, end] : {std::pair(plan.color_begin[c], plan.boundary_end[c]),
                                         std::pair(plan.boundary_end[c], plan.color_begin[c + 1])})
          EXPECT_TRUE(begin == end || starts.count(begin) == 1);
      for (Row row = 0; row < plan.rows; ++row)
        for (const mcpi::Triangle *triangle : {&plan.lower, &plan.upper})
          for (mcpi::Offset k = triangle->ptr[row]; k < triangle->ptr[row + 1]; ++k) {
            const Row column = triangle->col[static_cast<std::size_t>(k)];
            if (column >= plan.rows) continue;
            EXPECT_EQ(stage_of(column) < stage_of(row), triangle == &plan.lower);
            EXPECT_NE(stage_of(column), stage_of(row));
          }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Clusters, are_swept_as_the_formula_says_in_the_order_of_the_plan)
{
  PetscFunctionBeginUser;
  for (const int bs : {1, 3, 5})
    for (const bool symmetric : {true, false}) {
      const BlockMatrix matrix = make_matrix(bs, random_pattern(40, 3, symmetric));
      for (const PCMCPISweepType type :
           {PC_MCPI_SWEEP_FORWARD, PC_MCPI_SWEEP_BACKWARD, PC_MCPI_SWEEP_SYMMETRIC})
        for (const double omega : {1.0, 0.75})
          for (const Layout layout : {Layout::even, Layout::empty_ranks})
            PetscCall(check_sweeps(matrix, layout, {type, omega, 2}, kExact, 1e-11));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Clusters, are_swept_alike_with_every_form_of_storage_exchange_and_backend)
{
  const BlockMatrix matrix = make_matrix(4, random_pattern(40, 3, true));
  const std::pair<const char *, double> cases[] = {
      {"-pc_mcpi_offdiag_precision fp64 -pc_mcpi_form factored", 1e-11},
      {"-pc_mcpi_offdiag_precision fp64 -pc_mcpi_ordering natural", 1e-11},
      {"-pc_mcpi_offdiag_precision fp64 -pc_mcpi_backend reference", 1e-11},
      {"-pc_mcpi_offdiag_precision fp32 -pc_mcpi_restart 0", 1e-5},
      {"-pc_mcpi_offdiag_precision int8 -pc_mcpi_restart 0", 5e-2}};

  PetscFunctionBeginUser;
  for (const auto &[options, tolerance] : cases)
    PetscCall(
        check_sweeps(matrix, Layout::even, {PC_MCPI_SWEEP_SYMMETRIC, 1.0, 2}, options, tolerance));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Clusters, are_swept_alike_with_every_storage_and_block_size)
{
  // A cluster of up to 200 rows takes all rows of a rank.
  const std::tuple<const char *, double, int> cases[] = {
      {"-pc_mcpi_offdiag_precision fp64", 1e-11, 12},
      {"-pc_mcpi_offdiag_precision fp32 -pc_mcpi_restart 0", 1e-5, 12},
      {"-pc_mcpi_offdiag_precision fp32 -pc_mcpi_restart 0", 1e-5, 200},
      {"-pc_mcpi_offdiag_precision fp16 -pc_mcpi_restart 0", 1e-2, 7},
      {"-pc_mcpi_offdiag_precision fp16 -pc_mcpi_gather_precision bfp16 -pc_mcpi_restart 0 "
       "-pc_mcpi_vector_precision fp32",
       5e-2, 12},
      {"-pc_mcpi_offdiag_precision int8 -pc_mcpi_gather_precision bfp16 -pc_mcpi_restart 0 "
       "-pc_mcpi_vector_precision fp32",
       5e-2, 12},
      {"-pc_mcpi_offdiag_precision int4 -pc_mcpi_gather_precision bfp16 -pc_mcpi_restart 0 "
       "-pc_mcpi_vector_precision fp32",
       0.7, 12}};

  PetscFunctionBeginUser;
  for (int bs = 1; bs <= 9; ++bs) {
    if (world_size() > 1 && bs != 3 && bs != 9) continue; // two sizes stand for all
    const BlockMatrix matrix = make_matrix(bs, random_pattern(180 / bs, 4, bs % 2 == 0));
    for (const auto &[options, tolerance, rows] : cases)
      for (const PCMCPISweepType type : {PC_MCPI_SWEEP_FORWARD, PC_MCPI_SWEEP_SYMMETRIC})
        PetscCall(check_sweeps(
            matrix, Layout::even, {type, 1.0, 2},
            std::string(options) + " -pc_mcpi_cluster_rows " + std::to_string(rows), tolerance));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Clusters, are_swept_alike_for_several_right_hand_sides)
{
  const BlockMatrix matrix = make_matrix(3, random_pattern(90, 4, true));
  constexpr PetscInt kColumns = 3;

  PetscFunctionBeginUser;
  for (const char *options : {kExact, "-pc_mcpi_offdiag_precision int8 -pc_mcpi_gather_precision "
                                      "bfp16 -pc_mcpi_vector_precision fp32 "}) {
    OwnedMat mat;
    Preconditioner pc;
    Mat b, x;
    PetscInt rows;
    PetscReal norm, error;
    PetscCall(create(matrix, Layout::even, options, &mat, &pc));
    PetscCall(MatGetLocalSize(mat, &rows, nullptr));
    PetscCall(
        MatCreateDense(PETSC_COMM_WORLD, rows, PETSC_DECIDE, PETSC_DECIDE, kColumns, nullptr, &b));
    PetscCall(MatSetRandom(b, nullptr));
    PetscCall(MatDuplicate(b, MAT_DO_NOT_COPY_VALUES, &x));
    PetscCall(PCMatApply(pc, b, x));
    for (PetscInt column = 0; column < kColumns; ++column) {
      Vec in, out;
      OwnedVec one;
      PetscCall(MatCreateVecs(mat, nullptr, one.out()));
      PetscCall(MatDenseGetColumnVecRead(b, column, &in));
      PetscCall(PCApply(pc, in, one));
      PetscCall(MatDenseRestoreColumnVecRead(b, column, &in));
      PetscCall(VecNorm(one, NORM_2, &norm));
      PetscCall(MatDenseGetColumnVecRead(x, column, &out));
      PetscCall(VecAXPY(one, -1.0, out));
      PetscCall(MatDenseRestoreColumnVecRead(x, column, &out));
      PetscCall(VecNorm(one, NORM_2, &error));
      EXPECT_LE(error, 1e-6 * norm);
    }
    PetscCall(MatDestroy(&b));
    PetscCall(MatDestroy(&x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Clusters, of_one_row_are_colors)
{
  const BlockMatrix matrix = make_matrix(3, random_pattern(60, 3, true));
  OwnedMat mat;
  Preconditioner pc;
  std::vector<int> color;

  PetscFunctionBeginUser;
  PetscCall(create(matrix, Layout::even, "-pc_mcpi_cluster_rows 1", &mat, &pc));
  PetscCall(gather_colors(pc, &color));
  const Pattern pattern = matrix.pattern();
  for (Row row = 0; row < matrix.rows(); ++row)
    for (const Row column : pattern[row]) EXPECT_NE(color[row], color[column]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Clusters, are_kept_for_new_values_and_follow_the_options)
{
  const BlockMatrix matrix = make_matrix(2, random_pattern(60, 3, true));
  OwnedMat mat;
  Preconditioner pc;
  PCMCPISchedule schedule;

  PetscFunctionBeginUser;
  PetscCall(create(matrix, Layout::even, kExact, &mat, &pc));
  const std::vector<Row> before = plan_of(pc).row_of;
  Recipe recipe;
  recipe.seed = 5;
  PetscCall(set_values(make_matrix(2, random_pattern(60, 3, true), recipe), mat));
  PetscCall(PCSetUp(pc));
  EXPECT_EQ(plan_of(pc).row_of, before);
  PetscCall(PCMCPIGetSchedule(pc, &schedule));
  EXPECT_EQ(schedule, PC_MCPI_SCHEDULE_CLUSTER);
  PetscCall(PCMCPISetSchedule(pc, PC_MCPI_SCHEDULE_COLOR));
  PetscCall(PCSetUp(pc));
  EXPECT_FALSE(plan_of(pc).clustered);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Clusters, follow_strong_couplings_that_turn_only_if_they_are_refreshed)
{
  const BlockMatrix along_x = grid(1.0, 0.01), along_y = grid(0.01, 1.0);

  PetscFunctionBeginUser;
  for (const bool refresh : {false, true}) {
    OwnedMat mat, turned;
    Preconditioner pc, fresh;
    PetscCall(create(along_y, Layout::even, "", &turned, &fresh));
    PetscCall(create(along_x, Layout::even,
                     std::string("-pc_mcpi_scaling_keep ") + (refresh ? "false" : "true"), &mat,
                     &pc));
    const std::vector<Row> before = plan_of(pc).row_of;
    EXPECT_NE(before, plan_of(fresh).row_of);
    PetscCall(set_values(along_y, mat));
    PetscCall(PCSetUp(pc));
    EXPECT_EQ(plan_of(pc).row_of, refresh ? plan_of(fresh).row_of : before);
    PetscCall(set_options(pc, "-pc_mcpi_scaling_keep false")); // makes clusters of these values
    PetscCall(PCSetUp(pc));
    EXPECT_EQ(plan_of(pc).row_of, plan_of(fresh).row_of);
    EXPECT_EQ(plan_of(pc).stage_begin, plan_of(fresh).stage_begin);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Clusters, that_are_refreshed_stay_where_no_value_is_new)
{
  OwnedMat mat;
  Preconditioner pc;
  ISColoring before, after;

  PetscFunctionBeginUser;
  PetscCall(create(grid(1.0, 0.01), Layout::even, "-pc_mcpi_scaling_keep false", &mat, &pc));
  PetscCall(PCMCPIGetColoring(pc, &before));
  PetscCall(ISColoringReference(before)); // so that no other has its address
  PetscCall(set_options(pc, "-pc_mcpi_form factored"));
  PetscCall(PCSetUp(pc));
  PetscCall(PCMCPIGetColoring(pc, &after));
  EXPECT_TRUE(before == after);
  PetscCall(PetscObjectStateIncrease((PetscObject)(Mat)mat));
  PetscCall(PCSetUp(pc));
  PetscCall(PCMCPIGetColoring(pc, &after));
  EXPECT_TRUE(before != after);
  PetscCall(ISColoringDestroy(&before));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Clusters, grow_along_strong_couplings_up_to_the_limit)
{
  // A grid of 8 x 8 rows, numbered along x, with strong couplings along y
  mcpi::StrengthGraph graph;
  std::vector<Row> order;

  PetscFunctionBeginUser;
  graph.ptr.push_back(0);
  for (Row i = 0; i < 64; ++i) {
    for (const auto &[step, strength, inside] :
         {std::tuple(-8, 10.0, i >= 8), std::tuple(-1, 0.1, i % 8 > 0),
          std::tuple(1, 0.1, i % 8 < 7), std::tuple(8, 10.0, i < 56)})
      if (inside) {
        graph.col.push_back(i + step);
        graph.strength.push_back(strength);
      }
    graph.ptr.push_back(static_cast<mcpi::Offset>(graph.col.size()));
    order.push_back(i);
  }
  const std::vector<Row> lines = mcpi::grow_clusters(graph, order, 8);
  for (Row i = 0; i < 64; ++i) EXPECT_EQ(lines[i], i % 8);
  for (const Row most : {1, 5, 64, 100}) {
    std::map<Row, Row> rows;
    for (const Row cluster : mcpi::grow_clusters(graph, order, most)) ++rows[cluster];
    for (const auto &[cluster, count] : rows) EXPECT_LE(count, most);
    EXPECT_EQ(rows.begin()->second, std::min<Row>(most, 64));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Clusters, relax_their_rows_in_the_order_of_the_matrix_where_it_is_natural)
{
  OwnedMat mat;
  Preconditioner pc;
  std::vector<int> place;

  PetscFunctionBeginUser;
  PetscCall(create(grid(1.0, 1.0), Layout::even, "-pc_mcpi_ordering natural", &mat, &pc));
  const mcpi::ColorPlan &plan = plan_of(pc);
  EXPECT_TRUE(plan.clustered);
  // Neighbors of one color are in one cluster.
  for (int c = 0; c < plan.colors; ++c)
    for (Row row = plan.color_begin[c]; row < plan.color_begin[c + 1]; ++row)
      for (mcpi::Offset k = plan.lower.ptr[row]; k < plan.lower.ptr[row + 1]; ++k) {
        const Row column = plan.lower.col[static_cast<std::size_t>(k)];
        if (column < plan.color_begin[c] || column >= plan.rows) continue;
        EXPECT_LT(plan.row_of[column], plan.row_of[row]);
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Clusters, follow_the_order_of_the_matrix_unless_neighbors_are_far_apart_in_it)
{
  constexpr Row kRows = 400, kFar = 101;
  Pattern far(kRows); // a ring with a bad numbering
  for (Row row = 0; row < kRows; ++row) {
    far[row] = {(row + kFar) % kRows, (row + kRows - kFar) % kRows};
    std::sort(far[row].begin(), far[row].end());
  }
  OwnedMat mat, ring;
  Preconditioner pc, of_ring;
  std::string text;

  PetscFunctionBeginUser;
  if (world_size() > 1) PetscFunctionReturn(PETSC_SUCCESS); // ranks have other distances
  PetscCall(create(grid(1.0, 1.0), Layout::even, "", &mat, &pc));
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, "in natural order");
  PetscCall(create(grid(1.0, 1.0), Layout::even, "-pc_mcpi_ordering rcm", &mat, &pc));
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, "in rcm order");
  PetscCall(create(make_matrix(2, far), Layout::even, "", &ring, &of_ring));
  PetscCall(view(of_ring, &text));
  EXPECT_CONTAINS(text, "in rcm order");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Clusters, refuse_an_order_of_rows_that_they_do_not_take)
{
  const BlockMatrix matrix = make_matrix(2, random_pattern(30, 3, true));
  OwnedMat mat;
  Preconditioner pc;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, std::string(kClusters) + "-pc_mcpi_ordering coordinates", &pc));
  EXPECT_PETSC_ERROR(PETSC_ERR_ARG_INCOMP, "-pc_mcpi_ordering auto", PCSetUp(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}
