// Declarations of BLAS and LAPACK with the routine names and the integer type of this PETSc.
#pragma once

#include <petscsys.h>

#include <petscblaslapack.h>

// PETSc declares only the routines for its scalar type, so SGEMV is declared here.
#if defined(PETSC_BLASLAPACK_CAPS)
#define MCPI_SGEMV PETSC_PASTE3(S, GEMV, PETSC_BLASLAPACK_SUFFIX_)
#else
#define MCPI_SGEMV PETSC_PASTE3(s, gemv, PETSC_BLASLAPACK_SUFFIX_)
#endif
extern "C" void MCPI_SGEMV(const char *, const PetscBLASInt *, const PetscBLASInt *, const float *,
                           const float *, const PetscBLASInt *, const float *, const PetscBLASInt *,
                           const float *, float *, const PetscBLASInt *);
