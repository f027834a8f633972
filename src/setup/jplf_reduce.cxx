#include <algorithm>

#include "petsc/compat.h"
#include "setup/jplf_steps.h"

// A local search in partial colorings, like PartialCol (Blöchliger and Zufferey, 2008), but with
// many rows in each round. The rows of the last color start uncolored. In each round, every
// uncolored row draws a number. If it has drawn more than all its uncolored neighbors, it takes the
// color that the fewest of its neighbors have. These neighbors lose the color. A draw is a hash of
// the round and the global row.

namespace mcpi::jplf {
namespace {

// Rounds during which a row that lost a color avoids to take it from its neighbors again
constexpr int kTabuRounds = 10;
// Each round costs two exchanges and a reduction. For small graphs, four rounds a row are enough.
constexpr PetscInt64 kMaxRounds = 1000;
// The search stops after this many rounds without progress. For small graphs, one round a row is
// enough.
constexpr PetscInt64 kStallRounds = 300;
constexpr PetscReal kStallEffort = 1; // most work without progress, in passes over the graph
// The least work that counts as a pass: a pass over a small graph counts as this much.
constexpr PetscInt64 kLeastPass = 1 << 18;

// How often, of 256 times, a row does not distinguish between colors that at most two neighbors
// would lose. Such moves help the search to leave a loop. They become more frequent the longer the
// search makes no progress.
constexpr int noise(int stalled_rounds)
{
  return std::min(4 + stalled_rounds / 8, 16);
}

class PartialColoring {
public:
  PartialColoring(const Graph &graph, int colors, Colors &color)
      : graph_(graph), colors_(colors), color_(color), lost_color_(color.size(), kUncolored),
        lost_round_(color.size(), -kTabuRounds), losers_(static_cast<std::size_t>(colors), 0)
  {
    for (int v = 0; v < graph.nlocal; ++v)
      if (color_[v] == kUncolored) open_.push_back(v);
  }

  const std::vector<int> &open() const { return open_; }

  PetscErrorCode run_round(int round, int noisy);

private:
  std::uint64_t draw(int v, int round) const
  {
    return mix(graph_.hash[v] + static_cast<std::uint64_t>(round) * 0xd1342543de82ef95U);
  }
  bool wins(int v, int round) const;
  int choose(int v, int round, int noisy);
  void evict_neighbors(int v, int round);

  const Graph &graph_;
  int colors_;
  Colors &color_;
  std::vector<int> lost_color_, lost_round_;
  std::vector<int> losers_; // per color: the number of neighbors that would lose it
  std::vector<int> open_;   // uncolored local rows
};

bool PartialColoring::wins(int v, int round) const
{
  const std::uint64_t mine = draw(v, round);
  return std::none_of(graph_.neighbors(v).begin(), graph_.neighbors(v).end(),
                      [&](int u) { return color_[u] == kUncolored && draw(u, round) > mine; });
}

int PartialColoring::choose(int v, int round, int noisy)
{
  const auto neighbors = graph_.neighbors(v);
  // The first degree + 1 colors contain a free color, if any color is free.
  const int limit = std::min(colors_, graph_.degree(v) + 1);
  const std::uint64_t mine = draw(v, round);
  const int forgiven = static_cast<int>(mine % 256) < noisy ? 2 : 0;
  int best = 0, best_cost = -1;
  std::uint64_t best_draw = 0;

  for (const int u : neighbors)
    if (color_[u] != kUncolored) ++losers_[color_[u]];
  for (int c = 0; c < limit; ++c) {
    int cost = losers_[c] <= forgiven ? 0 : losers_[c];
    if (losers_[c] > 0 && c == lost_color_[v] && round - lost_round_[v] < kTabuRounds)
      cost += graph_.degree(v);
    if (best_cost >= 0 && cost > best_cost) continue;
    const std::uint64_t tie = mix(mine + static_cast<std::uint64_t>(c));
    if (cost == best_cost && tie >= best_draw) continue;
    best = c;
    best_cost = cost;
    best_draw = tie;
  }
  for (const int u : neighbors)
    if (color_[u] != kUncolored) losers_[color_[u]] = 0;
  return best;
}

// Takes the color of v, which has just been colored, from the local neighbors that have it. None of
// them took it in this round, because no two neighbors are colored in one round.
void PartialColoring::evict_neighbors(int v, int round)
{
  for (const int u : graph_.neighbors(v)) {
    if (u >= graph_.nlocal || color_[u] != color_[v]) continue;
    lost_color_[u] = color_[u];
    lost_round_[u] = round;
    color_[u] = kUncolored;
    open_.push_back(u);
  }
}

PetscErrorCode PartialColoring::run_round(int round, int noisy)
{
  std::vector<int> winners, chosen, rest;

  PetscFunctionBegin;
  for (const int v : open_) {
    if (wins(v, round)) {
      winners.push_back(v);
      chosen.push_back(choose(v, round, noisy));
    } else {
      rest.push_back(v);
    }
  }
  open_.swap(rest);
  const Colors ghosts(color_.begin() + graph_.nlocal, color_.end());
  for (std::size_t k = 0; k < winners.size(); ++k) color_[winners[k]] = chosen[k];
  PetscCall(update_ghosts(graph_, MPI_INT, color_.data()));
  for (const int v : winners) evict_neighbors(v, round);
  for (int g = 0; g < graph_.nghost; ++g)
    if (ghosts[g] == kUncolored && color_[graph_.nlocal + g] != kUncolored)
      evict_neighbors(graph_.nlocal + g, round);
  PetscCall(update_ghosts(graph_, MPI_INT, color_.data()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode reduce_colors(const Graph &graph, PetscReal effort, Colors &color, int *colors)
{
  const int last = *colors - 1;
  const Colors kept(color);
  const auto pass =
      static_cast<PetscReal>(std::max(graph.global_entries + graph.global_rows, kLeastPass));
  PetscInt64 fewest = PETSC_MAX_INT, work = 0, fewest_work = 0;
  int fewest_round = 0;

  PetscFunctionBegin;
  std::replace(color.begin(), color.end(), last, kUncolored);
  PartialColoring partial(graph, last, color);
  for (int round = 0;; ++round) {
    PetscInt64 totals[] = {static_cast<PetscInt64>(partial.open().size()), 0};
    for (const int v : partial.open()) totals[1] += graph.degree(v) + 1;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, totals, 2, MPIU_INT64, MPI_SUM, graph.comm));
    if (totals[0] == 0) {
      *colors = last;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    if (totals[0] < fewest) {
      fewest = totals[0];
      fewest_work = work;
      fewest_round = round;
    }
    const bool hopeless = round - fewest_round > std::min(kStallRounds, graph.global_rows) ||
                          static_cast<PetscReal>(work - fewest_work) > kStallEffort * pass;
    if (hopeless || round == std::min(kMaxRounds, 4 * graph.global_rows) ||
        static_cast<PetscReal>(work) > effort * pass)
      break;
    work += totals[1];
    PetscCall(partial.run_round(round, noise(round - fewest_round)));
  }
  color = kept;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi::jplf
