#include "setup/jplf_graph.h"

#include <algorithm>
#include <climits>
#include <iterator>
#include <string_view>

#include "core/hash.h"
#include "core/threads.h"
#include "petsc/compat.h"

namespace mcpi::coloring {
namespace {

// The off-diagonal entries of the local rows, with global columns
struct Pattern {
  std::vector<std::size_t> ptr;
  std::vector<PetscInt> col;
  bool symmetric = false; // known to be
};

struct RowIJ {
  Mat mat;
  PetscInt n = 0;
  const PetscInt *i = nullptr, *j = nullptr;
};

PetscErrorCode get_row_ij(RowIJ &part)
{
  PetscBool done;
  MatType type;

  PetscFunctionBegin;
  if (!part.mat) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetType(part.mat, &type));
  PetscCall(MatGetRowIJ(part.mat, 0, PETSC_FALSE, PETSC_FALSE, &part.n, &part.i, &part.j, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Matrix type %s gives no row structure. Convert it to AIJ", type);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode restore_row_ij(RowIJ &part)
{
  PetscBool done;

  PetscFunctionBegin;
  if (part.mat)
    PetscCall(
        MatRestoreRowIJ(part.mat, 0, PETSC_FALSE, PETSC_FALSE, &part.n, &part.i, &part.j, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode read_aij(Mat mat, bool parallel, Pattern &pattern)
{
  RowIJ diag{mat}, off{nullptr};
  const PetscInt *garray = nullptr;
  PetscInt rstart, cstart, n;
  std::size_t entries = 0;

  PetscFunctionBegin;
  if (parallel) PetscCall(MatMPIAIJGetSeqAIJ(mat, &diag.mat, &off.mat, &garray));
  PetscCall(MatGetOwnershipRange(mat, &rstart, nullptr));
  PetscCall(MatGetOwnershipRangeColumn(mat, &cstart, nullptr));
  PetscCall(MatGetLocalSize(mat, &n, nullptr));
  PetscCall(get_row_ij(diag));
  PetscCall(get_row_ij(off));
  const auto append = [&](const RowIJ &part, PetscInt i, auto global) {
    if (!part.i) return;
    for (PetscInt k = part.i[i]; k < part.i[i + 1]; ++k)
      if (const PetscInt j = global(part.j[k]); j != i + rstart) pattern.col.push_back(j);
  };
  for (const RowIJ &part : {diag, off})
    if (part.i) entries += static_cast<std::size_t>(part.i[part.n]);
  pattern.col.reserve(entries);
  for (PetscInt i = 0; i < n; ++i) {
    append(diag, i, [&](PetscInt j) { return j + cstart; });
    append(off, i, [&](PetscInt j) { return garray[j]; });
    pattern.ptr.push_back(pattern.col.size());
  }
  PetscCall(restore_row_ij(diag));
  PetscCall(restore_row_ij(off));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Reads any type that has MatGetRow(). This is slower, because MatGetRow() copies values and global
// columns row by row.
PetscErrorCode read_rows(Mat mat, bool upper_only, Pattern &pattern)
{
  PetscInt rstart, rend;

  PetscFunctionBegin;
  if (upper_only) PetscCall(MatGetRowUpperTriangular(mat));
  PetscCall(MatGetOwnershipRange(mat, &rstart, &rend));
  for (PetscInt i = rstart; i < rend; ++i) {
    PetscInt n;
    const PetscInt *cols;
    PetscCall(MatGetRow(mat, i, &n, &cols, nullptr));
    std::copy_if(cols, cols + n, std::back_inserter(pattern.col),
                 [i](PetscInt j) { return j != i; });
    PetscCall(MatRestoreRow(mat, i, &n, &cols, nullptr));
    pattern.ptr.push_back(pattern.col.size());
  }
  if (upper_only) PetscCall(MatRestoreRowUpperTriangular(mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// names: the graph that is made, for messages. own: see graph_create()
PetscErrorCode read_pattern(Mat mat, const Graph &names, bool own, Pattern &pattern)
{
  PetscInt n;
  PetscBool rows, known, symmetric;
  MatType name;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(mat, &n, nullptr));
  pattern.ptr.reserve(static_cast<std::size_t>(n) + 1);
  pattern.ptr.push_back(0);
  PetscCall(MatGetType(mat, &name));
  const std::string_view type(name);
  if (type.starts_with(MATSEQAIJ) || type.starts_with(MATMPIAIJ)) {
    PetscCall(MatIsStructurallySymmetricKnown(mat, &known, &symmetric));
    pattern.symmetric = own && known && symmetric;
    PetscCall(read_aij(mat, type.starts_with(MATMPIAIJ), pattern));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatHasOperation(mat, MATOP_GET_ROW, &rows));
  PetscCheck(rows, PetscObjectComm((PetscObject)mat), PETSC_ERR_SUP,
             "%stype %s needs a matrix that gives its rows, not type %s. Convert it to AIJ with "
             "MatConvert()",
             names.options.c_str(), names.coloring.c_str(), name);
  PetscCall(read_rows(mat, type.ends_with(MATSBAIJ), pattern));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The off-process entries (row, col) of the local rows. Each rank sends them to the owners of their
// columns. incoming[ptr[i], ptr[i+1]) are the rows of other ranks that have an entry in the local
// column i.
struct OffProcess {
  std::vector<PetscInt> row, col, incoming;
  std::vector<std::size_t> ptr;
};

PetscErrorCode exchange_off_process(Mat mat, PetscInt rstart, const Pattern &pattern,
                                    OffProcess &off)
{
  const PetscInt n = static_cast<PetscInt>(pattern.ptr.size()) - 1;
  const PetscInt *degree;
  PetscLayout layout;
  PetscSF sf;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; ++i)
    for (std::size_t k = pattern.ptr[i]; k < pattern.ptr[i + 1]; ++k)
      if (pattern.col[k] < rstart || pattern.col[k] >= rstart + n) {
        off.row.push_back(rstart + i);
        off.col.push_back(pattern.col[k]);
      }
  PetscCall(MatGetLayouts(mat, &layout, nullptr));
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)mat), &sf));
  PetscCall(PetscSFSetGraphLayout(sf, layout, static_cast<PetscInt>(off.col.size()), nullptr,
                                  PETSC_COPY_VALUES, off.col.data()));
  PetscCall(PetscSFComputeDegreeBegin(sf, &degree));
  PetscCall(PetscSFComputeDegreeEnd(sf, &degree));
  off.ptr.assign(1, 0);
  for (PetscInt i = 0; i < n; ++i)
    off.ptr.push_back(off.ptr.back() + static_cast<std::size_t>(degree[i]));
  off.incoming.resize(off.ptr.back());
  PetscCall(PetscSFGatherBegin(sf, MPIU_INT, off.row.data(), off.incoming.data()));
  PetscCall(PetscSFGatherEnd(sf, MPIU_INT, off.row.data(), off.incoming.data()));
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Lists, for each local column i, the local rows that have an entry in it: rows[ptr[i], ptr[i+1])
void transpose_local(PetscInt rstart, const Pattern &pattern, std::vector<std::size_t> &ptr,
                     std::vector<int> &rows)
{
  const PetscInt n = static_cast<PetscInt>(pattern.ptr.size()) - 1;
  ptr.assign(static_cast<std::size_t>(n) + 2, 0);
  for (const PetscInt j : pattern.col)
    if (j >= rstart && j < rstart + n) ++ptr[j - rstart + 2];
  for (PetscInt i = 0; i < n; ++i) ptr[i + 2] += ptr[i + 1];
  rows.resize(ptr[n + 1]);
  for (PetscInt i = 0; i < n; ++i)
    for (std::size_t k = pattern.ptr[i]; k < pattern.ptr[i + 1]; ++k)
      if (const PetscInt j = pattern.col[k]; j >= rstart && j < rstart + n)
        rows[ptr[j - rstart + 1]++] = static_cast<int>(i);
}

// Sets the neighbors of the local rows: the union of a row's columns and of the rows that have it
// as a column
void unite_local(PetscInt rstart, const Pattern &pattern, const OffProcess &off, Graph &graph)
{
  std::vector<std::size_t> tptr;
  std::vector<int> trow, seen;
  const auto vertex = [&](PetscInt global) {
    if (global >= rstart && global < rstart + graph.nlocal)
      return static_cast<int>(global - rstart);
    return static_cast<int>(
        std::lower_bound(graph.row.begin() + graph.nlocal, graph.row.end(), global) -
        graph.row.begin());
  };

  if (pattern.symmetric) {
    graph.ptr = pattern.ptr;
    graph.adj.resize(pattern.col.size());
    share_range(pattern.col.size(), graph.threads, [&](std::size_t begin, std::size_t end) {
      std::transform(pattern.col.begin() + static_cast<std::ptrdiff_t>(begin),
                     pattern.col.begin() + static_cast<std::ptrdiff_t>(end),
                     graph.adj.begin() + static_cast<std::ptrdiff_t>(begin), vertex);
    });
    return;
  }
  seen.assign(static_cast<std::size_t>(graph.size()), -1);
  transpose_local(rstart, pattern, tptr, trow);
  graph.adj.reserve(pattern.col.size());
  for (int i = 0; i < graph.nlocal; ++i) {
    const auto add = [&](int v) {
      if (seen[v] == i) return;
      seen[v] = i;
      graph.adj.push_back(v);
    };
    for (std::size_t k = pattern.ptr[i]; k < pattern.ptr[i + 1]; ++k) add(vertex(pattern.col[k]));
    for (std::size_t k = tptr[i]; k < tptr[i + 1]; ++k) add(trow[k]);
    if (!off.ptr.empty())
      for (std::size_t k = off.ptr[i]; k < off.ptr[i + 1]; ++k) add(vertex(off.incoming[k]));
    graph.ptr.push_back(graph.adj.size());
  }
}

void append_ghosts(Graph &graph)
{
  std::vector<std::size_t> next(static_cast<std::size_t>(graph.nghost) + 1, 0);
  const std::size_t local_entries = graph.adj.size();
  for (const int v : graph.adj)
    if (v >= graph.nlocal) ++next[v - graph.nlocal + 1];
  for (int g = 0; g < graph.nghost; ++g) {
    next[g + 1] += next[g];
    graph.ptr.push_back(local_entries + next[g + 1]);
  }
  graph.adj.resize(local_entries + next[graph.nghost]);
  for (int i = 0; i < graph.nlocal; ++i)
    for (std::size_t k = graph.ptr[i]; k < graph.ptr[i + 1]; ++k)
      if (const int g = graph.adj[k] - graph.nlocal; g >= 0)
        graph.adj[local_entries + next[g]++] = i;
}

template <class T> PetscErrorCode broadcast(const Graph &graph, MPI_Datatype unit, T *values)
{
  PetscFunctionBegin;
  if (graph.ranks == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSFBcastBegin(graph.sf, unit, values, values + graph.nlocal, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(graph.sf, unit, values, values + graph.nlocal, MPI_REPLACE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode update_ghosts(const Graph &graph, MPI_Datatype unit, int *values)
{
  return broadcast(graph, unit, values);
}
PetscErrorCode update_ghosts(const Graph &graph, MPI_Datatype unit, PetscInt64 *values)
{
  return broadcast(graph, unit, values);
}

PetscErrorCode graph_create(Mat mat, bool own, Graph &graph)
{
  Pattern pattern;
  OffProcess off;
  PetscInt rstart, n, rows, cols;
  PetscLayout layout;
  PetscBool assembled;

  PetscFunctionBegin;
  graph.comm = PetscObjectComm((PetscObject)mat);
  PetscCallMPI(MPI_Comm_size(graph.comm, &graph.ranks));
  PetscCall(MatGetSize(mat, &rows, &cols));
  PetscCheck(rows == cols, graph.comm, PETSC_ERR_ARG_SIZ,
             "%stype %s needs a square matrix, not %" PetscInt_FMT " x %" PetscInt_FMT,
             graph.options.c_str(), graph.coloring.c_str(), rows, cols);
  PetscCall(MatAssembled(mat, &assembled));
  PetscCheck(assembled, graph.comm, PETSC_ERR_ARG_WRONGSTATE, "%stype %s needs an assembled matrix",
             graph.options.c_str(), graph.coloring.c_str());
  PetscCall(MatGetOwnershipRange(mat, &rstart, nullptr));
  PetscCall(MatGetLocalSize(mat, &n, nullptr));
  PetscCall(read_pattern(mat, graph, own, pattern));
  if (graph.ranks > 1) PetscCall(exchange_off_process(mat, rstart, pattern, off));

  std::vector<PetscInt> ghosts(off.col);
  ghosts.insert(ghosts.end(), off.incoming.begin(), off.incoming.end());
  std::sort(ghosts.begin(), ghosts.end());
  ghosts.erase(std::unique(ghosts.begin(), ghosts.end()), ghosts.end());
  PetscCheck(static_cast<std::size_t>(n) + ghosts.size() < static_cast<std::size_t>(INT_MAX),
             PETSC_COMM_SELF, PETSC_ERR_SUP,
             "More than 2^31 rows and ghosts on one rank. Use more ranks");
  graph.nlocal = static_cast<int>(n);
  graph.nghost = static_cast<int>(ghosts.size());
  if (graph.ranks > 1) {
    PetscCall(MatGetLayouts(mat, &layout, nullptr));
    PetscCall(PetscSFCreate(graph.comm, &graph.sf));
    PetscCall(PetscSFSetGraphLayout(graph.sf, layout, static_cast<PetscInt>(ghosts.size()), nullptr,
                                    PETSC_COPY_VALUES, ghosts.data()));
  }
  graph.row.reserve(static_cast<std::size_t>(graph.size()));
  for (PetscInt i = 0; i < n; ++i) graph.row.push_back(rstart + i);
  graph.row.insert(graph.row.end(), ghosts.begin(), ghosts.end());
  for (const PetscInt row : graph.row) graph.hash.push_back(mix(static_cast<std::uint64_t>(row)));

  graph.ptr.reserve(static_cast<std::size_t>(graph.size()) + 1);
  graph.ptr.assign(1, 0);
  unite_local(rstart, pattern, off, graph);
  graph.global_rows = rows;
  graph.global_entries = static_cast<PetscInt64>(graph.adj.size());
  for (int i = 0; i < graph.nlocal; ++i)
    graph.global_max_degree = std::max<PetscInt64>(graph.global_max_degree, graph.degree(i));
  PetscCallMPI(
      MPI_Allreduce(MPI_IN_PLACE, &graph.global_entries, 1, MPIU_INT64, MPI_SUM, graph.comm));
  PetscCallMPI(
      MPI_Allreduce(MPI_IN_PLACE, &graph.global_max_degree, 1, MPIU_INT64, MPI_MAX, graph.comm));
  append_ghosts(graph);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode graph_destroy(Graph &graph)
{
  PetscFunctionBegin;
  PetscCall(PetscSFDestroy(&graph.sf));
  graph = Graph();
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi::coloring
