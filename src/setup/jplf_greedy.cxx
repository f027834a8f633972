#include <algorithm>
#include <numeric>

#include "core/plan.h"
#include "petsc/compat.h"
#include "setup/jplf_steps.h"
#include "setup/visit_in_order.h"

namespace mcpi::coloring {
namespace {

// First fit gives a vertex the smallest color that no neighbor has.
class FirstFit {
public:
  explicit FirstFit(const Graph &graph)
      : graph_(graph), taken_by_(static_cast<std::size_t>(graph.global_max_degree) + 1, -1)
  {
  }

  int operator()(const Colors &color, int v)
  {
    const int limit = static_cast<int>(taken_by_.size());
    for (const int u : graph_.neighbors(v))
      if (color[u] != kUncolored && color[u] < limit) taken_by_[color[u]] = v;
    int c = 0;
    while (taken_by_[c] == v) ++c;
    return c;
  }

private:
  const Graph &graph_;
  std::vector<int> taken_by_;
};

PetscErrorCode count_colors(const Graph &graph, const Colors &color, int *colors)
{
  PetscFunctionBegin;
  *colors = 0;
  for (int v = 0; v < graph.nlocal; ++v) *colors = std::max(*colors, color[v] + 1);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, colors, 1, MPI_INT, MPI_MAX, graph.comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode count_sizes(const Graph &graph, const Colors &color, int colors,
                           std::vector<PetscInt64> *sizes)
{
  PetscFunctionBegin;
  sizes->assign(static_cast<std::size_t>(colors), 0);
  for (int v = 0; v < graph.nlocal; ++v) ++(*sizes)[color[v]];
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sizes->data(), colors, MPIU_INT64, MPI_SUM, graph.comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Vertices with larger keys are colored first. If two keys are equal, the larger global row comes
// first. For largest_first, a key is the degree, followed by a hash of the global row.
PetscErrorCode compute_keys(const Graph &graph, Order order, std::vector<std::uint64_t> &keys)
{
  std::vector<int> degree(static_cast<std::size_t>(graph.size()));

  PetscFunctionBegin;
  keys.resize(degree.size());
  if (order == Order::natural) {
    std::transform(graph.row.begin(), graph.row.end(), keys.begin(),
                   [](PetscInt row) { return ~static_cast<std::uint64_t>(row); });
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int v = 0; v < graph.nlocal; ++v) degree[v] = graph.degree(v);
  PetscCall(update_ghosts(graph, MPI_INT, degree.data()));
  for (int v = 0; v < graph.size(); ++v)
    keys[v] = (static_cast<std::uint64_t>(degree[v]) << 32) | (graph.hash[v] >> 32);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode color_greedily(const Graph &graph, Order order, Colors &color, int *colors)
{
  std::vector<std::uint64_t> keys;
  FirstFit first_fit(graph);

  PetscFunctionBegin;
  PetscCall(compute_keys(graph, order, keys));
  const auto before = [&](int u, int v) {
    return keys[u] != keys[v] ? keys[u] > keys[v] : graph.row[u] > graph.row[v];
  };
  PetscCall(visit_in_order(graph, before, color, [&](int v) { return first_fit(color, v); }));
  PetscCall(count_colors(graph, color, colors));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sort_by_size(const Graph &graph, Colors &color, int colors,
                            std::vector<PetscInt64> *sizes)
{
  std::vector<int> order(static_cast<std::size_t>(colors));

  PetscFunctionBegin;
  PetscCall(count_sizes(graph, color, colors, sizes));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return (*sizes)[a] > (*sizes)[b]; });
  const std::vector<int> place = inverse_order(order);
  for (int &c : color) c = place[c];
  std::sort(sizes->begin(), sizes->end(), std::greater<>());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi::coloring
