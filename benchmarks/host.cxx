static char help[] =
    "Time per sweep of PCMCPI on CPUs beside PCSOR on the same BAIJ matrix, and beside the measured read bandwidth.\n"
    "  -n <60>: vertices along an edge of the mesh    -bs <1,2,...>    -sweeps <16>    -repeat <7>    -json <file>    -commit <text>\n";

#include <petscksp.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "mesh.h"
#include "petscmcpi.h"

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

namespace {

using Json = nlohmann::json;

struct Options {
  PetscInt              n = 60, sweeps = 16, repeat = 7;
  std::vector<PetscInt> bs = {1, 2, 3, 4, 5, 6, 7, 8, 16};
  std::string           json, commit;
};

// Median over repeats of the slowest rank's time
PetscErrorCode timed(PetscInt repeat, const std::function<PetscErrorCode()> &run, double *seconds)
{
  std::vector<double> times;

  PetscFunctionBegin;
  PetscCall(run());
  for (PetscInt r = 0; r < repeat; ++r) {
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    double t = MPI_Wtime();
    PetscCall(run());
    t = MPI_Wtime() - t;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &t, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
    times.push_back(t);
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  *seconds = times[times.size() / 2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

// GB/s of a plain read by all ranks together
PetscErrorCode read_bandwidth(PetscInt repeat, double *gigabytes)
{
  constexpr std::size_t      kWords = std::size_t(1) << 26U; // 512 MB a rank
  std::vector<std::uint64_t> data(kWords, 3);
  volatile std::uint64_t     sink = 0;
  double                     seconds;
  PetscMPIInt                size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(timed(
      repeat,
      [&]() -> PetscErrorCode {
        constexpr int kLanes      = 32;
        std::uint64_t sum[kLanes] = {};
        for (std::size_t i = 0; i < kWords; i += kLanes)
          for (int l = 0; l < kLanes; ++l) sum[l] ^= data[i + l];
        sink = std::accumulate(sum, sum + kLanes, sink + 0);
        return PETSC_SUCCESS;
      },
      &seconds));
  *gigabytes = static_cast<double>(kWords) * sizeof(std::uint64_t) * size / seconds / 1e9;
  PetscFunctionReturn(PETSC_SUCCESS);
}

struct Problem {
  Mat      mat;
  Vec      b, x;
  PetscInt bs, rows;
  double   blocks; // off-diagonal ones
};

// Seconds of one more sweep: the difference of applications with many sweeps and with one, both from zero
PetscErrorCode per_sweep(PC pc, const Problem &problem, const Options &options, const std::function<PetscErrorCode(PetscInt)> &set_its,
                         double *one, double *more)
{
  double     many;
  const auto apply = [&]() -> PetscErrorCode { return PCApply(pc, problem.b, problem.x); };

  PetscFunctionBegin;
  PetscCall(set_its(1));
  PetscCall(PCSetUp(pc));
  PetscCall(timed(options.repeat, apply, one));
  PetscCall(set_its(options.sweeps));
  PetscCall(timed(options.repeat, apply, &many));
  *more = (many - *one) / static_cast<double>(options.sweeps - 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_sor(const Problem &problem, const Options &options, Json *row)
{
  PC     pc;
  double one, more;

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCSOR));
  PetscCall(PCSetOperators(pc, problem.mat, problem.mat));
  PetscCall(PCSORSetSymmetric(pc, SOR_LOCAL_FORWARD_SWEEP));
  PetscCall(per_sweep(
      pc, problem, options, [&](PetscInt its) { return PCSORSetIterations(pc, 1, its); }, &one, &more));
  *row = {{"pc", "sor"}, {"bs", problem.bs}, {"ms_per_sweep", 1e3 * more}, {"ms_first_application", 1e3 * one}};
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Bytes of one whole sweep: each block with its column, each row's right-hand side and x read once and x written once
double bytes_per_sweep(const Problem &problem, PCMCPIPrecision precision)
{
  const double block  = static_cast<double>(problem.bs) * static_cast<double>(problem.bs);
  double       record = 0.0, vector = 4.0;
  switch (precision) {
  case PC_MCPI_PRECISION_FP64:
    record = 8 * block, vector = 8.0;
    break;
  case PC_MCPI_PRECISION_FP32:
    record = 4 * block;
    break;
  case PC_MCPI_PRECISION_FP16:
  case PC_MCPI_PRECISION_BF16:
    record = 2 * block;
    break;
  case PC_MCPI_PRECISION_INT8:
    record = block + 1;
    break;
  case PC_MCPI_PRECISION_INT4:
    record = std::ceil(block / 2) + 1;
    break;
  }
  return problem.blocks * (record + 4.0) + static_cast<double>(problem.rows) * 3.0 * vector * static_cast<double>(problem.bs);
}

PetscErrorCode run_mcpi(const Problem &problem, const Options &options, PCMCPIPrecision precision, const char *name, double read,
                        double sor, Json *row)
{
  PC         pc;
  ISColoring coloring;
  PetscInt   colors;
  double     one, more, first, numeric;

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCMCPI));
  PetscCall(PCSetOperators(pc, problem.mat, problem.mat));
  PetscCall(PCMCPISetOffdiagPrecision(pc, precision));
  PetscCall(PCSetFromOptions(pc));
  first = MPI_Wtime();
  PetscCall(PCSetUp(pc));
  first = MPI_Wtime() - first;
  PetscCall(PCMCPIGetColoring(pc, &coloring));
  PetscCall(ISColoringGetColors(coloring, nullptr, &colors, nullptr));
  PetscCall(per_sweep(
      pc, problem, options, [&](PetscInt its) { return PCMCPISetIts(pc, its); }, &one, &more));
  PetscCall(timed(
      3,
      [&]() -> PetscErrorCode {
        PetscFunctionBegin;
        PetscCall(MatAssemblyBegin(problem.mat, MAT_FINAL_ASSEMBLY)); // as if new values had been set
        PetscCall(MatAssemblyEnd(problem.mat, MAT_FINAL_ASSEMBLY));
        PetscCall(PCSetUp(pc));
        PetscFunctionReturn(PETSC_SUCCESS);
      },
      &numeric));
  const double rate = bytes_per_sweep(problem, precision) / more / 1e9;
  *row              = {
                   {"pc", "mcpi"},
                   {"bs", problem.bs},
                   {"precision", name},
                   {"colors", colors},
                   {"ms_per_sweep", 1e3 * more},
                   {"ms_first_application", 1e3 * one},
                   {"gigabytes_per_second", rate},
                   {"share_of_read_bandwidth", rate / read},
                   {"speedup_over_sor", sor / (1e3 * more)},
                   {"setup_first_in_sweeps", first / more},
                   {"setup_numeric_in_sweeps", numeric / more},
  };
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_block_size(const Options &options, PetscInt bs, double read, Json *results)
{
  struct Row {
    PCMCPIPrecision precision;
    const char     *name;
  };
  constexpr Row kRows[] = {
      {PC_MCPI_PRECISION_FP64, "fp64"}, {PC_MCPI_PRECISION_FP32, "fp32"}, {PC_MCPI_PRECISION_FP16, "fp16"},
      {PC_MCPI_PRECISION_BF16, "bf16"}, {PC_MCPI_PRECISION_INT8, "int8"}, {PC_MCPI_PRECISION_INT4, "int4"},
  };
  Problem problem{};
  MatInfo info;
  Json    row;

  PetscFunctionBegin;
  PetscCall(bench::CreateMatrix(PETSC_COMM_WORLD, options.n, bs, &problem.mat));
  PetscCall(MatCreateVecs(problem.mat, &problem.x, &problem.b));
  PetscCall(VecSetRandom(problem.b, nullptr));
  PetscCall(MatGetInfo(problem.mat, MAT_GLOBAL_SUM, &info));
  problem.bs     = bs;
  problem.rows   = options.n * options.n * options.n;
  problem.blocks = info.nz_used / static_cast<double>(bs * bs) - static_cast<double>(problem.rows);
  PetscCall(run_sor(problem, options, &row));
  const double sor = row["ms_per_sweep"];
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "bs %2d  sor   %9.3f ms per sweep\n", (int)bs, sor));
  results->push_back(row);
  for (const Row &precision : kRows) {
    PetscCall(run_mcpi(problem, options, precision.precision, precision.name, read, sor, &row));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "bs %2d  %s  %9.3f ms  %5.1f %% of read  %5.2fx sor  set-up %5.1f sweeps, first %5.1f\n",
                          (int)bs, precision.name, (double)row["ms_per_sweep"], 100 * (double)row["share_of_read_bandwidth"],
                          (double)row["speedup_over_sor"], (double)row["setup_numeric_in_sweeps"], (double)row["setup_first_in_sweeps"]));
    results->push_back(row);
  }
  PetscCall(VecDestroy(&problem.x));
  PetscCall(VecDestroy(&problem.b));
  PetscCall(MatDestroy(&problem.mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_colorings(const Options &options, Json *results)
{
  Mat graph;

  PetscFunctionBegin;
  PetscCall(bench::CreateGraph(PETSC_COMM_WORLD, options.n, &graph));
  for (const char *type : {"jplf", "jp", "greedy"}) {
    MatColoring            mc;
    ISColoring             coloring;
    PetscInt               n, colors;
    const ISColoringValue *values;
    PetscCall(MatColoringCreate(graph, &mc));
    PetscCall(MatColoringSetType(mc, type));
    PetscCall(MatColoringSetDistance(mc, 1));
    double seconds = MPI_Wtime();
    PetscCall(MatColoringApply(mc, &coloring));
    seconds = MPI_Wtime() - seconds;
    PetscCall(ISColoringGetColors(coloring, &n, &colors, &values));
    std::vector<PetscInt> sizes(static_cast<std::size_t>(colors), 0);
    for (PetscInt i = 0; i < n; ++i) ++sizes[values[i]];
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sizes.data(), static_cast<PetscMPIInt>(colors), MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
    std::sort(sizes.begin(), sizes.end(), std::greater<>());
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "coloring %-6s  %2d colors  %.3f s\n", type, (int)colors, seconds));
    results->push_back({{"type", type}, {"colors", colors}, {"seconds", seconds}, {"sizes", sizes}});
    PetscCall(ISColoringDestroy(&coloring));
    PetscCall(MatColoringDestroy(&mc));
  }
  PetscCall(MatDestroy(&graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode read_options(Options *options)
{
  PetscInt  bs[64], count = 64;
  char      text[PETSC_MAX_PATH_LEN];
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-n", &options->n, nullptr));
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-sweeps", &options->sweeps, nullptr));
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-repeat", &options->repeat, nullptr));
  PetscCall(PetscOptionsGetIntArray(nullptr, nullptr, "-bs", bs, &count, &given));
  if (given) options->bs.assign(bs, bs + count);
  PetscCall(PetscOptionsGetString(nullptr, nullptr, "-json", text, sizeof(text), &given));
  if (given) options->json = text;
  PetscCall(PetscOptionsGetString(nullptr, nullptr, "-commit", text, sizeof(text), &given));
  if (given) options->commit = text;
  PetscFunctionReturn(PETSC_SUCCESS);
}

std::string processor()
{
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

PetscErrorCode run(int argc, char **argv)
{
  Options     options;
  PetscMPIInt size, rank;
  char        version[256];
  double      read = 0.0;
  Json        document;

  PetscFunctionBegin;
  PetscCall(PCMCPIRegister());
  PetscCall(read_options(&options));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscGetVersion(version, sizeof(version)));
  PetscCall(read_bandwidth(options.repeat, &read));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %d ranks, read bandwidth %.2f GB/s\n", processor().c_str(), (int)size, read));
  std::string command;
  for (int i = 0; i < argc; ++i) command += (i ? " " : "") + std::string(argv[i]);
  document = {
      {"benchmark", "host"},
      {"commit", options.commit},
      {"petsc", version},
      {"processor", processor()},
      {"ranks", size},
      {"command", command},
      {"rows", options.n * options.n * options.n},
      {"read_gigabytes_per_second", read},
  };
  PetscCall(run_colorings(options, &document["colorings"]));
  for (const PetscInt bs : options.bs) PetscCall(run_block_size(options, bs, read, &document["results"]));
  if (rank == 0 && !options.json.empty()) std::ofstream(options.json) << document.dump(1) << '\n';
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, nullptr, help));
  PetscCall(run(argc, argv));
  PetscCall(PetscFinalize());
  return 0;
}
