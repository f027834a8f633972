// The block size of matrices whose rows and columns have different ones, as PCFIELDSPLIT makes them
#pragma once

#include <petscmat.h>

namespace mcpi {

// Not collective. Gets the size of square blocks: the greatest common divisor of the block sizes
// of rows and of columns.
PetscErrorCode SquareBlockSize(Mat mat, PetscInt *bs);

} // namespace mcpi
