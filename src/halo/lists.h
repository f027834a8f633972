// Lists of the rows that go to other ranks, and of the ghosts that come from other ranks.
#pragma once

#include <petscsf.h>

#include <span>
#include <vector>

#include "core/plan.h"

namespace mcpi {

// The rows of one color that go to one rank, or the ghosts of one color that come from one rank
struct HaloPart {
  int rank = 0;
  std::size_t first = 0, count = 0; // a range of places in HaloLists::rows, or of plan ghosts
};

struct HaloLists {
  std::vector<HaloPart> sends, receives;              // sorted by color
  std::vector<std::size_t> send_begin, receive_begin; // colors + 1 entries: first part of a color
  std::vector<Row> rows, ghosts; // plan rows that are sent, and their ghost numbers on the receiver
  std::vector<int> neighbors;    // all ranks in sends and receives, ascending

  std::span<const HaloPart> sends_of(int color) const { return of(sends, send_begin, color); }
  std::span<const HaloPart> receives_of(int color) const
  {
    return of(receives, receive_begin, color);
  }
  // The first place of a color in rows
  std::size_t rows_begin(int color) const
  {
    return send_begin[color] < sends.size() ? sends[send_begin[color]].first : rows.size();
  }

private:
  static std::span<const HaloPart> of(const std::vector<HaloPart> &parts,
                                      const std::vector<std::size_t> &begin, int color)
  {
    return std::span(parts).subspan(begin[color], begin[color + 1] - begin[color]);
  }
};

// Makes the lists. remote: for every ghost in plan order, its owner and its plan row there.
// Collective.
PetscErrorCode HaloListsCreate(MPI_Comm comm, const ColorPlan &plan,
                               const std::vector<PetscSFNode> &remote, HaloLists *lists);

} // namespace mcpi
