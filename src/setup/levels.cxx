#include "petscmcpi.h"

#include <algorithm>

#include "petsc/compat.h"
#include "setup/coloring_type.h"
#include "setup/row_order.h"

namespace mcpi::coloring {
namespace {

struct LevelsSettings : CommonSettings {
  RowOrder order = RowOrder::natural;
};

// A row's level is one more than the largest level of the neighbors that come before it.
PetscErrorCode color_graph(const Graph &graph, RowOrder order, Colors &color)
{
  Keys key;
  std::vector<PetscInt64> level;

  PetscFunctionBegin;
  PetscCall(order_rows(graph, order, key));
  PetscCall(visit_in_order(graph, ascending(graph, key), level, [&](int v) {
    PetscInt64 largest = -1; // Neighbors that come later are unvisited, which is -1.
    for (const int u : graph.neighbors(v)) largest = std::max(largest, level[u]);
    return largest + 1;
  }));
  color.assign(level.begin(), level.end());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode color_by_levels(MatColoring mc, ISColoring *iscoloring)
{
  const LevelsSettings &settings = *static_cast<const LevelsSettings *>(mc->data);
  Graph graph;
  Colors color;
  int colors = 1;

  PetscFunctionBegin;
  PetscCall(graph_create(mc, settings, graph));
  if (one_rank_is_faster(graph))
    PetscCall(run_on_one_rank(
        graph,
        [&](const Graph &whole, Colors &all) { return color_graph(whole, settings.order, all); },
        color));
  else
    PetscCall(color_graph(graph, settings.order, color));
  for (int v = 0; v < graph.nlocal; ++v) colors = std::max(colors, color[v] + 1);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &colors, 1, MPI_INT, MPI_MAX, graph.comm));
  PetscCall(graph_destroy(graph));
  PetscCall(create_iscoloring(mc, color, colors, iscoloring));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode set_levels_options(MatColoring mc, CompatOptionItems PetscOptionsObject)
{
  LevelsSettings &settings = *static_cast<LevelsSettings *>(mc->data);
  PetscInt order = static_cast<PetscInt>(settings.order);

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Levels options");
  PetscCall(PetscOptionsEList("-mat_coloring_levels_order", "Order that the colors follow", "",
                              kRowOrders, 3, kRowOrders[order], &order, nullptr));
  settings.order = static_cast<RowOrder>(order);
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MATCOLORINGLEVELS - distance 1 coloring "levels", the level sets of an order of the rows

   Options Database Key:
.  -mat_coloring_levels_order <natural> - order of the rows: front, natural or rcm

   Level: intermediate

   Notes:
   The color of a row is one more than the largest color of its neighbors that come before it. A
   sweep color by color is Gauss-Seidel in the given order, with any number of MPI processes. In
   natural order and on one process it is that of `PCSOR`.

   Hundreds or thousands of colors are usual. A color costs a message on several processes, and a
   kernel on a device. An `ISColoring` holds at most 65535 colors; more are an error.

   `MATCOLORINGWAVE` explains the orders. For a given numbering of the rows the result does not
   depend on their distribution. `MatColoringSetDistance()` with 1 is needed.

.seealso: `MatColoring`, `MATCOLORINGWAVE`, `MATCOLORINGJPLF`, `MatColoringRegisterLevels()`,
          `PCMCPI`, `PCSOR`
M*/
PetscErrorCode create_levels(MatColoring mc)
{
  PetscFunctionBegin;
  PetscCall(
      create_type<LevelsSettings, color_by_levels, set_levels_options>(mc, MATCOLORINGLEVELS));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace
} // namespace mcpi::coloring

/*@C
   MatColoringRegisterLevels - Registers the coloring type `MATCOLORINGLEVELS` with PETSc

   Not Collective

   Level: advanced

   Note:
   `PCMCPIRegister()` calls it. A program needs it only to use the coloring without the
   preconditioner. Another call does nothing.

.seealso: `MATCOLORINGLEVELS`, `PCMCPIRegister()`, `MatColoringRegister()`
@*/
PetscErrorCode MatColoringRegisterLevels(void)
{
  PetscFunctionBegin;
  PetscCall(MatColoringRegister(MATCOLORINGLEVELS, mcpi::coloring::create_levels));
  PetscFunctionReturn(PETSC_SUCCESS);
}
