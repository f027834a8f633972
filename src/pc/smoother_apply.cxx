// This file implements the application of the smoother to arrays.
#include "pc/smoother.h"

#include <algorithm>
#include <cmath>

#include "petsc/compat.h"
#include "petsc/stream.h"

namespace mcpi {
namespace {

// The exponent of two of the largest number that a right-hand side may load. Single precision has
// 127 powers of two above 1.
constexpr int kLargest = 30;

// A measurement of GPU time. The destructor ends it after an error, too. PETSc would otherwise
// refuse the next measurement.
class GpuTime {
public:
  GpuTime() = default;
  GpuTime(const GpuTime &) = delete;
  GpuTime &operator=(const GpuTime &) = delete;
  ~GpuTime() { (void)end(); }

  PetscErrorCode begin()
  {
    PetscFunctionBegin;
    PetscCall(PetscLogGpuTimeBegin());
    running_ = true;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode end()
  {
    PetscFunctionBegin;
    if (!running_) PetscFunctionReturn(PETSC_SUCCESS);
    running_ = false;
    PetscCall(PetscLogGpuTimeEnd());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

private:
  bool running_ = false;
};

} // namespace

// Returns the power of two by which a right-hand side is multiplied when it is loaded. With this
// scale, the largest number that may be loaded is about 2^kLargest. The largest number that is
// loaded is at most 2^kMaxSpread times smaller, which is far from underflow in single precision.
// size: about the largest magnitude of the right-hand side
double Smoother::scale_for(double size, bool transposed) const
{
  constexpr int kMax = 1000; // 2^kMax and its inverse are normal numbers
  const PCMCPIForm form = made_for_.form;
  if (double_vectors() || !(size > 0.0) || !std::isfinite(size)) return 1.0;
  const auto exponent = [](const std::vector<double> &factors) {
    return std::ilogb(*std::max_element(factors.begin(), factors.end()));
  };
  int loaded = std::ilogb(size); // exponent of the right-hand side as it is loaded
  if (transposed)
    loaded += exponent(scales().right);
  else
    loaded += form == PC_MCPI_FORM_PRESCALED ? inverse_exponent_ : exponent(scales().left);
  // In factored form b is loaded, and D^{-1}b is formed later. The scale is half-way between them.
  if (form == PC_MCPI_FORM_FACTORED) loaded += inverse_exponent_ / 2;
  return std::ldexp(1.0, std::clamp(kLargest - loaded, -kMax, kMax));
}

SweepConfig Smoother::sweep_config(const Settings &settings) const
{
  SweepConfig config{settings.sweep,
                     exchanges_ ? settings.frequency : PC_MCPI_HALO_FREQUENCY_COLOR};
  config.several_parts = on_cuda() || choice_.type == PC_MCPI_BACKEND_HOST;
  if (!on_device()) config.max_relaxations = 0; // nothing is recorded
  return config;
}

PetscErrorCode Smoother::sweep(const Settings &settings, const ApplyArgs &kind,
                               const ConstColumns &b, const MutableColumns &x, PetscInt its,
                               bool from_zero)
{
  ApplyArgs apply = kind;
  MulticolorSweep sweep(kind.transposed ? transposed_ : plan(), *backend_, *halo_,
                        sweep_config(settings));

  PetscFunctionBegin;
  PetscCall(make_room(apply));
  if (on_device()) PetscCall(UserStream(&apply.stream));
  PetscCall(PetscLogEventBegin(Events().sweep, 0, 0, 0, 0));
  GpuTime timing;
  if (on_device()) PetscCall(timing.begin());
  ApplyGuard underway(*halo_);
  backend_->load_rhs(apply, b);
  if (!from_zero) backend_->load_guess(apply, {x.data, x.ld, x.device});
  PetscCall(static_cast<PetscErrorCode>(sweep.run(apply, static_cast<int>(its), from_zero)));
  underway.end();
  backend_->store(apply, x);
  PetscCall(timing.end());
  const double blocks =
                   static_cast<double>(sweep.blocks_read(apply, static_cast<int>(its), from_zero)),
               flops =
                   2.0 * kind.nrhs * (blocks * block_numbers_ + plan().rows * diagonal_numbers_);
  if (on_device())
    PetscCall(PetscLogGpuFlops(flops));
  else
    PetscCall(PetscLogFlops(flops));
  PetscCall(PetscLogEventEnd(Events().sweep, 0, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Sweeps with rounded blocks would spoil a good x. Below fp64 storage, an application with a guess
// or with restarts therefore computes the residual and sweeps on the correction, from zero. So does
// one with a guess of empty unknowns, which the sweeps would set to zero.
PetscErrorCode Smoother::apply(Mat pmat, const Settings &settings, const Request &request,
                               const ConstColumns &b, const MutableColumns &x)
{
  const int nrhs = request.nrhs;
  ApplyArgs apply{request.transposed, nrhs, settings.omega};
  bool zero = !request.nonzero_guess;
  PetscInt total = request.sweeps;

  const DeviceGuard guard(choice_.device);

  PetscFunctionBegin;
  trials_.count_application();
  PetscCall(SettingsCheckMethod(graph_.comm, settings));
  if (request.transposed) PetscCall(prepare_transposed());
  if (request.nonzero_guess && made_for_.offdiag == PC_MCPI_PRECISION_FP64 &&
      request.restart == 0 && !request.transposed && empty_.count == 0) {
    PetscCall(sweep(settings, apply, b, x, total, false));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  while (total > 0) {
    // The adjoint of a sequence of cycles is the sequence of their adjoints in the opposite order.
    // The short cycle therefore comes first in a transposed application.
    const PetscInt cycle = request.restart > 0 ? request.restart : total, rest = total % cycle;
    const PetscInt its = request.transposed && rest > 0 ? rest : std::min(cycle, total);
    if (zero) {
      apply.scale = scale_for(request.size, request.transposed);
      PetscCall(sweep(settings, apply, b, x, its, true));
    } else {
      double size = 0.0;
      PetscCall(residual_.prepare(pmat, nrhs, x.device));
      PetscCall(residual_.compute(pmat, request.transposed, nrhs, b, x));
      if (!double_vectors()) PetscCall(residual_.largest(nrhs, &size));
      apply.scale = scale_for(size, request.transposed);
      PetscCall(sweep(settings, apply, residual_.residual(), residual_.correction(), its, true));
      PetscCall(residual_.add_correction(nrhs, x));
    }
    zero = false;
    total -= its;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
