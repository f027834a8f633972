#include "ksp/gram_schmidt.h"

#include "petsc/compat.h"

#if defined(MCPI_HAVE_CUDA) && defined(PETSC_HAVE_CUDA) && PETSC_VERSION_GE(3, 26, 0)
#include <petsc/private/kspimpl.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "ksp/cuda/inner_products.h"
#include "petsc/collective.h"
#include "petsc/composed.h"
#include "petsc/guarded.h"
#include "petsc/stream.h"

namespace mcpi {
namespace {

constexpr char kComposed[] = "mcpi Gram-Schmidt";

// What a KSP has composed: memory of its orthogonalizations.
struct Composed {
  cuda::InnerProducts products;
  std::vector<const double *> v;   // arrays of the Krylov vectors
  std::vector<PetscScalar> result; // inner products of one pass
};

// The arrays of Krylov vectors in device memory
class DeviceVectors {
public:
  // x: the vector to be orthogonalized
  PetscErrorCode get(Vec vectors[], PetscInt n, Vec x, Composed *composed)
  {
    void *stream;

    PetscFunctionBegin;
    composed->v.resize(static_cast<std::size_t>(n));
    for (PetscInt k = 0; k < n; ++k) {
      PetscCheck(vectors[k] != x, PetscObjectComm((PetscObject)x), PETSC_ERR_ARG_IDN,
                 "A vector cannot be made orthogonal to itself");
      PetscCall(VecCUDAGetArrayRead(vectors[k], &composed->v[static_cast<std::size_t>(k)]));
    }
    PetscCall(VecGetLocalSize(x, &size_));
    PetscCall(UserStream(&stream));
    stream_ = static_cast<cudaStream_t>(stream);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode restore(Vec vectors[], PetscInt n, Composed *composed)
  {
    PetscFunctionBegin;
    for (PetscInt k = 0; k < n; ++k)
      PetscCall(VecCUDARestoreArrayRead(vectors[k], &composed->v[static_cast<std::size_t>(k)]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  std::size_t size() const { return static_cast<std::size_t>(size_); }
  cudaStream_t stream() const { return stream_; }

private:
  PetscInt size_ = 0;
  cudaStream_t stream_ = nullptr;
};

// Writes the inner products of x with the Krylov vectors to composed->result.
PetscErrorCode multiply(const DeviceVectors &vectors, PetscInt n, Vec x, Composed *composed)
{
  const PetscScalar *array;
  PetscMPIInt count;

  PetscFunctionBegin;
  PetscCall(PetscMPIIntCast(n, &count));
  composed->result.resize(static_cast<std::size_t>(n));
  PetscCall(VecCUDAGetArrayRead(x, &array));
  PetscCall(PetscLogGpuTimeBegin());
  composed->products.compute(composed->v, array, vectors.size(), composed->result.data(),
                             vectors.stream());
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(VecCUDARestoreArrayRead(x, &array));
  PetscCall(PetscLogGpuFlops(2.0 * static_cast<double>(vectors.size()) * static_cast<double>(n)));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, composed->result.data(), count, MPIU_SCALAR, MPIU_SUM,
                             PetscObjectComm((PetscObject)x)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Subtracts the Krylov vectors, multiplied by composed->result, from x.
PetscErrorCode subtract(const DeviceVectors &vectors, Vec x, const Composed &composed)
{
  PetscScalar *array;

  PetscFunctionBegin;
  PetscCall(VecCUDAGetArray(x, &array));
  PetscCall(PetscLogGpuTimeBegin());
  cuda::subtract_combination(composed.v, composed.result, array, vectors.size(), vectors.stream());
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(VecCUDARestoreArray(x, &array));
  PetscCall(PetscLogGpuFlops(2.0 * static_cast<double>(vectors.size()) *
                             static_cast<double>(composed.v.size())));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Whether a second pass is to be made. finite: whether the norm of what is left is finite
PetscErrorCode needs_refinement(KSP ksp, Vec x, const std::vector<PetscScalar> &removed,
                                bool *needed, bool *finite)
{
  KSPOrthogonalizationCGSRefinementType refinement;
  PetscReal left, sum = 0.0;

  PetscFunctionBegin;
  PetscCall(KSPOrthogonalizationGetCGSRefinementType(ksp, &refinement));
  *needed = refinement == KSP_ORTHOGONALIZATION_CGS_REFINE_ALWAYS;
  if (refinement != KSP_ORTHOGONALIZATION_CGS_REFINE_IFNEEDED) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecNorm(x, NORM_2, &left));
  for (const PetscScalar h : removed) sum += h * h;
  *needed = left < std::sqrt(sum);
  *finite = std::isfinite(left);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Classical Gram-Schmidt. h: what was subtracted. finite: true before the call; false after it if a
// number is not finite, after which nothing more was subtracted
PetscErrorCode orthogonalize_on_device(KSP ksp, Vec V[], PetscInt n, Vec x, Composed *composed,
                                       std::vector<PetscScalar> *h, bool *finite)
{
  DeviceVectors vectors;
  bool again = true;

  PetscFunctionBegin;
  h->assign(static_cast<std::size_t>(n), 0.0);
  PetscCall(vectors.get(V, n, x, composed));
  for (int pass = 0; again && *finite && pass < 2; ++pass) {
    PetscCall(multiply(vectors, n, x, composed));
    *finite = std::all_of(composed->result.begin(), composed->result.end(),
                          [](PetscScalar r) { return std::isfinite(r); });
    if (!*finite) break;
    PetscCall(subtract(vectors, x, *composed));
    for (std::size_t k = 0; k < h->size(); ++k) (*h)[k] += composed->result[k];
    if (pass == 0) PetscCall(needs_refinement(ksp, x, composed->result, &again, finite));
  }
  PetscCall(vectors.restore(V, n, composed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// As KSPOrthogonalizationClassicalGramSchmidt(), for vectors of type VECCUDA. If this rank has
// bound x to the CPU, x is on the device during the call only. So all ranks make the same
// reductions.
PetscErrorCode orthogonalize_several(KSP ksp, Vec V[], PetscInt n, Vec x, PetscScalar h[],
                                     Composed *composed)
{
  std::vector<PetscScalar> removed;
  PetscBool bound;
  bool finite = true;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(KSP_Orthogonalization, ksp, 0, 0, 0));
  PetscCall(VecBoundToCPU(x, &bound));
  if (bound) PetscCall(VecBindToCPU(x, PETSC_FALSE));
  PetscCall(orthogonalize_on_device(ksp, V, n, x, composed, &removed, &finite));
  if (bound) PetscCall(VecBindToCPU(x, PETSC_TRUE));
  PetscCall(PetscLogEventEnd(KSP_Orthogonalization, ksp, 0, 0, 0));
  std::fill(h, h + n, 0.0);
  // PETSc's function tells the KSP about numbers that are not finite.
  if (!finite) PetscCall(KSPOrthogonalizationClassicalGramSchmidt(ksp, V, n, x, h));
  for (std::size_t k = 0; k < removed.size(); ++k) h[k] += removed[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Not collective. The same on all ranks
PetscErrorCode is_cuda(Vec x, PetscBool *cuda)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)x, cuda, VECSEQCUDA, VECMPICUDA, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Not collective. Whether x and all of these vectors are of type VECCUDA, the same on all ranks
PetscErrorCode are_cuda(const Vec vectors[], PetscInt n, Vec x, PetscBool *cuda)
{
  PetscFunctionBegin;
  PetscCall(is_cuda(x, cuda));
  for (PetscInt k = 0; k < n && *cuda; ++k) PetscCall(is_cuda(vectors[k], cuda));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A KSPOrthogonalizationFn. x may be null: V[n] is meant then.
PetscErrorCode orthogonalize(KSP ksp, Vec V[], PetscInt n, Vec x, PetscScalar h[])
{
  Composed *composed = nullptr;
  Vec last = x ? x : V[n];
  PetscBool cuda;

  PetscFunctionBegin;
  PetscCall(QueryOwned((PetscObject)ksp, kComposed, &composed));
  PetscCall(are_cuda(V, n, last, &cuda));
  if (composed && cuda && n > 0)
    PetscCall(Guarded([&] { return orthogonalize_several(ksp, V, n, last, h, composed); }));
  else
    PetscCall(KSPOrthogonalizationClassicalGramSchmidt(ksp, V, n, x, h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Collective. Whether a vector is on a device on all ranks
PetscErrorCode on_device(Vec x, bool *on)
{
  PetscBool cuda, host;
  int away;

  PetscFunctionBegin;
  PetscCall(is_cuda(x, &cuda));
  PetscCall(VecBoundToCPU(x, &host));
  away = !cuda || host;
  PetscCallMPI(
      MPI_Allreduce(MPI_IN_PLACE, &away, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)x)));
  *on = !away;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Gives a KSP PETSc's function back.
PetscErrorCode restore(KSP ksp, KSPOrthogonalizationFn *now)
{
  PetscFunctionBegin;
  if (now == orthogonalize)
    PetscCall(KSPOrthogonalizationSet(ksp, KSPOrthogonalizationClassicalGramSchmidt));
  PetscCall(PetscObjectCompose((PetscObject)ksp, kComposed, nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode UseGramSchmidt(KSP ksp, Vec solution, bool wanted, GramSchmidtUse *use)
{
  KSPOrthogonalizationFn *now;
  std::unique_ptr<Composed> composed;
  Composed *before;
  bool device = false;

  PetscFunctionBegin;
  PetscCall(KSPOrthogonalizationGet(ksp, &now));
  if (wanted) PetscCall(on_device(solution, &device));
  if (!wanted)
    *use = GramSchmidtUse::off;
  else if (!device)
    *use = GramSchmidtUse::on_host;
  else if (now == orthogonalize || now == KSPOrthogonalizationClassicalGramSchmidt)
    *use = GramSchmidtUse::yes;
  else
    *use = GramSchmidtUse::other;
  if (*use != GramSchmidtUse::yes) PetscCall(restore(ksp, now));
  // A program may have given the function to another KSP, which has no memory for it.
  PetscCall(QueryOwned((PetscObject)ksp, kComposed, &before));
  if (*use != GramSchmidtUse::yes || (now == orthogonalize && before))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(RunTogether(PetscObjectComm((PetscObject)ksp),
                        [&] { composed = std::make_unique<Composed>(); }));
  PetscCall(ComposeOwned((PetscObject)ksp, kComposed, &composed));
  PetscCall(KSPOrthogonalizationSet(ksp, orthogonalize));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi

#else

namespace mcpi {

PetscErrorCode UseGramSchmidt(KSP, Vec, bool wanted, GramSchmidtUse *use)
{
  constexpr bool old = PETSC_VERSION_LT(3, 26, 0);

  PetscFunctionBegin;
  *use = GramSchmidtUse::off;
  if (wanted) *use = old ? GramSchmidtUse::old_petsc : GramSchmidtUse::no_cuda;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi

#endif
