// This header lets the same functions run on the cores of a rank and on devices.
#pragma once

#include <petscsys.h>

// Functions that devices call, too. With other compilers than nvcc there are no devices.
#ifdef __CUDACC__
#define FLOW_HD __host__ __device__
#else
#define FLOW_HD
#endif

#if PETSC_VERSION_LT(3, 19, 0)
constexpr PetscErrorCode PETSC_SUCCESS = 0;
#endif
