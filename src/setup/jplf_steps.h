// The steps of the coloring type jplf, some of which other types share. Each decision depends on
// global integers only (rows, degrees, counts), so the coloring does not depend on the partition.
#pragma once

#include <functional>

#include "setup/jplf_graph.h"

namespace mcpi::coloring {

inline constexpr int kUncolored = -1;

// One color for each vertex of the graph, ghosts included
using Colors = std::vector<int>;

enum class Order { largest_first, natural };

// All steps are collective. Except for run_on_one_rank(), they leave the ghosts' colors up to date.

// Colors a bipartite graph with two colors, or with one if it has no edges. *colors = 0 says that
// the graph is not bipartite.
PetscErrorCode color_bipartite(const Graph &graph, Colors &color, int *colors);

// Jones-Plassmann coloring. The result is that of sequential first fit in this order of the rows.
PetscErrorCode color_greedily(const Graph &graph, Order order, Colors &color, int *colors);

// DSATUR: the coloring grows from one row of each component. The aim is about half as many colors
// as first fit needs. half: rows whose neighbors have this many colors are colored in one round.
// *colors = 0 says that the step gave up, and that color is not usable. It gives up if it needs
// more than most colors, or too much work.
PetscErrorCode color_by_dsatur(const Graph &graph, int half, int most, Colors &color, int *colors);

// Renumbers the colors by decreasing number of rows. Colors with equally many rows keep their
// order.
PetscErrorCode sort_by_size(const Graph &graph, Colors &color, int colors,
                            std::vector<PetscInt64> *sizes);

// Tries to remove the last color. If the attempt fails, the coloring stays as it was.
PetscErrorCode reduce_colors(const Graph &graph, Colors &color, int *colors);

// Moves rows between colors until no color has many more entries than the average, or until little
// more is gained. The number of colors never rises.
PetscErrorCode balance(const Graph &graph, int colors, Colors &color);

// True if one rank can gather the graph. MPI counts its rows and entries in int.
bool one_rank_can_hold(const Graph &graph);

// Collective. The first rank alone colors the whole graph by color_whole, which is not collective.
// Ghosts stay uncolored.
PetscErrorCode
run_on_one_rank(const Graph &graph,
                const std::function<PetscErrorCode(const Graph &, Colors &)> &color_whole,
                Colors &color);

} // namespace mcpi::coloring
