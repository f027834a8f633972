#include "setup/row_order.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "setup/jplf_steps.h"

namespace mcpi::coloring {
namespace {

using Values = std::vector<PetscInt64>;

constexpr PetscInt64 kFar = std::numeric_limits<int>::max();

// The connected parts of what a rank sees of the graph, its ghosts included
class Components {
public:
  explicit Components(const Graph &graph) : parent_(static_cast<std::size_t>(graph.size()))
  {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (int v = 0; v < graph.nlocal; ++v)
      for (const int u : graph.neighbors(v)) parent_[root(u)] = root(v);
    for (int v = 0; v < graph.size(); ++v) parent_[v] = root(v);
  }

  int operator[](int v) const { return parent_[v]; }

private:
  int root(int v)
  {
    while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
    return v;
  }
  std::vector<int> parent_;
};

// Collective. Replaces each value of a local vertex by the largest of its connected component.
PetscErrorCode largest_of_component(const Graph &graph, const Components &part, Values &value)
{
  Values most(static_cast<std::size_t>(graph.size()), std::numeric_limits<PetscInt64>::min());

  PetscFunctionBegin;
  for (int v = 0; v < graph.nlocal; ++v) most[part[v]] = std::max(most[part[v]], value[v]);
  for (int changed = 1; changed;) {
    for (int v = 0; v < graph.nlocal; ++v) value[v] = most[part[v]];
    if (graph.ranks == 1) break;
    changed = 0;
    PetscCall(update_ghosts(graph, MPIU_INT64, value.data()));
    for (int g = graph.nlocal; g < graph.size(); ++g)
      if (value[g] > most[part[g]]) {
        most[part[g]] = value[g];
        changed = 1;
      }
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &changed, 1, MPI_INT, MPI_MAX, graph.comm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Collective. The smallest global row of each component among those with its largest value
PetscErrorCode choose_row(const Graph &graph, const Components &part, const Values &value,
                          Values *row)
{
  Values most(value);

  PetscFunctionBegin;
  PetscCall(largest_of_component(graph, part, most));
  row->assign(static_cast<std::size_t>(graph.size()), std::numeric_limits<PetscInt64>::min());
  for (int v = 0; v < graph.nlocal; ++v)
    if (value[v] == most[v]) (*row)[v] = -static_cast<PetscInt64>(graph.row[v]);
  PetscCall(largest_of_component(graph, part, *row));
  for (int v = 0; v < graph.nlocal; ++v) (*row)[v] = -(*row)[v];
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Collective. The number of edges from each vertex to the chosen row of its component. Ranks
// correct each other's distances until all are right. A search takes as many rounds as its paths
// change ranks, not as many as there are distances.
PetscErrorCode measure(const Graph &graph, const Values &row, Values *distance)
{
  std::vector<int> queue, next;

  PetscFunctionBegin;
  distance->assign(static_cast<std::size_t>(graph.size()), kFar);
  Values &d = *distance;
  for (int v = 0; v < graph.nlocal; ++v)
    if (row[v] == graph.row[v]) {
      d[v] = 0;
      queue.push_back(v);
    }
  for (int changed = 1; changed;) {
    while (!queue.empty()) {
      next.clear();
      for (const int v : queue)
        for (const int u : graph.neighbors(v))
          if (u < graph.nlocal && d[v] + 1 < d[u]) {
            d[u] = d[v] + 1;
            next.push_back(u);
          }
      queue.swap(next);
    }
    if (graph.ranks == 1) break;
    const Values ghosts(d.begin() + graph.nlocal, d.end());
    PetscCall(update_ghosts(graph, MPIU_INT64, d.data()));
    for (int g = 0; g < graph.nghost; ++g)
      if (d[graph.nlocal + g] < ghosts[g]) queue.push_back(graph.nlocal + g);
    // The nearest first, so that few distances are corrected twice
    std::sort(queue.begin(), queue.end(), [&](int a, int b) { return d[a] < d[b]; });
    changed = !queue.empty();
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &changed, 1, MPI_INT, MPI_MAX, graph.comm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode order_along_front(const Graph &graph, Keys &key)
{
  const Components part(graph);
  Values row, layer, back, side, least(static_cast<std::size_t>(graph.size()), 0);

  PetscFunctionBegin;
  PetscCall(choose_row(graph, part, least, &row)); // the smallest of each component
  PetscCall(measure(graph, row, &layer));
  PetscCall(choose_row(graph, part, layer, &row)); // one end
  PetscCall(measure(graph, row, &layer));
  PetscCall(choose_row(graph, part, layer, &row)); // the other end
  PetscCall(measure(graph, row, &back));
  for (int v = 0; v < graph.nlocal; ++v) least[v] = std::min(layer[v], back[v]);
  PetscCall(choose_row(graph, part, least, &row)); // far from both
  PetscCall(measure(graph, row, &side));
  // measure() leaves the ghosts' distances up to date.
  for (int v = 0; v < graph.size(); ++v)
    key[v] = static_cast<std::uint64_t>(layer[v]) << 32 | static_cast<std::uint64_t>(side[v]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Cuthill-McKee on a graph that one rank holds. The place of a row is its key in reverse order.
class CuthillMcKee {
public:
  CuthillMcKee(const Graph &whole, Colors &place) : graph_(whole), place_(place)
  {
    place_.assign(static_cast<std::size_t>(graph_.nlocal), -1);
  }

  // Numbers all rows that are connected to v, v first.
  void number_from(int v)
  {
    std::vector<int> queue{v};
    place_[v] = next_--;
    for (std::size_t k = 0; k < queue.size(); ++k) {
      const std::size_t begin = queue.size();
      for (const int u : graph_.neighbors(queue[k]))
        if (place_[u] < 0) {
          place_[u] = 0; // in the queue
          queue.push_back(u);
        }
      std::sort(queue.begin() + static_cast<std::ptrdiff_t>(begin), queue.end(),
                [this](int a, int b) {
                  const int m = graph_.degree(a), n = graph_.degree(b);
                  return m != n ? m < n : a < b;
                });
      for (std::size_t q = begin; q < queue.size(); ++q) place_[queue[q]] = next_--;
    }
  }

  bool numbered(int v) const { return place_[v] >= 0; }

private:
  const Graph &graph_;
  Colors &place_;
  int next_ = graph_.nlocal - 1;
};

PetscErrorCode number_by_rcm(const Graph &whole, Colors &place)
{
  const Components part(whole);
  Values row, layer, start(static_cast<std::size_t>(whole.size()), 0);

  PetscFunctionBegin;
  PetscCall(choose_row(whole, part, start, &row)); // the smallest of each component
  PetscCall(measure(whole, row, &layer));
  PetscCall(choose_row(whole, part, layer, &row)); // one end
  CuthillMcKee order(whole, place);
  for (int v = 0; v < whole.nlocal; ++v)
    if (!order.numbered(v)) order.number_from(static_cast<int>(row[v]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode order_by_rcm(const Graph &graph, Keys &key)
{
  Colors place;

  PetscFunctionBegin;
  PetscCheck(one_rank_can_hold(graph), graph.comm, PETSC_ERR_SUP,
             "One rank can not hold a graph of %" PetscInt64_FMT
             " rows. Use %s%s_order front or natural",
             graph.global_rows, graph.options.c_str(), graph.coloring.c_str());
  if (graph.ranks == 1)
    PetscCall(number_by_rcm(graph, place));
  else
    PetscCall(run_on_one_rank(graph, number_by_rcm, place));
  PetscCall(update_ghosts(graph, MPI_INT, place.data()));
  std::transform(place.begin(), place.end(), key.begin(),
                 [](int p) { return static_cast<std::uint64_t>(p); });
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode order_rows(const Graph &graph, RowOrder order, Keys &key)
{
  PetscFunctionBegin;
  key.resize(static_cast<std::size_t>(graph.size()));
  switch (order) {
  case RowOrder::front:
    PetscCall(order_along_front(graph, key));
    break;
  case RowOrder::natural:
    std::transform(graph.row.begin(), graph.row.end(), key.begin(),
                   [](PetscInt row) { return static_cast<std::uint64_t>(row); });
    break;
  case RowOrder::rcm:
    PetscCall(order_by_rcm(graph, key));
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi::coloring
