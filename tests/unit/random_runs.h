// Random worlds in which exchanges of ghosts are simulated: patterns, ranks, and what they are
// asked to do.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "sweep/schedule.h"
#include "system.h"

namespace mcpi::test {

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

// Random worlds
#ifdef MCPI_SANITIZED // many times slower
constexpr int kWorlds = 300;
#else
constexpr int kWorlds = 2000;
#endif

// The first thing that went wrong in so many of them. simulate(pattern, color, first row of each
// rank and the end, runs, seed) tells what, empty if nothing
template <class Simulate>
std::string first_wrong(int worlds, bool by_sweep_too, const Simulate &simulate)
{
  for (int world = 0; world < worlds; ++world) {
    const auto seed = static_cast<unsigned>(world);
    std::mt19937 random(seed);
    const Row rows = 6 + static_cast<Row>(random() % 12);
    const Pattern pattern = random_pattern(rows, 1 + static_cast<int>(random() % 2),
                                           seed + 1); // many edges are one-way
    std::vector<Row> begins{0};
    for (const int ranks = 2 + static_cast<int>(random() % 3);
         static_cast<int>(begins.size()) < ranks;)
      begins.push_back(std::min(
          rows,
          begins.back() + static_cast<Row>(random() % (rows / 2 + 1)))); // some ranks have no rows
    begins.push_back(rows);
    std::vector<Run> runs;
    for (int n = 0; n < 5; ++n) runs.push_back(some_run(random, by_sweep_too));
    if (random() % 3 == 0) std::fill(runs.begin(), runs.end(), runs.front());
    const std::string wrong = simulate(pattern, greedy_coloring(pattern), begins, runs, seed);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

} // namespace mcpi::test
