#include "pc/tune.h"

#include <petsc/private/kspimpl.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/tuning.h"
#include "pc/mcpi.h"
#include "petsc/owned_vec.h"
#include "petscmcpi.h"

namespace mcpi {
namespace {

using Tuning = CommonTuning;

// One list of settings, and what was measured with it
struct Trial {
  Settings settings;
  std::vector<double> rates; // digits of the true residual per second
  double seconds = 0.0;      // of the last solution
  PetscInt iterations = 0;
  double rate() const
  {
    if (rates.empty()) return 0.0;
    std::vector<double> sorted = rates;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

// Ends a solution that takes longer than others.
struct Clock {
  double begin = 0.0, limit = 0.0;
  void *test = nullptr; // the context of KSPConvergedDefault()
};

PetscErrorCode now(MPI_Comm comm, double *seconds)
{
  PetscFunctionBegin;
  *seconds = MPI_Wtime();
  PetscCallMPI(MPI_Bcast(seconds, 1, MPI_DOUBLE, 0, comm)); // All ranks decide alike.
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode stop_in_time(KSP ksp, PetscInt it, PetscReal norm, KSPConvergedReason *reason,
                            void *context)
{
  const Clock &clock = *static_cast<Clock *>(context);
  double seconds;

  PetscFunctionBegin;
  PetscCall(KSPConvergedDefault(ksp, it, norm, reason, clock.test));
  if (*reason || it == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(now(PetscObjectComm((PetscObject)ksp), &seconds));
  if (seconds - clock.begin > clock.limit) *reason = KSP_CONVERGED_ITS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

class Tuner {
public:
  Tuner(PC pc, KSP ksp, Vec b) : pc_(pc), outer_(ksp), b_(b) {}
  Tuner(const Tuner &) = delete;
  Tuner &operator=(const Tuner &) = delete;
  ~Tuner()
  {
    if (clock_.test) ksp_->cnvP = clock_.test; // which the KSP destroys
    (void)KSPDestroy(&ksp_);
  }
  PetscErrorCode run();

private:
  PetscErrorCode create();
  PetscErrorCode measure(Trial *trial);
  PetscErrorCode digits(double *digits);
  PetscErrorCode try_settings(const Settings &settings, double *rate);
  PetscErrorCode climb(Settings settings);
  PetscErrorCode repeat_best();
  PetscErrorCode print();
  bool in_time() const { return spent_ < budget_ || trials_.size() < 2; }
  std::vector<PCMCPISchedule> schedules() const;
  std::vector<PCMCPIPrecision> storages() const;

  PC pc_;
  KSP outer_, ksp_ = nullptr;
  Vec b_;
  OwnedVec x_, r_;
  Clock clock_;
  PetscMPIInt ranks_ = 1;
  double budget_ = 0.0, spent_ = 0.0, fastest_ = 0.0;
  std::vector<Trial> trials_;
};

// Creates a solver of the same kind. It solves to a thousandth, or to the user's tolerance.
PetscErrorCode Tuner::create()
{
  KSPType type;
  PCSide side;
  KSPNormType norm;
  PetscReal rtol;
  PetscInt restart = 30;
  PC inner;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc_), &ranks_));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)pc_), &ksp_));
  PetscCall(KSPGetType(outer_, &type));
  PetscCall(KSPGetPCSide(outer_, &side));
  PetscCall(KSPGetNormType(outer_, &norm));
  PetscCall(KSPGetTolerances(outer_, &rtol, nullptr, nullptr, nullptr));
  PetscCall(KSPSetType(ksp_, type));
  PetscCall(KSPSetPCSide(ksp_, side));
  PetscCall(KSPSetNormType(ksp_, norm == KSP_NORM_NONE ? KSP_NORM_DEFAULT : norm));
  PetscTryMethod(outer_, "KSPGMRESGetRestart_C", (KSP, PetscInt *), (outer_, &restart));
  PetscTryMethod(ksp_, "KSPGMRESSetRestart_C", (KSP, PetscInt), (ksp_, restart));
  PetscCall(KSPSetTolerances(ksp_, std::max(rtol, Tuning::kTuneTolerance), 0.0, PETSC_DEFAULT,
                             Tuning::kTuneIterations));
  // PETSc's functions for this have other arguments in each version. The KSP keeps what destroys
  // the context of its default test.
  clock_.test = std::exchange(ksp_->cnvP, &clock_);
  ksp_->converged = stop_in_time;
  PetscCall(KSPSetOperators(ksp_, pc_->mat, pc_->pmat));
  PetscCall(KSPGetPC(ksp_, &inner));
  PetscCall(PCSetType(inner, PCMCPI));
  PetscCall(PCSetOptionsPrefix(inner, ((PetscObject)pc_)->prefix));
  Data(inner).coordinates = Data(pc_).coordinates;
  PetscCall(VecDuplicate(b_, x_.out()));
  PetscCall(VecDuplicate(b_, r_.out()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Counts the decimal digits that the true residual has lost.
PetscErrorCode Tuner::digits(double *digits)
{
  PetscReal norm, all;

  PetscFunctionBegin;
  PetscCall(MatResidual(pc_->mat, b_, x_, r_));
  PetscCall(VecNorm(r_, NORM_2, &norm));
  PetscCall(VecNorm(b_, NORM_2, &all));
  *digits = norm > 0.0 && all > 0.0 && std::isfinite(norm) ? std::log10(all / norm) : 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Tuner::measure(Trial *trial)
{
  MPI_Comm comm = PetscObjectComm((PetscObject)pc_);
  KSPConvergedReason reason;
  PC inner;
  double lost = 0.0, begin, end;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp_, &inner));
  Data(inner).settings = trial->settings;
  Data(inner).settings.tune = false;
  Invalidate(inner, Effect::plan);
  PetscCall(now(comm, &begin));
  PetscCall(KSPSetUp(ksp_));
  PetscCall(now(comm, &clock_.begin));
  clock_.limit = fastest_ > 0.0 ? Tuning::kTuneTimes * fastest_ : HUGE_VAL;
  PetscCall(KSPSolve(ksp_, b_, x_));
  PetscCall(now(comm, &end));
  PetscCall(KSPGetConvergedReason(ksp_, &reason));
  PetscCall(KSPGetIterationNumber(ksp_, &trial->iterations));
  PetscCall(digits(&lost));
  trial->seconds = end - clock_.begin;
  const bool useful = reason > 0 && lost > 0.0 && trial->seconds > 0.0;
  trial->rates.push_back(useful ? lost / trial->seconds : 0.0);
  if (useful && (fastest_ == 0.0 || trial->seconds < fastest_)) fastest_ = trial->seconds;
  spent_ += end - begin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Tuner::try_settings(const Settings &settings, double *rate)
{
  PetscFunctionBegin;
  trials_.push_back({settings, {}, 0.0, 0});
  PetscCall(measure(&trials_.back()));
  *rate = trials_.back().rate();
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Looks for the best number of sweeps: more or fewer as long as that is faster.
PetscErrorCode Tuner::climb(Settings settings)
{
  const PetscInt given = Data(pc_).settings.its, begin = settings.its;
  double best, rate;

  PetscFunctionBegin;
  PetscCall(try_settings(settings, &best));
  for (const bool up : {true, false}) {
    settings.its = begin;
    for (double rate_before = best; given == PETSC_DECIDE && in_time(); rate_before = rate) {
      const PetscInt its = up ? settings.its + (settings.its + 1) / 2 : settings.its * 2 / 3;
      if (its < 1 || its == settings.its || its > Tuning::kTuneMostSweeps) break;
      settings.its = its;
      PetscCall(try_settings(settings, &rate));
      best = std::max(best, rate);
      if (rate < Tuning::kTuneWorse * rate_before) break;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// One measurement may be disturbed: the best of all are repeated.
PetscErrorCode Tuner::repeat_best()
{
  constexpr int kRepeated = 4, kTimes = 2;

  PetscFunctionBegin;
  const auto faster = [](const Trial &a, const Trial &b) { return a.rate() > b.rate(); };
  std::stable_sort(trials_.begin(), trials_.end(), faster);
  const auto end = trials_.begin() + std::min<std::ptrdiff_t>(kRepeated, std::ssize(trials_));
  for (auto trial = trials_.begin(); trial != end; ++trial)
    for (int k = 0; k < kTimes; ++k) PetscCall(measure(&*trial));
  std::stable_sort(trials_.begin(), end, faster);
  PetscFunctionReturn(PETSC_SUCCESS);
}

std::vector<PCMCPISchedule> Tuner::schedules() const
{
  const Settings &given = Data(pc_).settings;
  const PCMCPISchedule chosen = Data(pc_).smoother.schedule_used().type;
  std::vector<PCMCPISchedule> all = {chosen};
  if (given.schedule != PC_MCPI_SCHEDULE_AUTO || given.coloring != Settings().coloring) return all;
  // Levels of several ranks, or of a device, take as many exchanges or launches as there are
  // levels.
  const bool levels = ranks_ == 1 && Data(pc_).smoother.target() == Target::cpu;
  for (const PCMCPISchedule schedule : {PC_MCPI_SCHEDULE_COLOR, PC_MCPI_SCHEDULE_WAVE,
                                        PC_MCPI_SCHEDULE_CLUSTER, PC_MCPI_SCHEDULE_LEVEL})
    if (schedule != chosen && (schedule != PC_MCPI_SCHEDULE_LEVEL || levels))
      all.push_back(schedule);
  return all;
}

std::vector<PCMCPIPrecision> Tuner::storages() const
{
  const PCMCPIPrecision given = Data(pc_).settings.offdiag;
  if (given != PC_MCPI_PRECISION_AUTO) return {given};
  const PCMCPIPrecision chosen = Data(pc_).smoother.wanted().offdiag;
  if (Data(pc_).smoother.wanted().form == PC_MCPI_FORM_ENTRIES) {
    if (Data(pc_).settings.form == PC_MCPI_FORM_ENTRIES) return {chosen};
    return {chosen, PC_MCPI_PRECISION_FP32};
  }
  if (!BearsFewBits(Data(pc_).caller)) return {chosen};
  return {chosen,
          chosen == PC_MCPI_PRECISION_INT8 ? PC_MCPI_PRECISION_FP32 : PC_MCPI_PRECISION_INT8};
}

PetscErrorCode Tuner::print()
{
  MPI_Comm comm = PetscObjectComm((PetscObject)pc_);

  PetscFunctionBegin;
  PetscCall(PetscPrintf(comm, "PCMCPI: settings measured in %.2g s, KSP type %s\n", spent_,
                        ((PetscObject)ksp_)->type_name));
  PetscCall(PetscPrintf(comm, "  digits/s   seconds  iterations  options\n"));
  for (const Trial &trial : trials_)
    PetscCall(PetscPrintf(comm, "  %8.3g  %8.3g  %10" PetscInt_FMT " %s\n", trial.rate(),
                          trial.seconds, trial.iterations,
                          OptionsOf(trial.settings, Data(pc_).settings).c_str()));
  PetscCall(PetscPrintf(comm, "PCMCPI: goes on with%s\n",
                        OptionsOf(trials_.front().settings, Data(pc_).settings).c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Tuner::run()
{
  PC_MCPI &mcpi = Data(pc_);
  Settings settings = mcpi.settings;

  PetscFunctionBegin;
  PetscCall(create());
  settings.its = mcpi.smoother.sweeps(settings, mcpi.caller).its;
  settings.offdiag = mcpi.smoother.wanted().offdiag;
  settings.form = mcpi.smoother.wanted().form;
  settings.method = mcpi.method();
  budget_ = HUGE_VAL;
  for (const PCMCPISchedule schedule : schedules()) {
    settings.schedule = schedule;
    if (!in_time()) break;
    PetscCall(climb(settings));
    if (budget_ == HUGE_VAL)
      budget_ = settings.tune_seconds > 0.0 ? settings.tune_seconds
                                            : Tuning::kTuneBudget * trials_.front().seconds;
  }
  const auto slower = [](const Trial &a, const Trial &b) { return a.rate() < b.rate(); };
  const Settings winner = std::max_element(trials_.begin(), trials_.end(), slower)->settings;
  for (const PCMCPIPrecision storage : storages()) {
    if (storage == winner.offdiag || !in_time()) continue;
    settings = winner;
    settings.offdiag = storage;
    settings.form = mcpi.settings.form;
    PetscCall(climb(settings));
  }
  PetscCall(repeat_best());
  PetscCall(print());
  const bool found = trials_.front().rate() > 0.0;
  mcpi.tuned = true;
  if (found) {
    mcpi.settings.schedule = trials_.front().settings.schedule;
    mcpi.settings.its = trials_.front().settings.its;
    // auto takes entries again.
    if (trials_.front().settings.form != PC_MCPI_FORM_ENTRIES)
      mcpi.settings.offdiag = trials_.front().settings.offdiag;
    mcpi.settings.method = trials_.front().settings.method;
    Invalidate(pc_, Effect::plan);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode Tune(PC pc, KSP ksp, Vec b)
{
  Tuner tuner(pc, ksp, b);

  PetscFunctionBegin;
  PetscCall(tuner.run());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
