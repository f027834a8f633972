#include "setup/coloring.h"

#include <petsc/private/matimpl.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>

#include "core/threads.h"
#include "petsc/compat.h"
#include "petsc/prefix.h"
#include "petscmcpi.h"
#include "setup/coloring_type.h"
#include "setup/pattern_matrix.h"

namespace mcpi {
namespace {

// Makes an AIJ matrix of the graph, because the types of MatColoring need exactly SEQAIJ or MPIAIJ.
PetscErrorCode create_graph_matrix(const BlockGraph &graph, PatternMatrix *pattern, Mat *mat)
{
  const SymmetrizedPattern neighbors(graph);

  PetscFunctionBegin;
  // One entry a row more: PETSc's own coloring types need one on each diagonal.
  pattern->i.resize(neighbors.ptr.size());
  pattern->j.resize(neighbors.col.size() + static_cast<std::size_t>(graph.rows));
  share_range(graph.rows, graph.threads, [&](Row begin, Row end) {
    PetscInt *out = pattern->j.data() + neighbors.ptr[begin] + begin;
    for (Row row = begin; row < end; ++row) {
      const PetscInt own = graph.row_start + row;
      bool diagonal = false;
      for (Offset k = neighbors.ptr[row]; k < neighbors.ptr[row + 1]; ++k) {
        const PetscInt column = graph.global_row(neighbors.col[k]);
        if (!diagonal && column > own) {
          *out++ = own;
          diagonal = true;
        }
        *out++ = column;
      }
      if (!diagonal) *out++ = own;
      pattern->i[row + 1] = static_cast<PetscInt>(out - pattern->j.data());
    }
  });
  PetscCall(pattern->create(graph.comm, graph.rows, graph.global_rows, mat));
  PetscCall(MatSetOption(*mat, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetOption(*mat, MAT_STRUCTURALLY_SYMMETRIC, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode apply_matcoloring(Mat mat, const std::string &type, PetscObject options, int threads,
                                 ISColoring *iscoloring)
{
  MatColoring mc;
  const char *prefix;
  PetscBool same;
  PetscErrorCode (*known)(MatColoring) = nullptr;

  PetscFunctionBegin;
  PetscCall(MatColoringRegisterJPLF());
  PetscCall(MatColoringRegisterWave());
  PetscCall(MatColoringRegisterLevels());
  PetscCall(PetscFunctionListFind(MatColoringList, type.c_str(), &known));
  PetscCheck(known, PetscObjectComm((PetscObject)mat), PETSC_ERR_ARG_UNKNOWN_TYPE,
             "Unknown MatColoring type %s. Give -%spc_mcpi_mat_coloring_type one that -help lists",
             type.c_str(), prefix_of(options));
  PetscCall(MatColoringCreate(mat, &mc));
  PetscCall(PetscObjectGetOptionsPrefix(options, &prefix));
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)mc, prefix));
  PetscCall(PetscObjectAppendOptionsPrefix((PetscObject)mc, "pc_mcpi_"));
  PetscOptions database;
  PetscCall(PetscObjectGetOptions(options, &database));
  PetscCall(PetscObjectSetOptions((PetscObject)mc, database));
  PetscCall(MatColoringSetDistance(mc, 1));
  PetscCall(MatColoringSetType(mc, type.c_str()));
  PetscCall(MatColoringSetFromOptions(mc));
  // The options may have set another type. The given type holds: the user may have chosen a
  // schedule with a type of its own.
  PetscCall(PetscObjectTypeCompare((PetscObject)mc, type.c_str(), &same));
  if (!same) {
    PetscCall(MatColoringSetType(mc, type.c_str()));
    PetscObjectOptionsBegin((PetscObject)mc);
    PetscTryTypeMethod(mc, setfromoptions, PetscOptionsObject);
    PetscOptionsEnd();
  }
  PetscTryMethod(mc, coloring::kSetOwnMatrix, (MatColoring, int), (mc, threads));
  PetscCall(MatColoringApply(mc, iscoloring));
  PetscCall(MatColoringDestroy(&mc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Gets the colors of the local vertices, and the number of colors of all ranks. An error on all
// ranks unless each vertex of this rank has a color. count: local vertices
PetscErrorCode get_colors(const BlockGraph &graph, ISColoring iscoloring, const std::string &type,
                          PetscObject options, PetscInt count, PetscInt *colors,
                          const ISColoringValue **values)
{
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(ISColoringGetColors(iscoloring, &n, colors, values));
  PetscInt wrong = n != count;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPIU_INT, MPI_MAX, graph.comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, colors, 1, MPIU_INT, MPI_MAX, graph.comm));
  PetscCheck(
      !wrong, graph.comm, PETSC_ERR_PLIB,
      "MatColoring type %s did not color the rows of its matrix, which has a row for each block "
      "row, or for each cluster. Use -%spc_mcpi_mat_coloring_type jplf",
      type.c_str(), prefix_of(options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode exchange_ghost_colors(const BlockGraph &graph, Coloring *coloring)
{
  PetscFunctionBegin;
  coloring->ghost_color.assign(graph.ghosts.size(), -1);
  PetscCall(PetscSFBcastBegin(graph.ghost_sf, MPI_INT, coloring->color.data(),
                              coloring->ghost_color.data(), MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(graph.ghost_sf, MPI_INT, coloring->color.data(),
                            coloring->ghost_color.data(), MPI_REPLACE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Counts the block rows that have no color or the color of a neighbor, and reports them as an
// error. Without this check, coupled rows of one color would be relaxed together: the method would
// be block Jacobi for them, and the user would not know.
PetscErrorCode check(const BlockGraph &graph, const std::string &type, PetscObject options,
                     const Coloring &coloring)
{
  std::atomic<PetscInt> found = 0;
  const auto color_of = [&](Row column) {
    return column < graph.rows ? coloring.color[column] : coloring.ghost_color[column - graph.rows];
  };

  const auto in_cluster = [&](Row i, Row column) {
    return coloring.clustered && column < graph.rows &&
           coloring.cluster[column] == coloring.cluster[i];
  };

  PetscFunctionBegin;
  share_range(graph.rows, graph.threads, [&](Row begin, Row end) {
    for (Row i = begin; i < end; ++i) {
      bool good = coloring.color[i] >= 0 && coloring.color[i] < coloring.colors;
      for (Offset k = graph.ptr[i]; good && k < graph.ptr[i + 1]; ++k)
        good = color_of(graph.col[k]) != coloring.color[i] || in_cluster(i, graph.col[k]);
      for (Offset k = graph.in_ptr[i]; good && k < graph.in_ptr[i + 1]; ++k)
        good = color_of(graph.in_col[k]) != coloring.color[i];
      if (!good) ++found;
    }
  });
  PetscInt bad = found;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPIU_INT, MPI_SUM, graph.comm));
  PetscCheck(bad == 0, graph.comm, PETSC_ERR_PLIB,
             "MatColoring type %s gave %" PetscInt_FMT
             " block rows no color, or the color of a neighbor. Use "
             "-%spc_mcpi_mat_coloring_type jplf, or a larger -%spc_mcpi_mat_coloring_maxcolors",
             type.c_str(), bad, prefix_of(options), prefix_of(options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode ColoringCreate(const BlockGraph &graph, const std::string &type, PetscObject options,
                              Coloring *coloring)
{
  PatternMatrix pattern;
  Mat mat;
  PetscInt colors;
  const ISColoringValue *values;

  PetscFunctionBegin;
  *coloring = Coloring();
  PetscCall(create_graph_matrix(graph, &pattern, &mat));
  const PetscErrorCode applied =
      apply_matcoloring(mat, type, options, graph.threads, &coloring->iscoloring);
  PetscCall(MatDestroy(&mat));
  PetscCall(applied);
  PetscCall(get_colors(graph, coloring->iscoloring, type, options, graph.rows, &colors, &values));
  coloring->colors = static_cast<int>(colors);
  coloring->color.assign(values, values + graph.rows);
  PetscCall(exchange_ghost_colors(graph, coloring));
  PetscCall(check(graph, type, options, *coloring));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Makes an AIJ matrix of the couplings between clusters. first: global number of the first local
// cluster. count: local clusters. total: clusters of all ranks
PetscErrorCode create_cluster_matrix(const BlockGraph &graph, const std::vector<Row> &cluster,
                                     PetscInt first, PetscInt count, PetscInt total,
                                     PatternMatrix *pattern, Mat *mat)
{
  std::vector<PetscInt> number(cluster.begin(), cluster.end()), of_ghost(graph.ghosts.size());
  std::vector<Row> begin(static_cast<std::size_t>(count) + 1, 0), rows(cluster.size()),
      seen_by(static_cast<std::size_t>(count), -1);

  PetscFunctionBegin;
  for (PetscInt &n : number) n += first;
  PetscCall(
      PetscSFBcastBegin(graph.ghost_sf, MPIU_INT, number.data(), of_ghost.data(), MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(graph.ghost_sf, MPIU_INT, number.data(), of_ghost.data(), MPI_REPLACE));
  for (const Row c : cluster) ++begin[c + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Row> next(begin.begin(), begin.end() - 1);
  for (Row row = 0; row < graph.rows; ++row) rows[next[cluster[row]]++] = row;
  const SymmetrizedPattern neighbors(graph);
  for (Row c = 0; c < static_cast<Row>(count); ++c) {
    const auto start = static_cast<std::ptrdiff_t>(pattern->j.size());
    seen_by[c] = c;
    pattern->j.push_back(first + c);
    for (Row r = begin[c]; r < begin[c + 1]; ++r)
      for (Offset k = neighbors.ptr[rows[r]]; k < neighbors.ptr[rows[r] + 1]; ++k) {
        const Row column = neighbors.col[k];
        if (column >= graph.rows)
          pattern->j.push_back(of_ghost[column - graph.rows]);
        else if (std::exchange(seen_by[cluster[column]], c) != c)
          pattern->j.push_back(number[column]);
      }
    std::sort(pattern->j.begin() + start, pattern->j.end());
    pattern->j.erase(std::unique(pattern->j.begin() + start, pattern->j.end()), pattern->j.end());
    pattern->end_row();
  }
  PetscCall(pattern->create(graph.comm, count, total, mat));
  PetscCall(MatSetOption(*mat, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetOption(*mat, MAT_STRUCTURALLY_SYMMETRIC, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Gives each row the color of its cluster. clusters: how many this rank has
PetscErrorCode color_rows(const BlockGraph &graph, ISColoring of_clusters, const std::string &type,
                          PetscObject options, PetscInt clusters, Coloring *coloring)
{
  PetscInt colors;
  const ISColoringValue *values;

  PetscFunctionBegin;
  PetscCall(get_colors(graph, of_clusters, type, options, clusters, &colors, &values));
  std::vector<ISColoringValue> of_rows;
  for (const Row cluster : coloring->cluster) of_rows.push_back(values[cluster]);
  coloring->color.assign(of_rows.begin(), of_rows.end());
  coloring->colors = static_cast<int>(colors);
  PetscCall(ISColoringCreate(graph.comm, colors, graph.rows, of_rows.data(), PETSC_COPY_VALUES,
                             &coloring->iscoloring));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ColoringCreateOfClusters(const BlockGraph &graph, const std::string &type,
                                        PetscObject options, std::vector<Row> cluster,
                                        Coloring *coloring)
{
  PatternMatrix pattern;
  Mat mat;
  ISColoring of_clusters = nullptr;
  const PetscInt count =
      cluster.empty() ? 0 : 1 + *std::max_element(cluster.begin(), cluster.end());
  PetscInt end = 0, total = 0;

  PetscFunctionBegin;
  *coloring = Coloring();
  PetscCallMPI(MPI_Scan(&count, &end, 1, MPIU_INT, MPI_SUM, graph.comm));
  PetscCallMPI(MPI_Allreduce(&count, &total, 1, MPIU_INT, MPI_SUM, graph.comm));
  PetscCall(create_cluster_matrix(graph, cluster, end - count, count, total, &pattern, &mat));
  const PetscErrorCode applied = apply_matcoloring(mat, type, options, graph.threads, &of_clusters);
  PetscCall(MatDestroy(&mat));
  PetscCall(applied);
  coloring->clustered = true;
  coloring->cluster = std::move(cluster);
  const PetscErrorCode colored = color_rows(graph, of_clusters, type, options, count, coloring);
  PetscCall(ISColoringDestroy(&of_clusters));
  PetscCall(colored);
  PetscCall(exchange_ghost_colors(graph, coloring));
  PetscCall(check(graph, type, options, *coloring));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ColoringDestroy(Coloring *coloring)
{
  PetscFunctionBegin;
  PetscCall(ISColoringDestroy(&coloring->iscoloring));
  *coloring = Coloring();
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
