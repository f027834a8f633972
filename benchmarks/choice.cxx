static char help[] =
    "Linear systems in files, each solved with each list of options: seconds of the first set-up "
    "and\nsolution, of a set-up with new values and a solution, iterations, and true residuals.\n"
    "  -systems <a.bin,b.bin>: a matrix, then its right-hand side, in PETSc's binary format\n"
    "  -settings <file>: one list of options in a line; # begins a comment\n"
    "  -common <\" -ksp_rtol 1e-6 -ksp_max_it 1000\">: options of all solvers, after a blank\n"
    "  -cpu: CPU seconds of the process, for one rank of a machine that others use, too\n"
    "  -mat_type <baij>    -repeat <3>    -seconds <60>: of all solutions with one list\n"
    "  -json <file>    -commit <text>\n";

#include <petsc/private/petscimpl.h>
#include <petscksp.h>

#include <ctime>
#include <fstream>

#include "common.h"
#include "timing.h"

namespace {

using Json = nlohmann::json;

struct Options : bench::CommonOptions {
  Options() : CommonOptions{0, 1, 3, {}, {}, {}, {}} {}
  std::vector<std::string> systems, settings;
  std::string common = "-ksp_rtol 1e-6 -ksp_max_it 1000";
  PetscReal seconds = 60.0;
  PetscBool cpu = PETSC_FALSE;
};

struct System {
  std::string name;
  Mat mat = nullptr;
  Vec b = nullptr, x = nullptr;
};

PetscErrorCode read_settings(Options *options)
{
  std::string file, line;

  PetscFunctionBegin;
  PetscCall(bench::ReadText("-settings", &file));
  std::ifstream in(file);
  PetscCheck(in, PETSC_COMM_WORLD, PETSC_ERR_FILE_OPEN, "-settings names no file that is readable");
  while (std::getline(in, line))
    if (!line.starts_with('#')) options->settings.push_back(line);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode load(const std::string &file, System *system)
{
  PetscViewer viewer;

  PetscFunctionBegin;
  system->name = file.substr(file.rfind('/') + 1);
  system->name = system->name.substr(0, system->name.find('.'));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file.c_str(), FILE_MODE_READ, &viewer));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &system->mat));
  PetscCall(MatSetType(system->mat, MATBAIJ));
  PetscCall(MatSetFromOptions(system->mat));
  PetscCall(MatLoad(system->mat, viewer));
  PetscCall(MatCreateVecs(system->mat, &system->x, &system->b));
  PetscCall(VecLoad(system->b, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode destroy(System *system)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&system->mat));
  PetscCall(VecDestroy(&system->b));
  PetscCall(VecDestroy(&system->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode true_residual(const System &system, PetscReal *relative)
{
  Vec r;
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(system.b, &r));
  PetscCall(MatResidual(system.mat, system.b, system.x, r));
  PetscCall(VecNorm(r, NORM_2, relative));
  PetscCall(VecNorm(system.b, NORM_2, &norm));
  *relative /= norm;
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Measures the milliseconds of some work: on the clock, or on the cores.
template <class Work> PetscErrorCode time_once(bool cpu, const Work &work, double *milliseconds)
{
  PetscFunctionBegin;
  const std::clock_t begin = std::clock();
  PetscCall(bench::TimeOnce(work, milliseconds));
  if (cpu) *milliseconds = 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Fills one row: the first set-up and solution, then medians of those with new values.
PetscErrorCode measure(const Options &options, const System &system, const std::string &settings,
                       Json *row)
{
  KSP ksp;
  PetscOptions mine;
  PetscInt iterations;
  KSPConvergedReason reason;
  double first = 0.0, set_up = 0.0, solve = 0.0, spent = 0.0;
  std::vector<double> set_ups, solves;
  PetscReal residual;

  PetscFunctionBegin;
  PetscCall(bench::CreateSolver(system.mat, options.common + " " + settings, &mine, &ksp));
  const auto solution = [&] { return KSPSolve(ksp, system.b, system.x); };
  const auto new_values = [&]() -> PetscErrorCode {
    PetscFunctionBegin;
    PetscCall(PetscObjectStateIncrease((PetscObject)system.mat)); // counts as new values
    PetscCall(KSPSetOperators(ksp, system.mat, system.mat));
    PetscCall(KSPSetUp(ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
  };
  PetscCall(time_once(options.cpu, solution, &first));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(true_residual(system, &residual));
  spent = first;
  for (PetscInt k = 0; k < options.repeat && reason > 0 && spent < 1e3 * options.seconds; ++k) {
    PetscCall(time_once(options.cpu, new_values, &set_up));
    PetscCall(time_once(options.cpu, solution, &solve));
    set_ups.push_back(set_up);
    solves.push_back(solve);
    spent += set_up + solve;
  }
  if (set_ups.empty()) set_ups = solves = {0.0};
  row->update({{"system", system.name},
               {"options", settings},
               {"ms_first", first},
               {"ms_new_values", bench::Median(set_ups)},
               {"ms_solution", bench::Median(solves)},
               {"iterations", iterations},
               {"true_residual", residual},
               {"converged", reason > 0}});
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "  %-90s first %8.1f ms, new values %7.1f, solution %8.1f, %4d iterations, "
                        "residual %.1e%s\n",
                        settings.c_str(), first, bench::Median(set_ups), bench::Median(solves),
                        (int)iterations, (double)residual, reason > 0 ? "" : ", NOT CONVERGED"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsDestroy(&mine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run(int argc, char **argv)
{
  Options options;
  Json document;
  PetscMPIInt ranks;

  PetscFunctionBegin;
  PetscCall(bench::ReadCommonOptions(&options));
  PetscCall(bench::ReadList("-systems", &options.systems));
  PetscCall(bench::ReadText("-common", &options.common));
  PetscCall(PetscOptionsGetReal(nullptr, nullptr, "-seconds", &options.seconds, nullptr));
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-cpu", &options.cpu, nullptr));
  PetscCall(read_settings(&options));
  PetscCall(bench::StartDocument("choice", options, argc, argv, &document));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  for (const std::string &file : options.systems) {
    System system;
    PetscInt rows, bs;
    PetscCall(load(file, &system));
    PetscCall(MatGetSize(system.mat, &rows, nullptr));
    PetscCall(MatGetBlockSize(system.mat, &bs));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%s: %" PetscInt_FMT " block rows of %" PetscInt_FMT ", %d ranks\n",
                          system.name.c_str(), rows / bs, bs, ranks));
    for (const std::string &settings : options.settings) {
      Json row = {{"rows", rows / bs},
                  {"bs", bs},
                  {"ranks", ranks},
                  {"clock", options.cpu ? "cpu" : "wall"},
                  {"common", options.common}};
      PetscCall(measure(options, system, settings, &row));
      bench::Rows(&document)->push_back(row);
      PetscCall(bench::AddDevice(&document));
      PetscCall(bench::WriteDocument(options, document));
    }
    PetscCall(destroy(&system));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

int main(int argc, char **argv)
{
  return bench::Main(argc, argv, help, run);
}
