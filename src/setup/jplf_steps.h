// The steps of jplf. Every decision rests on global integers (rows, degrees, counts), never on the
// partition.
#pragma once

#include <functional>

#include "setup/jplf_graph.h"

namespace mcpi::jplf {

inline constexpr int uncolored = -1;

// One per vertex of the graph, ghosts included
using Colors = std::vector<int>;

enum class Order { largest_first, natural };

// All steps are collective, and leave the ghosts' colors up to date.

// The two colors of a bipartite graph (one if there are no edges); *colors = 0 if the graph is not
// bipartite.
PetscErrorCode color_bipartite(const Graph &graph, Colors &color, int *colors);

// Jones-Plassmann: what sequential first-fit gives in this order of the global rows
PetscErrorCode color_greedily(const Graph &graph, Order order, Colors &color, int *colors);

// DSATUR from one seed, for about half as many colors as first fit needs. *colors = 0, and color
// unusable, if that would take more than most, or far too long.
PetscErrorCode color_by_dsatur(const Graph &graph, int half, int most, Colors &color, int *colors);

// One pass of iterated greedy: first fit again, class by class, in an order of the classes that
// depends on pass. Never adds colors.
PetscErrorCode recolor(const Graph &graph, int pass, Colors &color, int *colors);

// Sorts the colors by decreasing size of their classes, ties by color.
PetscErrorCode sort_by_size(const Graph &graph, Colors &color, int colors,
                            std::vector<PetscInt64> *sizes);

// Tries to do without the last color. effort bounds the work, in passes over the graph. Leaves the
// coloring as it was if it fails.
PetscErrorCode reduce_colors(const Graph &graph, PetscReal effort, Colors &color, int *colors);

// Moves rows until no color has many more entries than the average, as far as that goes. Never adds
// colors.
PetscErrorCode balance(const Graph &graph, int colors, Colors &color);

// Lets the first rank color the whole graph by color_whole, which is not collective. Collective.
// Ghosts get no colors.
PetscErrorCode
run_on_one_rank(const Graph &graph,
                const std::function<PetscErrorCode(const Graph &, Colors &)> &color_whole,
                Colors &color);

} // namespace mcpi::jplf
