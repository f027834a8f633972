// The few BLAS routines for blocks beyond our own kernels.
#pragma once

#include <cstdint>

namespace mcpi {

// BLAS' integers have 32 or 64 bits; of a small positive 64-bit integer both read the same value (little endian).
using BlasInt = std::int64_t;

extern "C" {
void dgemv_(const char *, const BlasInt *, const BlasInt *, const double *, const double *, const BlasInt *, const double *,
            const BlasInt *, const double *, double *, const BlasInt *);
void sgemv_(const char *, const BlasInt *, const BlasInt *, const float *, const float *, const BlasInt *, const float *, const BlasInt *,
            const float *, float *, const BlasInt *);
void dgemm_(const char *, const char *, const BlasInt *, const BlasInt *, const BlasInt *, const double *, const double *, const BlasInt *,
            const double *, const BlasInt *, const double *, double *, const BlasInt *);
}

// y += alpha * a * x, a column-major
inline void blas_add_product(BlasInt rows, BlasInt columns, double alpha, const double *a, BlasInt lda, const double *x, double *y)
{
  const BlasInt one  = 1;
  const double  beta = 1;
  dgemv_("N", &rows, &columns, &alpha, a, &lda, x, &one, &beta, y, &one);
}

inline void blas_add_product(BlasInt rows, BlasInt columns, float alpha, const float *a, BlasInt lda, const float *x, float *y)
{
  const BlasInt one  = 1;
  const float   beta = 1;
  sgemv_("N", &rows, &columns, &alpha, a, &lda, x, &one, &beta, y, &one);
}

// c = a * b, all n by n
inline void blas_multiply(BlasInt n, const double *a, const double *b, double *c)
{
  const double alpha = 1, beta = 0;
  dgemm_("N", "N", &n, &n, &n, &alpha, a, &n, b, &n, &beta, c, &n);
}

} // namespace mcpi
