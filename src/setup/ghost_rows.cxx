#include "setup/ghost_rows.h"

#include <algorithm>

#include "petsc/compat.h"

namespace mcpi {
namespace {

// Translates between columns of the plan and global rows.
class Columns {
public:
  Columns(const BlockGraph &graph, const BuiltPlan &built)
      : graph_(graph), built_(built), place_(static_cast<std::size_t>(graph.rows)),
        ghost_(graph.ghosts.size())
  {
    for (Row p = 0; p < graph.rows; ++p) place_[built.plan.row_of[p]] = p;
    for (std::size_t g = 0; g < ghost_.size(); ++g)
      ghost_[built.ghost_place[g]] = static_cast<Row>(g);
  }
  PetscInt global(Row column) const
  {
    const Row rows = graph_.rows;
    return graph_.global_row(column < rows ? built_.plan.row_of[column]
                                           : rows + ghost_[column - rows]);
  }
  // -1: this rank has no such column
  Row local(PetscInt global) const
  {
    if (global >= graph_.row_start && global < graph_.row_start + graph_.rows)
      return place_[global - graph_.row_start];
    const auto found = std::lower_bound(graph_.ghosts.begin(), graph_.ghosts.end(), global);
    if (found == graph_.ghosts.end() || *found != global) return -1;
    return graph_.rows + built_.ghost_place[found - graph_.ghosts.begin()];
  }

private:
  const BlockGraph &graph_;
  const BuiltPlan &built_;
  std::vector<Row> place_, ghost_; // plan row of a local row; ghost of the graph of a plan ghost
};

// For each plan row: number of its first offered block, and how many it offers
struct Offer {
  PetscInt first = 0, count = 0;
};

// Lists the global columns of the offered blocks.
void list_offers(const ColorPlan &plan, const Columns &columns, std::vector<Offer> &offers,
                 std::vector<PetscInt> &offered, std::vector<PetscInt> &color_begin)
{
  offers.assign(static_cast<std::size_t>(plan.rows), {});
  for (int c = 0; c < plan.colors; ++c) {
    color_begin.push_back(static_cast<PetscInt>(offered.size()));
    for (Row p = plan.color_begin[c]; p < plan.boundary_end[c]; ++p) {
      offers[p].first = static_cast<PetscInt>(offered.size());
      offered.push_back(columns.global(p));
      for (Offset k = plan.upper.ptr[p]; k < plan.upper.ptr[p + 1]; ++k)
        offered.push_back(columns.global(plan.upper.col[k]));
      offers[p].count = static_cast<PetscInt>(offered.size()) - offers[p].first;
    }
  }
  color_begin.push_back(static_cast<PetscInt>(offered.size()));
}

// Gets the value of each remote node. values: how many this rank has
PetscErrorCode fetch(MPI_Comm comm, MPI_Datatype unit, std::size_t values, const void *from,
                     const std::vector<PetscSFNode> &remote, void *to)
{
  PetscSF sf;

  PetscFunctionBegin;
  PetscCall(PetscSFCreate(comm, &sf));
  PetscCall(PetscSFSetGraph(sf, static_cast<PetscInt>(values), static_cast<PetscInt>(remote.size()),
                            nullptr, PETSC_OWN_POINTER, const_cast<PetscSFNode *>(remote.data()),
                            PETSC_COPY_VALUES));
  PetscCall(PetscSFBcastBegin(sf, unit, from, to, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(sf, unit, from, to, MPI_REPLACE));
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Whether each block of the given rows is needed. A row that is eliminated from no local row is not
// needed at all.
std::vector<char> find_needed(const ColorPlan &plan, bool fill, const std::vector<Offset> &ptr,
                              const std::vector<Row> &col)
{
  std::vector<char> needed(col.size(), 0);
  std::vector<Row> reader(static_cast<std::size_t>(plan.rows) + plan.ghosts, -1);
  for (Row p = 0; p < plan.rows; ++p) {
    reader[p] = p;
    for (const Triangle *triangle : {&plan.lower, &plan.upper})
      for (Offset k = triangle->ptr[p]; fill && k < triangle->ptr[p + 1]; ++k)
        reader[triangle->col[k]] = p;
    for (Offset k = plan.lower.ptr[p]; k < plan.lower.ptr[p + 1]; ++k) {
      const Row ghost = plan.lower.col[k] - plan.rows;
      if (ghost < 0) continue;
      needed[ptr[ghost]] = 1; // the inverse diagonal block
      for (Offset n = ptr[ghost] + 1; n < ptr[ghost + 1]; ++n)
        if (col[n] >= 0 && reader[col[n]] == p) needed[n] = 1;
    }
  }
  return needed;
}

} // namespace

PetscErrorCode GhostRowsBuild(const BlockGraph &graph, const BuiltPlan &built, bool fill,
                              BuiltGhostRows *ghost_rows)
{
  const ColorPlan &plan = built.plan;
  const Columns columns(graph, built);
  const auto ghosts = static_cast<std::size_t>(plan.ghosts);
  std::vector<Offer> offers, theirs(ghosts);
  std::vector<PetscInt> offered, global;
  std::vector<PetscSFNode> remote;

  PetscFunctionBegin;
  *ghost_rows = BuiltGhostRows();
  ghost_rows->fill = fill;
  list_offers(plan, columns, offers, offered, ghost_rows->color_begin);
  PetscCall(
      fetch(graph.comm, MPIU_2INT, offers.size(), offers.data(), built.ghost_owner, theirs.data()));
  // First all blocks of all earlier ghosts, then those that are needed
  std::vector<char> earlier(ghosts, 0);
  for (const Row column : plan.lower.col)
    if (column >= plan.rows) earlier[column - plan.rows] = 1;
  std::vector<Offset> ptr{0};
  for (std::size_t g = 0; g < ghosts; ++g) {
    for (PetscInt k = 0; earlier[g] && k < theirs[g].count; ++k) {
      PetscSFNode node;
      node.rank = built.ghost_owner[g].rank;
      node.index = theirs[g].first + k;
      remote.push_back(node);
    }
    ptr.push_back(static_cast<Offset>(remote.size()));
  }
  global.resize(remote.size());
  PetscCall(fetch(graph.comm, MPIU_INT, offered.size(), offered.data(), remote, global.data()));
  std::vector<Row> col(global.size());
  std::transform(global.begin(), global.end(), col.begin(),
                 [&](PetscInt column) { return columns.local(column); });
  const std::vector<char> needed = find_needed(plan, fill, ptr, col);
  GhostRows &rows = ghost_rows->rows;
  rows.ptr.push_back(0);
  for (std::size_t g = 0; g < ghosts; ++g) {
    for (Offset n = ptr[g]; n < ptr[g + 1]; ++n)
      if (needed[n]) {
        rows.col.push_back(col[n]);
        ghost_rows->owner.push_back(remote[n]);
      }
    rows.ptr.push_back(static_cast<Offset>(rows.col.size()));
    rows.place.push_back(static_cast<Row>(built.ghost_owner[g].index));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
