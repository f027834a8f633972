#include "halo/lists.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "pc/compat.h"

namespace mcpi {
namespace {

struct Sent {
  int color, rank;
  Row ghost, row;

  bool operator<(const Sent &other) const { return std::tie(color, rank, ghost) < std::tie(other.color, other.rank, other.ghost); }
};

// Owners learn which of their rows are ghosts elsewhere, and which.
PetscErrorCode tell_owners(MPI_Comm user_comm, const ColorPlan &plan, const std::vector<PetscSFNode> &remote, std::vector<Sent> *sent)
{
  std::map<PetscMPIInt, std::vector<PetscInt>> asked; // by owner, pairs of row and ghost
  std::vector<PetscMPIInt>                     owners;
  std::vector<PetscInt>                        counts;
  PetscMPIInt                                  askers, *asker;
  PetscInt                                    *count;
  MPI_Comm                                     comm;
  PetscMPIInt                                  tag;

  PetscFunctionBegin;
  PetscCall(PetscCommDuplicate(user_comm, &comm, &tag));
  for (std::size_t g = 0; g < remote.size(); ++g) {
    std::vector<PetscInt> &pairs = asked[static_cast<PetscMPIInt>(remote[g].rank)];
    pairs.push_back(remote[g].index);
    pairs.push_back(static_cast<PetscInt>(g));
  }
  for (const auto &[owner, pairs] : asked) {
    owners.push_back(owner);
    counts.push_back(static_cast<PetscInt>(pairs.size()));
  }
  PetscCall(PetscCommBuildTwoSided(comm, 1, MPIU_INT, static_cast<PetscMPIInt>(owners.size()), owners.data(), counts.data(), &askers,
                                   &asker, &count));
  std::vector<MPI_Request>           requests;
  std::vector<std::vector<PetscInt>> pairs_of(static_cast<std::size_t>(askers));
  for (PetscMPIInt k = 0; k < askers; ++k) {
    pairs_of[k].resize(static_cast<std::size_t>(count[k]));
    PetscCallMPI(MPI_Irecv(pairs_of[k].data(), static_cast<int>(count[k]), MPIU_INT, asker[k], tag, comm, &requests.emplace_back()));
  }
  for (const auto &[owner, pairs] : asked)
    PetscCallMPI(MPI_Isend(pairs.data(), static_cast<int>(pairs.size()), MPIU_INT, owner, tag, comm, &requests.emplace_back()));
  PetscCallMPI(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  for (PetscMPIInt k = 0; k < askers; ++k)
    for (std::size_t p = 0; p < pairs_of[k].size(); p += 2) {
      const Row  row   = static_cast<Row>(pairs_of[k][p]);
      const auto color = std::upper_bound(plan.color_begin.begin(), plan.color_begin.end(), row) - plan.color_begin.begin() - 1;
      sent->push_back({static_cast<int>(color), asker[k], static_cast<Row>(pairs_of[k][p + 1]), row});
    }
  std::sort(sent->begin(), sent->end());
  PetscCall(PetscFree(asker));
  PetscCall(PetscFree(count));
  PetscCall(PetscCommDestroy(&comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// One more row or ghost of a color, at this place
void extend(std::vector<HaloPart> &parts, std::size_t color_begin, int rank, std::size_t place)
{
  if (parts.size() == color_begin || parts.back().rank != rank) parts.push_back({rank, place, 0});
  ++parts.back().count;
}

} // namespace

// Ghosts of a color are sorted by global row, so those of a rank lie together.
PetscErrorCode HaloListsCreate(MPI_Comm comm, const ColorPlan &plan, const std::vector<PetscSFNode> &remote, HaloLists *lists)
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
      extend(lists->receives, lists->receive_begin.back(), static_cast<int>(remote[static_cast<std::size_t>(g)].rank),
             static_cast<std::size_t>(g));
  }
  lists->send_begin.push_back(lists->sends.size());
  lists->receive_begin.push_back(lists->receives.size());
  for (const auto *parts : {&lists->sends, &lists->receives})
    for (const HaloPart &part : *parts) lists->neighbors.push_back(part.rank);
  std::sort(lists->neighbors.begin(), lists->neighbors.end());
  lists->neighbors.erase(std::unique(lists->neighbors.begin(), lists->neighbors.end()), lists->neighbors.end());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
