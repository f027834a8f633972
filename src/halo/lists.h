// Which rows go to which ranks, and which ghosts come from which.
#pragma once

#include <petscsf.h>

#include <span>
#include <vector>

#include "core/plan.h"

namespace mcpi {

// Of one color, to or from one rank: places in HaloLists::rows, or ghosts
struct HaloPart {
  int rank = 0;
  std::size_t first = 0, count = 0;
};

struct HaloLists {
  std::vector<HaloPart> sends, receives;              // color by color
  std::vector<std::size_t> send_begin, receive_begin; // colors + 1
  std::vector<Row> rows, ghosts; // what is sent, and the ghosts that they are over there
  std::vector<int> neighbors;    // all ranks in sends and receives, ascending

  std::span<const HaloPart> sends_of(int color) const { return of(sends, send_begin, color); }
  std::span<const HaloPart> receives_of(int color) const
  {
    return of(receives, receive_begin, color);
  }
  // The places in rows of a color
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

// remote: for every ghost in plan order, the owner and its plan row. Collective.
PetscErrorCode HaloListsCreate(MPI_Comm comm, const ColorPlan &plan,
                               const std::vector<PetscSFNode> &remote, HaloLists *lists);

} // namespace mcpi
