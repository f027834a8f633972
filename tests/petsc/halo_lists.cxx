// Tests the lists by which exchanges on devices send and receive. If plain messages follow these
// lists, every ghost gets its row.
#include "halo/lists.h"

#include <algorithm>

#include "support/petsc.h"

using namespace mcpi::test;
using namespace mcpi;

namespace {

constexpr Row kColors = 3, kRowsOfColor = 4;

struct Part {
  ColorPlan plan;
  std::vector<PetscSFNode> remote; // of every ghost
};

// The part of rank me. It has a ghost of row k of color c of another rank if wanted() says so. The
// ghosts of a color are ordered by rank and row, as in plans.
template <class Wanted> Part part_of(int me, const Wanted &wanted)
{
  Part part;
  part.plan.colors = kColors;
  part.plan.rows = kColors * kRowsOfColor;
  for (Row c = 0; c <= kColors; ++c) part.plan.color_begin.push_back(c * kRowsOfColor);
  part.plan.ghost_begin.push_back(0);
  for (Row c = 0; c < kColors; ++c) {
    for (int rank = 0; rank < world_size(); ++rank)
      for (Row k = 0; k < kRowsOfColor; ++k)
        if (rank != me && wanted(me, rank, c, k))
          part.remote.push_back({rank, c * kRowsOfColor + k});
    part.plan.ghost_begin.push_back(static_cast<Row>(part.remote.size()));
  }
  part.plan.ghosts = static_cast<Row>(part.remote.size());
  return part;
}

int value_of(int rank, Row row)
{
  return 1000 * rank + static_cast<int>(row);
}

// The exchange of one color
PetscErrorCode exchange(const HaloLists &lists, int color, std::vector<int> *ghosts)
{
  std::vector<MPI_Request> requests;
  std::vector<std::vector<int>> sent;

  PetscFunctionBeginUser;
  for (const HaloPart &part : lists.receives_of(color))
    PetscCallMPI(MPI_Irecv(ghosts->data() + part.first, static_cast<int>(part.count), MPI_INT,
                           part.rank, 0, PETSC_COMM_WORLD, &requests.emplace_back()));
  sent.reserve(lists.sends_of(color).size());
  for (const HaloPart &part : lists.sends_of(color)) {
    EXPECT_LE(lists.rows_begin(color), part.first);
    EXPECT_LE(part.first + part.count, lists.rows_begin(color + 1));
    sent.emplace_back();
    for (std::size_t k = part.first; k < part.first + part.count; ++k)
      sent.back().push_back(value_of(world_rank(), lists.rows[k]));
    PetscCallMPI(MPI_Isend(sent.back().data(), static_cast<int>(part.count), MPI_INT, part.rank, 0,
                           PETSC_COMM_WORLD, &requests.emplace_back()));
  }
  PetscCallMPI(
      MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class Wanted> PetscErrorCode check(const char *what, const Wanted &wanted)
{
  const Part part = part_of(world_rank(), wanted);
  HaloLists lists;

  PetscFunctionBeginUser;
  describe(what);
  PetscCall(HaloListsCreate(PETSC_COMM_WORLD, part.plan, part.remote, &lists));
  std::vector<int> ghosts(part.remote.size(), -1), expected(ghosts);
  for (int c = 0; c < kColors; ++c) PetscCall(exchange(lists, c, &ghosts));
  for (std::size_t g = 0; g < part.remote.size(); ++g)
    expected[g] =
        value_of(static_cast<int>(part.remote[g].rank), static_cast<Row>(part.remote[g].index));
  EXPECT_TRUE(ghosts == expected);
  // The data for peers: the same ghosts from the sender's point of view
  std::vector<int> neighbors;
  for (int rank = 0; rank < world_size(); ++rank) {
    std::vector<std::pair<Row, Row>> pairs, right;
    const Part theirs = part_of(rank, wanted);
    if (rank == world_rank()) continue;
    for (Row g = 0; g < theirs.plan.ghosts; ++g)
      if (theirs.remote[static_cast<std::size_t>(g)].rank == world_rank())
        right.emplace_back(g, static_cast<Row>(theirs.remote[static_cast<std::size_t>(g)].index));
    for (const HaloPart &sent : lists.sends)
      for (std::size_t k = sent.first; sent.rank == rank && k < sent.first + sent.count; ++k)
        pairs.emplace_back(lists.ghosts[k], lists.rows[k]);
    EXPECT_TRUE(pairs == right);
    if (!right.empty() || std::any_of(part.remote.begin(), part.remote.end(),
                                      [&](const PetscSFNode &node) { return node.rank == rank; }))
      neighbors.push_back(rank);
  }
  EXPECT_TRUE(lists.neighbors == neighbors);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(HaloLists, every_ghost_gets_its_row)
{
  PetscFunctionBeginUser;
  PetscCall(check("all", [](int, int, Row, Row) { return true; }));
  PetscCall(check("none", [](int, int, Row, Row) { return false; }));
  PetscCall(check("one way", [](int reader, int sender, Row, Row row) {
    return reader > sender && row % 2 == 0;
  }));
  PetscCall(check("some colors", [](int reader, int sender, Row color, Row row) {
    return (reader + 2 * sender + color + row) % 3 == 0;
  }));
  PetscCall(check("the last color", [](int, int sender, Row color, Row) {
    return sender == 0 && color == kColors - 1;
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}
