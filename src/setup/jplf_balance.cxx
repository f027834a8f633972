#include <algorithm>
#include <cstdint>

#include "petsc/compat.h"
#include "setup/jplf_steps.h"

// Rows of colors with many entries move to colors with few entries that none of their neighbors
// has. These are the unscheduled moves of Lu et al. (2015). All ranks work in rounds. Random draws
// decide which rows move, and to which color. A draw is a hash of the round and the global row, so
// it does not depend on the partition.

namespace mcpi::jplf {
namespace {

// Pairs of rounds. Each round costs two exchanges and two reductions.
constexpr int kMaxPairs = 12;
// Balancing stops when a pair of rounds lowers the excess of the largest color over the average by
// less than 1/kLeastGain of it.
constexpr PetscInt64 kLeastGain = 8;
// Balancing stops when the excess is at most 1/kCloseEnough of the average.
constexpr PetscInt64 kCloseEnough = 64;
// For each row that should leave a color, this many rows look for another color, because few find
// one.
constexpr double kTries = 8;

class Balancing {
public:
  Balancing(const Graph &graph, int colors, Colors &color)
      : graph_(graph), color_(color), entries_(static_cast<std::size_t>(colors)),
        spare_(entries_.size()), before_(entries_.size() + 1, 0), want_(color.size())
  {
  }

  PetscErrorCode count();
  PetscInt64 average() const
  {
    return (graph_.global_entries + graph_.global_rows) / static_cast<PetscInt64>(entries_.size());
  }
  PetscInt64 excess() const
  {
    return *std::max_element(entries_.begin(), entries_.end()) - average();
  }

  // Moves rows from colors with more entries than level to colors with fewer.
  PetscErrorCode run_round(int round, PetscInt64 level);

private:
  enum Purpose : std::uint64_t { looking, choosing, moving, yielding };

  std::uint64_t draw(int v, int round, Purpose purpose) const
  {
    return mix(mix(graph_.hash[v] + static_cast<std::uint64_t>(round)) + purpose);
  }
  double draw_fraction(int v, int round, Purpose purpose) const
  {
    return static_cast<double>(draw(v, round, purpose) >> 11) * 0x1p-53;
  }
  // The entries of a local row, its diagonal included
  PetscInt64 weight(int v) const { return graph_.degree(v) + 1; }
  int choose(int v, int round);
  bool yields(int v, int round) const;

  const Graph &graph_;
  Colors &color_;
  std::vector<PetscInt64> entries_; // per color: entries of its rows
  std::vector<PetscInt64> spare_;   // per color: level minus entries
  std::vector<PetscInt64> before_;  // per color: sum of the positive spare_ of the colors before it
  std::vector<int> want_;           // per vertex: the color to which it would move
  std::vector<int> taken_;          // colors with positive spare_ that neighbors of a row have
};

PetscErrorCode Balancing::count()
{
  PetscFunctionBegin;
  std::fill(entries_.begin(), entries_.end(), 0);
  for (int v = 0; v < graph_.nlocal; ++v) entries_[color_[v]] += weight(v);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, entries_.data(),
                             static_cast<PetscMPIInt>(entries_.size()), MPIU_INT64, MPI_SUM,
                             graph_.comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Draws one of the colors that v may take. A color's probability is proportional to its spare_.
int Balancing::choose(int v, int round)
{
  taken_.clear();
  for (const int u : graph_.neighbors(v))
    if (spare_[color_[u]] > 0) taken_.push_back(color_[u]);
  std::sort(taken_.begin(), taken_.end());
  taken_.erase(std::unique(taken_.begin(), taken_.end()), taken_.end());
  PetscInt64 room = before_.back();
  for (const int c : taken_) room -= spare_[c];
  if (room == 0) return kUncolored;
  auto place = static_cast<PetscInt64>(draw(v, round, choosing) % static_cast<std::uint64_t>(room));
  for (const int c : taken_)
    if (before_[c] <= place) place += spare_[c];
  return static_cast<int>(std::upper_bound(before_.begin(), before_.end(), place) -
                          before_.begin()) -
         1;
}

// True if a neighbor that wants the same color has drawn a larger number
bool Balancing::yields(int v, int round) const
{
  const std::uint64_t mine = draw(v, round, yielding);
  return std::any_of(graph_.neighbors(v).begin(), graph_.neighbors(v).end(), [&](int u) {
    return want_[u] == want_[v] && draw(u, round, yielding) > mine;
  });
}

PetscErrorCode Balancing::run_round(int round, PetscInt64 level)
{
  // The entries of the rows that found another color, summed by their color (leaving) and by the
  // other color (coming)
  std::vector<PetscInt64> movable(2 * entries_.size(), 0);
  PetscInt64 *leaving = movable.data(), *coming = leaving + entries_.size();

  PetscFunctionBegin;
  for (std::size_t c = 0; c < entries_.size(); ++c) {
    spare_[c] = level - entries_[c];
    before_[c + 1] = before_[c] + std::max<PetscInt64>(spare_[c], 0);
  }
  std::fill(want_.begin(), want_.end(), kUncolored);
  for (int v = 0; v < graph_.nlocal; ++v) {
    const int c = color_[v];
    if (spare_[c] >= 0 || draw_fraction(v, round, looking) * static_cast<double>(entries_[c]) >
                              -kTries * static_cast<double>(spare_[c]))
      continue;
    want_[v] = choose(v, round);
    if (want_[v] == kUncolored) continue;
    leaving[c] += weight(v);
    coming[want_[v]] += weight(v);
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, movable.data(), static_cast<PetscMPIInt>(movable.size()),
                             MPIU_INT64, MPI_SUM, graph_.comm));
  for (int v = 0; v < graph_.nlocal; ++v) {
    if (want_[v] == kUncolored) continue;
    const double out =
        static_cast<double>(-spare_[color_[v]]) / static_cast<double>(leaving[color_[v]]);
    const double in = static_cast<double>(spare_[want_[v]]) / static_cast<double>(coming[want_[v]]);
    if (draw_fraction(v, round, moving) >= std::min(out, in)) want_[v] = kUncolored;
  }
  PetscCall(update_ghosts(graph_, MPI_INT, want_.data()));
  for (int v = 0; v < graph_.nlocal; ++v)
    if (want_[v] != kUncolored && !yields(v, round)) color_[v] = want_[v];
  PetscCall(update_ghosts(graph_, MPI_INT, color_.data()));
  PetscCall(count());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode balance(const Graph &graph, int colors, Colors &color)
{
  Balancing balancing(graph, colors, color);
  Colors best = color;
  PetscInt64 least;

  PetscFunctionBegin;
  PetscCall(balancing.count());
  least = balancing.excess();
  for (int pair = 0; pair < kMaxPairs && least > balancing.average() / kCloseEnough; ++pair) {
    const PetscInt64 before = least;
    // The second round sets the level halfway between the average and the largest color. If the
    // rows of the largest color find no color below the average, they find one below this level.
    for (const int half : {0, 1}) {
      PetscCall(balancing.run_round(2 * pair + half,
                                    balancing.average() + half * balancing.excess() / 2));
      if (balancing.excess() >= least) continue;
      least = balancing.excess();
      best = color;
    }
    if ((before - least) * kLeastGain < before) break;
  }
  color.swap(best);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi::jplf
