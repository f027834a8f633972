#include "petscmcpi.h"

#include <algorithm>
#include <numeric>

#include "core/tuning.h"
#include "petsc/compat.h"
#include "petsc/prefix.h"
#include "setup/coloring_type.h"
#include "setup/row_order.h"

namespace mcpi::coloring {
namespace {

struct WaveSettings : CommonSettings {
  PetscInt colors = 0; // 0: by the number of rows
  RowOrder order = RowOrder::natural;
};

PetscInt64 default_colors(PetscInt64 rows)
{
  return std::clamp<PetscInt64>(rows / CommonTuning::kRowsOfWaveColor,
                                CommonTuning::kFewestWaveColors, CommonTuning::kMostWaveColors);
}

// What the neighbors of a row read of it: level and color in one number, which ranks exchange
struct LevelAndColor {
  PetscInt64 level, color;

  static LevelAndColor of(PetscInt64 value) { return {value >> kBits, value & ((1 << kBits) - 1)}; }
  PetscInt64 value() const { return level << kBits | color; }

private:
  static constexpr int kBits = 24;
};

// Gives a row its level: one above the middle between the mean and the largest level of the
// neighbors that come before it. The largest alone would climb by the longest path, and K colors
// would cover less of the order. The color is the level modulo K, raised until no neighbor has it.
class Wave {
public:
  Wave(const Graph &graph, PetscInt64 colors, const std::vector<PetscInt64> &value)
      : graph_(graph), value_(value), colors_(colors),
        taken_by_(static_cast<std::size_t>(colors + graph.global_max_degree + 1), -1)
  {
  }

  PetscInt64 operator()(int v)
  {
    PetscInt64 sum = 0, largest = 0, before = 0;
    for (const int u : graph_.neighbors(v)) {
      if (value_[u] == kUnvisited) continue;
      const LevelAndColor place = LevelAndColor::of(value_[u]);
      sum += place.level;
      largest = std::max(largest, place.level);
      ++before;
      taken_by_[place.color] = v;
    }
    const PetscInt64 level = before == 0 ? 0 : 1 + (sum + largest * before) / (2 * before);
    for (PetscInt64 raise = 0; raise < colors_; ++raise)
      if (taken_by_[(level + raise) % colors_] != v)
        return LevelAndColor{level + raise, (level + raise) % colors_}.value();
    // The neighbors have all K colors. The row gets one more, at the end of the sweep.
    PetscInt64 color = colors_;
    while (taken_by_[color] == v) ++color;
    return LevelAndColor{level, color}.value();
  }

private:
  const Graph &graph_;
  const std::vector<PetscInt64> &value_;
  PetscInt64 colors_;
  std::vector<int> taken_by_;
};

PetscErrorCode color_graph(const Graph &graph, RowOrder order, PetscInt64 colors, Colors &color)
{
  Keys key;
  std::vector<PetscInt64> value;

  PetscFunctionBegin;
  PetscCall(order_rows(graph, order, key));
  Wave wave(graph, colors, value);
  PetscCall(visit_in_order(graph, ascending(graph, key), value, wave));
  color.resize(value.size());
  std::transform(value.begin(), value.end(), color.begin(),
                 [](PetscInt64 v) { return static_cast<int>(LevelAndColor::of(v).color); });
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Removes colors that no row has, and counts the others.
PetscErrorCode remove_empty(const Graph &graph, Colors &color, int *colors)
{
  std::vector<int> used, number;
  int most = 0;

  PetscFunctionBegin;
  for (int v = 0; v < graph.nlocal; ++v) most = std::max(most, color[v] + 1);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, graph.comm));
  used.assign(static_cast<std::size_t>(most), 0);
  number.resize(used.size());
  for (int v = 0; v < graph.nlocal; ++v) used[color[v]] = 1;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, used.data(), most, MPI_INT, MPI_MAX, graph.comm));
  std::exclusive_scan(used.begin(), used.end(), number.begin(), 0);
  for (int v = 0; v < graph.nlocal; ++v) color[v] = number[color[v]];
  *colors = std::accumulate(used.begin(), used.end(), 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode color_by_wave(MatColoring mc, ISColoring *iscoloring)
{
  const WaveSettings &settings = *static_cast<const WaveSettings *>(mc->data);
  Graph graph;
  Colors color;
  int colors = 1;

  PetscFunctionBegin;
  PetscCall(graph_create(mc, settings, graph));
  const PetscInt64 wanted = settings.colors ? settings.colors : default_colors(graph.global_rows);
  if (one_rank_is_faster(graph))
    PetscCall(run_on_one_rank(
        graph,
        [&](const Graph &whole, Colors &all) {
          return color_graph(whole, settings.order, wanted, all);
        },
        color));
  else
    PetscCall(color_graph(graph, settings.order, wanted, color));
  PetscCall(remove_empty(graph, color, &colors));
  PetscCall(graph_destroy(graph));
  PetscCall(create_iscoloring(mc, color, std::max(colors, 1), iscoloring));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode set_wave_options(MatColoring mc, CompatOptionItems PetscOptionsObject)
{
  WaveSettings &settings = *static_cast<WaveSettings *>(mc->data);
  PetscInt order = static_cast<PetscInt>(settings.order);

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Wave options");
  PetscCall(read_count(mc, PetscOptionsObject, "-mat_coloring_wave_colors",
                       "Number of colors, 0: by the number of rows", &settings.colors));
  PetscCall(PetscOptionsEList("-mat_coloring_wave_order", "Order that the colors follow", "",
                              kRowOrders, 3, kRowOrders[order], &order, nullptr));
  PetscCheck(settings.colors <= IS_COLORING_MAX, PetscObjectComm((PetscObject)mc),
             PETSC_ERR_ARG_OUTOFRANGE,
             "-%smat_coloring_wave_colors must be at most %d, not %" PetscInt_FMT,
             prefix_of((PetscObject)mc), static_cast<int>(IS_COLORING_MAX), settings.colors);
  settings.order = static_cast<RowOrder>(order);
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MATCOLORINGWAVE - distance 1 coloring "wave", whose colors follow an order of the rows

   Options Database Keys:
+  -mat_coloring_wave_colors <0> - number of colors, 0 for a number that follows from the rows
-  -mat_coloring_wave_order <natural> - order of the rows that colors follow: front, natural or rcm

   Level: intermediate

   Notes:
   Gauss-Seidel in a good order of the rows converges faster than in the order of few colors. Here
   the colors are the steps of a front that goes through the graph in that order, counted modulo the
   number of colors. A sweep through the colors therefore follows the order of the rows over a
   stretch of that many levels, everywhere in the graph at once. With more colors the stretch is
   longer, and each color has fewer rows.

   The default is a color for each 32768 rows, but at least 16 and at most 32. A row whose neighbors
   have all these colors gets one more.

   Each row has a level, which is one above its neighbors that come before it. Above means above the
   middle between their mean and their largest level. The color is the level modulo the number of
   colors, raised until no neighbor has it.

   The order natural is that of the matrix. It is good if neighbors have near numbers, as by RCM or
   on structured grids. The order front is that of the distances from one end of the graph, then of
   the distances from a row at its side. It suits rows that are numbered without order. The order
   rcm is reverse Cuthill-McKee. The first process makes it alone, and must hold the whole graph.

   For a given numbering of the rows the result does not depend on their distribution. The values of
   the matrix are not used. The algorithm colors the graph of A + A^T without its diagonal.

   `MatColoringSetDistance()` with 1 is needed, because the default of `MatColoring` is 2.
   `MatColoringSetWeights()` and -mat_coloring_weight_type are not used. The type works with the
   matrices that `MATCOLORINGJPLF` works with.

   References:
.  * - S. Doi and T. Washio, Ordering strategies and related techniques to overcome the trade-off
       between parallelism and convergence in incomplete factorizations, Parallel Comput. 25 (1999)

.seealso: `MatColoring`, `MATCOLORINGLEVELS`, `MATCOLORINGJPLF`, `MatColoringRegisterWave()`,
          `PCMCPI`
M*/
PetscErrorCode create_wave(MatColoring mc)
{
  PetscFunctionBegin;
  PetscCall(create_type<WaveSettings, color_by_wave, set_wave_options>(mc, MATCOLORINGWAVE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace
} // namespace mcpi::coloring

/*@C
   MatColoringRegisterWave - Registers the coloring type `MATCOLORINGWAVE` with PETSc

   Not Collective

   Level: advanced

   Note:
   `PCMCPIRegister()` calls it. A program needs it only to use the coloring without the
   preconditioner. Another call does nothing.

.seealso: `MATCOLORINGWAVE`, `PCMCPIRegister()`, `MatColoringRegister()`
@*/
PetscErrorCode MatColoringRegisterWave(void)
{
  PetscFunctionBegin;
  PetscCall(MatColoringRegister(MATCOLORINGWAVE, mcpi::coloring::create_wave));
  PetscFunctionReturn(PETSC_SUCCESS);
}
