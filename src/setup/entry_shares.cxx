#include "setup/entry_shares.h"

#include <algorithm>

#include "core/sparse_factors.h"
#include "core/tuning.h"
#include "petsc/compat.h"

namespace mcpi {

bool EntryShares::few() const
{
  return all < CommonTuning::kFewEntries;
}

// Full diagonal blocks have full factors, which take more bytes than their inverses.
bool EntryShares::very_few(PetscInt bs) const
{
  const double most = std::max(all, diagonal);
  return few() && bs <= SparseEntries::kMostUnknowns && most < CommonTuning::kFewEntries &&
         most * CommonTuning::kUnknownsOfEntries < static_cast<double>(bs);
}

PetscErrorCode EntrySharesCount(const BlockGraph &graph, const MatrixPortions &portions,
                                EntryShares *shares)
{
  RowStructure rows;
  double counts[4] = {static_cast<double>(graph.rows), static_cast<double>(graph.ptr[graph.rows]),
                      0.0, 0.0}; // rows, off-diagonal blocks, entries, those of diagonal blocks

  PetscFunctionBegin;
  *shares = EntryShares();
  if (portions.blocked || graph.bs < CommonTuning::kManyUnknowns)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(rows.open(portions.diag, false));
  counts[2] = static_cast<double>(rows.i[rows.rows]);
  for (PetscInt row = 0; row < rows.rows; ++row)
    counts[3] += static_cast<double>(
        std::count_if(rows.j + rows.i[row], rows.j + rows.i[row + 1],
                      [&](PetscInt column) { return column / graph.bs == row / graph.bs; }));
  PetscCall(rows.close());
  if (portions.offdiag) {
    PetscCall(rows.open(portions.offdiag, false));
    counts[2] += static_cast<double>(rows.i[rows.rows]);
    PetscCall(rows.close());
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, counts, 4, MPI_DOUBLE, MPI_SUM, graph.comm));
  const double numbers = static_cast<double>(graph.bs) * static_cast<double>(graph.bs);
  if (counts[0] > 0.0)
    *shares = {counts[2] / ((counts[0] + counts[1]) * numbers), counts[3] / (counts[0] * numbers)};
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
