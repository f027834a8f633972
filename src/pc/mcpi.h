// The PC's own data and the pieces of its implementation.
#pragma once

#include <petsc/private/pcimpl.h>

#include <exception>
#include <new>
#include <string>
#include <vector>

#include "core/errors.h"
#include "pc/caller.h"
#include "pc/option_table.h"
#include "pc/smoother.h"
#include "petsc/compat.h"

namespace mcpi {

struct PC_MCPI {
  Settings settings;
  Coordinates coordinates;
  Smoother smoother;
  Caller caller;                // of the last PCPreSolve(), for which a set-up prepares
  std::vector<Caller> solving;  // of the solves under way, the innermost last
  std::string told_unsymmetric; // method and sweep of which -info has told

  bool double_vectors() const
  {
    return DoubleVectors(settings.vector, settings.offdiag, settings.gather, caller);
  }
  // The method that applies the preconditioner now. Outside a solve it is not known.
  Caller applying() const { return solving.empty() ? Caller() : solving.back(); }
  // Does the method need what a forward or a backward sweep is not?
  bool lacks_symmetry() const
  {
    return (caller.needs_symmetric || caller.forwards) && settings.sweep != PC_MCPI_SWEEP_SYMMETRIC;
  }
  std::string why_symmetric() const
  {
    return caller.forwards ? "An outer CG, MINRES or Chebyshev method needs a symmetric sweep"
                           : "-ksp_type " + caller.type + " needs a symmetric sweep";
  }
  // Is the gathered copy of x rounded under a method that does not tolerate it, though nobody chose
  // that?
  bool rounds_unasked(const Caller &method) const
  {
    return settings.gather == PC_MCPI_GATHER_PRECISION_BFP16 &&
           settings.vector == PC_MCPI_VECTOR_PRECISION_AUTO &&
           method.method != Caller::Method::flexible;
  }
};

inline PC_MCPI &Data(PC pc)
{
  return *static_cast<PC_MCPI *>(pc->data);
}

// No exception may cross the PETSc face.
template <class Body> PetscErrorCode Guarded(const Body &body)
{
  try {
    return body();
  } catch (const OutOfMemory &e) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "PCMCPI: %s", e.what());
  } catch (const std::bad_alloc &) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM,
            "PCMCPI ran out of memory. Use a smaller -pc_mcpi_offdiag_precision or more ranks");
  } catch (const std::exception &e) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "PCMCPI: %s", e.what());
  }
}

// What is wrong with a block row, and what mends it
std::string FailureMessage(const Failure &failure, const Settings &settings);

PetscErrorCode PCCreate_MCPI(PC pc);
PetscErrorCode ComposeAccess(PC pc); // setters and getters on the object
PetscErrorCode DecomposeAccess(PC pc);
PetscErrorCode SetApplyOperations(PC pc);
void SetSolveOperations(PC pc);
// Collective. Before an application: an error if the method that applies the preconditioner does
// not tolerate its rounding, and another numeric set-up if it needs vectors in double precision.
PetscErrorCode FitApplication(PC pc);
// Nobody has chosen a rounding that the method does not tolerate, else an error
PetscErrorCode CheckRounding(PC pc, const Caller &method);
PetscErrorCode PCSetFromOptions_MCPI(PC pc, CompatOptionItems items);
PetscErrorCode PCView_MCPI(PC pc, PetscViewer viewer);

} // namespace mcpi
