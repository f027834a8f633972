#include "mesh.h"

#include <vector>

namespace bench {
namespace {

#if PETSC_VERSION_LT(3, 19, 0)
constexpr PetscErrorCode PETSC_SUCCESS = 0;
#endif

struct Rows {
  PetscInt              begin, count;
  std::vector<PetscInt> i{0}, j;
};

PetscErrorCode structure(MPI_Comm comm, PetscInt n, Rows *rows)
{
  PetscInt total = n * n * n, local = PETSC_DECIDE;

  PetscFunctionBegin;
  PetscCall(PetscSplitOwnership(comm, &local, &total));
  rows->count = local;
  PetscCallMPI(MPI_Scan(&local, &rows->begin, 1, MPIU_INT, MPI_SUM, comm));
  rows->begin -= local;
  for (PetscInt r = 0; r < local; ++r) {
    const PetscInt v        = rows->begin + r;
    bool           diagonal = false;
    for_neighbors(n, v, [&](PetscInt w) {
      if (w > v && !diagonal) {
        rows->j.push_back(v);
        diagonal = true;
      }
      rows->j.push_back(w);
    });
    if (!diagonal) rows->j.push_back(v);
    rows->i.push_back(static_cast<PetscInt>(rows->j.size()));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode CreateMatrix(MPI_Comm comm, PetscInt n, PetscInt bs, Mat *mat)
{
  Rows        rows;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(structure(comm, n, &rows));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MatCreate(comm, mat));
  PetscCall(MatSetSizes(*mat, rows.count * bs, rows.count * bs, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSize(*mat, bs));
  PetscCall(MatSetType(*mat, size == 1 ? MATSEQBAIJ : MATMPIBAIJ));
  std::vector<PetscInt> on(rows.count, 0), off(rows.count, 0);
  for (PetscInt r = 0; r < rows.count; ++r)
    for (PetscInt k = rows.i[r]; k < rows.i[r + 1]; ++k) ++(rows.j[k] >= rows.begin && rows.j[k] < rows.begin + rows.count ? on : off)[r];
  PetscCall(MatSeqBAIJSetPreallocation(*mat, bs, 0, on.data()));
  PetscCall(MatMPIBAIJSetPreallocation(*mat, bs, 0, on.data(), 0, off.data()));
  std::vector<PetscScalar> block(static_cast<std::size_t>(bs) * bs);
  for (PetscInt r = 0; r < rows.count; ++r)
    for (PetscInt k = rows.i[r]; k < rows.i[r + 1]; ++k) {
      const PetscInt      row = rows.begin + r, column = rows.j[k];
      const std::uint64_t key = (static_cast<std::uint64_t>(row) << 36U) ^ (static_cast<std::uint64_t>(column) << 12U);
      for (PetscInt e = 0; e < bs * bs; ++e) block[e] = noise(key + e) / (15.0 * static_cast<double>(bs));
      if (row == column)
        for (PetscInt d = 0; d < bs; ++d) block[d * bs + d] += 1.0;
      PetscCall(MatSetValuesBlocked(*mat, 1, &row, 1, &column, block.data(), INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(*mat, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*mat, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CreateGraph(MPI_Comm comm, PetscInt n, Mat *mat)
{
  Rows        rows;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(structure(comm, n, &rows));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  const std::vector<PetscScalar> ones(rows.j.size(), 1.0);
  PetscCall(MatCreate(comm, mat));
  PetscCall(MatSetSizes(*mat, rows.count, rows.count, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*mat, size == 1 ? MATSEQAIJ : MATMPIAIJ));
  if (size == 1)
    PetscCall(MatSeqAIJSetPreallocationCSR(*mat, rows.i.data(), rows.j.data(), ones.data()));
  else
    PetscCall(MatMPIAIJSetPreallocationCSR(*mat, rows.i.data(), rows.j.data(), ones.data()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace bench
