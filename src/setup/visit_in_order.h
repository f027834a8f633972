// Visits the rows of a graph one after the other in a given order, in parallel.
#pragma once

#include <type_traits>

#include "petsc/compat.h"
#include "setup/jplf_graph.h"

namespace mcpi::coloring {

// One key for each vertex, ghosts included. Vertices with smaller keys come first. If two keys are
// equal, the smaller hash comes first.
using Keys = std::vector<std::uint64_t>;

inline constexpr int kUnvisited = -1;

// The order by ascending keys
inline auto ascending(const Graph &graph, const Keys &key)
{
  return [&graph, &key](int u, int v) {
    return key[u] != key[v] ? key[u] < key[v] : graph.hash[u] < graph.hash[v];
  };
}

template <class Number> MPI_Datatype unit_of()
{
  if constexpr (std::is_same_v<Number, int>)
    return MPI_INT;
  else
    return MPIU_INT64;
}

// Whether one rank has all rows, and they are in this order
template <class Before> bool rows_ascend(const Graph &graph, const Before &before)
{
  if (graph.ranks > 1) return false;
  for (int v = 1; v < graph.nlocal; ++v)
    if (before(v, v - 1)) return false;
  return true;
}

// Collective. Sets value[v] = visit(v), at least 0, for all local vertices, and the values of
// ghosts to those of their owners. before(u, v): whether vertex u comes before v; a total order.
// All neighbors that come before v have their values when v is visited; all others have kUnvisited.
// The result does not depend on the partition, if visit() looks at neighbors only. Rounds: the most
// often that a chain of neighbors in ascending order goes from one rank to another.
template <class Before, class Number, class Visit>
PetscErrorCode visit_in_order(const Graph &graph, const Before &before, std::vector<Number> &value,
                              Visit &&visit)
{
  // waiting: per vertex, the number of its unvisited neighbors that come before it
  std::vector<int> waiting, ready;
  PetscInt64 left = graph.nlocal, global_left = graph.global_rows;

  PetscFunctionBegin;
  value.assign(static_cast<std::size_t>(graph.size()), kUnvisited);
  if (rows_ascend(graph, before)) {
    for (int v = 0; v < graph.nlocal; ++v) value[v] = visit(v);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  // Tells the local neighbors of u that u has been visited.
  const auto release = [&](int u) {
    for (const int v : graph.neighbors(u))
      if (v < graph.nlocal && before(u, v) && --waiting[v] == 0) ready.push_back(v);
  };
  waiting.assign(static_cast<std::size_t>(graph.nlocal), 0);
  for (int v = 0; v < graph.nlocal; ++v) {
    for (const int u : graph.neighbors(v)) waiting[v] += before(u, v);
    if (waiting[v] == 0) ready.push_back(v);
  }
  while (global_left > 0) {
    while (!ready.empty()) {
      const int v = ready.back();
      ready.pop_back();
      value[v] = visit(v);
      --left;
      release(v);
    }
    const std::vector<Number> ghosts(value.begin() + graph.nlocal, value.end());
    PetscCall(update_ghosts(graph, unit_of<Number>(), value.data()));
    for (int g = 0; g < graph.nghost; ++g)
      if (ghosts[g] != value[graph.nlocal + g]) release(graph.nlocal + g);
    const PetscInt64 before_round = global_left;
    PetscCallMPI(MPI_Allreduce(&left, &global_left, 1, MPIU_INT64, MPI_SUM, graph.comm));
    PetscCheck(global_left < before_round, graph.comm, PETSC_ERR_PLIB,
               "Rows wait for each other: the graph is not symmetric");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi::coloring
