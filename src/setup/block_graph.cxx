#include "setup/block_graph.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "core/threads.h"
#include "core/tuning.h"
#include "petsc/compat.h"

namespace mcpi {
namespace {

// True if all scalar rows of block row i have the same columns
bool scalar_rows_agree(const RowStructure &s, PetscInt bs, PetscInt i)
{
  const PetscInt *row = s.i + i * bs, *first = s.j + row[0], *last = s.j + row[1];
  for (PetscInt q = 1; q < bs; ++q)
    if (!std::equal(first, last, s.j + row[q], s.j + row[q + 1])) return false;
  return true;
}

// Appends the distinct block columns of block row i in one portion to out. They are ascending,
// except for BAIJ made of a user's arrays.
void block_columns(const RowStructure &s, bool blocked, PetscInt bs, PetscInt i,
                   const std::vector<Row> *ghost_of_column, std::vector<Row> &out)
{
  const std::size_t first = out.size();
  // If all scalar rows have the same columns, the first one lists all blocks.
  const PetscInt begin = blocked ? s.i[i] : s.i[i * bs],
                 end = blocked ? s.i[i + 1]
                               : s.i[scalar_rows_agree(s, bs, i) ? i * bs + 1 : (i + 1) * bs];
  for (PetscInt k = begin; k < end;) {
    if (ghost_of_column || blocked) {
      const Row column =
          ghost_of_column ? (*ghost_of_column)[s.j[k++]] : static_cast<Row>(s.j[k++]);
      if (out.size() == first || out.back() != column) out.push_back(column);
      continue;
    }
    // One division a block, not one an entry: divisions would take most of the time.
    const PetscInt column = s.j[k] / bs, from = column * bs;
    out.push_back(static_cast<Row>(column));
    while (k < end && s.j[k] >= from && s.j[k] < from + bs) ++k;
  }
  // BAIJ lists each block once. Its order is kept, because BaijValues reads blocks in that order.
  if (blocked) return;
  const auto mine = out.begin() + static_cast<std::ptrdiff_t>(first);
  if (!std::is_sorted(mine, out.end())) std::sort(mine, out.end());
  out.erase(std::unique(mine, out.end()), out.end());
}

// Collects the ghosts that the local rows read. merge_ghosts() later adds the rows of other ranks
// that only read local rows. A column without entries, as MatZeroRows() leaves, is not a ghost.
// Returns false if an entry refers to a column that does not exist.
bool own_ghosts(const MatrixPortions &portions, const RowStructure &offdiag, PetscInt columns,
                std::vector<PetscInt> &ghosts, std::vector<Row> &ghost_of_column)
{
  std::vector<bool> used(static_cast<std::size_t>(columns));
  if (offdiag.rows > 0)
    for (PetscInt k = offdiag.i[0]; k < offdiag.i[offdiag.rows]; ++k) {
      if (offdiag.j[k] >= columns) return false;
      used[static_cast<std::size_t>(offdiag.j[k])] = true;
    }
  ghost_of_column.assign(used.size(), -1);
  for (PetscInt c = 0; c < columns; ++c) {
    if (!used[static_cast<std::size_t>(c)]) continue;
    const PetscInt global =
        portions.blocked ? portions.garray[c] : portions.garray[c] / portions.bs;
    if (ghosts.empty() || ghosts.back() != global) ghosts.push_back(global);
    ghost_of_column[static_cast<std::size_t>(c)] = static_cast<Row>(ghosts.size() - 1);
  }
  return true;
}

// The number of blocks of a portion if all its blocks are full. AIJ portions with blocks that are
// not full have more blocks, so the number serves to reserve memory only.
std::size_t blocks_in(const RowStructure &s, const MatrixPortions &portions)
{
  return s.rows == 0 ? 0
                     : static_cast<std::size_t>(s.i[s.rows] /
                                                (portions.blocked ? 1 : portions.bs * portions.bs));
}

// build_rows() sets *missing to the first block row without a diagonal block, or to this value if
// entries refer to columns that do not exist.
constexpr PetscInt kLostColumns = -1;

// Some consecutive rows of the graph
struct Stretch {
  std::vector<Row> col;
  PetscInt missing = std::numeric_limits<PetscInt>::max();
};

// Lists the off-diagonal columns of the rows [begin, end). graph->ptr gets their numbers.
Stretch list_columns(const MatrixPortions &portions, const RowStructure &diag,
                     const RowStructure &offdiag, Row begin, Row end, BlockGraph *graph)
{
  Stretch stretch;
  std::vector<Row> &col = stretch.col;
  const std::size_t all =
      blocks_in(diag, portions) + (portions.offdiag ? blocks_in(offdiag, portions) : 0);
  const std::size_t mean = all * static_cast<std::size_t>(end - begin) /
                           static_cast<std::size_t>(std::max<Row>(graph->rows, 1));
  col.reserve(mean + mean / 64);
  for (Row i = begin; i < end; ++i) {
    const std::size_t first = col.size();
    block_columns(diag, portions.blocked, portions.bs, i, nullptr, col);
    const auto found = std::find(col.begin() + static_cast<std::ptrdiff_t>(first), col.end(), i);
    if (found == col.end())
      stretch.missing = std::min(stretch.missing, graph->row_start + i);
    else
      col.erase(found);
    const std::size_t own = col.size();
    if (portions.offdiag)
      block_columns(offdiag, portions.blocked, portions.bs, i, &graph->ghost_of_column, col);
    for (std::size_t k = own; k < col.size(); ++k) col[k] += graph->rows;
    graph->ptr[i + 1] = static_cast<Offset>(col.size() - first);
  }
  return stretch;
}

// Makes the rows of the graph, and returns the first row without a diagonal block.
PetscInt make_rows(const MatrixPortions &portions, const RowStructure &diag,
                   const RowStructure &offdiag, BlockGraph *graph)
{
  const Slices slices(static_cast<std::size_t>(graph->rows), graph->threads,
                      CommonTuning::kLeastRows);
  std::vector<Stretch> stretches(slices.parts);
  const auto begin = [&](std::size_t part) { return static_cast<Row>(slices.begin(part)); };
  PetscInt missing = std::numeric_limits<PetscInt>::max();
  Team team(graph->threads);
  graph->ptr.assign(static_cast<std::size_t>(graph->rows) + 1, 0);
  team.share(slices.parts, [&](std::size_t part) {
    stretches[part] = list_columns(portions, diag, offdiag, begin(part), begin(part + 1), graph);
  });
  for (Row i = 0; i < graph->rows; ++i) graph->ptr[i + 1] += graph->ptr[i];
  for (const Stretch &stretch : stretches) missing = std::min(missing, stretch.missing);
  if (slices.parts == 1) {
    graph->col = std::move(stretches.front().col);
    return missing;
  }
  graph->col.resize(static_cast<std::size_t>(graph->ptr.back()));
  team.share(slices.parts, [&](std::size_t part) {
    const std::vector<Row> col = std::move(stretches[part].col); // ends with this call
    std::copy(col.begin(), col.end(), graph->col.begin() + graph->ptr[slices.begin(part)]);
  });
  return missing;
}

PetscErrorCode build_rows(const MatrixPortions &portions, BlockGraph *graph, PetscInt *missing)
{
  RowStructure diag, offdiag;
  PetscInt columns = 0;

  PetscFunctionBegin;
  if (portions.offdiag) {
    PetscCall(MatGetLocalSize(portions.offdiag, nullptr, &columns));
    PetscCall(offdiag.open(portions.offdiag, portions.blocked));
    if (!own_ghosts(portions, offdiag, portions.blocked ? columns / portions.bs : columns,
                    graph->ghosts, graph->ghost_of_column)) {
      *missing = kLostColumns;
      PetscCall(offdiag.close());
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCall(diag.open(portions.diag, portions.blocked));
  *missing = make_rows(portions, diag, offdiag, graph);
  PetscCall(diag.close());
  PetscCall(offdiag.close());
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Whether columns ascend, and couplings of local rows exist in both directions. Rows are taken in
// their order, so each must be the next one in the list of every later row to which it is coupled.
bool is_locally_symmetric(const BlockGraph &graph)
{
  std::vector<Offset> next(graph.ptr.begin(), graph.ptr.end() - 1);
  for (Row i = 0; i < graph.rows; ++i) {
    Row before = -1;
    for (Offset k = graph.ptr[i]; k < graph.ptr[i + 1]; ++k) {
      const Row j = graph.col[k];
      if (j >= graph.rows) break; // Ghosts come last.
      if (j <= before) return false;
      before = j;
      if (j < i && k >= next[i]) return false; // j has not listed i
      if (j > i && (next[j] == graph.ptr[j + 1] || graph.col[next[j]++] != i)) return false;
    }
  }
  return true;
}

PetscErrorCode create_sf(const BlockGraph &graph, const std::vector<PetscInt> &remote, PetscSF *sf)
{
  PetscLayout layout;

  PetscFunctionBegin;
  PetscCall(PetscLayoutCreateFromSizes(graph.comm, graph.rows, graph.global_rows, 1, &layout));
  PetscCall(PetscSFCreate(graph.comm, sf));
  PetscCall(PetscSFSetGraphLayout(*sf, layout, static_cast<PetscInt>(remote.size()), nullptr,
                                  PETSC_OWN_POINTER, remote.data()));
  PetscCall(PetscLayoutDestroy(&layout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// For each off-process block, sends the global row to the rank that owns the column. What arrives
// is the transposed pattern of the off-process blocks.
PetscErrorCode exchange_edges(BlockGraph *graph, std::vector<PetscInt> *incoming)
{
  std::vector<PetscInt> remote, from;
  const PetscInt *degree;

  PetscFunctionBegin;
  for (Row i = 0; i < graph->rows; ++i)
    for (Offset k = graph->ptr[i]; k < graph->ptr[i + 1]; ++k)
      if (graph->col[k] >= graph->rows) {
        remote.push_back(graph->global_row(graph->col[k]));
        from.push_back(graph->row_start + i);
      }
  PetscCall(create_sf(*graph, remote, &graph->edges));
  PetscCall(PetscSFComputeDegreeBegin(graph->edges, &degree));
  PetscCall(PetscSFComputeDegreeEnd(graph->edges, &degree));
  graph->in_ptr.assign(1, 0);
  for (Row i = 0; i < graph->rows; ++i) graph->in_ptr.push_back(graph->in_ptr.back() + degree[i]);
  incoming->resize(static_cast<std::size_t>(graph->in_ptr.back()));
  PetscCall(PetscSFGatherBegin(graph->edges, MPIU_INT, from.data(), incoming->data()));
  PetscCall(PetscSFGatherEnd(graph->edges, MPIU_INT, from.data(), incoming->data()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void merge_ghosts(const std::vector<PetscInt> &incoming, BlockGraph *graph)
{
  const std::vector<PetscInt> own = graph->ghosts;
  graph->ghosts.insert(graph->ghosts.end(), incoming.begin(), incoming.end());
  std::sort(graph->ghosts.begin(), graph->ghosts.end());
  graph->ghosts.erase(std::unique(graph->ghosts.begin(), graph->ghosts.end()), graph->ghosts.end());
  const auto ghost_of = [&](PetscInt global) {
    return static_cast<Row>(std::lower_bound(graph->ghosts.begin(), graph->ghosts.end(), global) -
                            graph->ghosts.begin());
  };
  std::vector<Row> merged(own.size());
  for (std::size_t g = 0; g < own.size(); ++g) merged[g] = ghost_of(own[g]);
  for (Row &column : graph->col)
    if (column >= graph->rows) column = graph->rows + merged[column - graph->rows];
  for (Row &ghost : graph->ghost_of_column)
    if (ghost >= 0) ghost = merged[ghost];
  for (Row i = 0; i < graph->rows; ++i) {
    std::vector<std::pair<Row, Offset>> row;
    for (Offset k = graph->in_ptr[i]; k < graph->in_ptr[i + 1]; ++k)
      row.emplace_back(graph->rows + ghost_of(incoming[k]), k);
    std::sort(row.begin(), row.end());
    for (const auto &[column, slot] : row) {
      graph->in_col.push_back(column);
      graph->in_slot.push_back(slot);
    }
  }
}

} // namespace

PetscErrorCode BlockGraphCreate(Mat mat, const MatrixPortions &portions, int threads,
                                BlockGraph *graph)
{
  PetscInt start, size, local, missing;
  std::vector<PetscInt> incoming;

  PetscFunctionBegin;
  *graph = BlockGraph();
  graph->comm = PetscObjectComm((PetscObject)mat);
  graph->bs = portions.bs;
  graph->threads = threads;
  PetscCall(MatGetOwnershipRange(mat, &start, nullptr));
  PetscCall(MatGetLocalSize(mat, &local, nullptr));
  PetscCall(MatGetSize(mat, &size, nullptr));
  graph->row_start = start / portions.bs;
  graph->global_rows = size / portions.bs;
  PetscCheck(local / portions.bs < std::numeric_limits<Row>::max() / 2, PETSC_COMM_SELF,
             PETSC_ERR_SUP,
             "PCMCPI holds fewer than 2^30 block rows a rank, this rank has %" PetscInt_FMT
             ". Use more ranks",
             local / portions.bs);
  graph->rows = static_cast<Row>(local / portions.bs);
  PetscCall(build_rows(portions, graph, &missing));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &missing, 1, MPIU_INT, MPI_MIN, graph->comm));
  PetscCheck(missing != kLostColumns, graph->comm, PETSC_ERR_ARG_WRONGSTATE,
             "PCMCPI: PETSc has lost off-process columns of Pmat, as that of version 3.18 does for "
             "MATMPIBAIJ where a rank without off-process "
             "blocks gets its first after an assembly. Make the matrix anew, or insert these "
             "blocks, zeros included, before that assembly");
  PetscCheck(missing == std::numeric_limits<PetscInt>::max(), graph->comm, PETSC_ERR_ARG_WRONGSTATE,
             "PCMCPI: block row %" PetscInt_FMT
             " has no diagonal block. Insert it, zeros included, with MatSetValuesBlocked() or "
             "MatSetValues()",
             missing);
  PetscCall(exchange_edges(graph, &incoming));
  merge_ghosts(incoming, graph);
  graph->locally_symmetric = is_locally_symmetric(*graph);
  PetscCall(create_sf(*graph, graph->ghosts, &graph->ghost_sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BlockGraphDestroy(BlockGraph *graph)
{
  PetscFunctionBegin;
  PetscCall(PetscSFDestroy(&graph->edges));
  PetscCall(PetscSFDestroy(&graph->ghost_sf));
  *graph = BlockGraph();
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool BlockGraphIsSymmetric(const BlockGraph &graph)
{
  for (Row row = 0; row < graph.rows; ++row) {
    const auto end = graph.col.begin() + graph.ptr[row + 1];
    // Local columns come first, so the ghosts are the rest.
    const auto ghost = std::lower_bound(graph.col.begin() + graph.ptr[row], end, graph.rows);
    if (!std::equal(ghost, end, graph.in_col.begin() + graph.in_ptr[row],
                    graph.in_col.begin() + graph.in_ptr[row + 1]))
      return false;
  }
  return true;
}

namespace {

// The local rows that have each local row as a column, ascending; none if these are known to be the
// row's own columns
struct Transposed {
  std::vector<Offset> begin;
  std::vector<Row> row;

  explicit Transposed(const BlockGraph &graph) : begin(static_cast<std::size_t>(graph.rows) + 1, 0)
  {
    if (graph.locally_symmetric) return;
    for (const Row column : graph.col)
      if (column < graph.rows) ++begin[column + 1];
    for (Row i = 0; i < graph.rows; ++i) begin[i + 1] += begin[i];
    row.resize(static_cast<std::size_t>(begin[graph.rows]));
    std::vector<Offset> next(begin.begin(), begin.end() - 1);
    for (Row i = 0; i < graph.rows; ++i)
      for (Offset k = graph.ptr[i]; k < graph.ptr[i + 1]; ++k)
        if (graph.col[k] < graph.rows) row[next[graph.col[k]]++] = i;
  }
};

} // namespace

SymmetrizedPattern::SymmetrizedPattern(const BlockGraph &graph)
{
  if (graph.locally_symmetric && graph.ghosts.empty()) {
    ptr = graph.ptr;
    col = graph.col;
    return;
  }
  const Transposed transposed(graph);
  own_ptr_.reserve(static_cast<std::size_t>(graph.rows) + 1);
  own_ptr_.assign(1, 0);
  own_col_.reserve(graph.col.size());
  // The lists of rows and of columns are both ascending, separately in local rows and in ghosts.
  // Ghosts that lower ranks own come first in the result, because their global rows are smaller.
  const Row above =
      graph.rows +
      static_cast<Row>(std::lower_bound(graph.ghosts.begin(), graph.ghosts.end(), graph.row_start) -
                       graph.ghosts.begin());
  std::vector<Row> ghosts, sorted;
  for (Row i = 0; i < graph.rows; ++i) {
    auto begin = graph.col.begin() + graph.ptr[i], end = graph.col.begin() + graph.ptr[i + 1];
    if (!std::is_sorted(begin, end)) { // BAIJ made of a user's arrays in another order
      sorted.assign(begin, end);
      std::sort(sorted.begin(), sorted.end());
      begin = sorted.begin();
      end = sorted.end();
    }
    const auto local_end = std::lower_bound(begin, end, graph.rows);
    ghosts.clear();
    std::set_union(local_end, end, graph.in_col.begin() + graph.in_ptr[i],
                   graph.in_col.begin() + graph.in_ptr[i + 1], std::back_inserter(ghosts));
    const auto middle = std::lower_bound(ghosts.begin(), ghosts.end(), above);
    own_col_.insert(own_col_.end(), ghosts.begin(), middle);
    std::set_union(begin, local_end, transposed.row.begin() + transposed.begin[i],
                   transposed.row.begin() + transposed.begin[i + 1], std::back_inserter(own_col_));
    own_col_.insert(own_col_.end(), middle, ghosts.end());
    own_ptr_.push_back(static_cast<Offset>(own_col_.size()));
  }
  ptr = own_ptr_;
  col = own_col_;
}

} // namespace mcpi
