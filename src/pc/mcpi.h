// This header declares the data of a PC of type PCMCPI and the functions that implement the type.
#pragma once

#include <petsc/private/pcimpl.h>

#include <string>
#include <vector>

#include "ksp/gram_schmidt.h"
#include "mat/block_product.h"
#include "pc/caller.h"
#include "pc/option_table.h"
#include "pc/smoother.h"
#include "pc/solve_watch.h"
#include "petsc/compat.h"
#include "petsc/guarded.h"

namespace mcpi {

// A solve that uses the preconditioner
struct Solve {
  Caller method;
  std::shared_ptr<const bool> underway;
};

struct PC_MCPI {
  Settings settings;
  Coordinates coordinates;
  Smoother smoother;
  // The method of the last PCPreSolve(), before the first one the expected method. A set-up
  // prepares for it.
  Caller caller;
  bool applied = false;      // the preconditioner has been prepared for an application
  bool tuned = false;        // -pc_mcpi_tune has measured
  std::vector<Solve> solves; // The innermost is the last. Solves that have ended may be among them.
  bool inside = false;       // another preconditioner has used this one in the last solve
  // What the last set-up achieved for Amat and Pmat
  BlockProductUse amat_product = BlockProductUse::off, pmat_product = BlockProductUse::off;
  GramSchmidtUse gram_schmidt = GramSchmidtUse::off; // in the last solve
  std::string told_unsymmetric;                      // what -info has last told of symmetry

  bool failed() const { return smoother.failure().defect != Defect::none; } // the last set-up
  // The method that applies the preconditioner now. The method is unknown outside a solve.
  const Caller &applying() const
  {
    static const Caller unknown;
    for (std::size_t k = solves.size(); k-- > 0;)
      if (*solves[k].underway) return solves[k].method;
    return unknown;
  }
  // The sweeps of the next application
  PetscInt sweeps() const { return smoother.sweeps(settings, applying()).its; }
  PCMCPIMethod method() const { return smoother.method(settings); }
  // What is wrong if the preconditioner is not symmetric although the method may need that, and
  // what mends it. Empty: nothing
  std::string lacks_symmetry() const;
  // Whether products read x as bfp16 under a method that does not tolerate the rounding. Vectors
  // that the user has set to single precision count as the user's consent.
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

// Says what is wrong with the first bad block row and how to mend it.
std::string FailureMessage(const PC_MCPI &mcpi);

// Tells PETSc why the last set-up has failed, or takes that back. A preconditioner that contains
// this one would keep the reason for ever. Inside it, results that are not finite report the
// failure.
void TellFailure(PC pc, bool told);

PetscErrorCode PCCreate_MCPI(PC pc);
PetscErrorCode ComposeAccess(PC pc); // composes setters and getters on the PC
PetscErrorCode DecomposeAccess(PC pc);
PetscErrorCode SetApplyOperations(PC pc);
void SetSolveOperations(PC pc);
// Collective. Sweeps on b, with x as a guess if the request says so.
PetscErrorCode ApplySweeps(PC pc, Vec b, Vec x, Request request);
// Collective. Finds out how many sweeps reduce errors and residuals, if the next applications are
// to make more than one sweep, by a choice that no option has made.
PetscErrorCode TrySweeps(PC pc);
// Collective. Sets the values up again, as this method needs them.
PetscErrorCode SetUpAgain(PC pc, const Caller &method);
// Collective. Prepares an application. It is an error if the method that applies the preconditioner
// does not tolerate the preconditioner's rounding. The values are set up again if the method needs
// vectors in double precision.
PetscErrorCode FitApplication(PC pc);
// An error if PC_MCPI::rounds_unasked() holds for this method.
PetscErrorCode CheckRounding(PC pc, const Caller &method);
PetscErrorCode PCSetFromOptions_MCPI(PC pc, CompatOptionItems items);
// The options that choose by themselves what given leaves open, with the prefix in force
std::string OptionsOf(const Settings &chosen, const Settings &given);
PetscErrorCode PCView_MCPI(PC pc, PetscViewer viewer);

} // namespace mcpi
