// What is known of the KSP that applies the preconditioner.
#pragma once

#include <petscksp.h>

#include <string>

#include "petscmcpitypes.h"

namespace mcpi {

struct Caller {
  // What the method tolerates. Flexible methods correct whatever the preconditioner returns. All
  // others take it for a linear map: where it is linear to 1e-7 only, as with vectors in single
  // precision, the residual that they report falls below the true one.
  enum class Method { unknown, needs_linear, flexible };

  Method method = Method::unknown;
  std::string type;             // KSPType
  bool needs_symmetric = false; // a symmetric preconditioner
  bool tests_residuals = true;  // else it is a smoother, or runs a fixed number of iterations
  bool forwards = false;        // KSPPREONLY: the method that counts is further out
};

// Not collective. ksp may be null.
PetscErrorCode CallerOf(KSP ksp, Caller *caller);

// The precision of the vectors that a choice comes to
bool DoubleVectors(PCMCPIVectorPrecision chosen, PCMCPIPrecision offdiag,
                   PCMCPIGatherPrecision gather, const Caller &caller);
std::string ReasonForVectors(PCMCPIPrecision offdiag, PCMCPIGatherPrecision gather,
                             const Caller &caller); // by PC_MCPI_VECTOR_PRECISION_AUTO

} // namespace mcpi
