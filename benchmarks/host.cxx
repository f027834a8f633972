static char help[] = "Time per sweep of PCMCPI on CPUs beside PCSOR on the same BAIJ matrix, and "
                     "beside the measured read bandwidth.\n"
                     "  -n <60>: vertices along an edge of the mesh    -mesh <tet,mix>    -bs "
                     "<1,2,...>    -sweeps <16>    -repeat <7>\n"
                     "  -precision <fp64,fp32,fp16,int8,int4>    "
                     "-json <file>    -commit <text>\n";

#include <petscksp.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "common.h"
#include "compat.h"
#include "host_read.h"
#include "mesh.h"
#include "petscmcpi.h"
#include "timing.h"

namespace {

using Json = nlohmann::json;

constexpr const char *kPrecisions[] = {"fp64", "fp32", "fp16", "int8", "int4"};

struct Options : bench::CommonOptions {
  Options() : CommonOptions{60, 16, 7, {1, 2, 3, 4, 5, 6, 7, 8, 16}, "tet", {}, {}} {}
  std::vector<std::string> precisions{std::begin(kPrecisions), std::end(kPrecisions)};
};

struct Problem {
  Mat mat;
  Vec b, x;
  PetscInt bs, rows;
  double blocks; // off-diagonal ones
};

// Milliseconds of an application with one sweep from zero, and what each further sweep adds
struct Times {
  double one, more;
};

PetscErrorCode time_sweeps(PC pc, const Problem &problem, PetscInt sweeps,
                           PetscErrorCode (*set_its)(PC, PetscInt), Times *times)
{
  double many;
  const auto apply = [&]() -> PetscErrorCode { return PCApply(pc, problem.b, problem.x); };

  PetscFunctionBegin;
  PetscCall(set_its(pc, 1));
  PetscCall(bench::TimeOnce(apply, &times->one));
  PetscCall(set_its(pc, sweeps));
  PetscCall(bench::TimeOnce(apply, &many));
  times->more = (many - times->one) / static_cast<double>(sweeps - 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode set_sor_its(PC pc, PetscInt its)
{
  return PCSORSetIterations(pc, 1, its);
}

// The bytes of one sweep over all blocks. Each block with its column, each row's right-hand side
// and x are read once, and x is written once.
double bytes_per_sweep(const Problem &problem, PCMCPIPrecision precision)
{
  const double block = static_cast<double>(problem.bs) * static_cast<double>(problem.bs);
  double record = 0.0, vector = 4.0;
  switch (precision) {
  case PC_MCPI_PRECISION_FP64:
    record = 8 * block, vector = 8.0;
    break;
  case PC_MCPI_PRECISION_FP32:
    record = 4 * block;
    break;
  case PC_MCPI_PRECISION_FP16:
    record = 2 * block;
    break;
  case PC_MCPI_PRECISION_INT8:
    record = block + 1;
    break;
  case PC_MCPI_PRECISION_INT4:
    record = std::ceil(block / 2) + 1;
    break;
  case PC_MCPI_PRECISION_AUTO: // the benchmark names its storage
    break;
  }
  return problem.blocks * (record + 4.0) +
         static_cast<double>(problem.rows) * 3.0 * vector * static_cast<double>(problem.bs);
}

// Creates and sets up a smoother. row: what it is
PetscErrorCode create_smoother(const Problem &problem, PCMCPIPrecision precision, const char *name,
                               PC *pc, double *milliseconds, Json *row)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetType(*pc, PCMCPI));
  PetscCall(PCSetOperators(*pc, problem.mat, problem.mat));
  PetscCall(bench::UseMeasuredSweeps(*pc));
  PetscCall(bench::SetBlocks(*pc, precision));
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(bench::TimeOnce([&]() -> PetscErrorCode { return PCSetUp(*pc); }, milliseconds));
  *row = {{"bs", problem.bs}, {"precision", name}};
  PetscCall(bench::DescribeSweeps(*pc, row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// On a shared machine, the speed of memory changes with time. The plain read, PCSOR and PCMCPI
// therefore take turns, and ratios are medians over rounds.
PetscErrorCode run_precision(const Problem &problem, const Options &options, PC sor,
                             PCMCPIPrecision precision, const char *name, Json *row)
{
  PC pc;
  double first;
  std::vector<double> one, more, sor_one, sor_more, read, numeric, speedup, share;
  const double bytes = bytes_per_sweep(problem, precision);

  PetscFunctionBegin;
  PetscCall(create_smoother(problem, precision, name, &pc, &first, row));
  for (PetscInt round = -1; round < options.repeat; ++round) { // the first one warms up
    Times mine, theirs;
    double rate = 0.0, renewed = 0.0;
    PetscCall(bench::HostReadBandwidth(1, 1, &rate));
    PetscCall(time_sweeps(sor, problem, options.sweeps, set_sor_its, &theirs));
    PetscCall(time_sweeps(pc, problem, options.sweeps, PCMCPISetIts, &mine));
    PetscCall(MatAssemblyBegin(problem.mat, MAT_FINAL_ASSEMBLY)); // as if new values had been set
    PetscCall(MatAssemblyEnd(problem.mat, MAT_FINAL_ASSEMBLY));
    PetscCall(bench::TimeOnce([&]() -> PetscErrorCode { return PCSetUp(pc); }, &renewed));
    PetscCall(PCSetUp(sor));
    PetscCall(PCApply(sor, problem.b, problem.x)); // PCSOR inverts its diagonal blocks here.
    if (round < 0) continue;
    one.push_back(mine.one);
    more.push_back(mine.more);
    sor_one.push_back(theirs.one);
    sor_more.push_back(theirs.more);
    read.push_back(rate);
    numeric.push_back(renewed / mine.more);
    speedup.push_back(theirs.more / mine.more);
    share.push_back(bytes / (1e-3 * mine.more) / rate);
  }
  row->update({
      {"ms_per_sweep", bench::Median(more)},
      {"ms_first_application", bench::Median(one)},
      {"sor_ms_per_sweep", bench::Median(sor_more)},
      {"sor_ms_first_application", bench::Median(sor_one)},
      {"megabytes_per_sweep", bytes / 1e6},
      {"read_gigabytes_per_second", bench::Median(read) / 1e9},
      {"share_of_read_bandwidth", bench::Median(share)},
      {"speedup_over_sor", bench::Median(speedup)},
      {"setup_first_in_sweeps", first / bench::Median(more)},
      {"setup_numeric_in_sweeps", bench::Median(numeric)},
  });
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_block_size(const Options &options, const bench::VertexGraph &graph, PetscInt bs,
                              Json *results)
{
  struct Row {
    PCMCPIPrecision precision;
    const char *name;
  };
  constexpr Row kRows[] = {
      {PC_MCPI_PRECISION_FP64, "fp64"}, {PC_MCPI_PRECISION_FP32, "fp32"},
      {PC_MCPI_PRECISION_FP16, "fp16"}, {PC_MCPI_PRECISION_INT8, "int8"},
      {PC_MCPI_PRECISION_INT4, "int4"},
  };
  Problem problem{};
  PC sor;
  Json row;

  PetscFunctionBegin;
  PetscCall(bench::CreateMatrix(PETSC_COMM_WORLD, graph, bs, MATBAIJ, &problem.mat));
  PetscCall(MatCreateVecs(problem.mat, &problem.x, &problem.b));
  PetscCall(VecSetRandom(problem.b, nullptr));
  problem.bs = bs;
  problem.rows = graph.rows();
  problem.blocks = static_cast<double>(graph.edges());
  PetscCall(PCCreate(PETSC_COMM_WORLD, &sor));
  PetscCall(PCSetType(sor, PCSOR));
  PetscCall(PCSetOperators(sor, problem.mat, problem.mat));
  PetscCall(PCSORSetSymmetric(sor, SOR_LOCAL_FORWARD_SWEEP));
  for (const Row &precision : kRows) {
    if (std::find(options.precisions.begin(), options.precisions.end(), precision.name) ==
        options.precisions.end())
      continue;
    PetscCall(run_precision(problem, options, sor, precision.precision, precision.name, &row));
    PetscCall(PetscPrintf(
        PETSC_COMM_WORLD,
        "bs %2d  %s  %8.2f ms  sor %8.2f ms  %5.2fx  read %5.1f GB/s  %5.1f %% of it  set-up %5.1f "
        "sweeps, first %5.1f\n",
        (int)bs, precision.name, (double)row["ms_per_sweep"], (double)row["sor_ms_per_sweep"],
        (double)row["speedup_over_sor"], (double)row["read_gigabytes_per_second"],
        100 * (double)row["share_of_read_bandwidth"], (double)row["setup_numeric_in_sweeps"],
        (double)row["setup_first_in_sweeps"]));
    results->push_back(row);
  }
  PetscCall(PCDestroy(&sor));
  PetscCall(VecDestroy(&problem.x));
  PetscCall(VecDestroy(&problem.b));
  PetscCall(MatDestroy(&problem.mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_colorings(const bench::VertexGraph &vertices, Json *results)
{
  Mat graph;

  PetscFunctionBegin;
  PetscCall(bench::CreateGraph(PETSC_COMM_WORLD, vertices, &graph));
  for (const char *type : {"jplf", "jp", "greedy"}) {
    MatColoring mc;
    ISColoring coloring;
    PetscInt n, colors;
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
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sizes.data(), static_cast<PetscMPIInt>(colors),
                               MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
    std::sort(sizes.begin(), sizes.end(), std::greater<>());
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "coloring %-6s  %2d colors  %.3f s\n", type,
                          (int)colors, seconds));
    results->push_back(
        {{"type", type}, {"colors", colors}, {"seconds", seconds}, {"sizes", sizes}});
    PetscCall(ISColoringDestroy(&coloring));
    PetscCall(MatColoringDestroy(&mc));
  }
  PetscCall(MatDestroy(&graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run(int argc, char **argv)
{
  Options options;
  PetscMPIInt size;
  Json document;

  PetscFunctionBegin;
  PetscCall(bench::ReadCommonOptions(&options));
  PetscCall(bench::ReadList("-precision", &options.precisions));
  for (const std::string &name : options.precisions)
    PetscCheck(std::find(std::begin(kPrecisions), std::end(kPrecisions), name) !=
                   std::end(kPrecisions),
               PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-precision: there is no %s", name.c_str());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %d ranks\n", bench::Processor().c_str(), (int)size));
  PetscCall(bench::StartDocument("host", options, argc, argv, &document));
  const bench::VertexGraph graph = bench::MakeGraph(options.mesh, options.n);
  const Json problem = {{"ranks", size}, {"mesh", options.mesh}, {"rows", graph.rows()}};
  bench::StartRecord("colorings", &document);
  PetscCall(run_colorings(graph, bench::Rows(&document)));
  bench::AddToRows(problem, &document);
  bench::StartRecord("sweeps", &document);
  for (const PetscInt bs : options.bs)
    PetscCall(run_block_size(options, graph, bs, bench::Rows(&document)));
  bench::AddToRows(problem, &document);
  PetscCall(bench::WriteDocument(options, document));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

int main(int argc, char **argv)
{
  return bench::Main(argc, argv, help, run);
}
