#include <algorithm>
#include <limits>
#include <utility>

#include "petsc/compat.h"
#include "setup/jplf_steps.h"

namespace mcpi::coloring {
namespace {

// Decides whether the graph is bipartite, and finds its two sides. Each rank first two-colors the
// components of its local rows. Union-find over all ranks then joins these components.

// The place of a component in the union-find structure. It is 2 * row + turn: row is the
// component's parent, a global row of any rank. turn is 1 if the component's first row and the
// parent are on different sides, else 0. The place of a local row has the same parent as its
// component. Its turn is flipped if the row and the component's first row are on different sides.
using Place = PetscInt64;

constexpr Place row_of(Place place)
{
  return place / 2;
}
constexpr int turn_of(Place place)
{
  return static_cast<int>(place % 2);
}

// Finds the connected components of the local rows, without ghosts, and two-colors each from its
// first row. Returns false if a component has an odd cycle.
bool two_color_locally(const Graph &graph, std::vector<int> &component, Colors &side,
                       std::vector<Place> &place)
{
  std::vector<int> stack;
  component.assign(static_cast<std::size_t>(graph.nlocal), -1);
  side.assign(static_cast<std::size_t>(graph.nlocal), kUncolored);
  for (int start = 0; start < graph.nlocal; ++start) {
    if (component[start] >= 0) continue;
    component[start] = static_cast<int>(place.size());
    side[start] = 0;
    place.push_back(2 * static_cast<Place>(graph.row[start]));
    stack.push_back(start);
    while (!stack.empty()) {
      const int v = stack.back();
      stack.pop_back();
      for (const int u : graph.neighbors(v)) {
        if (u >= graph.nlocal) continue;
        if (component[u] < 0) {
          component[u] = component[v];
          side[u] = 1 - side[v];
          stack.push_back(u);
        } else if (side[u] == side[v]) {
          return false;
        }
      }
    }
  }
  return true;
}

enum Progress : int { settled, moving, odd_cycle };

class Sides {
public:
  explicit Sides(const Graph &graph) : graph_(graph) {}

  PetscErrorCode find(Colors &color, Progress *progress)
  {
    PetscFunctionBegin;
    progress_ = two_color_locally(graph_, component_, side_, place_)
                    ? (graph_.ranks > 1 ? moving : settled)
                    : odd_cycle;
    at_.resize(static_cast<std::size_t>(graph_.size()));
    PetscCall(agree());
    while (progress_ == moving) {
      progress_ = settled;
      PetscCall(step());
      PetscCall(agree());
    }
    *progress = progress_;
    if (progress_ == odd_cycle) PetscFunctionReturn(PETSC_SUCCESS);
    color.resize(at_.size());
    stand();
    PetscCall(update_ghosts(graph_, MPIU_INT64, at_.data()));
    std::transform(at_.begin(), at_.end(), color.begin(), turn_of);
    PetscFunctionReturn(PETSC_SUCCESS);
  }

private:
  static constexpr Place kNowhere = std::numeric_limits<Place>::max();

  // Sets the places of all local rows.
  void stand()
  {
    for (int v = 0; v < graph_.nlocal; ++v) at_[v] = place_[component_[v]] ^ side_[v];
  }

  // Suggests another place for component c, which takes it if its row is smaller. If the two places
  // have the same row but different turns, the graph has an odd cycle.
  void offer(int c, Place place)
  {
    if (row_of(place) < row_of(place_[c])) {
      place_[c] = place;
      progress_ = std::max(progress_, moving);
    } else if (row_of(place) == row_of(place_[c]) && place != place_[c]) {
      progress_ = odd_cycle;
    }
  }

  // One step of FastSV (Zhang, Azad and Hu, 2020), a parallel union-find. First, each component
  // takes the place of its parent row, if the grandparent is smaller. Then it takes the place with
  // the smallest row among its neighbors on other ranks. Last comes hooking: if a component has
  // found a smaller row, its former parent row may take that place, too. After few more steps than
  // the logarithm of the number of rows, the parent of each component is the smallest row that is
  // connected to it.
  PetscErrorCode step()
  {
    std::vector<Place> found(place_.size()), hook(place_.size(), kNowhere),
        hooked(static_cast<std::size_t>(graph_.nlocal), kNowhere);
    std::vector<PetscInt> leaf, remote;
    const PetscInt first = graph_.nlocal > 0 ? graph_.row[0] : 0;
    PetscLayout layout;
    PetscSF sf;

    PetscFunctionBegin;
    const auto local = [&](Place place) {
      return row_of(place) >= first && row_of(place) < first + graph_.nlocal;
    };
    stand();
    for (std::size_t c = 0; c < place_.size(); ++c) {
      if (local(place_[c])) {
        found[c] = at_[static_cast<std::size_t>(row_of(place_[c]) - first)];
      } else {
        leaf.push_back(static_cast<PetscInt>(c));
        remote.push_back(static_cast<PetscInt>(row_of(place_[c])));
      }
    }
    PetscCall(PetscLayoutCreateFromSizes(graph_.comm, graph_.nlocal, PETSC_DETERMINE, 1, &layout));
    PetscCall(PetscSFCreate(graph_.comm, &sf));
    PetscCall(PetscSFSetGraphLayout(sf, layout, static_cast<PetscInt>(leaf.size()), leaf.data(),
                                    PETSC_COPY_VALUES, remote.data()));
    PetscCall(PetscLayoutDestroy(&layout));
    PetscCall(PetscSFBcastBegin(sf, MPIU_INT64, at_.data(), found.data(), MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(sf, MPIU_INT64, at_.data(), found.data(), MPI_REPLACE));
    const std::vector<Place> before = place_;
    for (std::size_t c = 0; c < place_.size(); ++c)
      offer(static_cast<int>(c), found[c] ^ turn_of(before[c]));
    stand();
    PetscCall(update_ghosts(graph_, MPIU_INT64, at_.data()));
    for (int g = graph_.nlocal; g < graph_.size(); ++g)
      for (const int v : graph_.neighbors(g)) offer(component_[v], at_[g] ^ 1 ^ side_[v]);
    for (std::size_t c = 0; c < place_.size(); ++c) {
      if (row_of(place_[c]) == row_of(before[c])) continue;
      hook[c] = place_[c] ^ turn_of(before[c]);
      if (local(before[c])) offer_to_row(static_cast<int>(row_of(before[c]) - first), hook[c]);
    }
    PetscCall(PetscSFReduceBegin(sf, MPIU_INT64, hook.data(), hooked.data(), MPI_MIN));
    PetscCall(PetscSFReduceEnd(sf, MPIU_INT64, hook.data(), hooked.data(), MPI_MIN));
    PetscCall(PetscSFDestroy(&sf));
    for (int v = 0; v < graph_.nlocal; ++v)
      if (hooked[v] != kNowhere) offer_to_row(v, hooked[v]);
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  void offer_to_row(int v, Place place) { offer(component_[v], place ^ side_[v]); }

  PetscErrorCode agree()
  {
    int progress = progress_;

    PetscFunctionBegin;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &progress, 1, MPI_INT, MPI_MAX, graph_.comm));
    progress_ = static_cast<Progress>(progress);
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  const Graph &graph_;
  std::vector<int> component_; // of each local row
  Colors side_;                // of each local row, 0 for the first row of its component
  std::vector<Place> place_;   // of each component
  std::vector<Place> at_;      // of each vertex
  Progress progress_ = moving;
};

} // namespace

PetscErrorCode color_bipartite(const Graph &graph, Colors &color, int *colors)
{
  Sides sides(graph);
  Colors found;
  Progress progress = odd_cycle;

  PetscFunctionBegin;
  *colors = 0;
  PetscCall(sides.find(found, &progress));
  if (progress == odd_cycle) PetscFunctionReturn(PETSC_SUCCESS);
  color = std::move(found);
  *colors = graph.global_entries > 0 ? 2 : 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi::coloring
