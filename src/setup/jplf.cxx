#include "petscmcpi.h"

#include <algorithm>

#include "petsc/compat.h"
#include "setup/coloring_type.h"

namespace mcpi::coloring {
namespace {

// Two steps are too slow for larger graphs. First fit in natural order runs on one rank after the
// other, because each rank owns consecutive rows. A DSATUR coloring spreads from rank to rank.
constexpr PetscInt64 kMaxSequentialRows = PetscInt64{1} << 24;

struct Outcome {
  // number of colors after each step; 0: the step was not done
  int largest_first = 0, natural = 0, grown = 0;
  std::vector<PetscInt64> sizes;
};

// Sends the outcome of the first rank to all ranks.
PetscErrorCode broadcast(MPI_Comm comm, Outcome &outcome)
{
  int steps[] = {outcome.largest_first, outcome.natural, outcome.grown,
                 static_cast<int>(outcome.sizes.size())};

  PetscFunctionBegin;
  PetscCallMPI(MPI_Bcast(steps, 4, MPI_INT, 0, comm));
  outcome.largest_first = steps[0];
  outcome.natural = steps[1];
  outcome.grown = steps[2];
  outcome.sizes.resize(static_cast<std::size_t>(steps[3]));
  PetscCallMPI(MPI_Bcast(outcome.sizes.data(), steps[3], MPIU_INT64, 0, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode color_graph(const Graph &graph, Colors &color, Outcome &outcome)
{
  int colors;

  PetscFunctionBegin;
  PetscCall(color_bipartite(graph, color, &colors));
  if (colors == 0) {
    PetscCall(color_greedily(graph, Order::largest_first, color, &outcome.largest_first));
    colors = outcome.largest_first;
    if (graph.global_rows <= kMaxSequentialRows) {
      Colors natural;
      PetscCall(color_greedily(graph, Order::natural, natural, &outcome.natural));
      if (outcome.natural < colors) {
        color.swap(natural);
        colors = outcome.natural;
      }
      // A DSATUR coloring that saves only a few colors is not taken: after reduce_colors() it
      // seldom has fewer colors than the others have.
      const int half = colors / 2;
      Colors grown;
      PetscCall(color_by_dsatur(graph, half, half + 1, grown, &outcome.grown));
      if (outcome.grown > 0) {
        color.swap(grown);
        colors = outcome.grown;
      }
    }
    // A graph that is not bipartite needs 3 colors.
    for (int before = colors + 1; colors < before && colors > 3;) {
      before = colors;
      PetscCall(sort_by_size(graph, color, colors, &outcome.sizes));
      PetscCall(reduce_colors(graph, color, &colors));
    }
    PetscCall(balance(graph, colors, color));
  }
  PetscCall(sort_by_size(graph, color, colors, &outcome.sizes));
  while (outcome.sizes.size() > 1 && outcome.sizes.back() == 0)
    outcome.sizes.pop_back(); // balance() may have moved all rows of a color
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Both ways give the same colors, because no step depends on the partition.
PetscErrorCode color_where_it_is_quicker(const Graph &graph, Colors &color, Outcome &outcome)
{
  PetscFunctionBegin;
  if (!one_rank_is_faster(graph)) {
    PetscCall(color_graph(graph, color, outcome));
  } else {
    PetscCall(run_on_one_rank(
        graph,
        [&](const Graph &whole, Colors &colors) { return color_graph(whole, colors, outcome); },
        color));
    PetscCall(broadcast(graph.comm, outcome));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode color_matrix(MatColoring mc, ISColoring *iscoloring)
{
  const auto &settings = *static_cast<const CommonSettings *>(mc->data);
  Graph graph;
  Colors color;
  Outcome outcome;

  PetscFunctionBegin;
  PetscCall(graph_create(mc, settings, graph));
  PetscCall(color_where_it_is_quicker(graph, color, outcome));
  PetscCall(graph_destroy(graph));
  const auto colors = static_cast<PetscInt>(outcome.sizes.size());
  PetscCall(PetscInfo(mc,
                      "%" PetscInt_FMT " colors of %" PetscInt64_FMT " to %" PetscInt64_FMT
                      " rows (0 if not tried: %d largest first, %d in natural order, %d grown)\n",
                      colors, outcome.sizes.front(), outcome.sizes.back(), outcome.largest_first,
                      outcome.natural, outcome.grown));
  PetscCall(create_iscoloring(mc, color, colors, iscoloring));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MATCOLORINGJPLF - distance 1 coloring "jplf", the same on any number of MPI processes

   Level: intermediate

   Notes:
   The algorithm colors the graph of A + A^T without its diagonal. For a given numbering of the rows
   the result does not depend on their distribution.

   `MatColoringSetDistance()` with 1 is needed, because the default of `MatColoring` is 2.
   `MatColoringSetWeights()` and -mat_coloring_weight_type are not used. A graph that needs more
   colors than -mat_coloring_maxcolors is an error.

   A bipartite graph, as of 5- and 7-point stencils, is recognized and gets two colors. The rows of
   other graphs are colored by first fit, in parallel as by Jones and Plassmann. Rows with many
   neighbors come first, and a hash of the global row orders the others.

   Graphs of at most 2^24 rows are also colored in natural order, which is best for many structured
   grids. They also try a coloring that grows from one row, by saturation. It is taken if it needs
   about half as many colors. Structured grids of tetrahedra get 4 colors in this way, and 7
   otherwise.

   Attempts to dissolve the smallest color follow, by a local search in partial colorings, until one
   fails.

   Last, rows move from colors with many entries to colors with few entries that none of their
   neighbors has. This ends when no color exceeds the average by more than one part in 64, or when
   little more is gained. Color 0 has the most rows, and sizes decrease.

   The steps take many rounds, each of which waits for all MPI processes. A graph with few rows and
   entries is therefore colored by the first process alone, which gives the same colors.

   The type works with `MATAIJ` and its GPU types. It works more slowly with every type that has
   `MatGetRow()`, whose scalar rows are colored. -info shows how many colors each step left.

   References:
+  * - M. T. Jones and P. E. Plassmann, A parallel graph coloring heuristic, SIAM J. Sci. Comput. 14
       (1993)
.  * - D. J. A. Welsh and M. B. Powell, An upper bound for the chromatic number of a graph and its
       application to timetabling problems, Comput. J. 10 (1967): largest first
.  * - D. Brelaz, New methods to color the vertices of a graph, Comm. ACM 22 (1979): by saturation
.  * - I. Bloechliger and N. Zufferey, A graph coloring heuristic using partial solutions and a
       reactive tabu scheme, Comput. Oper. Res. 35 (2008)
-  * - H. Lu, M. Halappanavar, D. Chavarria-Miranda, A. Gebremedhin and A. Kalyanaraman, Balanced
       coloring for parallel computing applications, IPDPS (2015)

.seealso: `MatColoring`, `MatColoringSetType()`, `MatColoringSetDistance()`, `MATCOLORINGJP`,
          `MATCOLORINGGREEDY`, `MatColoringRegisterJPLF()`, `PCMCPI`
M*/
PetscErrorCode create(MatColoring mc)
{
  PetscFunctionBegin;
  PetscCall(create_type<CommonSettings, color_matrix>(mc, MATCOLORINGJPLF));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace
} // namespace mcpi::coloring

/*@C
   MatColoringRegisterJPLF - Registers the coloring type `MATCOLORINGJPLF` with PETSc

   Not Collective

   Level: advanced

   Note:
   `PCMCPIRegister()` calls it. A program needs it only to use the coloring without the
   preconditioner. Another call does nothing.

.seealso: `MATCOLORINGJPLF`, `PCMCPIRegister()`, `MatColoringRegister()`
@*/
PetscErrorCode MatColoringRegisterJPLF(void)
{
  PetscFunctionBegin;
  PetscCall(MatColoringRegister(MATCOLORINGJPLF, mcpi::coloring::create));
  PetscFunctionReturn(PETSC_SUCCESS);
}
