static char help[] =
    "Steady compressible flow around a body (Euler or laminar Navier-Stokes equations), by "
    "implicit steps in pseudo-time.\n"
    "  -dm_plex_filename <file.msh>: physical groups 1 (wall), 2 (far field), 3 (symmetry); 2 or 3 "
    "dimensions\n"
    "  -flow_mach <0.8>    -flow_angle <1.25>: degrees, from x towards y    -flow_area <1>: of "
    "reference\n"
    "  -flow_reynolds <0>: by length 1, walls without slip and heat flux; 0: no viscosity\n"
    "  -flow_order <2>     -flow_limiter <5>: K of Venkatakrishnan's limiter, negative: none\n"
    "  -flow_units <none,si>: SI units take air at 101,325 Pa and 1.225 kg/m^3\n"
    "  -flow_start <0.05>: of the first residual, to be reached with first order before the second "
    "is taken; 1: second at once\n"
    "  -flow_cfl <10>: where it begins, or goes on    -flow_cfl_max <1e4>  -flow_steps <300>  "
    "-flow_rtol <1e-8>\n"
    "  -flow_threads <1>: of each rank, for residuals and Jacobians: where one rank has a GPU, and "
    "cores are idle beside it\n"
    "  -flow_refine <0>: so many times is the mesh refined, by all ranks at once; with -dm_refine "
    "the first rank does it\n"
    "  -flow_restart <file>: written every -flow_restart_steps <50> steps, at the end and after "
    "Ctrl-C; gone on from if it is there\n"
    "  -flow_vtu <file.vtu>: the flow, for ParaView    -flow_walls <file.csv>: coefficients "
    "of pressure and friction on walls\n"
    "Linear systems: -ksp_type, -pc_type and all others of PETSc; -dll_append libpetscmcpi.so "
    "-pc_type mcpi.\n";

#include <petscsnes.h>
#include <petscviewer.h>

#include <algorithm>
#include <csignal>

#include "output.h"
#include "restart.h"
#include "solver.h"

using namespace flow;

namespace {

// The options that help describes.
struct Options {
  Conditions conditions;
  PetscReal cfl = 10, cfl_max = 1e4, rtol = 1e-8, start = 0.05;
  PetscBool cfl_given = PETSC_FALSE; // the user gave -flow_cfl: a restart uses it, too
  PetscInt restart_steps = 50;
  char restart[PETSC_MAX_PATH_LEN] = "";
  PetscInt steps = 300;
  char vtu[PETSC_MAX_PATH_LEN] = "", walls[PETSC_MAX_PATH_LEN] = "";
};

PetscErrorCode read_options(Options *options)
{
  PetscFunctionBeginUser;
  PetscCall(ReadConditions(&options->conditions));
  PetscOptionsBegin(PETSC_COMM_WORLD, nullptr, "Flow", nullptr);
  PetscCall(PetscOptionsReal("-flow_cfl", "First CFL number", nullptr, options->cfl, &options->cfl,
                             &options->cfl_given));
  PetscCall(PetscOptionsReal("-flow_cfl_max", "Largest CFL number", nullptr, options->cfl_max,
                             &options->cfl_max, nullptr));
  PetscCall(PetscOptionsReal("-flow_rtol", "Residual to reach, relative to the first", nullptr,
                             options->rtol, &options->rtol, nullptr));
  PetscCall(PetscOptionsReal("-flow_start", "Residual to reach with first order", nullptr,
                             options->start, &options->start, nullptr));
  PetscCall(PetscOptionsInt("-flow_steps", "Most steps", nullptr, options->steps, &options->steps,
                            nullptr));
  PetscCall(PetscOptionsString("-flow_vtu", "File for the flow", nullptr, options->vtu,
                               options->vtu, sizeof options->vtu, nullptr));
  PetscCall(PetscOptionsString("-flow_walls", "File for values on walls", nullptr, options->walls,
                               options->walls, sizeof options->walls, nullptr));
  PetscCall(PetscOptionsString("-flow_restart", "File to go on from", nullptr, options->restart,
                               options->restart, sizeof options->restart, nullptr));
  PetscCall(PetscOptionsInt("-flow_restart_steps", "Steps between its writings", nullptr,
                            options->restart_steps, &options->restart_steps, nullptr));
  PetscOptionsEnd();
  PetscCheck(options->cfl > 0.0 && options->cfl_max > 0.0, PETSC_COMM_WORLD,
             PETSC_ERR_ARG_OUTOFRANGE, "-flow_cfl and -flow_cfl_max must be positive numbers");
  PetscFunctionReturn(PETSC_SUCCESS);
}

volatile std::sig_atomic_t interrupted = 0;

void interrupt(int)
{
  interrupted = 1;
}

// The times of the parts of a run. Log events measure them.
struct Parts {
  PetscLogEvent residual, jacobian, setup;

  PetscErrorCode create()
  {
    PetscFunctionBeginUser;
    PetscCall(PetscLogDefaultBegin());
    PetscCall(PetscLogEventRegister("FlowResidual", SNES_CLASSID, &residual));
    PetscCall(PetscLogEventRegister("FlowJacobian", SNES_CLASSID, &jacobian));
    PetscCall(PetscLogEventRegister("FlowSetUp", SNES_CLASSID, &setup));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  // all: seconds of the whole run
  PetscErrorCode print(double all) const
  {
    constexpr int kParts = 4;
    PetscLogEvent solve;
    double seconds[kParts], sum = 0.0;

    PetscFunctionBeginUser;
    PetscCall(PetscLogEventGetId("KSPSolve", &solve));
    const PetscLogEvent events[kParts] = {residual, jacobian, setup, solve};
    for (int k = 0; k < kParts; ++k) {
      PetscEventPerfInfo info;
      PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, events[k], &info));
      seconds[k] = info.time;
    }
    PetscCallMPI(
        MPI_Allreduce(MPI_IN_PLACE, seconds, kParts, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
    for (const double one : seconds) sum += one;
    PetscCall(PetscPrintf(
        PETSC_COMM_WORLD,
        "seconds: residuals %.2f, Jacobians %.2f, set-up %.2f, linear solves %.2f, the rest %.2f\n",
        seconds[0], seconds[1], seconds[2], seconds[3], all - sum));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

// One implicit step, which solves (shift diag(waves) + dR/dU) step = -R. waves: see
// Solver::stabilize()
template <int dim> struct Step {
  Solver<dim> *solver;
  const Parts &parts;
  Vec start;    // the solution before the step
  double shift; // 1 / CFL number

  PetscErrorCode residual(Vec U, Vec R) const
  {
    PetscFunctionBeginUser;
    PetscCall(PetscLogEventBegin(parts.residual, U, R, nullptr, nullptr));
    PetscCall(solver->residual(U, R));
    PetscCall(solver->wait());
    PetscCall(PetscLogEventEnd(parts.residual, U, R, nullptr, nullptr));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  // F = R(U) + shift diag(waves) (U - start)
  static PetscErrorCode function(SNES, Vec U, Vec F, void *context)
  {
    const Step *step = static_cast<Step *>(context);

    PetscFunctionBeginUser;
    PetscCall(step->residual(U, F));
    PetscCall(step->solver->add_time_term(step->shift, U, step->start, F));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  static PetscErrorCode jacobian(SNES snes, Vec U, Mat J, Mat P, void *context)
  {
    const Step *step = static_cast<Step *>(context);
    KSP ksp;

    PetscFunctionBeginUser;
    PetscCall(PetscLogEventBegin(step->parts.jacobian, U, P, nullptr, nullptr));
    PetscCall(step->solver->jacobian(U, step->shift, P));
    PetscCall(step->solver->wait());
    PetscCall(PetscLogEventEnd(step->parts.jacobian, U, P, nullptr, nullptr));
    if (J != P) {
      PetscCall(MatAssemblyBegin(J, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(J, MAT_FINAL_ASSEMBLY));
    }
    // The KSP is set up here, so that the time of its set-up is measured apart from its solve.
    PetscCall(SNESGetKSP(snes, &ksp));
    PetscCall(PetscLogEventBegin(step->parts.setup, ksp, P, nullptr, nullptr));
    PetscCall(KSPSetOperators(ksp, J, P));
    PetscCall(KSPSetUp(ksp));
    PetscCall(KSPSetUpOnBlocks(ksp));
    PetscCall(PetscLogEventEnd(step->parts.setup, ksp, P, nullptr, nullptr));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

// Steps until the residual has fallen. The CFL number grows as the residual falls (switched
// evolution relaxation). A step that would leave negative density or pressure is shortened, or
// tried again with a smaller CFL number.
template <int dim> class March {
public:
  March(Solver<dim> &solver, const Mesh &mesh, const Options &options, SNES snes)
      : solver_(solver), mesh_(mesh), options_(options), snes_(snes)
  {
  }

  PetscErrorCode run(Vec U)
  {
    Vec R, F;
    Parts parts{};
    Step<dim> context{&solver_, parts, nullptr, 0.0};
    bool more = true;

    PetscFunctionBeginUser;
    PetscCall(parts.create());
    PetscCall(VecDuplicate(U, &R));
    PetscCall(VecDuplicate(U, &context.start));
    PetscCall(VecDuplicate(U, &F));
    PetscCall(SNESSetFunction(snes_, F, Step<dim>::function, &context));
    PetscCall(VecDestroy(&F)); // snes_ keeps a reference
    PetscCall(SNESSetJacobian(snes_, nullptr, nullptr, Step<dim>::jacobian, &context));
    progress_.cfl = options_.cfl;
    PetscCall(go_on(U));
    solver_.set_second_order(progress_.order == 2);
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          " step        CFL   residual  linear     s       CL         CD\n"));
    (void)std::signal(SIGINT, interrupt);
    while (more) {
      PetscCall(measure(context, U, R));
      PetscCall(look(&more));
      if (more) PetscCall(advance(context, U, R));
      if (more) ++progress_.step;
      if (*options_.restart && (!more || progress_.step % options_.restart_steps == 0))
        PetscCall(WriteRestart(mesh_, U, progress_, options_.restart));
    }
    (void)std::signal(SIGINT, SIG_DFL);
    PetscCall(parts.print(MPI_Wtime() - begin_));
    PetscCall(VecDestroy(&context.start));
    PetscCall(VecDestroy(&R));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

private:
  // Goes on from the restart file, if it exists.
  PetscErrorCode go_on(Vec U)
  {
    PetscBool found = PETSC_FALSE;

    PetscFunctionBeginUser;
    if (*options_.restart) PetscCall(PetscTestFile(options_.restart, 'r', &found));
    int there = found; // all ranks take what the first rank has found
    PetscCallMPI(MPI_Bcast(&there, 1, MPI_INT, 0, PETSC_COMM_WORLD));
    if (there) PetscCall(ReadRestart(mesh_, options_.restart, U, &progress_));
    if (options_.cfl_given) progress_.cfl = options_.cfl;
    if (!options_.conditions.second_order && progress_.order == 2) {
      progress_.order = 1;
      progress_.last = 0.0;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  // Computes the residual and the forces. The residual is of first order at the beginning, which
  // finds the large features of the flow in fewer steps. It is of second order once the residual of
  // first order has fallen to -flow_start.
  PetscErrorCode measure(const Step<dim> &step, Vec U, Vec R)
  {
    PetscFunctionBeginUser;
    PetscCall(step.residual(U, R));
    PetscCall(VecNorm(R, NORM_2, &residual_));
    if (progress_.step == 0) progress_.first = residual_;
    if (progress_.order == 1 && options_.conditions.second_order &&
        residual_ <= options_.start * progress_.first) {
      progress_.order = 2;
      progress_.last = 0.0;
      solver_.set_second_order(true);
      PetscCall(step.residual(U, R));
      PetscCall(VecNorm(R, NORM_2, &residual_));
    }
    PetscCheck(!PetscIsInfOrNanReal(residual_), PETSC_COMM_WORLD, PETSC_ERR_FP,
               "the residual is not finite: use a smaller -flow_cfl");
    PetscCall(solver_.forces(&forces_));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  // Freezes the limiter if the residual no longer falls. A limiter may switch back and forth for
  // ever. A frozen limiter lets the residual fall.
  PetscErrorCode calm()
  {
    // Once the residual is below kLate times the first one, it has to fall by the factor kProgress
    // within kPatience steps.
    constexpr double kLate = 0.1, kProgress = 0.9;
    constexpr PetscInt kPatience = 15;

    PetscFunctionBeginUser;
    if (frozen_ || progress_.order == 1 || residual_ > kLate * progress_.first)
      PetscFunctionReturn(PETSC_SUCCESS);
    if (residual_ < kProgress * least_) {
      least_ = residual_;
      least_step_ = progress_.step;
    } else if (progress_.step >= least_step_ + kPatience) {
      frozen_ = true;
      solver_.freeze_limiter();
      PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                            "      no lower residual in %d steps: limiter frozen\n",
                            (int)kPatience));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  // Chooses the CFL number by the residual, and decides whether to go on.
  PetscErrorCode look(bool *more)
  {
    // kGrowth: the CFL number changes at most by this factor in a step. kUrge: the CFL number grows
    // by this factor if the residual stays the same
    constexpr double kGrowth = 1.5, kUrge = 1.1;
    const PetscReal residual = residual_;
    int stop = interrupted;

    PetscFunctionBeginUser;
    PetscCall(calm());
    if (progress_.last > 0.0 && residual > 0.0)
      progress_.cfl = std::min<double>(
          options_.cfl_max,
          progress_.cfl * std::clamp(kUrge * progress_.last / residual, 1.0 / kGrowth, kGrowth));
    progress_.last = residual;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &stop, 1, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
    if (residual <= options_.rtol * progress_.first)
      why_ = "converged";
    else if (stop)
      why_ = "interrupted";
    else if (progress_.step >= options_.steps)
      why_ = "stopped by -flow_steps";
    *more = why_ == nullptr;
    if (!*more) PetscCall(print(0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  // Makes a step from U, whose residual is R.
  PetscErrorCode advance(Step<dim> &context, Vec U, Vec R)
  {
    // kShortest: smallest share of a step that is taken
    constexpr double kShortest = 0.05, kLowestCFL = 1e-3;
    PetscInt linear = 0, its;
    double share;
    Vec step;
    KSP ksp;
    KSPConvergedReason reason;

    PetscFunctionBeginUser;
    PetscCall(VecDuplicate(U, &step));
    PetscCall(solver_.stabilize());
    PetscCall(VecCopy(U, context.start));
    while (true) {
      context.shift = 1.0 / progress_.cfl;
      PetscCall(SNESSetInitialFunction(snes_, R));
      PetscCall(SNESSolve(snes_, nullptr, U));
      PetscCall(SNESGetLinearSolveIterations(snes_, &its));
      linear += its;
      PetscCall(VecWAXPY(step, -1.0, context.start, U));
      PetscCall(solver_.longest_step(context.start, step, &share));
      if (share >= kShortest) break;
      progress_.cfl *= 0.25;
      PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                            "      density or pressure would become negative: CFL cut to %g\n",
                            progress_.cfl));
      PetscCheck(
          progress_.cfl > kLowestCFL, PETSC_COMM_WORLD, PETSC_ERR_CONV_FAILED,
          "no step keeps density and pressure positive: look at the mesh and the conditions");
      PetscCall(VecCopy(context.start, U));
    }
    PetscCall(VecWAXPY(U, share, step, context.start));
    PetscCall(VecDestroy(&step));
    PetscCall(print(linear));
    PetscCall(SNESGetKSP(snes_, &ksp));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    if (share < 1.0 || reason < 0)
      progress_.cfl *= 0.5; // the step was too long, or the system too hard
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  // Prints a line for a step. linear: its linear iterations. The forces are those before the step.
  PetscErrorCode print(PetscInt linear) const
  {
    PetscFunctionBeginUser;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%5d %10.4g %10.3e %7d %6.1f %10.6f %10.6f%s%s\n",
                          (int)progress_.step, progress_.cfl, progress_.last / progress_.first,
                          (int)linear, MPI_Wtime() - begin_, forces_.lift, forces_.drag,
                          why_ ? "  " : "", why_ ? why_ : ""));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  Solver<dim> &solver_;
  const Mesh &mesh_;
  const Options &options_;
  SNES snes_;
  Progress progress_;
  Forces forces_;
  PetscReal residual_ = 0.0, least_ = PETSC_MAX_REAL; // now, and the least of second order
  PetscInt least_step_ = 0;                           // step of least_
  bool frozen_ = false;
  const char *why_ = nullptr; // why the run has ended; null: it goes on
  const double begin_ = MPI_Wtime();
};

template <int dim> PetscErrorCode run(const Mesh &mesh, const Options &options)
{
  Solver<dim> solver(mesh, options.conditions);
  SNES snes;
  KSP ksp;
  Mat J;
  Vec U;

  PetscFunctionBeginUser;
  if (*options.vtu) PetscCall(CheckVTU(mesh));
  PetscCall(DMCreateGlobalVector(mesh.dm, &U));
  PetscCall(solver.create_jacobian(&J));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetType(snes, SNESKSPONLY)); // one linear system in each step
  PetscCall(SNESSetJacobian(snes, J, J, nullptr, nullptr));
  PetscCall(SNESGetKSP(snes, &ksp));
  // A step is taken even if its linear system was not solved to the tolerance.
  PetscCall(SNESSetMaxLinearSolveFailures(snes, PETSC_MAX_INT));
  // FGMRES allows a preconditioner to change, and its tolerance is one of the true residual.
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(ksp, 1e-2, PETSC_DEFAULT, PETSC_DEFAULT, 100));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(solver.fill_free_stream(U));
  PetscCall(March<dim>(solver, mesh, options, snes).run(U));
  if (*options.vtu) PetscCall(WriteVTU(mesh, U, options.vtu));
  if (*options.walls) PetscCall(solver.write_walls(options.walls));
  PetscCall(solver.destroy());
  PetscCall(VecDestroy(&U));
  PetscCall(MatDestroy(&J));
  PetscCall(SNESDestroy(&snes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode start()
{
  Options options;
  DM dm;
  Mesh mesh;
  PetscInt vertices = 0;

  PetscFunctionBeginUser;
  PetscCall(read_options(&options));
  PetscCall(ReadMesh(PETSC_COMM_WORLD, &dm));
  PetscCall(MeshCreate(&dm, &mesh));
  vertices = static_cast<PetscInt>(mesh.mine.size());
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &vertices, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d dimensions, %d vertices\n", mesh.dim, (int)vertices));
  PetscCall(mesh.dim == 2 ? run<2>(mesh, options) : run<3>(mesh, options));
  PetscCall(MeshDestroy(&mesh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, nullptr, help));
  PetscCall(start());
  PetscCall(PetscFinalize());
  return 0;
}
