// Tests the number of sweeps that the preconditioner takes by itself.
#include "pc/sweeps_choice.h"

#include <gtest/gtest.h>
#include <petscksp.h>

namespace mcpi::test {
namespace {

constexpr SystemSize kSize = {100000.0, 1300000.0, 5, 8};

Caller method(const char *type, Caller::Method kind, PetscInt basis)
{
  Caller caller;
  caller.type = type;
  caller.method = kind;
  caller.basis = basis;
  return caller;
}
const Caller kGmres = method(KSPGMRES, Caller::Method::needs_linear, 15);
const Caller kCg = method(KSPCG, Caller::Method::needs_linear, 0);

PetscInt sweeps(const Caller &caller, Target target = Target::cpu, const SystemSize &size = kSize)
{
  return ChooseSweeps(Settings(), caller, target, Precisions(), size).its;
}

TEST(SweepsChoice, takes_a_given_number)
{
  Settings settings;
  settings.its = 3;
  for (const Target target : {Target::cpu, Target::cuda, Target::other_device}) {
    const SweepsChoice choice = ChooseSweeps(settings, kGmres, target, Precisions(), kSize);
    EXPECT_EQ(choice.its, 3);
    EXPECT_EQ(choice.reason, "");
  }
}

TEST(SweepsChoice, is_one_for_smoothers_and_where_no_method_is_known)
{
  Caller smoother = method(KSPCHEBYSHEV, Caller::Method::needs_linear, 0);
  smoother.tests_residuals = false;
  EXPECT_EQ(sweeps(smoother), 1);
  EXPECT_EQ(sweeps(method(KSPRICHARDSON, Caller::Method::flexible, 0)), 1);
  EXPECT_EQ(sweeps(Caller()), 1);
}

TEST(SweepsChoice, is_at_most_what_a_trial_has_found)
{
  const auto after = [](PetscInt most) {
    Trials trials;
    trials.found(most, false);
    return ChooseSweeps(Settings(), kGmres, Target::cpu, Precisions(), kSize, trials).its;
  };
  const PetscInt its = after(0);
  EXPECT_GT(its, 2);
  for (PetscInt most = 1; most < its; ++most) EXPECT_EQ(after(most), most);
  EXPECT_EQ(after(its), its);
  EXPECT_EQ(after(its + 1), its);
}

// Each sweep with factors needs a residual.
TEST(SweepsChoice, is_smaller_with_factors)
{
  Settings settings;
  const auto its = [&] {
    return ChooseSweeps(settings, kGmres, Target::cpu, Precisions(), kSize).its;
  };
  const PetscInt open = its();
  settings.method = PC_MCPI_METHOD_POINT;
  EXPECT_EQ(its(), open);
  settings.method = PC_MCPI_METHOD_ILU0;
  EXPECT_LT(its(), open);
}

TEST(SweepsChoice, of_the_method_follows_trials_only_where_it_is_open)
{
  Settings settings;
  Trials trials;
  EXPECT_EQ(MethodInForce(settings, trials), PC_MCPI_METHOD_POINT);
  trials.set_factors(true);
  EXPECT_EQ(MethodInForce(settings, trials), PC_MCPI_METHOD_ILU0);
  for (const PCMCPIMethod given : {PC_MCPI_METHOD_POINT, PC_MCPI_METHOD_DILU}) {
    settings.method = given;
    EXPECT_EQ(MethodInForce(settings, trials), given);
  }
}

TEST(SweepsChoice, grows_with_the_vectors_of_the_method)
{
  EXPECT_LE(sweeps(kCg), sweeps(kGmres));
  Caller symmetric = kGmres;
  symmetric.needs_symmetric = true;
  EXPECT_LT(sweeps(symmetric), sweeps(kGmres));
  Caller more = kGmres;
  more.basis = 100;
  EXPECT_LT(sweeps(kGmres), sweeps(more));
}

TEST(SweepsChoice, grows_where_an_iteration_waits_for_the_host)
{
  constexpr SystemSize small = {1000.0, 6000.0, 5, 8};
  EXPECT_LT(sweeps(kGmres, Target::cpu, small), sweeps(kGmres, Target::cuda, small));
}

TEST(SweepsChoice, falls_with_the_steps_of_a_pass_on_a_device)
{
  SystemSize many = kSize;
  many.steps = 500;
  EXPECT_LT(sweeps(kGmres, Target::cuda, many), sweeps(kGmres, Target::cuda));
}

TEST(SweepsChoice, stays_in_its_bounds)
{
  for (const Target target : {Target::cpu, Target::cuda, Target::other_device})
    for (const SystemSize &size : {SystemSize{0.0, 0.0, 1, 1}, SystemSize{1.0, 0.0, 1, 1},
                                   SystemSize{1e9, 1e11, 9, 1000000}, kSize}) {
      EXPECT_GE(sweeps(kGmres, target, size), 1);
      EXPECT_LE(sweeps(kGmres, target, size), 24);
    }
}

} // namespace
} // namespace mcpi::test
