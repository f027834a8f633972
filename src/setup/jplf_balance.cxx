#include <algorithm>
#include <cstdint>
#include <functional>

#include "core/hash.h"
#include "core/threads.h"
#include "core/tuning.h"
#include "petsc/compat.h"
#include "setup/jplf_steps.h"

// Rows of colors with many entries move to colors with few entries that none of their neighbors
// has. These are the unscheduled moves of Lu et al. (2015). All ranks work in rounds. Random draws
// decide which rows move, and to which color. A draw is a hash of the round and the global row, so
// it does not depend on the partition.

namespace mcpi::coloring {
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
        spare_(entries_.size()), before_(entries_.size() + 1, 0), want_(color.size()),
        slices_(static_cast<std::size_t>(graph.nlocal), graph.threads, CommonTuning::kLeastRows),
        parts_(slices_.parts), team_(graph.threads)
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

  // What a thread finds in a part of the rows
  struct Part {
    std::vector<PetscInt64> sums;
    std::vector<int> taken; // colors with positive spare_ that neighbors of a row have
  };
  // Lets threads call work(v, part) for all local rows.
  template <class Work> void for_rows(const Work &work)
  {
    team_.share(slices_.parts, [&](std::size_t p) {
      const int end = static_cast<int>(slices_.begin(p + 1));
      for (int v = static_cast<int>(slices_.begin(p)); v < end; ++v) work(v, parts_[p]);
    });
  }
  // Lets threads call add(v, part) for all local rows, and sums what that adds to part.sums, of
  // size count.
  template <class Add> std::vector<PetscInt64> sum(std::size_t count, const Add &add)
  {
    std::vector<PetscInt64> result(count, 0);
    for (Part &part : parts_) part.sums.assign(count, 0);
    for_rows(add);
    for (const Part &part : parts_)
      std::transform(part.sums.begin(), part.sums.end(), result.begin(), result.begin(),
                     std::plus<>());
    return result;
  }

  void look(int v, int round, Part &part);
  int choose(int v, int round, std::vector<int> &taken) const;
  bool yields(int v, int round) const;

  const Graph &graph_;
  Colors &color_;
  std::vector<PetscInt64> entries_; // per color: entries of its rows
  std::vector<PetscInt64> spare_;   // per color: level minus entries
  std::vector<PetscInt64> before_;  // per color: sum of the positive spare_ of the colors before it
  std::vector<int> want_;           // per vertex: the color to which it would move
  const Slices slices_;
  std::vector<Part> parts_;
  Team team_;
};

PetscErrorCode Balancing::count()
{
  PetscFunctionBegin;
  entries_ = sum(entries_.size(), [&](int v, Part &part) { part.sums[color_[v]] += weight(v); });
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, entries_.data(),
                             static_cast<PetscMPIInt>(entries_.size()), MPIU_INT64, MPI_SUM,
                             graph_.comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Draws one of the colors that v may take. A color's probability is proportional to its spare_.
int Balancing::choose(int v, int round, std::vector<int> &taken) const
{
  taken.clear();
  for (const int u : graph_.neighbors(v))
    if (spare_[color_[u]] > 0) taken.push_back(color_[u]);
  std::sort(taken.begin(), taken.end());
  taken.erase(std::unique(taken.begin(), taken.end()), taken.end());
  PetscInt64 room = before_.back();
  for (const int c : taken) room -= spare_[c];
  if (room == 0) return kUncolored;
  auto place = static_cast<PetscInt64>(draw(v, round, choosing) % static_cast<std::uint64_t>(room));
  for (const int c : taken)
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

// Sets the color that v wants. part.sums gets the entries of the rows that found another color,
// first by their color, then by the other color.
void Balancing::look(int v, int round, Part &part)
{
  const int c = color_[v];
  want_[v] = kUncolored;
  if (spare_[c] >= 0 || draw_fraction(v, round, looking) * static_cast<double>(entries_[c]) >
                            -kTries * static_cast<double>(spare_[c]))
    return;
  want_[v] = choose(v, round, part.taken);
  if (want_[v] == kUncolored) return;
  part.sums[c] += weight(v);
  part.sums[entries_.size() + static_cast<std::size_t>(want_[v])] += weight(v);
}

PetscErrorCode Balancing::run_round(int round, PetscInt64 level)
{
  PetscFunctionBegin;
  for (std::size_t c = 0; c < entries_.size(); ++c) {
    spare_[c] = level - entries_[c];
    before_[c + 1] = before_[c] + std::max<PetscInt64>(spare_[c], 0);
  }
  std::fill(want_.begin() + graph_.nlocal, want_.end(), kUncolored);
  std::vector<PetscInt64> movable =
      sum(2 * entries_.size(), [&](int v, Part &part) { look(v, round, part); });
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, movable.data(), static_cast<PetscMPIInt>(movable.size()),
                             MPIU_INT64, MPI_SUM, graph_.comm));
  const PetscInt64 *leaving = movable.data(), *coming = leaving + entries_.size();
  for_rows([&](int v, Part &) {
    if (want_[v] == kUncolored) return;
    const double out =
        static_cast<double>(-spare_[color_[v]]) / static_cast<double>(leaving[color_[v]]);
    const double in = static_cast<double>(spare_[want_[v]]) / static_cast<double>(coming[want_[v]]);
    if (draw_fraction(v, round, moving) >= std::min(out, in)) want_[v] = kUncolored;
  });
  PetscCall(update_ghosts(graph_, MPI_INT, want_.data()));
  for_rows([&](int v, Part &) {
    if (want_[v] != kUncolored && !yields(v, round)) color_[v] = want_[v];
  });
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

} // namespace mcpi::coloring
