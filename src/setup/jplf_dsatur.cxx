#include <algorithm>
#include <bit>

#include "petsc/compat.h"
#include "setup/jplf_steps.h"

// Brélaz's DSATUR (1979), started from one row. A row's saturation is the number of different
// colors that its neighbors have. The first rows are colored one after the other. After them, all
// ranks color many rows in each round. The candidates of a round are the uncolored rows with enough
// saturation. A candidate takes its smallest free color if it has a larger saturation than every
// candidate among its neighbors; a hash decides ties. In a mesh, rows that have only one free color
// left come first. The coloring spreads from one place, so no regions with colorings that do not
// fit each other meet.

namespace mcpi::coloring {
namespace {

// Each round costs two exchanges and two reductions. Only the first rounds color few rows, because
// the colored region grows on all sides.
int max_rounds(const Graph &graph)
{
  constexpr PetscInt64 most = 20000, least = 1000, rows_of_round = 8;
  return static_cast<int>(std::min(most, least + graph.global_rows / rows_of_round));
}

constexpr int kMaxSeeds = 64; // one for each component of the graph; each visits all rows
constexpr int kAlone = 64;    // rows of each component that are colored one after the other

// The work is the sum of the front's sizes over all rounds. It may be kMostLooks times the number
// of rows of the graph, of which at least kLeastRows count. Meshes need 8 to 15 times.
constexpr PetscInt64 kMostLooks = 64, kLeastRows = 1 << 12;

class Dsatur {
public:
  Dsatur(const Graph &graph, Colors &color)
      : graph_(graph), color_(color), neighbor_colors_(static_cast<std::size_t>(graph.nlocal), 0),
        priority_(static_cast<std::size_t>(graph.size()), 0)
  {
    color_.assign(static_cast<std::size_t>(graph.size()), kUncolored);
    left_ = graph.nlocal;
    for (int v = 0; v < graph.nlocal; ++v)
      if (graph.degree(v) == 0) take(v, 0);
  }

  PetscInt64 left() const { return left_; }
  PetscInt64 front() const { return static_cast<PetscInt64>(front_.size()); }
  // The largest saturation of an uncolored local row
  int saturation()
  {
    std::erase_if(front_, [&](int v) { return color_[v] != kUncolored; });
    int most = 0;
    for (const int v : front_) most = std::max(most, saturation(v));
    return most;
  }
  // Colors one row of all ranks that has the saturation colors. *largest is raised to its color.
  PetscErrorCode seed(int colors, int *largest);
  // Colors rows with a saturation of at least enough, no two of which are neighbors. *largest is
  // raised to the largest color that a local row took.
  PetscErrorCode grow(int enough, int *largest);

private:
  int saturation(int v) const { return std::popcount(neighbor_colors_[v]); }

  void take(int v, int c)
  {
    color_[v] = c;
    --left_;
  }

  // Updates the neighbors of v, a local row or a ghost that has just been colored.
  void tell_neighbors(int v)
  {
    for (const int u : graph_.neighbors(v)) {
      if (u >= graph_.nlocal || color_[u] != kUncolored) continue;
      if (neighbor_colors_[u] == 0) front_.push_back(u);
      neighbor_colors_[u] |= std::uint64_t{1} << color_[v];
    }
  }

  PetscErrorCode tell_neighbors(const std::vector<int> &colored)
  {
    PetscFunctionBegin;
    const Colors ghosts(color_.begin() + graph_.nlocal, color_.end());
    PetscCall(update_ghosts(graph_, MPI_INT, color_.data()));
    for (const int v : colored) tell_neighbors(v);
    for (int g = 0; g < graph_.nghost; ++g)
      if (ghosts[g] != color_[graph_.nlocal + g]) tell_neighbors(graph_.nlocal + g);
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  const Graph &graph_;
  Colors &color_;
  std::vector<std::uint64_t> neighbor_colors_; // per local row: one bit for each color
  std::vector<int> priority_; // per vertex: the saturation of this round's candidates, otherwise 0
  // Uncolored local rows with colored neighbors. saturation() erases rows that have been colored.
  std::vector<int> front_;
  PetscInt64 left_ = 0; // uncolored local rows
};

PetscErrorCode Dsatur::seed(int colors, int *largest)
{
  std::uint64_t mine = 0, first;
  int seed = -1;
  std::vector<int> planted;
  const auto look = [&](int v) {
    if (color_[v] != kUncolored || saturation(v) != colors || graph_.hash[v] < mine) return;
    mine = graph_.hash[v];
    seed = v;
  };

  PetscFunctionBegin;
  if (colors > 0) {
    std::for_each(front_.begin(), front_.end(), look);
  } else {
    for (int v = 0; v < graph_.nlocal; ++v) look(v);
  }
  PetscCallMPI(MPI_Allreduce(&mine, &first, 1, MPI_UINT64_T, MPI_MAX, graph_.comm));
  if (seed >= 0 && mine == first) {
    take(seed, std::countr_one(neighbor_colors_[seed]));
    *largest = std::max(*largest, color_[seed]);
    planted.push_back(seed);
  }
  PetscCall(tell_neighbors(planted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Dsatur::grow(int enough, int *largest)
{
  std::vector<int> candidates, winners;

  PetscFunctionBegin;
  std::copy_if(front_.begin(), front_.end(), std::back_inserter(candidates),
               [&](int v) { return saturation(v) >= enough; });
  for (const int v : candidates) priority_[v] = saturation(v);
  PetscCall(update_ghosts(graph_, MPI_INT, priority_.data()));
  std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(winners), [&](int v) {
    return std::none_of(graph_.neighbors(v).begin(), graph_.neighbors(v).end(), [&](int u) {
      return priority_[u] != priority_[v] ? priority_[u] > priority_[v]
                                          : priority_[u] > 0 && graph_.hash[u] > graph_.hash[v];
    });
  });
  for (const int v : candidates) priority_[v] = 0;
  for (const int v : winners) {
    take(v, std::countr_one(neighbor_colors_[v]));
    *largest = std::max(*largest, color_[v]);
  }
  PetscCall(tell_neighbors(winners));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode color_by_dsatur(const Graph &graph, int half, int most, Colors &color, int *colors)
{
  constexpr int most_colors = 63; // because neighbor_colors_ has 64 bits
  const int limit = std::min(most, most_colors), forced = std::max(1, half);
  Dsatur dsatur(graph, color);
  int seeds = 0, planted = 0; // planted: rows colored by seed() in the latest component
  PetscInt64 work = 0;

  PetscFunctionBegin;
  *colors = 0;
  for (int round = 0, largest = 0, rounds = max_rounds(graph); round < rounds; ++round) {
    int maxima[] = {dsatur.saturation(), largest};
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, maxima, 2, MPI_INT, MPI_MAX, graph.comm));
    PetscInt64 sums[] = {dsatur.left(), dsatur.front()};
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPIU_INT64, MPI_SUM, graph.comm));
    largest = maxima[1];
    work += sums[1];
    if (largest >= limit || work > kMostLooks * std::max(graph.global_rows, kLeastRows)) break;
    if (sums[0] == 0) {
      *colors = largest + 1;
      break;
    }
    if (maxima[0] == 0) {
      if (++seeds > kMaxSeeds) break;
      planted = 0;
    }
    if (planted++ < kAlone)
      PetscCall(dsatur.seed(maxima[0], &largest));
    else
      PetscCall(dsatur.grow(std::min(maxima[0], forced), &largest));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi::coloring
