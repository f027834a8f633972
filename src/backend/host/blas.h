// The BLAS routines for blocks that are too large for the kernels of this backend.
#pragma once

#include "core/lapack.h"

namespace mcpi {

// y += alpha * a * x; a is column-major
inline void blas_add_product(PetscBLASInt rows, PetscBLASInt columns, double alpha, const double *a,
                             PetscBLASInt lda, const double *x, double *y)
{
  const PetscBLASInt one = 1;
  const double beta = 1;
  BLASgemv_("N", &rows, &columns, &alpha, a, &lda, x, &one, &beta, y, &one);
}

inline void blas_add_product(PetscBLASInt rows, PetscBLASInt columns, float alpha, const float *a,
                             PetscBLASInt lda, const float *x, float *y)
{
  const PetscBLASInt one = 1;
  const float beta = 1;
  MCPI_SGEMV("N", &rows, &columns, &alpha, a, &lda, x, &one, &beta, y, &one);
}

// c = a * b; all are n by n
inline void blas_multiply(PetscBLASInt n, const double *a, const double *b, double *c)
{
  const double alpha = 1, beta = 0;
  BLASgemm_("N", "N", &n, &n, &n, &alpha, a, &n, b, &n, &beta, c, &n);
}

} // namespace mcpi
