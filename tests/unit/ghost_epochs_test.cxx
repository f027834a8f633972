// Simulates ranks that exchange ghosts as packets with epochs, under random schedules. Stores
// arrive late and in any order, and ranks run at any pace. Every read must find the version that
// precedes it in the schedule of the sweeps, and no rank may wait forever.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>

#include "support/ghost_world.h"
#include "sweep/epochs.h"

namespace mcpi::test {
namespace {

struct Mutation {
  bool no_done_words = false, one_way = false, no_epochs = false;
};

// A version of a row's values
struct Version {
  int apply = -1;
  unsigned epoch = Epochs::kNone;

  bool operator==(const Version &) const = default;
};

struct Word {
  unsigned epoch = 0;
  Version holds;
};

struct Store {
  Word word;
  int done = 0;
};

class World final : public GhostWorld<Store> {
public:
  World(const Pattern &pattern, const std::vector<int> &color, const std::vector<Row> &begins,
        const std::vector<Run> &runs, const Mutation &mutation, unsigned seed)
      : GhostWorld(begins, seed), plan_(plan_of_colors(color)), color_(color),
        readers_(pattern.size()), reads_(pattern.size()), states_(begins.size() - 1),
        mutation_(mutation)
  {
    for_couplings(pattern, [&](Row row, Row column) {
      connect(row, column);
      if (!mutation.one_way) connect(column, row);
    });
    unsigned base = 0;
    for (std::size_t n = 0; n < runs.size(); ++n) {
      schedules_.emplace_back(plan_, runs[n].config, runs[n].apply, runs[n].its, runs[n].from_zero);
      add_phases(static_cast<int>(n), base);
      base += Epochs(schedules_.back()).count();
    }
  }

private:
  // A word in a rank's memory for which a task waits. It is a piece of a ghost row, or, if piece is
  // -1, the number of applications that a neighbor has completed.
  struct Wait {
    int from, piece;
    unsigned epoch;
    Version version;
    bool over = false;
  };
  struct Task {
    Row row;
    std::vector<Wait> waits;
    std::size_t left = 0;
  };
  struct Phase {
    int apply, color; // -1: the guess is sent, -2: the application is done
    bool first, lower = false, upper = false, sends = false, skipped = false;
    unsigned epoch = 0;                  // epoch of the rows that the phase sends
    std::vector<unsigned> expected = {}; // per color: the absolute epoch; 0: not sent yet
    unsigned base = 0;
  };
  struct Rank {
    std::size_t phase = 0;
    bool entered = false;
    std::vector<Task> tasks;
    std::map<std::pair<Row, int>, Word> ghosts;
    std::map<int, int> done; // per neighbor: completed applications
  };
  int owner(Row row) const { return owner_[static_cast<std::size_t>(row)]; }
  int color(Row row) const { return color_[static_cast<std::size_t>(row)]; }

  // Notes that row reads column, or only waits for it.
  void connect(Row row, Row column)
  {
    reads_[static_cast<std::size_t>(row)].insert(column);
    readers_[static_cast<std::size_t>(column)].insert(owner(row));
    neighbors_[owner(row)].insert(owner(column));
    neighbors_[owner(column)].insert(owner(row));
  }

  void add_phases(int apply, unsigned base)
  {
    const Schedule &schedule = schedules_.back();
    const Epochs epochs(schedule);
    if (!schedule.from_zero()) {
      Phase guess{apply, -1, true};
      guess.sends = true;
      guess.epoch = Epochs::kGuess;
      guess.base = base;
      phases_.push_back(guess);
    }
    for (int pass = 0; pass < schedule.passes(); ++pass)
      for (int k = 0; k < schedule.colors(); ++k) {
        const Step step = schedule.step(pass, k);
        Phase phase{apply, step.color, pass == 0};
        phase.skipped = step.skips_boundary;
        phase.lower = step.boundary.lower;
        phase.upper = step.boundary.upper;
        phase.sends = step.sends;
        phase.epoch = Epochs::of_pass(pass);
        phase.base = base;
        for (int c = 0; c < schedule.colors(); ++c)
          phase.expected.push_back(epochs.expected(pass, k, c));
        phases_.push_back(phase);
      }
    phases_.push_back({apply, -2, false});
  }

  bool add_moves(int number, Moves &moves) override
  {
    enter_phases(number);
    Rank &rank = states_[static_cast<std::size_t>(number)];
    for (Task &task : rank.tasks)
      for (Wait &wait : task.waits)
        if (!wait.over && holds(number, wait))
          moves.push_back([this, number, &task, &wait] { pass(number, task, wait); });
    return rank.phase < phases_.size();
  }

  // A phase begins when all tasks of the preceding phase are done, like the kernels of a stream.
  void enter_phases(int number)
  {
    Rank &rank = states_[static_cast<std::size_t>(number)];
    while (rank.phase < phases_.size()) {
      const Phase &phase = phases_[rank.phase];
      if (!rank.entered) {
        rank.entered = true;
        start_tasks(number, phase);
      }
      if (std::any_of(rank.tasks.begin(), rank.tasks.end(),
                      [](const Task &task) { return task.left > 0; }))
        return;
      if (phase.color == -2)
        for (const int neighbor : neighbors_[number])
          send(neighbor, number, -1, {{}, phase.apply + 1});
      rank.tasks.clear();
      rank.entered = false;
      ++rank.phase;
    }
  }

  void start_tasks(int number, const Phase &phase)
  {
    Rank &rank = states_[static_cast<std::size_t>(number)];
    if (phase.color == -2 || phase.skipped) return;
    for (Row row = 0; row < static_cast<Row>(owner_.size()); ++row) {
      const bool boundary = !reads_[static_cast<std::size_t>(row)].empty() ||
                            !readers_[static_cast<std::size_t>(row)].empty();
      if (owner(row) != number || !boundary || (phase.color >= 0 && color(row) != phase.color))
        continue;
      Task task{row, {}};
      if (phase.first && !mutation_.no_done_words)
        for (const int neighbor : neighbors_[number])
          task.waits.push_back({neighbor, -1, static_cast<unsigned>(phase.apply), {}});
      if (phase.color >= 0)
        for (const Row ghost : reads_[static_cast<std::size_t>(row)]) {
          if (!(color(ghost) < color(row) ? phase.lower : phase.upper)) continue;
          const unsigned epoch = phase.expected[static_cast<std::size_t>(color(ghost))];
          if (epoch == Epochs::kNone) wrong_ = "reads what nobody has sent";
          for (int piece = 0; piece < kPieces; ++piece)
            task.waits.push_back(
                {static_cast<int>(ghost), piece, phase.base + epoch, {phase.apply, epoch}});
        }
      task.left = task.waits.size();
      rank.tasks.push_back(task);
    }
    for (Task &task : rank.tasks)
      if (task.left == 0) finish(number, task);
  }

  bool holds(int number, const Wait &wait)
  {
    Rank &rank = states_[static_cast<std::size_t>(number)];
    if (wait.piece < 0) return rank.done[wait.from] >= static_cast<int>(wait.epoch);
    return mutation_.no_epochs || rank.ghosts[{wait.from, wait.piece}].epoch == wait.epoch;
  }

  void pass(int number, Task &task, Wait &wait)
  {
    wait.over = true;
    if (wait.piece >= 0 &&
        !(states_[static_cast<std::size_t>(number)].ghosts[{wait.from, wait.piece}].holds ==
          wait.version))
      wrong_ = "reads another version";
    if (--task.left == 0) finish(number, task);
  }

  void finish(int number, const Task &task)
  {
    const Phase &phase = phases_[states_[static_cast<std::size_t>(number)].phase];
    if (!phase.sends) return;
    for (const int reader : readers_[static_cast<std::size_t>(task.row)])
      for (int piece = 0; piece < kPieces; ++piece)
        send(reader, task.row, piece, {{phase.base + phase.epoch, {phase.apply, phase.epoch}}, 0});
  }

  void land(const Where &where, const Store &store) override
  {
    const auto &[number, from, piece] = where;
    Rank &rank = states_[static_cast<std::size_t>(number)];
    if (piece < 0)
      rank.done[from] = store.done;
    else
      rank.ghosts[{from, piece}] = store.word;
  }

  ColorPlan plan_;
  std::vector<int> color_;
  std::vector<std::set<int>> readers_; // ranks to which a row goes
  std::vector<std::set<int>> reads_;   // ghosts that a row waits for
  std::map<int, std::set<int>> neighbors_;
  std::deque<Schedule> schedules_;
  std::vector<Phase> phases_;
  std::vector<Rank> states_;
  const Mutation mutation_;
};

std::string first_wrong(const Mutation &mutation, int worlds)
{
  return simulate<World>(mutation, worlds, false);
}

TEST(GhostEpochs, are_read_in_the_right_version_and_nobody_waits_for_ever)
{
  EXPECT_EQ(first_wrong({}, kWorlds), "");
}

// A kernel gets two epochs, one for each triangle, and one exception: a range of ghosts with an
// epoch of its own.
TEST(GhostEpochs, of_a_step_are_those_of_every_color_that_it_reads)
{
  std::mt19937 random(5);
  for (int trial = 0; trial < 500; ++trial) {
    const int colors = 2 + static_cast<int>(random() % 6);
    ColorPlan plan;
    std::vector<Row> ghost_begin;
    plan.colors = colors;
    plan.color_begin.assign(static_cast<std::size_t>(colors) + 1, 0);
    plan.boundary_end.assign(static_cast<std::size_t>(colors), 0);
    for (Row c = 0; c <= colors; ++c) ghost_begin.push_back(10 * c);
    const auto run = some_run(random, false);
    const Schedule schedule(plan, run.config, run.apply, run.its, run.from_zero);
    const Epochs epochs(schedule);
    for (int pass = 0; pass < schedule.passes(); ++pass)
      for (int k = 0; k < colors; ++k) {
        const Step step = schedule.step(pass, k);
        if (step.skips_boundary) continue;
        const GhostEpochs told = epochs.of_step(step, k, ghost_begin);
        EXPECT_EQ(told.sends, step.sends ? Epochs::of_pass(pass) : 0);
        for (int c = 0; c < colors; ++c) {
          const bool lower = c < step.color;
          if (c == step.color || !(lower ? step.boundary.lower : step.boundary.upper)) continue;
          const bool turn = 10 * c >= told.turn_begin && 10 * c < told.turn_end;
          EXPECT_EQ(epochs.expected(pass, k, c), turn    ? told.turn
                                                 : lower ? told.lower
                                                         : told.upper);
        }
      }
  }
}

// The simulation finds errors if parts of the protocol are left out.
TEST(GhostEpochs, need_their_epochs)
{
  EXPECT_EQ(first_wrong({.no_epochs = true}, 100), "reads another version");
}

TEST(GhostEpochs, need_words_of_finished_applications)
{
  EXPECT_EQ(first_wrong({.no_done_words = true}, 600), "everybody waits");
}

TEST(GhostEpochs, need_sendings_to_neighbors_that_do_not_read)
{
  EXPECT_EQ(first_wrong({.one_way = true}, 600), "everybody waits");
}

} // namespace
} // namespace mcpi::test
