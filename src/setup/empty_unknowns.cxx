#include "setup/empty_unknowns.h"

#include <algorithm>

#include "petsc/collective.h"
#include "petsc/compat.h"

namespace mcpi {
namespace {

// Marks the unknowns of local rows and ghosts for whose row or column this rank has an entry that
// is not zero. A NaN is not zero.
std::vector<PetscInt> mark_used(const BlockGraph &graph, BlockRows &values)
{
  const auto bs = static_cast<std::size_t>(graph.bs);
  std::vector<PetscInt> used((static_cast<std::size_t>(graph.rows) + graph.ghosts.size()) * bs, 0);
  const double *diagonal = nullptr;
  const double *const *offdiag = nullptr;
  for (Row row = 0; row < graph.rows; ++row) {
    const auto mark = [&](const double *block, Row column) {
      for (std::size_t q = 0; q < bs; ++q)
        for (std::size_t p = 0; p < bs; ++p)
          if (block[q * bs + p] != 0.0) used[row * bs + p] = used[column * bs + q] = 1;
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
  std::vector<PetscInt> used;
  MPI_Datatype unit;

  PetscFunctionBegin;
  PetscCall(RunTogether(graph.comm, [&] {
    used = mark_used(graph, values);
    empty->flags.resize(static_cast<std::size_t>(graph.rows) * graph.bs);
  }));
  // Other ranks may read what is never read here.
  const PetscInt *of_ghosts = used.data() + empty->flags.size();
  PetscCallMPI(MPI_Type_contiguous(static_cast<int>(graph.bs), MPIU_INT, &unit));
  PetscCallMPI(MPI_Type_commit(&unit));
  PetscCall(PetscSFReduceBegin(graph.ghost_sf, unit, of_ghosts, used.data(), MPI_MAX));
  PetscCall(PetscSFReduceEnd(graph.ghost_sf, unit, of_ghosts, used.data(), MPI_MAX));
  PetscCallMPI(MPI_Type_free(&unit));
  std::transform(used.begin(), used.begin() + static_cast<std::ptrdiff_t>(empty->flags.size()),
                 empty->flags.begin(),
                 [](PetscInt mark) { return static_cast<std::uint8_t>(mark == 0); });
  empty->count = std::count(empty->flags.begin(), empty->flags.end(), 1);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &empty->count, 1, MPIU_INT64, MPI_SUM, graph.comm));
  if (empty->count == 0) *empty = EmptyUnknowns();
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
