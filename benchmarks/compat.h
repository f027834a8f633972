// Definitions that PETSc 3.18 lacks.
#pragma once

#include <petscsys.h>

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif
