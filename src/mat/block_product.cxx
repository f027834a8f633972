#include "mat/block_product.h"

#include "petsc/compat.h"
#include "petsc/guarded.h"
#include "petsc/stream.h"

#if defined(MCPI_HAVE_CUDA) && defined(PETSC_HAVE_CUDA)
#include <algorithm>
#include <memory>

#include "mat/cuda/block_product.h"

namespace mcpi {
namespace {

using Mult = PetscErrorCode (*)(Mat, Vec, Vec);
using MultAdd = PetscErrorCode (*)(Mat, Vec, Vec, Vec);

constexpr char kComposed[] = "mcpi block product";

// What a piece of a matrix has composed.
struct Composed {
  Mult mult; // PETSc's own functions
  MultAdd mult_add;
  PetscInt bs;
  PetscObjectState state = -1; // the nonzero state for which product was made
  std::unique_ptr<cuda::BlockProduct> product;
};

// Destroys what a container holds. Before 3.23 PETSc gave the pointer itself, since then its
// address, as void ** or as void *.
#if PETSC_VERSION_LT(3, 23, 0)
PetscErrorCode destroy(void *composed)
{
  PetscFunctionBegin;
  delete static_cast<Composed *>(composed);
  PetscFunctionReturn(PETSC_SUCCESS);
}
constexpr auto set_destroy = PetscContainerSetUserDestroy;
#else
template <class Address> PetscErrorCode destroy(Address address)
{
  PetscFunctionBegin;
  delete *reinterpret_cast<Composed **>(address);
  PetscFunctionReturn(PETSC_SUCCESS);
}
constexpr auto set_destroy = PetscContainerSetCtxDestroy;
#endif

// The type of a function of unknown kind differs between versions of PETSc.
template <class Any, class Function>
PetscErrorCode get_operation(PetscErrorCode (*get)(Mat, MatOperation, Any **), Mat mat,
                             MatOperation operation, Function *function)
{
  Any *any = nullptr;

  PetscFunctionBegin;
  PetscCall(get(mat, operation, &any));
  *function = reinterpret_cast<Function>(any);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class Any, class Function>
PetscErrorCode set_operation(PetscErrorCode (*set)(Mat, MatOperation, Any *), Mat mat,
                             MatOperation operation, Function function)
{
  PetscFunctionBegin;
  PetscCall(set(mat, operation, reinterpret_cast<Any *>(function)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Sets composed to null if the piece has none.
PetscErrorCode get_composed(Mat piece, Composed **composed)
{
  PetscContainer container;
  void *pointer = nullptr;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)piece, kComposed, (PetscObject *)&container));
  if (container) PetscCall(PetscContainerGetPointer(container, &pointer));
  *composed = static_cast<Composed *>(pointer);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Reads the structure of a piece anew if the pattern has changed.
PetscErrorCode update(Mat piece, Composed &composed)
{
  PetscObjectState state;
  PetscInt rows;
  const PetscInt *i, *j;
  void *stream;

  PetscFunctionBegin;
  PetscCall(MatGetNonzeroState(piece, &state));
  if (composed.product && state == composed.state) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetLocalSize(piece, &rows, nullptr));
  PetscCall(UserStream(&stream));
  PetscCall(MatSeqAIJCUSPARSEGetIJ(piece, PETSC_FALSE, &i, &j));
  PetscCall(Guarded([&]() -> PetscErrorCode {
    composed.product = std::make_unique<cuda::BlockProduct>(static_cast<int>(rows / composed.bs),
                                                            static_cast<int>(composed.bs), i, j,
                                                            static_cast<cudaStream_t>(stream));
    return PETSC_SUCCESS;
  }));
  PetscCall(MatSeqAIJCUSPARSERestoreIJ(piece, PETSC_FALSE, &i, &j));
  composed.state = state;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// y = A x, or y = A x + z
PetscErrorCode multiply_blocks(Mat piece, const Composed &composed, Vec x, Vec z, Vec y)
{
  const PetscScalar *values, *from, *add = nullptr;
  PetscScalar *to;
  MatInfo info;
  void *stream;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUSPARSEGetArrayRead(piece, &values));
  PetscCall(VecCUDAGetArrayRead(x, &from));
  if (z && z != y) PetscCall(VecCUDAGetArrayRead(z, &add));
  PetscCall(z == y ? VecCUDAGetArray(y, &to) : VecCUDAGetArrayWrite(y, &to));
  PetscCall(UserStream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  PetscCall(Guarded([&]() -> PetscErrorCode {
    composed.product->multiply(values, from, z == y ? to : add, to,
                               static_cast<cudaStream_t>(stream));
    return PETSC_SUCCESS;
  }));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(z == y ? VecCUDARestoreArray(y, &to) : VecCUDARestoreArrayWrite(y, &to));
  if (z && z != y) PetscCall(VecCUDARestoreArrayRead(z, &add));
  PetscCall(VecCUDARestoreArrayRead(x, &from));
  PetscCall(MatSeqAIJCUSPARSERestoreArrayRead(piece, &values));
  PetscCall(MatGetInfo(piece, MAT_LOCAL, &info));
  PetscCall(PetscLogGpuFlops(2.0 * info.nz_used));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mult(Mat piece, Vec x, Vec y)
{
  Composed *composed = nullptr;

  PetscFunctionBegin;
  PetscCall(get_composed(piece, &composed));
  PetscCall(update(piece, *composed));
  if (composed->product->full())
    PetscCall(multiply_blocks(piece, *composed, x, nullptr, y));
  else
    PetscCall(composed->mult(piece, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mult_add(Mat piece, Vec x, Vec z, Vec y)
{
  Composed *composed = nullptr;

  PetscFunctionBegin;
  PetscCall(get_composed(piece, &composed));
  PetscCall(update(piece, *composed));
  if (composed->product->full())
    PetscCall(multiply_blocks(piece, *composed, x, z, y));
  else
    PetscCall(composed->mult_add(piece, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode compose(Mat piece, PetscInt bs, Composed **composed)
{
  PetscContainer container;

  PetscFunctionBegin;
  PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &container));
  PetscCall(Guarded([&]() -> PetscErrorCode {
    *composed = new Composed();
    (*composed)->bs = bs;
    return PETSC_SUCCESS;
  }));
  PetscCall(PetscContainerSetPointer(container, *composed));
  PetscCall(set_destroy(container, destroy));
  PetscCall(PetscObjectCompose((PetscObject)piece, kComposed, (PetscObject)container));
  PetscCall(PetscContainerDestroy(&container));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Puts the functions above in the place of PETSc's.
PetscErrorCode install(Mat piece, PetscInt bs, BlockProductUse *use)
{
  PetscBool cusparse, host;
  Composed *composed = nullptr;
  Mult now = nullptr;

  PetscFunctionBegin;
  *use = BlockProductUse::wrong_type;
  PetscCall(PetscObjectTypeCompare((PetscObject)piece, MATSEQAIJCUSPARSE, &cusparse));
  PetscCall(MatBoundToCPU(piece, &host));
  if (!cusparse || host) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(get_composed(piece, &composed));
  if (!composed) PetscCall(compose(piece, bs, &composed));
  PetscCall(get_operation(MatGetOperation, piece, MATOP_MULT, &now));
  if (now != mult) { // new, or PETSc has set its own again
    composed->mult = now;
    PetscCall(get_operation(MatGetOperation, piece, MATOP_MULT_ADD, &composed->mult_add));
    PetscCall(set_operation(MatSetOperation, piece, MATOP_MULT, mult));
    PetscCall(set_operation(MatSetOperation, piece, MATOP_MULT_ADD, mult_add));
  }
  PetscCall(update(piece, *composed));
  *use = composed->product->full() ? BlockProductUse::yes : BlockProductUse::partial_blocks;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode UseBlockProduct(Mat mat, BlockProductUse *use)
{
  PetscBool parallel;
  Mat pieces[2] = {mat, nullptr};
  PetscInt bs;
  int worst = 0;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)mat, MATMPIAIJCUSPARSE, &parallel));
  if (parallel) PetscCall(MatMPIAIJGetSeqAIJ(mat, &pieces[0], &pieces[1], nullptr));
  PetscCall(MatGetBlockSize(mat, &bs));
  for (Mat piece : pieces) {
    BlockProductUse one = BlockProductUse::yes;
    if (piece) PetscCall(install(piece, bs, &one));
    worst = std::max(worst, static_cast<int>(one));
  }
  PetscCallMPI(
      MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)mat)));
  *use = static_cast<BlockProductUse>(worst);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi

#else

namespace mcpi {

PetscErrorCode UseBlockProduct(Mat, BlockProductUse *use)
{
  PetscFunctionBegin;
  *use = BlockProductUse::wrong_type;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi

#endif
