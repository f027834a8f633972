#include "mat/block_product.h"

#include "petsc/compat.h"

#if defined(MCPI_HAVE_CUDA) && defined(PETSC_HAVE_CUDA)
#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <string>

#include "mat/cuda/block_product.h"
#include "petsc/block_size.h"
#include "petsc/composed.h"
#include "petsc/guarded.h"
#include "petsc/stream.h"

namespace mcpi {
namespace {

using Mult = PetscErrorCode (*)(Mat, Vec, Vec);
using MultAdd = PetscErrorCode (*)(Mat, Vec, Vec, Vec);

constexpr char kComposed[] = "mcpi block product";

// PETSc's own functions, which are the same for all SEQAIJCUSPARSE matrices.
Mult petsc_mult = nullptr;
MultAdd petsc_mult_add = nullptr;

// What tells one nonzero pattern of a portion from another. MatHeaderMerge() keeps the nonzero
// state of some matrices with new patterns, but not their object id.
struct Pattern {
  PetscObjectId id = 0;
  PetscObjectState state = -1;
  PetscInt bs = 0;

  bool operator==(const Pattern &) const = default;
};

// What a portion of a matrix has composed.
struct Composed {
  Pattern pattern; // of which product was made
  std::unique_ptr<cuda::BlockProduct> product;
};

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

// Sets composed to null if the portion has none.
PetscErrorCode get_composed(Mat portion, Composed **composed)
{
  PetscFunctionBegin;
  PetscCall(QueryOwned((PetscObject)portion, kComposed, composed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode get_pattern(Mat portion, PetscInt bs, Pattern *pattern)
{
  PetscFunctionBegin;
  pattern->bs = bs;
  PetscCall(PetscObjectGetId((PetscObject)portion, &pattern->id));
  PetscCall(MatGetNonzeroState(portion, &pattern->state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Calls use(rows, i, j, stream) with the structure of a portion in device memory. Index: int before
// 3.26, then PetscInt
template <class Index, class Use>
PetscErrorCode with_structure(PetscErrorCode (*get)(Mat, PetscBool, const Index **, const Index **),
                              PetscErrorCode (*restore)(Mat, PetscBool, const Index **,
                                                        const Index **),
                              Mat portion, const Use &use)
{
  const Index *i, *j;
  PetscInt rows;
  void *stream;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(portion, &rows, nullptr));
  PetscCall(UserStream(&stream));
  PetscCall(get(portion, PETSC_FALSE, &i, &j));
  PetscCall(use(rows, i, j, static_cast<cudaStream_t>(stream)));
  PetscCall(restore(portion, PETSC_FALSE, &i, &j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Reads the structure of a portion. problem: why product is null now; empty if nothing went wrong
PetscErrorCode read_structure(Mat portion, const Pattern &pattern, Composed *composed,
                              std::string *problem)
{
  PetscFunctionBegin;
  composed->product.reset();
  PetscCall(with_structure(
      MatSeqAIJCUSPARSEGetIJ, MatSeqAIJCUSPARSERestoreIJ, portion,
      [&](PetscInt rows, auto *i, auto *j, cudaStream_t stream) -> PetscErrorCode {
        try {
          composed->product = std::make_unique<cuda::BlockProduct>(
              static_cast<int>(rows / pattern.bs), static_cast<int>(pattern.bs), i, j, stream);
        } catch (const std::exception &e) {
          *problem = e.what();
        }
        return PETSC_SUCCESS;
      }));
  composed->pattern = pattern;
  if (!problem->empty()) PetscCall(PetscInfo(portion, "no block products: %s\n", problem->c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Sets composed to what a product with the portion may use; null: PETSc's functions. The structure
// is read anew if the pattern has changed since the set-up.
PetscErrorCode prepare(Mat portion, Composed **composed)
{
  Pattern pattern;
  std::string problem;

  PetscFunctionBegin;
  PetscCall(get_composed(portion, composed));
  if (!*composed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(get_pattern(portion, (*composed)->pattern.bs, &pattern));
  if (pattern != (*composed)->pattern)
    PetscCall(read_structure(portion, pattern, *composed, &problem));
  if (!(*composed)->product || !(*composed)->product->full()) *composed = nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// y = A x, or y = A x + z
PetscErrorCode multiply_blocks(Mat portion, const Composed &composed, Vec x, Vec z, Vec y)
{
  const PetscScalar *values, *from, *add = nullptr;
  PetscScalar *to;
  MatInfo info;
  void *stream;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUSPARSEGetArrayRead(portion, &values));
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
  PetscCall(MatSeqAIJCUSPARSERestoreArrayRead(portion, &values));
  PetscCall(MatGetInfo(portion, MAT_LOCAL, &info));
  PetscCall(PetscLogGpuFlops(2.0 * info.nz_used - (z ? 0.0 : composed.product->nonempty_rows())));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mult(Mat portion, Vec x, Vec y)
{
  Composed *composed = nullptr;

  PetscFunctionBegin;
  PetscCall(prepare(portion, &composed));
  PetscCall(composed ? multiply_blocks(portion, *composed, x, nullptr, y)
                     : petsc_mult(portion, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mult_add(Mat portion, Vec x, Vec z, Vec y)
{
  Composed *composed = nullptr;

  PetscFunctionBegin;
  PetscCall(prepare(portion, &composed));
  PetscCall(composed ? multiply_blocks(portion, *composed, x, z, y)
                     : petsc_mult_add(portion, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Gives a portion PETSc's functions back.
PetscErrorCode restore(Mat portion)
{
  Mult now = nullptr;

  PetscFunctionBegin;
  PetscCall(get_operation(MatGetOperation, portion, MATOP_MULT, &now));
  if (now == mult) {
    PetscCall(set_operation(MatSetOperation, portion, MATOP_MULT, petsc_mult));
    PetscCall(set_operation(MatSetOperation, portion, MATOP_MULT_ADD, petsc_mult_add));
  }
  PetscCall(PetscObjectCompose((PetscObject)portion, kComposed, nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Puts the functions above in the place of PETSc's. The portion then owns composed.
PetscErrorCode install(Mat portion, std::unique_ptr<Composed> *composed)
{
  Mult now = nullptr;

  PetscFunctionBegin;
  PetscCall(ComposeOwned((PetscObject)portion, kComposed, composed));
  PetscCall(get_operation(MatGetOperation, portion, MATOP_MULT, &now));
  if (now == mult) PetscFunctionReturn(PETSC_SUCCESS);
  petsc_mult = now; // new, or PETSc has set its own again
  PetscCall(get_operation(MatGetOperation, portion, MATOP_MULT_ADD, &petsc_mult_add));
  PetscCall(set_operation(MatSetOperation, portion, MATOP_MULT, mult));
  PetscCall(set_operation(MatSetOperation, portion, MATOP_MULT_ADD, mult_add));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Whether a portion has products of its present pattern.
PetscErrorCode has_products(Mat portion, const Pattern &pattern, bool *has)
{
  Composed *composed = nullptr;
  Mult now = nullptr;

  PetscFunctionBegin;
  PetscCall(get_composed(portion, &composed));
  PetscCall(get_operation(MatGetOperation, portion, MATOP_MULT, &now));
  *has = now == mult && composed && composed->pattern == pattern && composed->product &&
         composed->product->full();
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Makes the product of a portion if it suits. made: null if it does not, or has one already.
PetscErrorCode make_product(Mat portion, PetscInt bs, std::unique_ptr<Composed> *made,
                            BlockProductUse *use)
{
  PetscBool cusparse, host;
  PetscInt rows;
  Pattern pattern;
  std::string problem;
  bool has = false;

  PetscFunctionBegin;
  *use = BlockProductUse::wrong_type;
  PetscCall(PetscObjectTypeCompare((PetscObject)portion, MATSEQAIJCUSPARSE, &cusparse));
  PetscCall(MatBoundToCPU(portion, &host));
  if (!cusparse || host) PetscFunctionReturn(PETSC_SUCCESS);
  *use = bs == 1 ? BlockProductUse::block_size_one : BlockProductUse::partial_blocks;
  PetscCall(MatGetLocalSize(portion, &rows, nullptr));
  if (bs == 1 || rows / bs > std::numeric_limits<int>::max()) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(get_pattern(portion, bs, &pattern));
  PetscCall(has_products(portion, pattern, &has));
  *use = BlockProductUse::yes;
  if (has) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Guarded([&]() -> PetscErrorCode {
    *made = std::make_unique<Composed>();
    return PETSC_SUCCESS;
  }));
  PetscCall(read_structure(portion, pattern, made->get(), &problem));
  if (!problem.empty())
    *use = BlockProductUse::no_memory;
  else if (!(*made)->product->full())
    *use = BlockProductUse::partial_blocks;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode get_portions(Mat mat, Mat portions[2])
{
  PetscBool parallel;

  PetscFunctionBegin;
  portions[0] = mat;
  portions[1] = nullptr;
  PetscCall(PetscObjectTypeCompare((PetscObject)mat, MATMPIAIJCUSPARSE, &parallel));
  if (parallel) PetscCall(MatMPIAIJGetSeqAIJ(mat, &portions[0], &portions[1], nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode UseBlockProduct(Mat mat, BlockProductUse *use)
{
  Mat portions[2];
  std::unique_ptr<Composed> made[2];
  PetscInt bs;
  int worst = 0;

  PetscFunctionBegin;
  PetscCall(SquareBlockSize(mat, &bs));
  PetscCall(get_portions(mat, portions));
  // The products of all portions on all ranks are made before any portion is changed.
  for (int k = 0; k < 2; ++k) {
    BlockProductUse one = BlockProductUse::yes;
    if (portions[k]) PetscCall(make_product(portions[k], bs, &made[k], &one));
    worst = std::max(worst, static_cast<int>(one));
  }
  PetscCallMPI(
      MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)mat)));
  *use = static_cast<BlockProductUse>(worst);
  if (*use != BlockProductUse::yes) {
    PetscCall(DropBlockProduct(mat));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int k = 0; k < 2; ++k)
    if (made[k]) PetscCall(install(portions[k], &made[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DropBlockProduct(Mat mat)
{
  Mat portions[2];

  PetscFunctionBegin;
  PetscCall(get_portions(mat, portions));
  for (Mat portion : portions)
    if (portion) PetscCall(restore(portion));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi

#else

namespace mcpi {

PetscErrorCode UseBlockProduct(Mat, BlockProductUse *use)
{
  PetscFunctionBegin;
  *use = BlockProductUse::no_cuda;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DropBlockProduct(Mat)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi

#endif
