// Simulates ranks that exchange ghosts as packets with epochs, under random schedules. Stores
// arrive late and in any order, and ranks run at any pace. Every read must find the sending that
// belongs to it, and no rank may wait forever. The operations of the ranks are recorded from
// MulticolorSweep itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>

#include "random_runs.h"
#include "sweep/multicolor_sweep.h"
#include "sweep/packet_steps.h"

namespace mcpi::test {
namespace {

constexpr int kPieces = 2; // packets of a ghost row

struct Mutation {
  bool no_acknowledgements = false, waits_first = false, no_epochs = false, same_base = false;
};

// One operation in a rank's stream
struct Operation {
  enum Kind { send, receive, finish } kind;
  int color; // -1: all
  std::uint32_t epoch, used;
};

class IdleBackend final : public Backend {
public:
  int refresh(BlockRows &, const MaxReduce &, NumericStatus &) override { return 0; }
  void pack_records(const std::vector<Offset> &, std::byte *) override {}
  void build_transposed(const ColorPlan &, const std::byte *) override {}
  void reserve(int) override {}
  void load_rhs(const ApplyArgs &, const ConstColumns &) override {}
  void load_guess(const ApplyArgs &, const ConstColumns &) override {}
  void relax(const ApplyArgs &, const RelaxStep &) override {}
  void store(const ApplyArgs &, const MutableColumns &) override {}
  void *vector() override { return nullptr; }
  RowBytes row_bytes(const ApplyArgs &) const override { return {1, 0}; }
  void transfer(const ApplyArgs &, Row, Row, Transfer, bool) override {}
  OperatorInfo info() const override { return {0, 0, {1.0, 1.0}, &scales_}; }

private:
  Scales scales_;
};

// A halo that records the requested operations, with absolute epochs
class RecordingHalo final : public Halo {
public:
  RecordingHalo(int colors, bool same_base) : steps_(colors), same_base_(same_base) {}

  std::vector<Operation> operations;

  bool on_device() const override { return true; }
  int prepare(std::size_t) override { return 0; }
  int start() override
  {
    steps_.start();
    return 0;
  }
  int begin(int color, void *) override
  {
    return add(Operation::send, color, steps_.of_color(color));
  }
  int end(int color, void *) override
  {
    return add(Operation::receive, color, {steps_.count(), 0});
  }
  int exchange_all(void *) override
  {
    add(Operation::send, -1, steps_.of_all());
    return add(Operation::receive, -1, {steps_.count(), 0});
  }
  int finish() override
  {
    add(Operation::finish, -1, {steps_.count(), 0});
    if (!same_base_) base_ += steps_.count();
    return 0;
  }

private:
  int add(Operation::Kind kind, int color, const PacketStep &step)
  {
    operations.push_back({kind, color, base_ + step.step, base_ + step.used});
    return 0;
  }

  PacketSteps steps_;
  const bool same_base_;
  std::uint32_t base_ = 0;
};

ColorPlan plan_of_colors(const std::vector<int> &color)
{
  ColorPlan plan;
  plan.colors = 1 + *std::max_element(color.begin(), color.end());
  plan.color_begin.assign(static_cast<std::size_t>(plan.colors) + 1, 0);
  plan.boundary_end.assign(static_cast<std::size_t>(plan.colors), 0);
  plan.ghost_begin.assign(static_cast<std::size_t>(plan.colors) + 1, 0);
  return plan;
}

std::vector<Operation> operations_of(const std::vector<int> &color, const std::vector<Run> &runs,
                                     bool same_base)
{
  const ColorPlan plan = plan_of_colors(color);
  IdleBackend backend;
  RecordingHalo halo(plan.colors, same_base);
  for (const Run &run : runs)
    EXPECT_EQ(
        MulticolorSweep(plan, backend, halo, run.config).run(run.apply, run.its, run.from_zero), 0);
  return halo.operations;
}

class Simulation {
public:
  Simulation(const Pattern &pattern, const std::vector<int> &color, const std::vector<Row> &begins,
             const std::vector<Run> &runs, const Mutation &mutation, unsigned seed)
      : operations_(operations_of(color, runs, mutation.same_base)), ranks_(begins.size() - 1),
        mutation_(mutation), random_(seed)
  {
    std::vector<int> owner(pattern.size());
    for (std::size_t rank = 0; rank + 1 < begins.size(); ++rank)
      std::fill(owner.begin() + begins[rank], owner.begin() + begins[rank + 1],
                static_cast<int>(rank));
    for (std::size_t row = 0; row < pattern.size(); ++row)
      for (const Row column : pattern[row]) {
        const int reader = owner[row], sender = owner[static_cast<std::size_t>(column)];
        if (reader == sender) continue;
        ranks_[reader].ghosts[column] = color[static_cast<std::size_t>(column)];
        ranks_[sender].sends.insert({color[static_cast<std::size_t>(column)], column, reader});
        ranks_[reader].neighbors.insert(sender);
        ranks_[sender].neighbors.insert(reader);
      }
    slow_rank_ = static_cast<int>(random_() % (ranks_.size() + 1)); // the largest number: no rank
  }

  // Returns the first error, or an empty string.
  std::string run()
  {
    while (true) {
      // slow: the steps of the slow rank, which runs rarely, or if no other rank can go on
      std::vector<std::function<void()>> possible, slow;
      bool done = true;
      for (auto &[where, stores] : flying_)
        if (!stores.empty())
          (std::get<0>(where) == slow_rank_ ? slow : possible)
              .push_back([this, &stores = stores, where = where] { land(where, stores); });
      for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
        done = done && ranks_[rank].next == operations_.size();
        add_moves(rank, rank == slow_rank_ ? slow : possible);
      }
      if (!wrong_.empty()) return wrong_;
      if (done) return {};
      if (possible.empty() || random_() % 64 == 0)
        possible.insert(possible.end(), slow.begin(), slow.end());
      if (possible.empty()) return "everybody waits";
      possible[random_() % possible.size()]();
    }
  }

private:
  struct Content {
    std::uint32_t epoch = 0;
    std::size_t operation = 0; // the operation that sent it; it stands for the row's numbers
  };
  using Packet = std::pair<Row, int>; // ghost row and piece
  // rank, ghost row or neighbor, piece (-1: acknowledgement)
  using Where = std::tuple<int, int, int>;
  using Sent = std::tuple<int, Row, int>; // color, row, reader
  struct Rank {
    std::map<Row, int> ghosts; // ghost -> color
    std::set<Sent> sends;
    std::set<int> neighbors;
    std::size_t next = 0;      // next operation
    bool acknowledged = false; // the operation has sent its acknowledgements, or has begun
    std::set<Packet> waits;    // packets for which a receive waits
    std::map<Packet, Content> packets;
    std::map<int, std::uint32_t> acknowledgements; // per neighbor
  };

  void add_moves(int number, std::vector<std::function<void()>> &moves)
  {
    Rank &rank = ranks_[number];
    if (rank.next == operations_.size()) return;
    const Operation &operation = operations_[rank.next];
    switch (operation.kind) {
    case Operation::send:
      if (!rank.acknowledged && (!mutation_.waits_first || may_send(rank, operation)))
        moves.push_back([this, number, &operation] { acknowledge(number, operation.epoch - 1); });
      else if (rank.acknowledged && may_send(rank, operation))
        moves.push_back([this, number, &operation] { send(number, operation); });
      break;
    case Operation::receive:
      if (!rank.acknowledged)
        moves.push_back([this, number, &operation] { expect(number, operation); });
      else
        for (const Packet &packet : rank.waits)
          if (mutation_.no_epochs || rank.packets[packet].epoch == operation.epoch)
            moves.push_back([this, number, packet] { take(number, packet); });
      break;
    case Operation::finish:
      moves.push_back([this, number, &operation] {
        acknowledge(number, operation.epoch);
        advance(number);
      });
    }
  }

  bool may_send(Rank &rank, const Operation &operation) const
  {
    return mutation_.no_acknowledgements ||
           std::all_of(rank.neighbors.begin(), rank.neighbors.end(), [&](int neighbor) {
             return rank.acknowledgements[neighbor] >= operation.used;
           });
  }
  void advance(int number)
  {
    ++ranks_[number].next;
    ranks_[number].acknowledged = false;
  }
  void acknowledge(int number, std::uint32_t epoch)
  {
    ranks_[number].acknowledged = true;
    for (const int neighbor : ranks_[number].neighbors)
      flying_[{neighbor, number, -1}].push_back({epoch, 0});
  }
  void send(int number, const Operation &operation)
  {
    for (const auto &[color, row, reader] : ranks_[number].sends)
      if (operation.color < 0 || operation.color == color)
        for (int piece = 0; piece < kPieces; ++piece)
          flying_[{reader, row, piece}].push_back({operation.epoch, ranks_[number].next});
    advance(number);
  }
  void expect(int number, const Operation &operation)
  {
    Rank &rank = ranks_[number];
    rank.acknowledged = true;
    for (const auto &[ghost, color] : rank.ghosts)
      if (operation.color < 0 || operation.color == color)
        for (int piece = 0; piece < kPieces; ++piece) rank.waits.insert({ghost, piece});
    if (rank.waits.empty()) advance(number);
  }
  void take(int number, const Packet &packet)
  {
    Rank &rank = ranks_[number];
    if (rank.packets[packet].operation + 1 != rank.next)
      wrong_ = "reads another sending"; // Each receive directly follows its send.
    rank.waits.erase(packet);
    if (rank.waits.empty()) advance(number);
  }

  // Stores to one address arrive in order.
  void land(const Where &where, std::deque<Content> &stores)
  {
    const auto &[number, from, piece] = where;
    if (piece < 0)
      ranks_[number].acknowledgements[from] = stores.front().epoch;
    else
      ranks_[number].packets[{from, piece}] = stores.front();
    stores.pop_front();
  }

  const std::vector<Operation> operations_;
  std::vector<Rank> ranks_;
  std::map<Where, std::deque<Content>> flying_;
  const Mutation mutation_;
  std::string wrong_;
  std::mt19937 random_;
  int slow_rank_ = -1;
};

std::string simulate(const Mutation &mutation, int worlds)
{
  return first_wrong(worlds, true,
                     [&](const Pattern &pattern, const std::vector<int> &color,
                         const std::vector<Row> &begins, const std::vector<Run> &runs,
                         unsigned seed) {
                       return Simulation(pattern, color, begins, runs, mutation, seed).run();
                     });
}

TEST(GhostPackets, AreReadInTheRightVersionAndNobodyWaitsForEver)
{
  EXPECT_EQ(simulate({}, kWorlds), "");
}

// The simulation finds errors if parts of the protocol are left out.
TEST(GhostPackets, NeedTheirEpochs)
{
  EXPECT_EQ(simulate({.no_epochs = true}, 100), "reads another sending");
}

TEST(GhostPackets, NeedEpochsThatGoOnFromApplicationToApplication)
{
  EXPECT_NE(simulate({.same_base = true}, 100), "");
}

TEST(GhostPackets, NeedAcknowledgements)
{
  EXPECT_EQ(simulate({.no_acknowledgements = true}, 600), "everybody waits");
}

TEST(GhostPackets, NeedThemBeforeTheirSenderWaits)
{
  EXPECT_EQ(simulate({.waits_first = true}, 600), "everybody waits");
}

} // namespace
} // namespace mcpi::test
