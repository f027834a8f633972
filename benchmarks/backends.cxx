static char help[] = "Time per sweep of PCMCPI's backends on one matrix, in turns, beside the "
                     "bytes that must move at the measured read "
                     "bandwidth of their memory.\n"
                     "  -backends <host,kokkos>    -mesh <mix,tet,grid>    -n <60>: vertices along "
                     "an edge    -bs <4,5,7>    -precision "
                     "<fp32,fp16>    -sweeps <15>    -repeat <9>\n"
                     "  -vec_type <standard>: cuda where backends run on a device, whose memory is "
                     "then the measured one    -threads <1>: "
                     "that read memory on a host\n"
                     "  -json <file>    -commit <text>\n";

#include <petscksp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "common.h"
#if defined(BENCHMARK_DEVICE_READ)
#include "device_read.h"
#endif
#include "host_read.h"
#include "mesh.h"
#include "petscmcpi.h"
#include "timing.h"

namespace {

using Json = nlohmann::json;

struct Options : bench::CommonOptions {
  Options() : CommonOptions{60, 15, 9, {4, 5, 7}, "mix", {}, {}} {}

  std::vector<std::string> backends = {"host", "kokkos"};
  std::vector<std::string> precisions = {"fp32", "fp16"};
  PetscInt threads = 1;
  PetscBool wait = PETSC_FALSE;
};

PetscErrorCode read_bandwidth(const Options &options, Vec vector, double *rate)
{
  PetscBool host;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)vector, &host, VECSEQ, VECMPI, ""));
#if defined(BENCHMARK_DEVICE_READ)
  if (!host) {
    *rate = device_read_bandwidth();
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  PetscCheck(host, PETSC_COMM_WORLD, PETSC_ERR_SUP,
             "No way to read this device's memory was built");
  PetscCall(bench::HostReadBandwidth(options.threads, 5, rate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Measures the milliseconds that a further sweep adds to an application.
PetscErrorCode time_sweep(PC pc, Vec b, Vec x, PetscInt sweeps, double *milliseconds)
{
  constexpr PetscInt kMany = 4;
  double few = 0.0, many = 0.0;
  const auto apply = [&]() -> PetscErrorCode { return PCApply(pc, b, x); };

  PetscFunctionBegin;
  PetscCall(PCMCPISetIts(pc, sweeps));
  PetscCall(bench::TimeMedian(1, 3, apply, &few));
  PetscCall(PCMCPISetIts(pc, kMany * sweeps));
  PetscCall(bench::TimeMedian(0, 3, apply, &many));
  *milliseconds = (many - few) / static_cast<double>((kMany - 1) * sweeps);
  PetscFunctionReturn(PETSC_SUCCESS);
}

struct Backend {
  std::string name;
  PC pc;
  std::vector<double> times;
};

PetscErrorCode create_backend(const bench::VertexGraph &graph, Mat mat, const std::string &name,
                              Backend *backend)
{
  PetscFunctionBegin;
  backend->name = name;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &backend->pc));
  PetscCall(PCSetType(backend->pc, PCMCPI));
  PetscCall(PCSetOperators(backend->pc, mat, mat));
  std::vector<PetscReal> points = bench::Coordinates(graph, mat);
  PetscCall(
      PCSetCoordinates(backend->pc, 3, static_cast<PetscInt>(points.size() / 3), points.data()));
  PetscCall(PetscOptionsSetValue(nullptr, "-pc_mcpi_backend", name.c_str()));
  PetscCall(bench::UseMeasuredSweeps(backend->pc));
  PetscCall(PCSetFromOptions(backend->pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode set_precision(Backend *backend, const std::string &precision)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(nullptr, "-pc_mcpi_backend", backend->name.c_str()));
  PetscCall(PetscOptionsSetValue(nullptr, "-pc_mcpi_offdiag_precision", precision.c_str()));
  PetscCall(PetscOptionsSetValue(nullptr, "-pc_mcpi_vector_precision",
                                 precision == "fp64" ? "fp64" : "fp32"));
  PetscCall(PCSetFromOptions(backend->pc));
  PetscCall(PCSetUp(backend->pc));
  backend->times.clear();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_precision(const Options &options, const bench::VertexGraph &graph,
                             std::vector<Backend> &backends, Vec b, Vec x, PetscInt bs,
                             const std::string &precision, double read, Json *results)
{
  const std::map<std::string, double> bits = {
      {"fp64", 64}, {"fp32", 32}, {"fp16", 16}, {"int8", 8}, {"int4", 4}};
  const double exponent = precision.rfind("int", 0) == 0 ? 1.0 : 0.0,
               number = precision == "fp64" ? 8.0 : 4.0, size = static_cast<double>(bs);
  const double bytes = static_cast<double>(graph.edges()) *
                           (std::ceil(size * size * bits.at(precision) / 8) + exponent + 4.0) +
                       static_cast<double>(graph.rows()) * 3.0 * number * size;

  PetscFunctionBegin;
  for (Backend &backend : backends) PetscCall(set_precision(&backend, precision));
  for (PetscInt round = -1; round < options.repeat; ++round) // the first one warms up
    for (Backend &backend : backends) {
      double time = 0.0;
      PetscCall(time_sweep(backend.pc, b, x, options.sweeps, &time));
      if (round >= 0) backend.times.push_back(time);
    }
  for (Backend &backend : backends) {
    std::vector<double> ratios; // per round, because backends take turns in each round
    for (std::size_t round = 0; round < backend.times.size(); ++round)
      ratios.push_back(backends[0].times[round] / backend.times[round]);
    const double ms = bench::Median(backend.times), share = bytes / (1e-3 * ms) / read;
    Json row = {
        {"backend", backend.name},
        {"bs", bs},
        {"precision", precision},
        {"ms_per_sweep", ms},
        {"ms_per_sweep_least", *std::min_element(backend.times.begin(), backend.times.end())},
        {"speed_over_first_backend", bench::Median(ratios)},
        {"megabytes_per_sweep", bytes / 1e6},
        {"share_of_read_bandwidth", share},
        {"read_gigabytes_per_second", read / 1e9}};
    PetscCall(bench::DescribeSweeps(backend.pc, &row));
    results->push_back(row);
    PetscCall(PetscPrintf(
        PETSC_COMM_WORLD,
        "bs %2d  %s  %-9s  %9.4f ms a sweep  %5.1f %% of read  %5.1f %% of the speed of %s\n",
        (int)bs, precision.c_str(), backend.name.c_str(), ms, 100 * share,
        100 * bench::Median(ratios), backends[0].name.c_str()));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode wait_for_input()
{
  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ready\n"));
  std::fflush(stdout);
  for (int c = std::getchar(); c != EOF && c != '\n';) c = std::getchar();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run(int argc, char **argv)
{
  Options options;
  PetscMPIInt size;
  Json document;

  PetscFunctionBegin;
  PetscCall(bench::ReadCommonOptions(&options));
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-threads", &options.threads, nullptr));
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-wait", &options.wait, nullptr));
  PetscCall(bench::ReadList("-backends", &options.backends));
  PetscCall(bench::ReadList("-precision", &options.precisions));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(bench::StartDocument("backends", options, argc, argv, &document));
  const bench::VertexGraph graph = bench::MakeGraph(options.mesh, options.n);
  for (const PetscInt bs : options.bs) {
    Mat mat;
    Vec b, x;
    double read = 0.0;
    PetscCall(bench::CreateMatrix(PETSC_COMM_WORLD, graph, bs, MATBAIJ, &mat));
    PetscInt local;
    PetscCall(MatGetLocalSize(mat, &local, nullptr));
    PetscCall(VecCreate(PETSC_COMM_WORLD, &b));
    PetscCall(VecSetSizes(b, local, PETSC_DETERMINE));
    PetscCall(VecSetFromOptions(b));
    PetscCall(VecDuplicate(b, &x));
    PetscCall(VecSetRandom(b, nullptr));
    std::vector<Backend> backends(options.backends.size());
    for (std::size_t k = 0; k < backends.size(); ++k)
      PetscCall(create_backend(graph, mat, options.backends[k], &backends[k]));
    if (options.wait) {
      for (Backend &backend : backends)
        PetscCall(set_precision(&backend, options.precisions.front()));
      PetscCall(wait_for_input());
    }
    PetscCall(read_bandwidth(options, b, &read));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "read %.1f GB/s\n", read / 1e9));
    for (const std::string &precision : options.precisions)
      PetscCall(run_precision(options, graph, backends, b, x, bs, precision, read,
                              bench::Rows(&document)));
    for (Backend &backend : backends) PetscCall(PCDestroy(&backend.pc));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&mat));
  }
  bench::AddToRows({{"ranks", size},
                    {"threads", options.threads},
                    {"mesh", options.mesh},
                    {"rows", graph.rows()},
                    {"blocks", graph.edges()}},
                   &document);
  PetscCall(bench::WriteDocument(options, document));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

int main(int argc, char **argv)
{
  return bench::Main(argc, argv, help, run);
}
