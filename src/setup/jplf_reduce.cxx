#include <algorithm>
#include <atomic>

#include "core/hash.h"
#include "core/threads.h"
#include "core/tuning.h"
#include "petsc/compat.h"
#include "setup/fetch_ahead.h"
#include "setup/jplf_steps.h"

// A local search in partial colorings, like PartialCol (Blöchliger and Zufferey, 2008), but with
// many rows in each round. The rows of the last color start uncolored. In each round, every
// uncolored row draws a number. If it has drawn more than all its uncolored neighbors, it takes the
// color that the fewest of its neighbors have. These neighbors lose the color. A draw is a hash of
// the round and the global row.

namespace mcpi::coloring {
namespace {

// Rounds during which a row that lost a color avoids to take it from its neighbors again
constexpr int kTabuRounds = 10;
// Each round costs two exchanges and a reduction. For small graphs, four rounds a row are enough.
constexpr PetscInt64 kMaxRounds = 1000;
// The search stops after this many rounds without progress. For small graphs, one round a row is
// enough.
constexpr PetscInt64 kStallRounds = 300;
// The most work, and the most without progress, in passes over the graph
constexpr PetscInt64 kMostPasses = 3, kStallPasses = 1;
// The least work that counts as a pass: a pass over a small graph counts as this much.
constexpr PetscInt64 kLeastPass = 1 << 18;

// How often, of 256 times, a row does not distinguish between colors that at most two neighbors
// would lose. Such moves help the search to leave a loop. They become more frequent the longer the
// search makes no progress.
constexpr int noise(int stalled_rounds)
{
  return std::min(4 + stalled_rounds / 8, 16);
}

// Threads share the rows of a round. The order of the uncolored rows depends on them, but nothing
// else does.
class PartialColoring {
public:
  PartialColoring(const Graph &graph, int colors, Colors &color)
      : graph_(graph), colors_(colors), color_(color), lost_color_(color.size(), kUncolored),
        lost_round_(color.size(), -kTabuRounds), team_(graph.threads)
  {
    for (int v = 0; v < graph.nlocal; ++v)
      if (color_[v] == kUncolored) {
        open_.push_back(v);
        work_ += graph.degree(v) + 1;
      }
  }

  // The number of uncolored local rows, and the work of a round
  PetscInt64 open() const { return static_cast<PetscInt64>(open_.size()); }
  PetscInt64 work() const { return work_; }

  PetscErrorCode run_round(int round, int noisy);

private:
  // What a thread finds in a part of the rows
  struct Part {
    std::vector<int> winners, chosen, rest, evicted;
    std::vector<int> losers; // per color: the number of neighbors that would lose it
    PetscInt64 work = 0;     // of the next round, for rest and evicted
  };

  std::uint64_t draw(int v, int round) const
  {
    return mix(graph_.hash[v] + static_cast<std::uint64_t>(round) * 0xd1342543de82ef95U);
  }
  bool wins(int v, int round) const;
  int choose(int v, int round, int noisy, std::vector<int> &losers) const;
  void decide(std::size_t begin, std::size_t end, int round, int noisy, Part &part) const;
  void evict_neighbors(int v, int round, Part &part);
  void collect(std::size_t parts);

  const Graph &graph_;
  int colors_;
  Colors &color_;
  std::vector<int> lost_color_, lost_round_;
  std::vector<int> open_; // uncolored local rows
  PetscInt64 work_ = 0;
  std::vector<Part> parts_;
  Team team_;
};

bool PartialColoring::wins(int v, int round) const
{
  const std::uint64_t mine = draw(v, round);
  return std::none_of(graph_.neighbors(v).begin(), graph_.neighbors(v).end(),
                      [&](int u) { return color_[u] == kUncolored && draw(u, round) > mine; });
}

int PartialColoring::choose(int v, int round, int noisy, std::vector<int> &losers) const
{
  const auto neighbors = graph_.neighbors(v);
  // The first degree + 1 colors contain a free color, if any color is free.
  const int limit = std::min(colors_, graph_.degree(v) + 1);
  const std::uint64_t mine = draw(v, round);
  const int forgiven = static_cast<int>(mine % 256) < noisy ? 2 : 0;
  int best = 0, best_cost = -1;
  std::uint64_t best_draw = 0;

  for (const int u : neighbors)
    if (color_[u] != kUncolored) ++losers[color_[u]];
  for (int c = 0; c < limit; ++c) {
    int cost = losers[c] <= forgiven ? 0 : losers[c];
    if (losers[c] > 0 && c == lost_color_[v] && round - lost_round_[v] < kTabuRounds)
      cost += graph_.degree(v);
    if (best_cost >= 0 && cost > best_cost) continue;
    const std::uint64_t tie = mix(mine + static_cast<std::uint64_t>(c));
    if (cost == best_cost && tie >= best_draw) continue;
    best = c;
    best_cost = cost;
    best_draw = tie;
  }
  for (const int u : neighbors)
    if (color_[u] != kUncolored) losers[color_[u]] = 0;
  return best;
}

// Decides for the open rows [begin, end) which of them get a color.
void PartialColoring::decide(std::size_t begin, std::size_t end, int round, int noisy,
                             Part &part) const
{
  part.winners.clear();
  part.chosen.clear();
  part.rest.clear();
  part.evicted.clear();
  part.losers.resize(static_cast<std::size_t>(colors_), 0);
  part.work = 0;
  for (std::size_t k = begin; k < end; ++k) {
    const int v = open_[k];
    fetch_ahead(graph_.ptr.data(), graph_.adj.data(), open_.data(), k, end);
    if (wins(v, round)) {
      part.winners.push_back(v);
      part.chosen.push_back(choose(v, round, noisy, part.losers));
    } else {
      part.rest.push_back(v);
      part.work += graph_.degree(v) + 1;
    }
  }
}

// Takes the color of v, which has just been colored, from the local neighbors that have it. None of
// them took it in this round, because no two neighbors are colored in one round. Other threads may
// take a neighbor's color at the same time: one of them lists it.
void PartialColoring::evict_neighbors(int v, int round, Part &part)
{
  const int color = color_[v];
  for (const int u : graph_.neighbors(v)) {
    const std::atomic_ref<int> theirs(color_[u]);
    if (u >= graph_.nlocal || theirs.load(std::memory_order_relaxed) != color) continue;
    int expected = color;
    if (!theirs.compare_exchange_strong(expected, kUncolored, std::memory_order_relaxed)) continue;
    lost_color_[u] = color;
    lost_round_[u] = round;
    part.evicted.push_back(u);
    part.work += graph_.degree(u) + 1;
  }
}

// Gathers the open rows of the next round.
void PartialColoring::collect(std::size_t parts)
{
  open_.clear();
  work_ = 0;
  for (std::size_t p = 0; p < parts; ++p) {
    open_.insert(open_.end(), parts_[p].rest.begin(), parts_[p].rest.end());
    open_.insert(open_.end(), parts_[p].evicted.begin(), parts_[p].evicted.end());
    work_ += parts_[p].work;
  }
}

PetscErrorCode PartialColoring::run_round(int round, int noisy)
{
  const Slices slices(open_.size(), graph_.threads, CommonTuning::kLeastUncolored);
  if (parts_.size() < slices.parts) parts_.resize(slices.parts);

  PetscFunctionBegin;
  team_.share(slices.parts, [&](std::size_t p) {
    decide(slices.begin(p), slices.begin(p + 1), round, noisy, parts_[p]);
  });
  const Colors ghosts(color_.begin() + graph_.nlocal, color_.end());
  if (graph_.ranks > 1) {
    for (std::size_t p = 0; p < slices.parts; ++p)
      for (std::size_t k = 0; k < parts_[p].winners.size(); ++k)
        color_[parts_[p].winners[k]] = parts_[p].chosen[k];
    PetscCall(update_ghosts(graph_, MPI_INT, color_.data()));
  }
  team_.share(slices.parts, [&](std::size_t p) {
    Part &part = parts_[p];
    for (std::size_t k = 0; k < part.winners.size(); ++k) {
      fetch_ahead(graph_.ptr.data(), graph_.adj.data(), part.winners.data(), k,
                  part.winners.size());
      color_[part.winners[k]] = part.chosen[k];
      evict_neighbors(part.winners[k], round, part);
    }
  });
  for (int g = 0; g < graph_.nghost; ++g)
    if (ghosts[g] == kUncolored && color_[graph_.nlocal + g] != kUncolored)
      evict_neighbors(graph_.nlocal + g, round, parts_.front());
  collect(slices.parts);
  PetscCall(update_ghosts(graph_, MPI_INT, color_.data()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode reduce_colors(const Graph &graph, Colors &color, int *colors)
{
  const int last = *colors - 1;
  const Colors kept(color);
  const PetscInt64 pass = std::max(graph.global_entries + graph.global_rows, kLeastPass);
  PetscInt64 fewest = PETSC_MAX_INT, work = 0, fewest_work = 0;
  int fewest_round = 0;

  PetscFunctionBegin;
  std::replace(color.begin(), color.end(), last, kUncolored);
  PartialColoring partial(graph, last, color);
  for (int round = 0;; ++round) {
    PetscInt64 totals[] = {partial.open(), partial.work()};
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
                          work - fewest_work > kStallPasses * pass;
    if (hopeless || round == std::min(kMaxRounds, 4 * graph.global_rows) ||
        work > kMostPasses * pass)
      break;
    work += totals[1];
    PetscCall(partial.run_round(round, noise(round - fewest_round)));
  }
  color = kept;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi::coloring
