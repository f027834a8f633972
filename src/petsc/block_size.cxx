#include "petsc/block_size.h"

#include <numeric>

#include "petsc/compat.h"

namespace mcpi {

PetscErrorCode SquareBlockSize(Mat mat, PetscInt *bs)
{
  PetscInt rows, columns;

  PetscFunctionBegin;
  PetscCall(MatGetBlockSizes(mat, &rows, &columns));
  *bs = std::gcd(rows, columns);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
