// Simulates ranks that exchange ghosts as packets with epochs, under random schedules. Stores
// arrive late and in any order, and ranks run at any pace. Every read must find the sending that
// belongs to it, and no rank may wait forever. The operations of the ranks are recorded from
// MulticolorSweep itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "support/ghost_world.h"
#include "support/idle_backend.h"
#include "sweep/multicolor_sweep.h"
#include "sweep/packet_steps.h"

namespace mcpi::test {
namespace {

struct Mutation {
  bool no_acknowledgements = false, waits_first = false, no_epochs = false, same_base = false;
};

// One operation in a rank's stream
struct Operation {
  enum Kind { send, receive, finish } kind;
  int color; // -1: all
  std::uint32_t epoch, used;
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

struct Content {
  std::uint32_t epoch = 0;
  std::size_t operation = 0; // the operation that sent it; it stands for the row's numbers
};

class World final : public GhostWorld<Content> {
public:
  World(const Pattern &pattern, const std::vector<int> &color, const std::vector<Row> &begins,
        const std::vector<Run> &runs, const Mutation &mutation, unsigned seed)
      : GhostWorld(begins, seed), operations_(operations_of(color, runs, mutation.same_base)),
        states_(begins.size() - 1), mutation_(mutation)
  {
    for_couplings(pattern, [&](Row row, Row column) {
      const int reader = owner_[row], sender = owner_[column];
      states_[reader].ghosts[column] = color[column];
      states_[sender].sends.insert({color[column], column, reader});
      states_[reader].neighbors.insert(sender);
      states_[sender].neighbors.insert(reader);
    });
  }

private:
  using Packet = std::pair<Row, int>;     // ghost row and piece
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

  bool add_moves(int number, Moves &moves) override
  {
    Rank &rank = states_[number];
    if (rank.next == operations_.size()) return false;
    const Operation &operation = operations_[rank.next];
    switch (operation.kind) {
    case Operation::send:
      if (!rank.acknowledged && (!mutation_.waits_first || may_send(rank, operation)))
        moves.push_back([this, number, &operation] { acknowledge(number, operation.epoch - 1); });
      else if (rank.acknowledged && may_send(rank, operation))
        moves.push_back([this, number, &operation] { send_rows(number, operation); });
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
    return true;
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
    ++states_[number].next;
    states_[number].acknowledged = false;
  }
  void acknowledge(int number, std::uint32_t epoch)
  {
    states_[number].acknowledged = true;
    for (const int neighbor : states_[number].neighbors) send(neighbor, number, -1, {epoch, 0});
  }
  void send_rows(int number, const Operation &operation)
  {
    for (const auto &[color, row, reader] : states_[number].sends)
      if (operation.color < 0 || operation.color == color)
        for (int piece = 0; piece < kPieces; ++piece)
          send(reader, row, piece, {operation.epoch, states_[number].next});
    advance(number);
  }
  void expect(int number, const Operation &operation)
  {
    Rank &rank = states_[number];
    rank.acknowledged = true;
    for (const auto &[ghost, color] : rank.ghosts)
      if (operation.color < 0 || operation.color == color)
        for (int piece = 0; piece < kPieces; ++piece) rank.waits.insert({ghost, piece});
    if (rank.waits.empty()) advance(number);
  }
  void take(int number, const Packet &packet)
  {
    Rank &rank = states_[number];
    if (rank.packets[packet].operation + 1 != rank.next)
      wrong_ = "reads another sending"; // Each receive directly follows its send.
    rank.waits.erase(packet);
    if (rank.waits.empty()) advance(number);
  }

  void land(const Where &where, const Content &content) override
  {
    const auto &[number, from, piece] = where;
    if (piece < 0)
      states_[number].acknowledgements[from] = content.epoch;
    else
      states_[number].packets[{from, piece}] = content;
  }

  const std::vector<Operation> operations_;
  std::vector<Rank> states_;
  const Mutation mutation_;
};

std::string first_wrong(const Mutation &mutation, int worlds)
{
  return simulate<World>(mutation, worlds, true);
}

TEST(GhostPackets, are_read_in_the_right_version_and_nobody_waits_for_ever)
{
  EXPECT_EQ(first_wrong({}, kWorlds), "");
}

// The simulation finds errors if parts of the protocol are left out.
TEST(GhostPackets, need_their_epochs)
{
  EXPECT_EQ(first_wrong({.no_epochs = true}, 100), "reads another sending");
}

TEST(GhostPackets, need_epochs_that_go_on_from_application_to_application)
{
  EXPECT_NE(first_wrong({.same_base = true}, 100), "");
}

TEST(GhostPackets, need_acknowledgements)
{
  EXPECT_EQ(first_wrong({.no_acknowledgements = true}, 600), "everybody waits");
}

TEST(GhostPackets, need_acknowledgements_before_their_sender_waits)
{
  EXPECT_EQ(first_wrong({.waits_first = true}, 600), "everybody waits");
}

} // namespace
} // namespace mcpi::test
