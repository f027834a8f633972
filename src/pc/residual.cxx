#include "pc/residual.h"

#include "pc/backend_choice.h"
#include "pc/compat.h"

namespace mcpi {
namespace {

// While it lives, the Vec is the array.
PetscErrorCode place(Vec vec, const double *array, bool device)
{
  PetscFunctionBegin;
#if defined(PETSC_HAVE_CUDA)
  if (device) {
    PetscCall(VecCUDAPlaceArray(vec, array));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  PetscCheck(!device, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Device arrays need a PETSc with CUDA");
  PetscCall(VecPlaceArray(vec, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode reset(Vec vec, bool device)
{
  PetscFunctionBegin;
#if defined(PETSC_HAVE_CUDA)
  if (device) {
    PetscCall(VecCUDAResetArray(vec));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  (void)device;
  PetscCall(VecResetArray(vec));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode create_vec(MPI_Comm comm, PetscInt local, bool cuda, Vec *vec)
{
  PetscFunctionBegin;
  PetscCall(VecCreate(comm, vec));
  PetscCall(VecSetSizes(*vec, local, PETSC_DETERMINE));
#if defined(PETSC_HAVE_CUDA)
  PetscCall(VecSetType(*vec, cuda ? VECCUDA : VECSTANDARD));
#else
  (void)cuda;
  PetscCall(VecSetType(*vec, VECSTANDARD));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode ResidualWork::create_memory(int nrhs, Vec *memory, double **array) const
{
  PetscMemType type;
  double      *restored;

  PetscFunctionBegin;
  PetscCall(VecDestroy(memory));
  PetscCall(create_vec(PETSC_COMM_SELF, static_cast<PetscInt>(ld_ * nrhs), device_, memory));
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
  PetscInt local;

  PetscFunctionBegin;
  if (device != device_) PetscCall(destroy());
  device_ = device;
  PetscCall(MatGetLocalSize(pmat, &local, nullptr));
  ld_ = local;
  if (!x_) {
    bool cuda; // products with a matrix on a CUDA device take every Vec for a CUDA Vec, and do not wait for it
    PetscCall(HasCudaVectors(pmat, &cuda));
    for (Vec *vec : {&x_, &b_, &product_}) PetscCall(create_vec(PetscObjectComm((PetscObject)pmat), local, device || cuda, vec));
  }
  if (nrhs > nrhs_) {
    PetscCall(create_memory(nrhs, &residuals_, &residual_));
    PetscCall(create_memory(nrhs, &corrections_, &correction_));
    nrhs_ = nrhs;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ResidualWork::compute(Mat pmat, bool transposed, int nrhs, const ConstColumns &b, const MutableColumns &x)
{
  PetscFunctionBegin;
  for (int r = 0; r < nrhs; ++r) {
    PetscCall(place(x_, x.data + r * x.ld, device_));
    PetscCall(place(b_, b.data + r * b.ld, device_));
    PetscCall(place(product_, residual_ + r * ld_, device_));
    if (transposed)
      PetscCall(MatMultTranspose(pmat, x_, product_));
    else
      PetscCall(MatMult(pmat, x_, product_));
    PetscCall(VecAYPX(product_, -1.0, b_));
    for (Vec vec : {x_, b_, product_}) PetscCall(reset(vec, device_));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ResidualWork::add_correction(int nrhs, const MutableColumns &x)
{
  PetscFunctionBegin;
  for (int r = 0; r < nrhs; ++r) {
    PetscCall(place(x_, x.data + r * x.ld, device_));
    PetscCall(place(product_, correction_ + r * ld_, device_));
    PetscCall(VecAXPY(x_, 1.0, product_));
    for (Vec vec : {x_, product_}) PetscCall(reset(vec, device_));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
