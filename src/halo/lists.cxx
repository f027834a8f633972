#include "halo/lists.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "petsc/compat.h"

namespace mcpi {
namespace {

// A row that is sent: its destination, its ghost number there, and its plan row here
struct Sent {
  int color, rank;
  Row ghost, row;

  bool operator<(const Sent &other) const
  {
    return std::tie(color, rank, ghost) < std::tie(other.color, other.rank, other.ghost);
  }
};

// Tells owners which of their rows are ghosts on other ranks, and their ghost numbers there. The
// result is sorted by color, rank and ghost.
PetscErrorCode tell_owners(MPI_Comm comm, const ColorPlan &plan,
                           const std::vector<PetscSFNode> &remote, std::vector<Sent> *sent)
{
  std::vector<PetscInt> mine(2 * remote.size()), theirs; // pairs of rank and ghost
  PetscMPIInt rank;
  const PetscInt *degree;
  PetscSF sf;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  for (std::size_t g = 0; g < remote.size(); ++g) {
    mine[2 * g] = rank;
    mine[2 * g + 1] = static_cast<PetscInt>(g);
  }
  PetscCall(PetscSFCreate(comm, &sf));
  PetscCall(PetscSFSetGraph(sf, plan.rows, plan.ghosts, nullptr, PETSC_COPY_VALUES,
                            const_cast<PetscSFNode *>(remote.data()), PETSC_COPY_VALUES));
  PetscCall(PetscSFComputeDegreeBegin(sf, &degree));
  PetscCall(PetscSFComputeDegreeEnd(sf, &degree));
  theirs.resize(2 *
                static_cast<std::size_t>(std::accumulate(degree, degree + plan.rows, PetscInt{0})));
  PetscCall(PetscSFGatherBegin(sf, MPIU_2INT, mine.data(), theirs.data()));
  PetscCall(PetscSFGatherEnd(sf, MPIU_2INT, mine.data(), theirs.data()));
  const PetscInt *pair = theirs.data();
  for (int color = 0; color < plan.colors; ++color)
    for (Row row = plan.color_begin[color]; row < plan.color_begin[color + 1]; ++row)
      for (PetscInt k = 0; k < degree[row]; ++k, pair += 2)
        sent->push_back({color, static_cast<int>(pair[0]), static_cast<Row>(pair[1]), row});
  std::sort(sent->begin(), sent->end());
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Adds the row or ghost at this place to the parts of a color, which begin at color_begin.
void extend(std::vector<HaloPart> &parts, std::size_t color_begin, int rank, std::size_t place)
{
  if (parts.size() == color_begin || parts.back().rank != rank) parts.push_back({rank, place, 0});
  ++parts.back().count;
}

} // namespace

// Plan ghosts of a color are sorted by global row. So the ghosts of one owner are contiguous.
PetscErrorCode HaloListsCreate(MPI_Comm comm, const ColorPlan &plan,
                               const std::vector<PetscSFNode> &remote, HaloLists *lists)
{
  std::vector<Sent> sent;

  PetscFunctionBegin;
  *lists = HaloLists();
  PetscCall(tell_owners(comm, plan, remote, &sent));
  for (int c = 0; c < plan.colors; ++c) {
    lists->send_begin.push_back(lists->sends.size());
    lists->receive_begin.push_back(lists->receives.size());
    for (; lists->rows.size() < sent.size() && sent[lists->rows.size()].color == c;) {
      const Sent &one = sent[lists->rows.size()];
      extend(lists->sends, lists->send_begin.back(), one.rank, lists->rows.size());
      lists->rows.push_back(one.row);
      lists->ghosts.push_back(one.ghost);
    }
    for (Row g = plan.ghost_begin[c]; g < plan.ghost_begin[c + 1]; ++g)
      extend(lists->receives, lists->receive_begin.back(),
             static_cast<int>(remote[static_cast<std::size_t>(g)].rank),
             static_cast<std::size_t>(g));
  }
  lists->send_begin.push_back(lists->sends.size());
  lists->receive_begin.push_back(lists->receives.size());
  for (const auto *parts : {&lists->sends, &lists->receives})
    for (const HaloPart &part : *parts) lists->neighbors.push_back(part.rank);
  std::sort(lists->neighbors.begin(), lists->neighbors.end());
  lists->neighbors.erase(std::unique(lists->neighbors.begin(), lists->neighbors.end()),
                         lists->neighbors.end());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
