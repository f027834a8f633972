// A world of ranks that exchange ghosts as packets, and random cases for it. A case consists of a
// pattern, its distribution to ranks, and some runs of sweeps.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/system.h"
#include "sweep/schedule.h"

namespace mcpi::test {

constexpr int kPieces = 2; // packets of a ghost row

// Simulates the ranks under a random schedule. Stores arrive late, in order at each address only,
// and ranks run at any pace. One rank may be slow: it runs rarely, or if no other rank can go on.
template <class Store> class GhostWorld {
public:
  GhostWorld(const std::vector<Row> &begins, unsigned seed)
      : ranks_(static_cast<int>(begins.size()) - 1), random_(seed),
        slow_rank_(static_cast<int>(random_() % begins.size())) // the largest number: no rank
  {
    for (int rank = 0; rank < ranks_; ++rank) owner_.resize(begins[rank + 1], rank);
  }
  virtual ~GhostWorld() = default;

  // Returns the first error, or an empty string.
  std::string run()
  {
    while (true) {
      Moves possible, slow;
      bool done = true;
      for (auto &[where, stores] : flying_)
        if (!stores.empty())
          (std::get<0>(where) == slow_rank_ ? slow : possible)
              .push_back([this, &stores = stores, where = where] {
                land(where, stores.front());
                stores.pop_front();
              });
      for (int rank = 0; rank < ranks_; ++rank)
        done = !add_moves(rank, rank == slow_rank_ ? slow : possible) && done;
      if (!wrong_.empty()) return wrong_;
      if (done) return {};
      if (possible.empty() || random_() % 64 == 0)
        possible.insert(possible.end(), slow.begin(), slow.end());
      if (possible.empty()) return "everybody waits";
      possible[random_() % possible.size()]();
    }
  }

protected:
  using Moves = std::vector<std::function<void()>>;
  using Where = std::tuple<int, int, int>; // rank, ghost row or neighbor, piece (-1: no packet)

  // Adds what the rank can do next. Returns whether the rank still has something to do.
  virtual bool add_moves(int rank, Moves &moves) = 0;
  virtual void land(const Where &where, const Store &store) = 0;

  void send(int reader, int from, int piece, const Store &store)
  {
    flying_[{reader, from, piece}].push_back(store);
  }
  // Visits the entries of the pattern that couple two ranks.
  template <class Visit> void for_couplings(const Pattern &pattern, const Visit &visit) const
  {
    for (Row row = 0; row < static_cast<Row>(pattern.size()); ++row)
      for (const Row column : pattern[row])
        if (owner_[row] != owner_[column]) visit(row, column);
  }

  const int ranks_;
  std::vector<int> owner_;
  std::string wrong_;

private:
  std::map<Where, std::deque<Store>> flying_;
  std::mt19937 random_;
  const int slow_rank_;
};

inline ColorPlan plan_of_colors(const std::vector<int> &color)
{
  ColorPlan plan;
  plan.colors = 1 + *std::max_element(color.begin(), color.end());
  plan.color_begin.assign(static_cast<std::size_t>(plan.colors) + 1, 0);
  plan.boundary_end.assign(static_cast<std::size_t>(plan.colors), 0);
  plan.ghost_begin = plan.color_begin;
  return plan;
}

struct Run {
  SweepConfig config;
  ApplyArgs apply;
  int its;
  bool from_zero;
};

inline Run some_run(std::mt19937 &random, bool by_sweep_too)
{
  Run run;
  run.config.sweep = kSweeps[random() % 3];
  if (by_sweep_too && random() % 4 == 0) run.config.frequency = PC_MCPI_HALO_FREQUENCY_SWEEP;
  run.config.shortcuts = random() % 4 != 0;
  run.apply.omega = random() % 2 ? 1.0 : 1.3;
  run.apply.transposed = random() % 4 == 0;
  run.its = 1 + static_cast<int>(random() % 3);
  run.from_zero = random() % 3 != 0;
  return run;
}

// Number of random cases
#ifdef MCPI_SANITIZED // sanitizers make the program many times slower
constexpr int kWorlds = 300;
#else
constexpr int kWorlds = 2000;
#endif

// Simulates this many random cases and returns the first error, or an empty string. A world is made
// from the pattern, the colors, the first row of each rank and the end, the runs, a mutation, and a
// seed.
template <class World, class Mutation>
std::string simulate(const Mutation &mutation, int worlds, bool by_sweep_too)
{
  for (int world = 0; world < worlds; ++world) {
    const auto seed = static_cast<unsigned>(world);
    std::mt19937 random(seed);
    const Row rows = 6 + static_cast<Row>(random() % 12);
    // Many edges of this pattern exist in one direction only.
    const Pattern pattern = ring_pattern(rows, 1 + static_cast<int>(random() % 2), seed + 1);
    std::vector<Row> begins{0};
    for (const int ranks = 2 + static_cast<int>(random() % 3);
         static_cast<int>(begins.size()) < ranks;)
      // Some ranks have no rows.
      begins.push_back(std::min(rows, begins.back() + static_cast<Row>(random() % (rows / 2 + 1))));
    begins.push_back(rows);
    std::vector<Run> runs;
    for (int n = 0; n < 5; ++n) runs.push_back(some_run(random, by_sweep_too));
    if (random() % 3 == 0) std::fill(runs.begin(), runs.end(), runs.front());
    const std::string wrong =
        World(pattern, greedy_coloring(pattern), begins, runs, mutation, seed).run();
    if (!wrong.empty()) return wrong;
  }
  return {};
}

} // namespace mcpi::test
