// Faster orthogonalization of Krylov vectors on a CUDA device.
#pragma once

#include <petscksp.h>

namespace mcpi {

// Who orthogonalizes the vectors of a KSP, and why PETSc does.
enum class GramSchmidtUse {
  off, // nobody has asked for it
  yes,
  no_cuda,   // built without CUDA
  old_petsc, // older than 3.26
  on_host,   // the vectors are not VECCUDA, or are bound to the CPU on some rank
  other,     // the KSP does not use classical Gram-Schmidt
};

// Collective. If wanted, lets classical Gram-Schmidt of a KSP take several vectors in each launch
// on a CUDA device. A pass then reads each Krylov vector twice: for its inner product, and for the
// update. The KSP's choice of a second pass (refinement) is kept. If not wanted, or if solution is
// not on a device on each rank, the KSP gets PETSc's function back. A KSP that does not use
// classical Gram-Schmidt is not changed. solution: a vector of the KSP
PetscErrorCode UseGramSchmidt(KSP ksp, Vec solution, bool wanted, GramSchmidtUse *use);

} // namespace mcpi
