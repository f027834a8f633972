// PCApply and its relatives: Vecs and dense Mats in, host arrays down to the solver.
#include <algorithm>

#include "pc/mcpi.h"
#include "petscmcpi.h"

namespace mcpi {
namespace {

constexpr PetscInt kMaxRightHandSides = 8; // at once: what the caches hold beside the blocks

PetscErrorCode require_ready(PC pc)
{
  PetscFunctionBegin;
  PetscCheck(Data(pc).solver.usable(), PetscObjectComm((PetscObject)pc), PETSC_ERR_ORDER,
             "PCMCPI: the last set-up did not finish, or Kokkos has ended since. Call PCSetUp() again, and Kokkos::finalize() later");
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool failed(PC pc)
{
  return Data(pc).solver.failure().defect != Defect::none;
}

// PCApply() itself looks, before it calls; its relatives do not.
PetscErrorCode check_size(PC pc, Vec v)
{
  const ColorPlan &plan = Data(pc).solver.plan();
  PetscInt         n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCheck(n == static_cast<PetscInt>(plan.rows) * plan.bs, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "A Vec has %" PetscInt_FMT " local entries, Pmat %" PetscInt_FMT " local rows. Make it with MatCreateVecs()", n,
             static_cast<PetscInt>(plan.rows) * plan.bs);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Where the sweeps run on a device its arrays are used in place, else the host's. All ranks decide alike, as Vecs have one type.
class Arrays {
public:
  PetscErrorCode get(Vec b, Vec x, bool read_x, bool device)
  {
    PetscMemType in = PETSC_MEMTYPE_HOST, out = PETSC_MEMTYPE_HOST;

    PetscFunctionBegin;
    on_device_ = device;
    read_x_    = read_x;
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

  ConstColumns   b() const { return {in_, 0, b_device_}; }
  MutableColumns x() const { return {out_, 0, x_device_}; }
  bool           on_device() const { return b_device_ || x_device_; }
  bool           mixed() const { return b_device_ != x_device_; }

private:
  const PetscScalar *in_        = nullptr;
  PetscScalar       *out_       = nullptr;
  bool               on_device_ = false, read_x_ = false, b_device_ = false, x_device_ = false;
};

// total sweeps on x with right-hand side b
PetscErrorCode apply_vec(PC pc, Vec b, Vec x, bool transposed, PetscInt total, bool nonzero_guess)
{
  PC_MCPI &mcpi = Data(pc);
  Arrays   arrays;

  PetscFunctionBegin;
  PetscCall(require_ready(pc));
  PetscCall(check_size(pc, b));
  PetscCall(check_size(pc, x));
  if (failed(pc)) {
    PetscCall(CompatVecFlag(x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(arrays.get(b, x, nonzero_guess, mcpi.solver.on_device()));
  if (arrays.on_device() && (nonzero_guess || mcpi.settings.restart > 0)) { // residuals are formed in one kind of memory
    ArrayKind kind;
    PetscCall(DeviceArrayKind(pc->pmat, &kind));
    if (arrays.mixed() || kind == ArrayKind::host) {
      PetscCall(arrays.restore(b, x));
      PetscCall(arrays.get(b, x, nonzero_guess, false));
    }
  }
  PetscCall(Guarded([&]() -> PetscErrorCode {
    return mcpi.solver.apply(pc->pmat, mcpi.settings, transposed, 1, arrays.b(), arrays.x(), total, nonzero_guess);
  }));
  PetscCall(arrays.restore(b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The same on the columns of dense matrices, a batch of columns at a time
PetscErrorCode apply_mat(PC pc, Mat b, Mat x, bool transposed, PetscInt total, bool nonzero_guess)
{
  PC_MCPI           &mcpi = Data(pc);
  const PetscScalar *in;
  PetscScalar       *out;
  PetscInt           columns, ldb, ldx;

  PetscFunctionBegin;
  PetscCall(require_ready(pc));
  PetscCall(MatGetSize(b, nullptr, &columns));
  if (failed(pc)) {
    for (PetscInt c = 0; c < columns; ++c) {
      Vec column;
      PetscCall(MatDenseGetColumnVecWrite(x, c, &column));
      PetscCall(CompatVecFlag(column));
      PetscCall(MatDenseRestoreColumnVecWrite(x, c, &column));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatDenseGetLDA(b, &ldb));
  PetscCall(MatDenseGetLDA(x, &ldx));
  PetscCall(MatDenseGetArrayRead(b, &in));
  if (nonzero_guess)
    PetscCall(MatDenseGetArray(x, &out));
  else
    PetscCall(MatDenseGetArrayWrite(x, &out));
  PetscCall(Guarded([&]() -> PetscErrorCode {
    for (PetscInt c = 0; c < columns; c += kMaxRightHandSides) {
      const int count = static_cast<int>(std::min(kMaxRightHandSides, columns - c));
      PetscCall(mcpi.solver.apply(pc->pmat, mcpi.settings, transposed, count, {in + static_cast<std::ptrdiff_t>(c) * ldb, ldb},
                                  {out + static_cast<std::ptrdiff_t>(c) * ldx, ldx}, total, nonzero_guess));
    }
    return PETSC_SUCCESS;
  }));
  if (nonzero_guess)
    PetscCall(MatDenseRestoreArray(x, &out));
  else
    PetscCall(MatDenseRestoreArrayWrite(x, &out));
  PetscCall(MatDenseRestoreArrayRead(b, &in));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCApply_MCPI(PC pc, Vec b, Vec x)
{
  return apply_vec(pc, b, x, false, Data(pc).settings.its, false);
}

PetscErrorCode PCApplyTranspose_MCPI(PC pc, Vec b, Vec x)
{
  return apply_vec(pc, b, x, true, Data(pc).settings.its, false);
}

PetscErrorCode PCMatApply_MCPI(PC pc, Mat b, Mat x)
{
  return apply_mat(pc, b, x, false, Data(pc).settings.its, false);
}

// KSPRICHARDSON reads its own reason out of this one: without it a failed set-up would look converged.
PCRichardsonConvergedReason richardson_reason(PC pc)
{
  return failed(pc) ? static_cast<PCRichardsonConvergedReason>(KSP_DIVERGED_PC_FAILED) : PCRICHARDSON_CONVERGED_ITS;
}

// Of max_it, as far as their sweeps are counted
PetscInt iterations_of(PC pc, PetscInt max_it)
{
  return std::min<PetscInt>(max_it, kMostSweeps / Data(pc).settings.its);
}

// Like PCSOR: relaxes Pmat, its sweeps for each of max_it iterations, and no tests of convergence.
PetscErrorCode PCApplyRichardson_MCPI(PC pc, Vec b, Vec x, Vec, PetscReal, PetscReal, PetscReal, PetscInt max_it, PetscBool guess_zero,
                                      PetscInt *outits, PCRichardsonConvergedReason *reason)
{
  PetscFunctionBegin;
  *outits = iterations_of(pc, max_it);
  PetscCall(apply_vec(pc, b, x, false, *outits * Data(pc).settings.its, !guess_zero));
  *reason = richardson_reason(pc);
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(COMPAT_HAVE_MATAPPLY_VARIANTS)
PetscErrorCode PCMatApplyTranspose_MCPI(PC pc, Mat b, Mat x)
{
  return apply_mat(pc, b, x, true, Data(pc).settings.its, false);
}
#endif

#if defined(COMPAT_HAVE_MATAPPLYRICHARDSON)
PetscErrorCode PCMatApplyRichardson_MCPI(PC pc, Mat b, Mat x, Mat, PetscReal, PetscReal, PetscReal, PetscInt max_it, PetscBool guess_zero,
                                         PetscInt *outits, PCRichardsonConvergedReason *reason)
{
  PetscFunctionBegin;
  *outits = iterations_of(pc, max_it);
  PetscCall(apply_mat(pc, b, x, false, *outits * Data(pc).settings.its, !guess_zero));
  *reason = richardson_reason(pc);
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

} // namespace

PetscErrorCode SetApplyOperations(PC pc)
{
  PetscFunctionBegin;
  pc->ops->apply           = PCApply_MCPI;
  pc->ops->applytranspose  = PCApplyTranspose_MCPI;
  pc->ops->applyrichardson = PCApplyRichardson_MCPI;
  pc->ops->matapply        = PCMatApply_MCPI;
#if defined(COMPAT_HAVE_MATAPPLY_VARIANTS)
  pc->ops->matapplytranspose = PCMatApplyTranspose_MCPI;
#endif
#if defined(COMPAT_HAVE_MATAPPLYRICHARDSON)
  pc->ops->matapplyrichardson = PCMatApplyRichardson_MCPI;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
