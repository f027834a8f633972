#include "pc/residual.h"

#include <algorithm>

#include "petsc/compat.h"

namespace mcpi {
namespace {

// Makes vec work on this array until reset(). The array must exist until then.
PetscErrorCode place(Vec vec, const double *array, ArrayKind kind)
{
  PetscFunctionBegin;
  switch (kind) {
#if defined(PETSC_HAVE_CUDA)
  case ArrayKind::cuda:
    PetscCall(VecCUDAPlaceArray(vec, array));
    break;
#endif
#if defined(COMPAT_HAVE_VECKOKKOSPLACEARRAY)
  case ArrayKind::kokkos:
    PetscCall(VecKokkosPlaceArray(vec, const_cast<double *>(array)));
    break;
#endif
  default:
    PetscCall(VecPlaceArray(vec, array));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode reset(Vec vec, ArrayKind kind)
{
  PetscFunctionBegin;
  switch (kind) {
#if defined(PETSC_HAVE_CUDA)
  case ArrayKind::cuda:
    PetscCall(VecCUDAResetArray(vec));
    break;
#endif
#if defined(COMPAT_HAVE_VECKOKKOSPLACEARRAY)
  case ArrayKind::kokkos:
    PetscCall(VecKokkosResetArray(vec));
    break;
#endif
  default:
    PetscCall(VecResetArray(vec));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// y = b - op(mat) x
PetscErrorCode subtract_product(Mat mat, bool transposed, Vec x, Vec b, Vec y)
{
  PetscFunctionBegin;
  if (transposed)
    PetscCall(MatMultTranspose(mat, x, y));
  else
    PetscCall(MatMult(mat, x, y));
  PetscCall(VecAYPX(y, -1.0, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode create_vec(MPI_Comm comm, PetscInt local, ArrayKind kind, Vec *vec)
{
  PetscFunctionBegin;
  PetscCall(VecCreate(comm, vec));
  PetscCall(VecSetSizes(*vec, local, PETSC_DETERMINE));
  PetscCall(VecSetType(*vec, kind == ArrayKind::cuda     ? VECCUDA
                             : kind == ArrayKind::kokkos ? VECKOKKOS
                                                         : VECSTANDARD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode DeviceArrayKind(Mat pmat, ArrayKind *kind)
{
  VecType type;
  PetscBool kokkos, host;

  PetscFunctionBegin;
  *kind = ArrayKind::host;
  PetscCall(MatGetVecType(pmat, &type));
  PetscCall(PetscStrInList(type, VECSEQKOKKOS ":" VECMPIKOKKOS ":" VECKOKKOS, ':', &kokkos));
  PetscCall(PetscStrInList(type, VECSEQ ":" VECMPI ":" VECSTANDARD, ':', &host));
#if defined(COMPAT_HAVE_VECKOKKOSPLACEARRAY)
  if (kokkos || host) *kind = ArrayKind::kokkos;
#endif
#if defined(PETSC_HAVE_CUDA)
  if (!kokkos) *kind = ArrayKind::cuda;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ResidualWork::create_memory(int nrhs, Vec *memory, double **array) const
{
  PetscMemType type;
  double *restored;

  PetscFunctionBegin;
  PetscCall(VecDestroy(memory));
  PetscCall(create_vec(PETSC_COMM_SELF, static_cast<PetscInt>(ld_ * nrhs), kind_, memory));
  PetscCall(VecGetArrayWriteAndMemType(*memory, array, &type));
  restored = *array;
  PetscCall(VecRestoreArrayWriteAndMemType(*memory, &restored));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ResidualWork::destroy()
{
  PetscFunctionBegin;
  for (Vec *vec : {&residuals_, &corrections_, &x_, &b_, &product_}) PetscCall(VecDestroy(vec));
  nrhs_ = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ResidualWork::prepare(Mat pmat, int nrhs, bool device)
{
  ArrayKind kind = ArrayKind::host;
  PetscInt local;

  PetscFunctionBegin;
  if (device) {
    PetscCall(DeviceArrayKind(pmat, &kind));
    PetscCheck(kind != ArrayKind::host, PetscObjectComm((PetscObject)pmat), PETSC_ERR_PLIB,
               "No Vec takes these arrays on a device");
  }
  if (kind != kind_) PetscCall(destroy());
  kind_ = kind;
  PetscCall(MatGetLocalSize(pmat, &local, nullptr));
  ld_ = local;
  if (!x_ && device) {
    for (Vec *vec : {&x_, &b_, &product_})
      PetscCall(create_vec(PetscObjectComm((PetscObject)pmat), local, kind_, vec));
  } else if (!x_) {
    // A product assumes, without a check, that its Vecs have the type that the matrix makes.
    PetscCall(MatCreateVecs(pmat, &x_, &product_));
    PetscCall(VecDuplicate(product_, &b_));
  }
  if (nrhs > nrhs_) {
    PetscCall(create_memory(nrhs, &residuals_, &residual_));
    PetscCall(create_memory(nrhs, &corrections_, &correction_));
    nrhs_ = nrhs;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ResidualWork::compute(Mat pmat, bool transposed, int nrhs, const ConstColumns &b,
                                     const MutableColumns &x)
{
  PetscFunctionBegin;
  for (int r = 0; r < nrhs; ++r) {
    PetscCall(place(x_, x.data + r * x.ld, kind_));
    PetscCall(place(b_, b.data + r * b.ld, kind_));
    PetscCall(place(product_, residual_ + r * ld_, kind_));
    const PetscErrorCode error = subtract_product(pmat, transposed, x_, b_, product_);
    // The Vecs are reset after an error, too, so that they can take other arrays later.
    for (Vec vec : {x_, b_, product_}) PetscCall(reset(vec, kind_));
    PetscCall(error);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ResidualWork::largest(int nrhs, double *size)
{
  PetscFunctionBegin;
  *size = 0.0;
  for (int r = 0; r < nrhs; ++r) {
    PetscReal norm = 0.0;
    PetscCall(place(product_, residual_ + r * ld_, kind_));
    const PetscErrorCode error = VecNorm(product_, NORM_INFINITY, &norm);
    PetscCall(reset(product_, kind_));
    PetscCall(error);
    *size = std::max(*size, norm);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ResidualWork::add_correction(int nrhs, const MutableColumns &x)
{
  PetscFunctionBegin;
  for (int r = 0; r < nrhs; ++r) {
    PetscCall(place(x_, x.data + r * x.ld, kind_));
    PetscCall(place(product_, correction_ + r * ld_, kind_));
    PetscCall(VecAXPY(x_, 1.0, product_));
    for (Vec vec : {x_, product_}) PetscCall(reset(vec, kind_));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
