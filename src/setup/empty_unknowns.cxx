#include "setup/empty_unknowns.h"

#include <algorithm>

#include "petsc/collective.h"
#include "petsc/compat.h"

namespace mcpi {
namespace {

// Marks the unknowns of local rows and ghosts for whose row or column this rank has an entry that
// is not zero. A NaN is not zero.
std::vector<bool> mark_used(const BlockGraph &graph, BlockRows &values)
{
  const auto bs = static_cast<std::size_t>(graph.bs);
  std::vector<bool> used((static_cast<std::size_t>(graph.rows) + graph.ghosts.size()) * bs);
  const double *diagonal = nullptr;
  const double *const *offdiag = nullptr;
  for (Row row = 0; row < graph.rows; ++row) {
    const auto mark = [&](const double *block, Row column) {
      for (std::size_t q = 0; q < bs; ++q)
        for (std::size_t p = 0; p < bs; ++p)
          if (block[q * bs + p] != 0.0) used[row * bs + p] = used[column * bs + q] = true;
    };
    values.row(row, diagonal, offdiag);
    mark(diagonal, row);
    for (Offset k = graph.ptr[row]; k < graph.ptr[row + 1]; ++k)
      mark(offdiag[k - graph.ptr[row]], graph.col[k]);
  }
  return used;
}

} // namespace

PetscErrorCode EmptyUnknownsFind(const BlockGraph &graph, MatrixValues &values,
                                 EmptyUnknowns *empty)
{
  const auto bs = static_cast<std::size_t>(graph.bs), rows = static_cast<std::size_t>(graph.rows);
  std::vector<bool> used;
  std::vector<PetscInt> marks;

  PetscFunctionBegin;
  PetscCall(RunTogether(graph.comm, [&] {
    used = mark_used(graph, values);
    empty->flags.resize(rows * bs);
    marks.resize(rows + graph.ghosts.size());
  }));
  // Other ranks may read what is never read here. PETSc reduces arrays of blocks only with some MPI
  // libraries, so components go one by one.
  for (std::size_t q = 0; q < bs; ++q) {
    for (std::size_t row = 0; row < marks.size(); ++row) marks[row] = used[row * bs + q];
    const PetscInt *of_ghosts = marks.data() + rows;
    PetscCall(PetscSFReduceBegin(graph.ghost_sf, MPIU_INT, of_ghosts, marks.data(), MPI_MAX));
    PetscCall(PetscSFReduceEnd(graph.ghost_sf, MPIU_INT, of_ghosts, marks.data(), MPI_MAX));
    for (std::size_t row = 0; row < rows; ++row) empty->flags[row * bs + q] = marks[row] == 0;
  }
  empty->count = std::count(empty->flags.begin(), empty->flags.end(), 1);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &empty->count, 1, MPIU_INT64, MPI_SUM, graph.comm));
  if (empty->count == 0) *empty = EmptyUnknowns();
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
