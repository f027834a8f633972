// This file implements PCApply() and its variants. The functions take the arrays of Vecs and dense
// Mats and hand them to the smoother.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/held_exceptions.h"
#include "core/tuning.h"
#include "pc/mcpi.h"
#include "petscmcpi.h"

namespace mcpi {
namespace {

PetscErrorCode require_ready(PC pc)
{
  PetscFunctionBegin;
  PetscCheck(Data(pc).smoother.usable(), PetscObjectComm((PetscObject)pc), PETSC_ERR_ORDER,
             "PCMCPI: the last set-up did not finish, or Kokkos has ended since. Call PCSetUp() "
             "again, and Kokkos::finalize() later");
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The result of a failed preconditioner. PETSc makes it by a division by zero.
PetscErrorCode flag(Vec x)
{
  const HeldExceptions held;

  PetscFunctionBegin;
  PetscCall(CompatVecFlag(x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Checks the local size of a Vec. PCApply() checks the size before it calls the preconditioner, but
// its variants, such as PCApplyTranspose(), do not.
PetscErrorCode check_size(PC pc, Vec v)
{
  const ColorPlan &plan = Data(pc).smoother.plan();
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCheck(n == static_cast<PetscInt>(plan.rows) * plan.bs, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "A Vec has %" PetscInt_FMT " local entries, Pmat %" PetscInt_FMT
             " local rows. Make it with MatCreateVecs()",
             n, static_cast<PetscInt>(plan.rows) * plan.bs);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The arrays of a right-hand side b and a solution x. If the sweeps run on a device, arrays in
// device memory are used in place. Otherwise the arrays in host memory are used. All ranks decide
// alike, because a Vec has the same type on all ranks.
class Arrays {
public:
  PetscErrorCode get(Vec b, Vec x, bool read_x, bool device)
  {
    PetscMemType in = PETSC_MEMTYPE_HOST, out = PETSC_MEMTYPE_HOST;

    PetscFunctionBegin;
    on_device_ = device;
    read_x_ = read_x;
    if (device) {
      PetscCall(VecGetArrayReadAndMemType(b, &in_, &in));
      if (read_x)
        PetscCall(VecGetArrayAndMemType(x, &out_, &out));
      else
        PetscCall(VecGetArrayWriteAndMemType(x, &out_, &out));
    } else {
      PetscCall(VecGetArrayRead(b, &in_));
      if (read_x)
        PetscCall(VecGetArray(x, &out_));
      else
        PetscCall(VecGetArrayWrite(x, &out_));
    }
    b_device_ = PetscMemTypeDevice(in);
    x_device_ = PetscMemTypeDevice(out);
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode restore(Vec b, Vec x)
  {
    PetscFunctionBegin;
    if (on_device_) {
      if (read_x_)
        PetscCall(VecRestoreArrayAndMemType(x, &out_));
      else
        PetscCall(VecRestoreArrayWriteAndMemType(x, &out_));
      PetscCall(VecRestoreArrayReadAndMemType(b, &in_));
    } else {
      if (read_x_)
        PetscCall(VecRestoreArray(x, &out_));
      else
        PetscCall(VecRestoreArrayWrite(x, &out_));
      PetscCall(VecRestoreArrayRead(b, &in_));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  ConstColumns b() const { return {in_, 0, b_device_}; }
  MutableColumns x() const { return {out_, 0, x_device_}; }
  bool on_device() const { return b_device_ || x_device_; }
  bool mixed() const { return b_device_ != x_device_; }

private:
  const PetscScalar *in_ = nullptr;
  PetscScalar *out_ = nullptr;
  // on_device_: the arrays are taken in the memory in which they lie. b_device_, x_device_: that
  // memory is a device's.
  bool on_device_ = false, read_x_ = false, b_device_ = false, x_device_ = false;
};

// Sets size to about the largest magnitude in b. Many methods have computed a norm of b, and the
// Vec then remembers the norm. If the Vec has no norm, this function makes a reduction.
PetscErrorCode size_of(Vec b, PetscReal *size)
{
  PetscBool known;

  PetscFunctionBegin;
  for (const NormType norm : {NORM_2, NORM_INFINITY}) {
    PetscCall(VecNormAvailable(b, norm, &known, size));
    // A norm of 0 or Inf does not tell the size: squares of entries may be out of range.
    if (known && *size > 0.0 && std::isfinite(*size)) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecNorm(b, NORM_INFINITY, size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Completes the restarts of a request. A factorization is applied to one residual after the other,
// since its sweeps are not those of a stationary iteration.
Request with_restarts(PCMCPIMethod method, Request request)
{
  request.restart = std::max<PetscInt>(0, request.restart);
  if (method != PC_MCPI_METHOD_POINT)
    request.restart = request.sweeps > 1 || request.nonzero_guess ? 1 : 0;
  return request;
}

// Sets sizes to the largest magnitude in each column of b, over all ranks.
// rows: local rows of b. count: columns of b.
PetscErrorCode sizes_of(MPI_Comm comm, const ConstColumns &b, PetscInt rows, int count,
                        std::vector<double> *sizes)
{
  PetscFunctionBegin;
  sizes->assign(static_cast<std::size_t>(count), 0.0);
  for (int c = 0; c < count; ++c)
    for (PetscInt i = 0; i < rows; ++i)
      (*sizes)[static_cast<std::size_t>(c)] =
          std::max((*sizes)[static_cast<std::size_t>(c)], std::fabs(b.data[c * b.ld + i]));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sizes->data(), count, MPI_DOUBLE, MPI_MAX, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Columns that share a scale must have largest magnitudes within a factor of kLike. A column of
// zeros fits every size. largest: the largest of sizes.
bool of_like_size(const std::vector<double> &sizes, double *largest)
{
  constexpr double kLike = 0x1p40;
  double least = std::numeric_limits<double>::infinity();
  *largest = 0.0;
  for (const double size : sizes) {
    *largest = std::max(*largest, size);
    if (size > 0.0) least = std::min(least, size);
  }
  return *largest / kLike <= least; // A product could overflow.
}

// Applies the smoother to some columns: to all columns together if their sizes are alike,
// otherwise to one column after the other.
PetscErrorCode apply_batch(PC pc, Request request, const ConstColumns &b, const MutableColumns &x,
                           PetscInt rows)
{
  PC_MCPI &mcpi = Data(pc);
  std::vector<double> sizes;

  PetscFunctionBegin;
  if (mcpi.smoother.double_vectors()) {
    PetscCall(mcpi.smoother.apply(pc->pmat, mcpi.settings, request, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(sizes_of(PetscObjectComm((PetscObject)pc), b, rows, request.nrhs, &sizes));
  if (of_like_size(sizes, &request.size)) {
    PetscCall(mcpi.smoother.apply(pc->pmat, mcpi.settings, request, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  request.nrhs = 1;
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    const auto column = static_cast<std::ptrdiff_t>(c);
    request.size = sizes[c];
    PetscCall(mcpi.smoother.apply(pc->pmat, mcpi.settings, request, {b.data + column * b.ld, b.ld},
                                  {x.data + column * x.ld, x.ld}));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Applies the smoother to the columns of dense matrices, CommonTuning::kMostColumns at a time.
PetscErrorCode apply_mat(PC pc, Mat b, Mat x, Request request)
{
  const PetscScalar *in;
  PetscScalar *out;
  PetscInt rows, columns, ldb, ldx;

  PetscFunctionBegin;
  request = with_restarts(Data(pc).method(), request);
  PetscCall(require_ready(pc));
  PetscCall(Guarded((PetscObject)pc, [&]() -> PetscErrorCode { return FitApplication(pc); }));
  PetscCall(MatGetSize(b, nullptr, &columns));
  PetscCall(MatGetLocalSize(b, &rows, nullptr));
  if (Data(pc).failed()) {
    for (PetscInt c = 0; c < columns; ++c) {
      Vec column;
      PetscCall(MatDenseGetColumnVecWrite(x, c, &column));
      PetscCall(flag(column));
      PetscCall(MatDenseRestoreColumnVecWrite(x, c, &column));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatDenseGetLDA(b, &ldb));
  PetscCall(MatDenseGetLDA(x, &ldx));
  PetscCall(MatDenseGetArrayRead(b, &in));
  if (request.nonzero_guess)
    PetscCall(MatDenseGetArray(x, &out));
  else
    PetscCall(MatDenseGetArrayWrite(x, &out));
  PetscCall(Guarded((PetscObject)pc, [&]() -> PetscErrorCode {
    for (PetscInt c = 0; c < columns; c += CommonTuning::kMostColumns) {
      request.nrhs = static_cast<int>(std::min<PetscInt>(CommonTuning::kMostColumns, columns - c));
      PetscCall(apply_batch(pc, request, {in + static_cast<std::ptrdiff_t>(c) * ldb, ldb},
                            {out + static_cast<std::ptrdiff_t>(c) * ldx, ldx}, rows));
    }
    return PETSC_SUCCESS;
  }));
  if (request.nonzero_guess)
    PetscCall(MatDenseRestoreArray(x, &out));
  else
    PetscCall(MatDenseRestoreArrayWrite(x, &out));
  PetscCall(MatDenseRestoreArrayRead(b, &in));
  PetscFunctionReturn(PETSC_SUCCESS);
}

Request application_of(PC pc, bool transposed)
{
  const PC_MCPI &mcpi = Data(pc);
  return {transposed, 1, mcpi.sweeps(), mcpi.settings.restart};
}

PetscErrorCode PCApply_MCPI(PC pc, Vec b, Vec x)
{
  return ApplySweeps(pc, b, x, application_of(pc, false));
}

PetscErrorCode PCApplyTranspose_MCPI(PC pc, Vec b, Vec x)
{
  return ApplySweeps(pc, b, x, application_of(pc, true));
}

PetscErrorCode PCMatApply_MCPI(PC pc, Mat b, Mat x)
{
  return apply_mat(pc, b, x, application_of(pc, false));
}

// Returns the number of sweeps between two residuals. After so many sweeps, a stationary iteration
// has reached the rounding error of the stored blocks. 0: never
PetscInt sweeps_of_storage(PCMCPIPrecision storage)
{
  switch (storage) {
  case PC_MCPI_PRECISION_FP64:
    return 0;
  case PC_MCPI_PRECISION_FP32:
    return 24;
  case PC_MCPI_PRECISION_FP16:
    return 11;
  case PC_MCPI_PRECISION_INT8:
    return 5;
  default:
    return 3;
  }
}

// Returns the request for outits iterations of Richardson's method. outits is at most max_it, and
// so small that the number of sweeps does not exceed kMaxSweeps. If the user leaves the choice of
// restarts to the preconditioner, a caller that tests residuals gets restarts. Any other caller
// uses the iterations as a smoother and gets no restarts.
Request richardson_of(PC pc, PetscInt max_it, PetscBool guess_zero, PetscInt *outits)
{
  const PC_MCPI &mcpi = Data(pc);
  const Settings &settings = mcpi.settings;
  const PetscInt its = mcpi.sweeps();
  *outits = std::min<PetscInt>(std::max<PetscInt>(max_it, 0), kMaxSweeps / its);
  Request request{false, 1, *outits * its, settings.restart, !guess_zero};
  if (settings.restart < 0)
    request.restart =
        mcpi.applying().tests_residuals ? sweeps_of_storage(mcpi.smoother.precisions().offdiag) : 0;
  return request;
}

// Sets finite to the same value on all ranks. A maximum over ranks may lose a NaN, but a sum keeps
// it. The sum of finite entries may overflow. In that case the maximum norm decides.
PetscErrorCode is_finite(Vec x, bool *finite)
{
  PetscReal sum, largest = 0.0;

  PetscFunctionBegin;
  PetscCall(VecNorm(x, NORM_1, &sum));
  if (std::isinf(sum)) PetscCall(VecNorm(x, NORM_INFINITY, &largest));
  *finite = !std::isnan(sum) && std::isfinite(largest);
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(COMPAT_HAVE_MATAPPLYRICHARDSON)
PetscErrorCode columns_are_finite(Mat x, bool *finite)
{
  PetscInt columns;
  Vec column;

  PetscFunctionBegin;
  *finite = true;
  PetscCall(MatGetSize(x, nullptr, &columns));
  for (PetscInt c = 0; c < columns && *finite; ++c) {
    PetscCall(MatDenseGetColumnVecRead(x, c, &column));
    PetscCall(is_finite(column, finite));
    PetscCall(MatDenseRestoreColumnVecRead(x, c, &column));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

// KSPRICHARDSON derives its converged reason from this reason. Without these reasons, a solve with
// a failed set-up or with values that are not finite would seem to have converged. finite is
// determined only for callers that test residuals. Other callers check the result themselves, and
// should not pay for a reduction. A smoother of another preconditioner reports no failed set-up,
// because that one would keep the reason for ever.
PetscErrorCode richardson_reason(PC pc, bool finite, PCRichardsonConvergedReason *reason)
{
  const Caller &method = Data(pc).applying();

  PetscFunctionBegin;
  *reason = PCRICHARDSON_CONVERGED_ITS;
  if (Data(pc).failed() && (method.tests_residuals || !method.inside))
    *reason = static_cast<PCRichardsonConvergedReason>(KSP_DIVERGED_PC_FAILED);
  else if (!finite)
    *reason = static_cast<PCRichardsonConvergedReason>(KSP_DIVERGED_NANORINF);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Relaxes Pmat, as PCSOR does. Each of max_it iterations makes the sweeps of -pc_mcpi_its.
// Convergence is not tested.
PetscErrorCode PCApplyRichardson_MCPI(PC pc, Vec b, Vec x, Vec, PetscReal, PetscReal, PetscReal,
                                      PetscInt max_it, PetscBool guess_zero, PetscInt *outits,
                                      PCRichardsonConvergedReason *reason)
{
  const Request request = richardson_of(pc, max_it, guess_zero, outits);
  bool finite = true;

  PetscFunctionBegin;
  if (request.sweeps > 0)
    PetscCall(ApplySweeps(pc, b, x, request));
  else if (guess_zero)
    PetscCall(VecSet(x, 0.0)); // x may hold anything before the call
  if (Data(pc).applying().tests_residuals) PetscCall(is_finite(x, &finite));
  PetscCall(richardson_reason(pc, finite, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(COMPAT_HAVE_MATAPPLY_VARIANTS)
PetscErrorCode PCMatApplyTranspose_MCPI(PC pc, Mat b, Mat x)
{
  return apply_mat(pc, b, x, application_of(pc, true));
}
#endif

#if defined(COMPAT_HAVE_MATAPPLYRICHARDSON)
PetscErrorCode PCMatApplyRichardson_MCPI(PC pc, Mat b, Mat x, Mat, PetscReal, PetscReal, PetscReal,
                                         PetscInt max_it, PetscBool guess_zero, PetscInt *outits,
                                         PCRichardsonConvergedReason *reason)
{
  const Request request = richardson_of(pc, max_it, guess_zero, outits);
  bool finite = true;

  PetscFunctionBegin;
  if (request.sweeps > 0)
    PetscCall(apply_mat(pc, b, x, request));
  else if (guess_zero)
    PetscCall(MatZeroEntries(x));
  if (Data(pc).applying().tests_residuals) PetscCall(columns_are_finite(x, &finite));
  PetscCall(richardson_reason(pc, finite, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

} // namespace

PetscErrorCode ApplySweeps(PC pc, Vec b, Vec x, Request request)
{
  PC_MCPI &mcpi = Data(pc);
  Arrays arrays;

  PetscFunctionBegin;
  request = with_restarts(Data(pc).method(), request);
  PetscCall(require_ready(pc));
  PetscCall(Guarded((PetscObject)pc, [&]() -> PetscErrorCode { return FitApplication(pc); }));
  PetscCall(check_size(pc, b));
  PetscCall(check_size(pc, x));
  if (Data(pc).failed()) {
    PetscCall(flag(x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!mcpi.smoother.double_vectors()) PetscCall(size_of(b, &request.size));
  PetscCall(arrays.get(b, x, request.nonzero_guess, mcpi.smoother.on_device()));
  // PETSc forms a residual in one kind of memory. The host's arrays are taken if b and x lie in
  // different kinds of memory, or if no Vec takes arrays in device memory.
  if (arrays.on_device() && (request.nonzero_guess || request.restart > 0)) {
    ArrayKind kind;
    PetscCall(DeviceArrayKind(pc->pmat, &kind));
    if (arrays.mixed() || kind == ArrayKind::host) {
      PetscCall(arrays.restore(b, x));
      PetscCall(arrays.get(b, x, request.nonzero_guess, false));
    }
  }
  PetscCall(Guarded((PetscObject)pc, [&]() -> PetscErrorCode {
    return mcpi.smoother.apply(pc->pmat, mcpi.settings, request, arrays.b(), arrays.x());
  }));
  PetscCall(arrays.restore(b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SetApplyOperations(PC pc)
{
  PetscFunctionBegin;
  pc->ops->apply = PCApply_MCPI;
  pc->ops->applytranspose = PCApplyTranspose_MCPI;
  pc->ops->applyrichardson = PCApplyRichardson_MCPI;
  pc->ops->matapply = PCMatApply_MCPI;
#if defined(COMPAT_HAVE_MATAPPLY_VARIANTS)
  pc->ops->matapplytranspose = PCMatApplyTranspose_MCPI;
#endif
#if defined(COMPAT_HAVE_MATAPPLYRICHARDSON)
  pc->ops->matapplyrichardson = PCMatApplyRichardson_MCPI;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
