// All differences between PETSc 3.18 and 3.26 that matter here.
#pragma once

#include <petscksp.h>

#if PETSC_VERSION_LT(3, 18, 0)
#error "petsc-mcpi needs PETSc 3.18 or newer"
#endif

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

#if PETSC_VERSION_LT(3, 20, 0)
#define CompatAssertPointer(pointer, argument) PetscValidPointer(pointer, argument)
#else
#define CompatAssertPointer(pointer, argument) PetscAssertPointer(pointer, argument)
#endif

#if PETSC_VERSION_LT(3, 23, 0)
using CompatOptionItems = PetscOptionItems *;
#else
using CompatOptionItems = PetscOptionItems;
#endif

#if PETSC_VERSION_GE(3, 23, 0) && defined(PETSC_HAVE_KOKKOS_KERNELS)
#define COMPAT_HAVE_VECKOKKOSPLACEARRAY 1
#endif

#if PETSC_VERSION_GE(3, 24, 0)
#define COMPAT_HAVE_MATAPPLY_VARIANTS 1
#endif
#if PETSC_VERSION_GE(3, 26, 0)
#define COMPAT_HAVE_MATAPPLYRICHARDSON 1
#endif

// Marks a vector so that every Krylov method sees that its preconditioner failed.
inline PetscErrorCode CompatVecFlag(Vec x)
{
  PetscFunctionBegin;
#if PETSC_VERSION_LT(3, 22, 0)
  PetscCall(VecSetInf(x));
#else
  PetscCall(VecFlag(x, 1));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Whether a function is called before each solve. The file that calls this one includes kspimpl.h.
template <class Solver> bool CompatHasPreSolve(Solver ksp)
{
  if constexpr (requires { ksp->presolve_ew; })
    return ksp->presolve || ksp->presolve_ew;
  else
    return ksp->presolve;
}
