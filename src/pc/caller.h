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
};

// Not collective. Describes ksp, which may be null.
PetscErrorCode CallerOf(KSP ksp, Caller *caller);

// Whether these settings give vectors in double precision under this method
bool DoubleVectors(PCMCPIVectorPrecision chosen, PCMCPIPrecision offdiag,
                   PCMCPIGatherPrecision gather, const Caller &caller);
// Says why PC_MCPI_VECTOR_PRECISION_AUTO chooses its precision.
std::string ReasonForVectors(PCMCPIPrecision offdiag, PCMCPIGatherPrecision gather,
                             const Caller &caller);

} // namespace mcpi
