// This header declares residuals b - op(Pmat) x and corrections x += c in the precision of
// PetscScalar. PETSc's Mat and Vec compute them, on columns of arrays in host or device memory.
#pragma once

#include <petscmat.h>

#include "sweep/backend.h"

namespace mcpi {

// The kind of Vec that takes an array.
enum class ArrayKind { host, cuda, kokkos };
// Sets kind to the kind of Vec that takes arrays in device memory for products with this matrix.
// ArrayKind::host: no Vec takes them, and the arrays must be copied to the host
PetscErrorCode DeviceArrayKind(Mat pmat, ArrayKind *kind);

class ResidualWork {
public:
  ResidualWork() = default;
  ResidualWork(const ResidualWork &) = delete;
  ResidualWork &operator=(const ResidualWork &) = delete;
  ~ResidualWork() { (void)destroy(); }

  // Collective. Makes room for nrhs columns, in device memory or in host memory.
  PetscErrorCode prepare(Mat pmat, int nrhs, bool device);
  PetscErrorCode destroy();

  // Collective. Computes the residual of each column, which residual() then returns.
  PetscErrorCode compute(Mat pmat, bool transposed, int nrhs, const ConstColumns &b,
                         const MutableColumns &x);
  PetscErrorCode add_correction(int nrhs, const MutableColumns &x);
  // Collective. Sets size to the largest magnitude in the residuals of all ranks.
  PetscErrorCode largest(int nrhs, double *size);

  ConstColumns residual() const { return {residual_, ld_, kind_ != ArrayKind::host}; }
  MutableColumns correction() const { return {correction_, ld_, kind_ != ArrayKind::host}; }
  double memory_bytes() const
  {
    return 2.0 * static_cast<double>(ld_) * nrhs_ * sizeof(PetscScalar);
  }

private:
  // Creates a Vec that holds nrhs columns. array: where the columns begin
  PetscErrorCode create_memory(int nrhs, Vec *memory, double **array) const;

  ArrayKind kind_ = ArrayKind::host;
  int nrhs_ = 0;          // columns for which there is room
  std::ptrdiff_t ld_ = 0; // entries of a column: the local rows
  // Vecs of this process that own the columns. Their arrays never move.
  Vec residuals_ = nullptr, corrections_ = nullptr;
  Vec x_ = nullptr, b_ = nullptr, product_ = nullptr; // of all ranks; each takes one column's array
  double *residual_ = nullptr, *correction_ = nullptr; // arrays of residuals_ and corrections_
};

} // namespace mcpi
