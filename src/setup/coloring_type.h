// What the MatColoring types of this library share.
#pragma once

#include <petsc/private/matimpl.h>

#include <new>
#include <string>

#include "petsc/compat.h"
#include "petsc/prefix.h"
#include "setup/jplf_steps.h"

namespace mcpi::coloring {

// Collective. An error unless the coloring has distance 1.
PetscErrorCode check_distance(MatColoring mc);

// Collective. Makes an ISColoring of the colors of the local rows. More colors than the MatColoring
// or an ISColoring allows are an error.
PetscErrorCode create_iscoloring(MatColoring mc, const Colors &color, PetscInt64 colors,
                                 ISColoring *iscoloring);

// One rank colors a graph of at most so many rows and entries. Tests change the number, to color
// small graphs by all ranks.
extern PetscInt64 most_of_one_rank;

// The settings that all types have
struct CommonSettings {
  int threads = 1;
  // Whether the flags of the matrix hold. PETSc keeps those of users' matrices when MatZeroRows()
  // takes entries away.
  bool own_matrix = false;
};
// The name of the method (MatColoring, int) that says that this library has made the matrix, and
// sets the threads of a rank
inline constexpr char kSetOwnMatrix[] = "MatColoringSetOwnMatrix_MCPI";

// Collective. Makes the graph of the matrix of mc.
inline PetscErrorCode graph_create(MatColoring mc, const CommonSettings &settings, Graph &graph)
{
  PetscFunctionBegin;
  graph.coloring = ((PetscObject)mc)->type_name;
  graph.options = std::string("-") + prefix_of((PetscObject)mc) + "mat_coloring_";
  graph.threads = settings.threads;
  PetscCall(graph_create(mc->mat, settings.own_matrix, graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Reads an option that must be at least 0. Another value is an error that names the option, and
// leaves *value as it was.
PetscErrorCode read_count(MatColoring mc, CompatOptionItems PetscOptionsObject, const char *option,
                          const char *text, PetscInt *value);

// True if one rank colors the whole graph faster than all ranks together
bool one_rank_is_faster(const Graph &graph);

// MatColoringApply() of a type. color_matrix makes the coloring, and may run out of memory.
template <auto color_matrix> PetscErrorCode apply(MatColoring mc, ISColoring *iscoloring)
{
  PetscFunctionBegin;
  PetscCall(check_distance(mc));
  try {
    PetscCall(color_matrix(mc, iscoloring));
  } catch (const std::bad_alloc &) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "No memory for the graph of MatColoring type %s",
            ((PetscObject)mc)->type_name);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class Settings> PetscErrorCode set_own_matrix(MatColoring mc, int threads)
{
  PetscFunctionBegin;
  static_cast<Settings *>(mc->data)->threads = threads;
  static_cast<Settings *>(mc->data)->own_matrix = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class Settings> PetscErrorCode destroy(MatColoring mc)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)mc, kSetOwnMatrix, nullptr));
  delete static_cast<Settings *>(mc->data);
  mc->data = nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Makes mc a MatColoring of a type whose data are Settings: CommonSettings or derived from them.
// name: of the type
template <class Settings, auto color_matrix, auto set_from_options = nullptr>
PetscErrorCode create_type(MatColoring mc, const char *name)
{
  PetscFunctionBegin;
  mc->data = new (std::nothrow) Settings;
  PetscCheck(mc->data, PETSC_COMM_SELF, PETSC_ERR_MEM, "No memory for MatColoring type %s", name);
  mc->ops->apply = apply<color_matrix>;
  mc->ops->destroy = destroy<Settings>;
  mc->ops->setfromoptions = set_from_options;
  PetscCall(PetscObjectComposeFunction((PetscObject)mc, kSetOwnMatrix, set_own_matrix<Settings>));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi::coloring
