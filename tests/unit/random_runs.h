// Random cases for simulated exchanges of ghosts. A case consists of a pattern, its distribution to
// ranks, and some runs of sweeps.
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

// Number of random cases
#ifdef MCPI_SANITIZED // sanitizers make the program many times slower
constexpr int kWorlds = 300;
#else
constexpr int kWorlds = 2000;
#endif

// Simulates this many random cases and returns the first error, or an empty string. simulate() gets
// the pattern, the colors, the first row of each rank and the end, the runs, and a seed. It returns
// its error, or an empty string.
template <class Simulate>
std::string first_wrong(int worlds, bool by_sweep_too, const Simulate &simulate)
{
  for (int world = 0; world < worlds; ++world) {
    const auto seed = static_cast<unsigned>(world);
    std::mt19937 random(seed);
    const Row rows = 6 + static_cast<Row>(random() % 12);
    // Many edges of this pattern exist in one direction only.
    const Pattern pattern = random_pattern(rows, 1 + static_cast<int>(random() % 2), seed + 1);
    std::vector<Row> begins{0};
    for (const int ranks = 2 + static_cast<int>(random() % 3);
         static_cast<int>(begins.size()) < ranks;)
      // Some ranks have no rows.
      begins.push_back(std::min(rows, begins.back() + static_cast<Row>(random() % (rows / 2 + 1))));
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
