#include "setup/block_graph.h"

#include "petsc/block_size.h"
#include "petsc/compat.h"

namespace mcpi {
namespace {

struct SupportedType {
  const char *name;
  bool parallel, blocked, symmetric;
};

// Derived types (seqaijcusparse, seqbaijmkl and others) are supported, too, because they keep the
// data of their base type.
const SupportedType kSupportedTypes[] = {
    {MATSEQBAIJ, false, true, false}, {MATMPIBAIJ, true, true, false},
    {MATSEQAIJ, false, false, false}, {MATMPIAIJ, true, false, false},
    {MATSEQSBAIJ, false, true, true}, {MATMPISBAIJ, true, true, true},
};

PetscErrorCode find_type(Mat mat, const SupportedType **type)
{
  MatType name;

  PetscFunctionBegin;
  *type = nullptr;
  PetscCall(MatGetType(mat, &name));
  PetscCheck(name, PetscObjectComm((PetscObject)mat), PETSC_ERR_ARG_WRONGSTATE,
             "PCMCPI has no matrix: give KSPSetOperators() or PCSetOperators() one that is set up");
  for (const SupportedType &candidate : kSupportedTypes) {
    PetscBool same;
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)mat, candidate.name, &same));
    if (same) {
      *type = &candidate;
      break;
    }
  }
  PetscCheck(*type, PetscObjectComm((PetscObject)mat), PETSC_ERR_SUP,
             "PCMCPI needs a BAIJ, SBAIJ or AIJ matrix, not %s. Use -mat_type baij, -dm_mat_type "
             "baij or MatConvert(), or give "
             "PCSetOperators() such a Pmat",
             name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Checks sizes and state.
PetscErrorCode check_structure(Mat mat, PetscInt bs)
{
  PetscInt m, n, M, N;
  PetscBool assembled;

  PetscFunctionBegin;
  PetscCall(MatGetSize(mat, &M, &N));
  PetscCall(MatGetLocalSize(mat, &m, &n));
  PetscCheck(M == N, PetscObjectComm((PetscObject)mat), PETSC_ERR_ARG_SIZ,
             "PCMCPI needs a square matrix, this one is %" PetscInt_FMT " x %" PetscInt_FMT, M, N);
  PetscInt unlike[2] = {m != n, m % bs != 0};
  PetscCallMPI(
      MPI_Allreduce(MPI_IN_PLACE, unlike, 2, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)mat)));
  PetscCheck(!unlike[0], PetscObjectComm((PetscObject)mat), PETSC_ERR_ARG_SIZ,
             "PCMCPI needs the same partition of rows and columns. Use MatSetSizes() with equal "
             "local sizes");
  PetscCheck(!unlike[1], PetscObjectComm((PetscObject)mat), PETSC_ERR_ARG_SIZ,
             "PCMCPI needs local sizes that are multiples of the block size %" PetscInt_FMT
             ". Use MatSetSizes() or MatSetBlockSize()",
             bs);
  PetscCall(MatAssembled(mat, &assembled));
  PetscCheck(assembled, PetscObjectComm((PetscObject)mat), PETSC_ERR_ARG_WRONGSTATE,
             "PCMCPI needs an assembled matrix. Call MatAssemblyBegin() and MatAssemblyEnd()");
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Gets the block size, and says so if it is not that of the rows and of the columns.
PetscErrorCode choose_block_size(Mat mat, PetscInt *bs)
{
  PetscInt rows, columns;

  PetscFunctionBegin;
  PetscCall(SquareBlockSize(mat, bs));
  PetscCall(MatGetBlockSizes(mat, &rows, &columns));
  if (rows != columns)
    PetscCall(PetscInfo(mat,
                        "Blocks of %" PetscInt_FMT " x %" PetscInt_FMT
                        " are not square: PCMCPI takes their greatest common divisor %" PetscInt_FMT
                        " as block size\n",
                        rows, columns, *bs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode MatrixPortionsGet(Mat mat, MatrixPortions *portions)
{
  const SupportedType *type;
  MatType name;

  PetscFunctionBegin;
  *portions = MatrixPortions();
  PetscCall(find_type(mat, &type));
  PetscCall(choose_block_size(mat, &portions->bs));
  PetscCall(check_structure(mat, portions->bs));
  PetscCall(MatGetType(mat, &name));
  Mat source = mat;
  if (type->symmetric) {
    PetscCall(PetscInfo(mat,
                        "%s is converted to BAIJ at every numeric set-up; assemble a BAIJ matrix "
                        "to save the copy\n",
                        name));
    PetscCall(MatConvert(mat, type->parallel ? MATMPIBAIJ : MATSEQBAIJ, MAT_INITIAL_MATRIX,
                         &portions->copy));
    source = portions->copy;
  }
  portions->blocked = type->blocked;
  if (!type->parallel)
    portions->diag = source;
  else if (type->blocked)
    PetscCall(MatMPIBAIJGetSeqBAIJ(source, &portions->diag, &portions->offdiag, &portions->garray));
  else
    PetscCall(MatMPIAIJGetSeqAIJ(source, &portions->diag, &portions->offdiag, &portions->garray));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatrixPortionsDestroy(MatrixPortions *portions)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&portions->copy));
  *portions = MatrixPortions();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RowStructure::open(Mat mat, bool blocked)
{
  PetscBool done;

  PetscFunctionBegin;
  mat_ = mat;
  blocked_ = blocked;
  PetscCall(
      MatGetRowIJ(mat, 0, PETSC_FALSE, blocked ? PETSC_TRUE : PETSC_FALSE, &rows, &i, &j, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "This matrix type does not give its row structure. Use -mat_type baij or aij");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RowStructure::close()
{
  PetscBool done;

  PetscFunctionBegin;
  if (mat_)
    PetscCall(MatRestoreRowIJ(mat_, 0, PETSC_FALSE, blocked_ ? PETSC_TRUE : PETSC_FALSE, &rows, &i,
                              &j, &done));
  mat_ = nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
