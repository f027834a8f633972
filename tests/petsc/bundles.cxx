// Tests the plan of bundles of clusters and its tiles for a device. It needs no device.
#include "backend/device/bundle_tiles.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "core/plan_parts.h"
#include "graph_of.h"
#include "setup/clusters.h"
#include "setup/plan_build.h"
#include "support/petsc.h"

using namespace mcpi::test;
using namespace mcpi;

namespace {

// Makes the bundled plan of clusters of some rows that lie one after the other.
PetscErrorCode make_plan(const BlockMatrix &matrix, Layout layout, Row cluster_rows,
                         BuiltPlan *built)
{
  OwnedMat mat;
  Preconditioner pc;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, layout, MATBAIJ, &mat));
  PetscCall(create_pc(mat, "", &pc));
  PetscCall(with_graph(mat, [&](const MatrixParts &, const BlockGraph &graph) -> PetscErrorCode {
    Coloring coloring;
    std::vector<Row> cluster(static_cast<std::size_t>(graph.rows)), order(cluster.size());

    PetscFunctionBeginUser;
    std::iota(order.begin(), order.end(), 0);
    for (Row i = 0; i < graph.rows; ++i) cluster[i] = i / cluster_rows;
    PetscCall(ColoringCreateOfClusters(graph, "jplf", (PetscObject)(PC)pc, cluster, &coloring));
    PetscCall(PlanBuild(graph, coloring, order, Arrangement::bundles, 0, built));
    PetscCall(ColoringDestroy(&coloring));
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Calls check(plan) for plans of several matrices and sizes of clusters.
template <class Check> PetscErrorCode for_plans(const Check &check)
{
  PetscFunctionBeginUser;
  for (const bool symmetric : {true, false})
    for (const Row cluster_rows : {1, 7, 32, 128})
      for (const Layout layout : {Layout::even, Layout::empty_ranks}) {
        BuiltPlan built;
        PetscCall(make_plan(make_matrix(2, random_pattern(700, 5, symmetric)), layout, cluster_rows,
                            &built));
        describe("clusters of " + std::to_string(cluster_rows) + ", " + name_of(layout));
        check(built.plan);
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

Row end_of(const ColorPlan &plan, std::size_t bundle)
{
  return bundle + 1 < plan.bundle_begin.size() ? plan.bundle_begin[bundle + 1] : plan.rows;
}

} // namespace

PETSC_TEST(Bundles, lie_in_one_part_and_are_not_coupled_with_others_of_their_color)
{
  PetscFunctionBeginUser;
  PetscCall(for_plans([](const ColorPlan &plan) {
    EXPECT_TRUE(plan.clustered);
    EXPECT_TRUE(plan.bundled);
    const std::vector<Row> parts = part_begins(plan);
    EXPECT_EQ(parts.size(), 2 * static_cast<std::size_t>(plan.colors) + 1);
    for (std::size_t bundle = 0; bundle < plan.bundle_begin.size(); ++bundle) {
      const Row begin = plan.bundle_begin[bundle], end = end_of(plan, bundle);
      EXPECT_LE(end - begin, device::kMostClusterRows);
      EXPECT_EQ(part_at(plan, begin), part_at(plan, end - 1));
      const std::size_t color = part_at(plan, begin) / 2;
      for (Row row = begin; row < end; ++row)
        for (const Triangle *triangle : {&plan.lower, &plan.upper})
          for (Offset k = triangle->ptr[row]; k < triangle->ptr[row + 1]; ++k) {
            const Row column = triangle->col[static_cast<std::size_t>(k)];
            if (column >= plan.color_begin[color] && column < plan.color_begin[color + 1]) {
              EXPECT_TRUE(device::inside_bundle(plan, bundle, column));
            }
          }
    }
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Bundles, hold_each_block_once_inside_or_outside)
{
  PetscFunctionBeginUser;
  PetscCall(for_plans([](const ColorPlan &plan) {
    const ColorPlan outside = device::plan_outside_bundles(plan);
    device::TileLayout layout;
    layout.shape = device::slice_shape(PC_MCPI_PRECISION_FP64, 8);
    layout.shape.slices = 3;
    const device::BundleLayout bundles = device::make_bundles(plan, outside, layout);
    EXPECT_EQ(layout.tiles.size(), plan.bundle_begin.size());
    std::uint32_t inside = 0;
    for (const device::Tile &tile : layout.tiles) inside += device::slices_of(tile);
    EXPECT_EQ(3 * (plan.blocks() - outside.lower.ptr.back() - outside.upper.ptr.back()),
              static_cast<Offset>(inside));
    for (std::size_t b = 0; b < layout.tiles.size(); ++b) {
      const auto last = static_cast<std::size_t>(end_of(plan, b)) - 1;
      EXPECT_EQ(static_cast<std::uint32_t>(bundles.ends[last].lower + bundles.ends[last].upper),
                device::slices_of(layout.tiles[b]));
    }
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Bundles, are_relaxed_in_rounds_of_rows_that_are_not_coupled)
{
  PetscFunctionBeginUser;
  PetscCall(for_plans([](const ColorPlan &plan) {
    device::TileLayout layout;
    layout.shape = device::slice_shape(PC_MCPI_PRECISION_FP32, 2);
    const device::BundleLayout bundles =
        device::make_bundles(plan, device::plan_outside_bundles(plan), layout);
    for (std::size_t b = 0; b < plan.bundle_begin.size(); ++b) {
      Row first = plan.bundle_begin[b];
      for (std::uint32_t m = bundles.round_begin[b]; m < bundles.round_begin[b + 1]; ++m) {
        const Row last = plan.bundle_begin[b] + bundles.rounds[m];
        EXPECT_LT(first, last);
        for (Row row = first; row < last; ++row)
          for (const Triangle *triangle : {&plan.lower, &plan.upper})
            for (Offset k = triangle->ptr[row]; k < triangle->ptr[row + 1]; ++k) {
              const Row column = triangle->col[static_cast<std::size_t>(k)];
              EXPECT_FALSE(column >= first && column < last);
            }
        first = last;
      }
      EXPECT_EQ(first, end_of(plan, b));
    }
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}
