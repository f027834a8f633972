// The BLAS routines for blocks that are too large for the kernels of this backend.
#pragma once

#include "core/lapack.h"

namespace mcpi {

// y += alpha * a * x; a is column-major
template <class T>
void blas_add_product(PetscBLASInt rows, PetscBLASInt columns, T alpha, const T *a,
                      PetscBLASInt lda, const T *x, T *y)
{
  const PetscBLASInt one = 1;
  const T beta = 1;
  if constexpr (sizeof(T) == sizeof(float))
    MCPI_SGEMV("N", &rows, &columns, &alpha, a, &lda, x, &one, &beta, y, &one);
  else
    BLASgemv_("N", &rows, &columns, &alpha, a, &lda, x, &one, &beta, y, &one);
}

// c = a * b; all are n by n
inline void blas_multiply(PetscBLASInt n, const double *a, const double *b, double *c)
{
  const double alpha = 1, beta = 0;
  BLASgemm_("N", "N", &n, &n, &n, &alpha, a, &n, b, &n, &beta, c, &n);
}

} // namespace mcpi
