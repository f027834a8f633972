#include "flow_system.h"

#include "compat.h"

namespace bench {

PetscErrorCode TrueResidual(const FlowSystem &system, Vec x, PetscReal *relative)
{
  Vec r;
  PetscReal size;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(x, &r));
  PetscCall(MatMult(system.J, x, r));
  PetscCall(VecAYPX(r, -1.0, system.b));
  PetscCall(VecNorm(r, NORM_2, relative));
  PetscCall(VecNorm(system.b, NORM_2, &size));
  *relative /= size;
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CreateSystemSolver(const FlowOptions &options, const FlowSystem &system,
                                  const std::string &chosen, PetscOptions *mine, KSP *ksp)
{
  PetscFunctionBegin;
  PetscCall(CreateSolver(
      system.J,
      "-ksp_gmres_restart 50 -ksp_max_it 1000 -ksp_pc_side right -ksp_norm_type unpreconditioned " +
          chosen,
      mine, ksp));
  PetscCall(KSPSetTolerances(*ksp, options.rtol, PETSC_DEFAULT, 1e10, PETSC_DEFAULT));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RenewValues(const FlowSystem &system, KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(MatAssemblyBegin(system.J, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(system.J, MAT_FINAL_ASSEMBLY));
  PetscCall(KSPSetOperators(ksp, system.J, system.J));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SetUpSolver(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPSetUpOnBlocks(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace bench
