// This header describes the KSP that applies the preconditioner, as far as the preconditioner has
// to know it.
#pragma once

#include <petscksp.h>

#include <string>

#include "petscmcpitypes.h"

namespace mcpi {

struct Caller {
  // What the method tolerates. A flexible method corrects whatever the preconditioner returns. Any
  // other method assumes that the preconditioner is a linear operator. With vectors in single
  // precision the preconditioner is linear to about 1e-7 only. The residual that such a method
  // reports then falls below the true one.
  enum class Method { unknown, needs_linear, flexible };

  Method method = Method::unknown;
  std::string type;             // KSPType, empty if it is not known
  bool needs_symmetric = false; // the method needs a symmetric preconditioner
  bool needs_unrounded = false; // also one whose blocks have many bits
  bool tests_residuals = true;  // false: a smoother, or a fixed number of iterations
  bool forwards = false;        // KSPPREONLY: an outer method, not known here, uses the result
  bool inside = false;          // another preconditioner uses the result
  bool estimates = false;       // finds eigenvalues for another method with the same preconditioner
  bool expected = false;        // no KSP has been seen yet
  // Vectors with which each application is orthogonalized, in the mean
  PetscInt basis = 0;

  // Whether the method corrects all errors of the preconditioner, or solves with it as it is. The
  // others are smoothers, or the outermost method is not known.
  bool solves() const { return !type.empty() && tests_residuals && !forwards && !estimates; }
};

// Not collective. Describes ksp, which may be null.
PetscErrorCode CallerOf(KSP ksp, Caller *caller);
// Whether the options prefix of pc has a part that PCBJACOBI, PCASM, PCMG or PCCOMPOSITE gives to
// what is inside
bool NamedAsInside(PC pc);
// Not collective. Describes the KSP that is going to apply pc, as far as options and the matrix
// tell. KSPSetUp() sets up a preconditioner before the preconditioner sees the KSP.
PetscErrorCode ExpectedCaller(PC pc, Caller *caller);

} // namespace mcpi
