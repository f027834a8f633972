// What the MatColoring types of this library share.
#pragma once

#include <petsc/private/matimpl.h>

#include "setup/jplf_steps.h"

namespace mcpi::jplf {

// Collective. An error unless the coloring has distance 1.
PetscErrorCode check_distance(MatColoring mc);

// Collective. Makes an ISColoring of the colors of the local rows. More colors than the MatColoring
// or an ISColoring allows are an error.
PetscErrorCode create_iscoloring(MatColoring mc, const Colors &color, PetscInt64 colors,
                                 ISColoring *iscoloring);

// Most rows and entries of a graph that one rank colors, by default
inline constexpr PetscInt kGather = 1 << 18;

// True if one rank colors the whole graph faster than all ranks together. gather: the most rows and
// entries
bool one_rank_is_faster(const Graph &graph, PetscInt gather);

} // namespace mcpi::jplf
