// b - op(Pmat) x and x += correction in PetscScalar, on columns of arrays in host or device memory,
// through PETSc's own Mat and Vec.
#pragma once

#include <petscmat.h>

#include "sweep/backend.h"

namespace mcpi {

// Whose arrays Vecs take the place of
enum class ArrayKind { host, cuda, kokkos };
// How arrays in device memory are taken for products with this matrix; host if they are not, and
// must be brought there
PetscErrorCode DeviceArrayKind(Mat pmat, ArrayKind *kind);

class ResidualWork {
public:
  ResidualWork() = default;
  ResidualWork(const ResidualWork &) = delete;
  ResidualWork &operator=(const ResidualWork &) = delete;
  ~ResidualWork() { (void)destroy(); }

  // Room for nrhs columns in the memory that device names. Collective.
  PetscErrorCode prepare(Mat pmat, int nrhs, bool device);
  PetscErrorCode destroy();

  // The residual is left in residual(). Collective.
  PetscErrorCode compute(Mat pmat, bool transposed, int nrhs, const ConstColumns &b,
                         const MutableColumns &x);
  PetscErrorCode add_correction(int nrhs, const MutableColumns &x);
  // The largest magnitude in the residuals of all ranks. Collective.
  PetscErrorCode largest(int nrhs, double *size);

  ConstColumns residual() const { return {residual_, ld_, kind_ != ArrayKind::host}; }
  MutableColumns correction() const { return {correction_, ld_, kind_ != ArrayKind::host}; }
  double memory_bytes() const
  {
    return 2.0 * static_cast<double>(ld_) * nrhs_ * sizeof(PetscScalar);
  }

private:
  PetscErrorCode create_memory(int nrhs, Vec *memory, double **array) const;

  ArrayKind kind_ = ArrayKind::host;
  int nrhs_ = 0;
  std::ptrdiff_t ld_ = 0;
  Vec residuals_ = nullptr,
      corrections_ = nullptr; // of this process, all columns; the arrays stay where they are
  Vec x_ = nullptr, b_ = nullptr, product_ = nullptr;
  double *residual_ = nullptr, *correction_ = nullptr;
};

} // namespace mcpi
