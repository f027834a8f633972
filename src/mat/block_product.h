// Faster products of AIJCUSPARSE matrices that consist of full blocks.
#pragma once

#include <petscmat.h>

namespace mcpi {

// Why the products of a matrix do not read whole blocks
enum class BlockProductUse { yes, wrong_type, partial_blocks };

// Collective. Lets MatMult() and MatMultAdd() of this matrix read one column for each block, not
// for each number, where all blocks of its pieces are full. The products stay exact; only the order
// of their sums differs from cuSPARSE's. The change stays with the matrix. It does nothing if it
// has been made already, and it is made anew if PETSc has taken it back or the pattern has changed.
PetscErrorCode UseBlockProduct(Mat mat, BlockProductUse *use);

} // namespace mcpi
