#include "halo/ghost_rows.h"

#include <algorithm>

#include "core/tuning.h"
#include "petsc/compat.h"

namespace mcpi {
namespace {

// Translates between columns of the plan and global rows.
class Columns {
public:
  Columns(const ColorPlan &plan, const GlobalRows &global)
      : plan_(plan), global_(global), place_(inverse_order(plan.row_of)),
        ghost_(inverse_order(global.place)),
        before_(static_cast<Row>(
            std::lower_bound(global.ghosts.begin(), global.ghosts.end(), global.first) -
            global.ghosts.begin()))
  {
  }
  PetscInt global(Row column) const
  {
    return column < plan_.rows ? global_.first + plan_.row_of[column]
                               : global_.ghosts[ghost_[column - plan_.rows]];
  }
  // -1: this rank has no such column
  Row local(PetscInt global) const
  {
    if (global >= global_.first && global < global_.first + plan_.rows)
      return place_[global - global_.first];
    const auto found = std::lower_bound(global_.ghosts.begin(), global_.ghosts.end(), global);
    if (found == global_.ghosts.end() || *found != global) return -1;
    return plan_.rows + global_.place[found - global_.ghosts.begin()];
  }
  std::size_t size() const { return static_cast<std::size_t>(plan_.rows) + ghost_.size(); }
  // How many ghosts come before the local rows, and the number of a ghost of the plan among all
  // columns
  Row before() const { return before_; }
  Row order(Row ghost) const
  {
    return ghost_[ghost] < before_ ? ghost_[ghost] : plan_.rows + ghost_[ghost];
  }

private:
  const ColorPlan &plan_;
  const GlobalRows &global_;
  const std::vector<Row> place_, ghost_; // plan row of a local row; number of a plan ghost
  const Row before_;
};

// A list of numbers for each neighbor, which is written, exchanged and read from its beginning
class NeighborLists {
public:
  explicit NeighborLists(const std::vector<int> &ranks)
      : ranks_(ranks), lists_(ranks.size()), next_(ranks.size(), 0)
  {
  }
  void put(int rank, PetscInt number) { lists_[place(rank)].push_back(number); }
  PetscInt take(int rank)
  {
    const std::size_t n = place(rank);
    return lists_[n][next_[n]++];
  }
  // Replaces the lists by those that the neighbors have for this rank. Collective.
  PetscErrorCode exchange(MPI_Comm comm)
  {
    std::vector<std::vector<PetscInt>> theirs(ranks_.size());
    std::vector<MPI_Request> requests(ranks_.size());
    PetscMPIInt tag;

    PetscFunctionBegin;
    PetscCall(PetscCommGetNewTag(comm, &tag));
    for (std::size_t n = 0; n < ranks_.size(); ++n)
      PetscCallMPI(MPI_Isend(lists_[n].data(), static_cast<int>(lists_[n].size()), MPIU_INT,
                             ranks_[n], tag, comm, &requests[n]));
    for (std::size_t n = 0; n < ranks_.size(); ++n) {
      MPI_Status status;
      int count;
      PetscCallMPI(MPI_Probe(ranks_[n], tag, comm, &status));
      PetscCallMPI(MPI_Get_count(&status, MPIU_INT, &count));
      theirs[n].resize(static_cast<std::size_t>(count));
      PetscCallMPI(
          MPI_Recv(theirs[n].data(), count, MPIU_INT, ranks_[n], tag, comm, MPI_STATUS_IGNORE));
    }
    PetscCallMPI(
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
    lists_.swap(theirs);
    PetscFunctionReturn(PETSC_SUCCESS);
  }

private:
  std::size_t place(int rank) const
  {
    return std::lower_bound(ranks_.begin(), ranks_.end(), rank) - ranks_.begin();
  }

  const std::vector<int> &ranks_; // ascending
  std::vector<std::vector<PetscInt>> lists_;
  std::vector<std::size_t> next_;
};

class Finder {
public:
  // rows: the rows that are sent and received
  Finder(MPI_Comm comm, const ColorPlan &plan, const HaloLists &rows, const GlobalRows &global,
         bool fill)
      : comm_(comm), plan_(plan), rows_(rows), columns_(plan, global), fill_(fill)
  {
  }

  PetscErrorCode run(BuiltGhostRows *built)
  {
    PetscFunctionBegin;
    PetscCall(ask());
    PetscCall(fetch_columns());
    find_needed();
    PetscCall(list_sent(built));
    list_received(built);
    PetscFunctionReturn(PETSC_SUCCESS);
  }

private:
  // Calls visit(rank, n) for the rows that are sent, or for the ghosts.
  template <class Visit> static void for_parts(const std::vector<HaloPart> &parts, Visit visit)
  {
    for (const HaloPart &part : parts)
      for (std::size_t n = part.first; n < part.first + part.count; ++n) visit(part.rank, n);
  }

  // Asks owners for the ghosts that are earlier than a local row.
  PetscErrorCode ask()
  {
    NeighborLists lists(rows_.neighbors);

    PetscFunctionBegin;
    wanted_.assign(static_cast<std::size_t>(plan_.ghosts), 0);
    for (const Row column : plan_.lower.col)
      if (column >= plan_.rows) wanted_[column - plan_.rows] = 1;
    for_parts(rows_.receives, [&](int rank, std::size_t g) { lists.put(rank, wanted_[g]); });
    PetscCall(lists.exchange(comm_));
    for_parts(rows_.sends, [&](int rank, std::size_t) {
      asked_.push_back(static_cast<char>(lists.take(rank)));
    });
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  // Gets the columns of these ghosts' blocks.
  PetscErrorCode fetch_columns()
  {
    NeighborLists lists(rows_.neighbors);

    PetscFunctionBegin;
    for_parts(rows_.sends, [&](int rank, std::size_t n) {
      if (!asked_[n]) return;
      const Offset *ptr = &plan_.upper.ptr[rows_.rows[n]];
      lists.put(rank, static_cast<PetscInt>(ptr[1] - ptr[0]));
      for (Offset k = ptr[0]; k < ptr[1]; ++k) lists.put(rank, columns_.global(plan_.upper.col[k]));
    });
    PetscCall(lists.exchange(comm_));
    for_parts(rows_.receives, [&](int rank, std::size_t g) {
      const PetscInt count = wanted_[g] ? lists.take(rank) : 0;
      for (PetscInt n = 0; n < count; ++n) global_.push_back(lists.take(rank));
      ptr_.push_back(static_cast<Offset>(global_.size()));
    });
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  // Finds which blocks are needed: those of a ghost and of a local row that reads it in the same
  // column.
  void find_needed()
  {
    needed_.assign(global_.size(), 0);
    std::vector<Row> local(global_.size()), reader(columns_.size(), -1);
    std::transform(global_.begin(), global_.end(), local.begin(),
                   [&](PetscInt column) { return columns_.local(column); });
    for (Row row = 0; row < plan_.rows; ++row) {
      Offset blocks = 0;
      for_blocks(row, [&](Row column) {
        reader[column] = row;
        ++blocks;
      });
      for (Offset k = plan_.lower.ptr[row]; k < plan_.lower.ptr[row + 1]; ++k) {
        const Row ghost = plan_.lower.col[k] - plan_.rows;
        if (ghost < 0) continue;
        const Offset begin = ptr_[ghost], end = ptr_[ghost + 1];
        if (end - begin > CommonTuning::kManyTimes * blocks)
          for_blocks(row, [&](Row column) { seek(begin, end, columns_.global(column)); });
        else
          for (Offset n = begin; n < end; ++n)
            if (local[n] >= 0 && reader[local[n]] == row) needed_[n] = 1;
      }
    }
  }
  // Calls visit(column) for the blocks of a row that change.
  template <class Visit> void for_blocks(Row row, const Visit &visit) const
  {
    visit(row);
    for (const Triangle *triangle : {&plan_.lower, &plan_.upper})
      for (Offset k = triangle->ptr[row]; fill_ && k < triangle->ptr[row + 1]; ++k)
        visit(triangle->col[k]);
  }
  void seek(Offset begin, Offset end, PetscInt column)
  {
    const auto last = global_.begin() + end,
               found = std::lower_bound(global_.begin() + begin, last, column);
    if (found != last && *found == column) needed_[found - global_.begin()] = 1;
  }

  // Tells owners which blocks they send.
  PetscErrorCode list_sent(BuiltGhostRows *built)
  {
    NeighborLists lists(rows_.neighbors);
    std::vector<Row> &sent = built->rows.sent;
    std::size_t row = 0;

    PetscFunctionBegin;
    for_parts(rows_.receives, [&](int rank, std::size_t g) {
      if (!wanted_[g]) return;
      lists.put(rank, std::count(needed_.begin() + ptr_[g], needed_.begin() + ptr_[g + 1], 1));
      for (Offset n = ptr_[g]; n < ptr_[g + 1]; ++n)
        if (needed_[n]) lists.put(rank, static_cast<PetscInt>(n - ptr_[g]));
    });
    PetscCall(lists.exchange(comm_));
    for (int color = 0; color < plan_.colors; ++color) {
      built->rows.sent_begin.push_back(static_cast<Offset>(sent.size()));
      built->parts.send_begin.push_back(built->parts.sends.size());
      for (const HaloPart &part : rows_.sends_of(color)) {
        const std::size_t first = sent.size();
        for (std::size_t n = 0; n < part.count; ++n, ++row) {
          if (!asked_[row]) continue;
          sent.push_back(-1 - rows_.rows[row]);
          for (PetscInt count = lists.take(part.rank); count > 0; --count)
            sent.push_back(static_cast<Row>(lists.take(part.rank)));
        }
        if (sent.size() > first)
          built->parts.sends.push_back({part.rank, first, sent.size() - first});
      }
    }
    built->rows.sent_begin.push_back(static_cast<Offset>(sent.size()));
    built->parts.send_begin.push_back(built->parts.sends.size());
    sent.shrink_to_fit();
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  void list_received(BuiltGhostRows *built)
  {
    GhostRows &rows = built->rows;
    rows.before = columns_.before();
    rows.ptr.push_back(0);
    for (Row g = 0; g < plan_.ghosts; ++g) {
      if (wanted_[g]) rows.col.push_back(plan_.rows + g);
      for (Offset n = ptr_[g]; n < ptr_[g + 1]; ++n)
        if (needed_[n]) rows.col.push_back(columns_.local(global_[n]));
      rows.ptr.push_back(static_cast<Offset>(rows.col.size()));
      rows.order.push_back(columns_.order(g));
    }
    rows.col.shrink_to_fit();
    for (int color = 0; color < plan_.colors; ++color) {
      built->parts.receive_begin.push_back(built->parts.receives.size());
      for (const HaloPart &part : rows_.receives_of(color)) {
        const auto first = static_cast<std::size_t>(rows.ptr[part.first]),
                   end = static_cast<std::size_t>(rows.ptr[part.first + part.count]);
        if (end > first) built->parts.receives.push_back({part.rank, first, end - first});
      }
    }
    built->parts.receive_begin.push_back(built->parts.receives.size());
  }

  const MPI_Comm comm_;
  const ColorPlan &plan_;
  const HaloLists &rows_;
  const Columns columns_;
  const bool fill_;
  std::vector<char> wanted_, asked_; // by ghost; by row that is sent
  // The upper triangles of the wanted ghosts: blocks before a ghost, and by block its global
  // column, which ascends in a row, and whether it is needed
  std::vector<Offset> ptr_{0};
  std::vector<PetscInt> global_;
  std::vector<char> needed_;
};

class Exchange final : public BlockExchange {
public:
  Exchange(MPI_Comm comm, PetscMPIInt tag, const HaloLists &parts, PetscLogEvent event)
      : comm_(comm), tag_(tag), parts_(parts), event_(event)
  {
    requests_.reserve(2 * parts.neighbors.size()); // begin() must not throw.
  }
  Exchange(const Exchange &) = delete;
  Exchange &operator=(const Exchange &) = delete;
  ~Exchange() override
  {
    if (unit_ != MPI_DATATYPE_NULL) (void)MPI_Type_free(&unit_);
  }

  int prepare(std::size_t block_bytes) override
  {
    PetscFunctionBegin;
    if (block_bytes == block_bytes_) PetscFunctionReturn(PETSC_SUCCESS);
    if (unit_ != MPI_DATATYPE_NULL) PetscCallMPI(MPI_Type_free(&unit_));
    PetscCallMPI(MPI_Type_contiguous(static_cast<int>(block_bytes), MPI_BYTE, &unit_));
    PetscCallMPI(MPI_Type_commit(&unit_));
    block_bytes_ = block_bytes;
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  int begin(int color, const void *sent, void *received) override
  {
    const std::span<const HaloPart> sends = parts_.sends_of(color),
                                    receives = parts_.receives_of(color);

    PetscFunctionBegin;
    PetscCall(PetscLogEventBegin(event_, 0, 0, 0, 0));
    for (const HaloPart &part : receives)
      PetscCallMPI(MPI_Irecv(static_cast<std::byte *>(received) + offset(receives, part),
                             static_cast<int>(part.count), unit_, part.rank, tag_, comm_,
                             &requests_.emplace_back()));
    for (const HaloPart &part : sends)
      PetscCallMPI(MPI_Isend(static_cast<const std::byte *>(sent) + offset(sends, part),
                             static_cast<int>(part.count), unit_, part.rank, tag_, comm_,
                             &requests_.emplace_back()));
    PetscCall(PetscLogEventEnd(event_, 0, 0, 0, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  int end() override
  {
    PetscFunctionBegin;
    PetscCall(PetscLogEventBegin(event_, 0, 0, 0, 0));
    PetscCallMPI(
        MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
    requests_.clear();
    PetscCall(PetscLogEventEnd(event_, 0, 0, 0, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

private:
  std::size_t offset(std::span<const HaloPart> parts, const HaloPart &part) const
  {
    return (part.first - parts.front().first) * block_bytes_;
  }

  const MPI_Comm comm_;
  const PetscMPIInt tag_;
  const HaloLists &parts_;
  const PetscLogEvent event_;
  std::vector<MPI_Request> requests_;
  MPI_Datatype unit_ = MPI_DATATYPE_NULL; // one block
  std::size_t block_bytes_ = 0;
};

} // namespace

PetscErrorCode GhostRowsBuild(MPI_Comm comm, const ColorPlan &plan,
                              const std::vector<PetscSFNode> &remote, const GlobalRows &global,
                              bool fill, BuiltGhostRows *ghost_rows)
{
  HaloLists rows;

  PetscFunctionBegin;
  *ghost_rows = BuiltGhostRows();
  ghost_rows->fill = fill;
  for (const PetscSFNode &owner : remote)
    ghost_rows->rows.place.push_back(static_cast<Row>(owner.index));
  PetscCall(HaloListsCreate(comm, plan, remote, &rows));
  ghost_rows->parts.neighbors = rows.neighbors;
  PetscCall(Finder(comm, plan, rows, global, fill).run(ghost_rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CreateBlockExchange(MPI_Comm comm, const HaloLists &parts, PetscLogEvent event,
                                   std::unique_ptr<BlockExchange> *exchange)
{
  PetscMPIInt tag;

  PetscFunctionBegin;
  PetscCall(PetscCommGetNewTag(comm, &tag));
  *exchange = std::make_unique<Exchange>(comm, tag, parts, event);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
