// BLAS and LAPACK under the names and with the integers of this PETSc.
#pragma once

#include <petscsys.h>

#include <petscblaslapack.h>

// PETSc declares the routines of its scalars only.
#if defined(PETSC_BLASLAPACK_CAPS)
#define MCPI_SGEMV PETSC_PASTE3(S, GEMV, PETSC_BLASLAPACK_SUFFIX_)
#else
#define MCPI_SGEMV PETSC_PASTE3(s, gemv, PETSC_BLASLAPACK_SUFFIX_)
#endif
extern "C" void MCPI_SGEMV(const char *, const PetscBLASInt *, const PetscBLASInt *, const float *,
                           const float *, const PetscBLASInt *, const float *, const PetscBLASInt *,
                           const float *, float *, const PetscBLASInt *);
