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
  on_host,   // the vectors are not VECCUDA, or bound to the CPU
  other,     // the KSP does not use classical Gram-Schmidt
};

// Collective. If wanted, and if solution is on a CUDA device, lets a KSP with classical
// Gram-Schmidt read each Krylov vector twice in an orthogonalization, once for inner products and
// once for the update, with several vectors in each launch. The refinement that the KSP has chosen
// is made. Otherwise the KSP gets PETSc's function back. A KSP with another orthogonalization keeps
// it. solution: a vector of the KSP
PetscErrorCode UseGramSchmidt(KSP ksp, Vec solution, bool wanted, GramSchmidtUse *use);

} // namespace mcpi
