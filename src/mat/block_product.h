// Faster products of AIJCUSPARSE matrices that consist of full blocks.
#pragma once

#include <petscmat.h>

namespace mcpi {

// Whether products of a matrix read whole blocks, and why they do not. The last value that holds
// for a portion of the matrix on any rank counts.
enum class BlockProductUse {
  off, // nobody has asked for them
  yes,
  no_cuda,        // built without CUDA
  wrong_type,     // not AIJCUSPARSE, or bound to the CPU
  block_size_one, // nothing to gain
  partial_blocks, // some blocks are not full, or there are too many
  no_memory,
};

// Collective. Lets MatMult() and MatMultAdd() of this matrix read one column index for each block,
// not for each number, where all blocks of its portions are full. The products stay in double
// precision; only the order of their sums differs from cuSPARSE's. The change stays with the
// matrix. It does nothing if it has been made already, and it is made anew if PETSc has taken it
// back or the pattern has changed. A matrix that does not suit keeps PETSc's products.
PetscErrorCode UseBlockProduct(Mat mat, BlockProductUse *use);
// Collective. Gives the matrix PETSc's products back.
PetscErrorCode DropBlockProduct(Mat mat);

} // namespace mcpi
