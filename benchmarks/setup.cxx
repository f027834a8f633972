static char help[] = "What a set-up of PCMCPI on a CUDA device costs: coloring and plan once, then "
                     "numeric set-ups with new values, beside a sweep and "
                     "beside the\n"
                     "time that the values need to cross the bus.\n"
                     "  -mesh <mix,tet,grid>    -n <104>: vertices along an edge    -bs <5>    "
                     "-precision <fp32>    -type <baij,aijcusparse>    -sweeps "
                     "<15>\n"
                     "  -repeat <5>    -json <file>    -commit <text>\n";

#include <petscdevice_cuda.h>
#include <petscksp.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "application.h"
#include "common.h"
#include "mesh.h"
#include "petscmcpi.h"

namespace {

using Json = nlohmann::json;

struct Options : bench::CommonOptions {
  Options() : CommonOptions{104, 15, 5, {5}, "mix", {}, {}} {}

  std::vector<std::string> precisions = {"fp32"}, types = {MATBAIJ, MATAIJCUSPARSE};
};

template <class Work>
PetscErrorCode median_seconds(PetscInt repeat, double *seconds, const Work &work)
{
  std::vector<double> times;

  PetscFunctionBegin;
  for (PetscInt r = -1; r < repeat; ++r) {
    PetscCallCUDA(cudaDeviceSynchronize());
    const double begin = MPI_Wtime();
    PetscCall(work());
    PetscCallCUDA(cudaDeviceSynchronize());
    if (r >= 0) times.push_back(MPI_Wtime() - begin);
  }
  *seconds = bench::Median(times);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Measures the seconds that the values of a matrix take to the device, from pinned memory and from
// the memory of the matrix.
PetscErrorCode time_bus(Mat mat, PetscInt repeat, double *bytes, double *pinned, double *pageable)
{
  constexpr std::size_t kPiece = 256UL << 20U;
  PetscScalar *values;
  MatInfo info;
  void *device, *host;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(mat, MAT_LOCAL, &info));
  *bytes = info.nz_used * sizeof(PetscScalar);
  const auto size = static_cast<std::size_t>(*bytes);
  PetscCallCUDA(cudaMalloc(&device, std::max(size, kPiece)));
  PetscCallCUDA(cudaMallocHost(&host, kPiece));
  PetscCall(median_seconds(repeat, pinned, [&]() -> PetscErrorCode {
    PetscFunctionBegin;
    PetscCallCUDA(cudaMemcpy(device, host, kPiece, cudaMemcpyHostToDevice));
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  *pinned *= *bytes / static_cast<double>(kPiece);
  PetscCall(MatSeqBAIJGetArray(mat, &values));
  PetscCall(median_seconds(repeat, pageable, [&]() -> PetscErrorCode {
    PetscFunctionBegin;
    PetscCallCUDA(cudaMemcpy(device, values, size, cudaMemcpyHostToDevice));
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscCall(MatSeqBAIJRestoreArray(mat, &values));
  PetscCallCUDA(cudaFreeHost(host));
  PetscCallCUDA(cudaFree(device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode event_seconds(const char *name, double *seconds)
{
  PetscLogEvent event;
  PetscEventPerfInfo info;

  PetscFunctionBegin;
  PetscCall(PetscLogEventGetId(name, &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
  *seconds = info.time;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The resident memory of this process
double resident_bytes()
{
  double size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

PetscErrorCode device_bytes(double *used)
{
  std::size_t free, all;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemGetInfo(&free, &all));
  *used = static_cast<double>(all - free);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Samples the memory of this process while the object exists.
class MemoryWatch {
public:
  MemoryWatch() : watcher_([this] { watch(); }) {}
  MemoryWatch(const MemoryWatch &) = delete;
  MemoryWatch &operator=(const MemoryWatch &) = delete;
  ~MemoryWatch()
  {
    if (watcher_.joinable()) (void)most();
  }
  double most()
  {
    done_ = true;
    watcher_.join();
    return most_;
  }

private:
  void watch()
  {
    while (!done_) {
      most_ = std::max(most_, resident_bytes());
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  std::atomic<bool> done_ = false;
  double most_ = 0.0;
  std::thread watcher_;
};

// Seconds of the events of a set-up so far, and the memory in use
struct State {
  double coloring, symbolic, numeric, host, device;
};

PetscErrorCode record_state(State *state)
{
  PetscFunctionBegin;
  PetscCall(event_seconds("MatColoringApply", &state->coloring));
  PetscCall(event_seconds("MCPISymbolic", &state->symbolic));
  PetscCall(event_seconds("MCPINumeric", &state->numeric));
  PetscCall(device_bytes(&state->device));
  state->host = resident_bytes();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode time_first_setup(PC pc, Json *row)
{
  State before, after;

  PetscFunctionBegin;
  PetscCall(record_state(&before));
  MemoryWatch watch;
  const double begin = MPI_Wtime();
  PetscCall(PCSetUp(pc));
  PetscCallCUDA(cudaDeviceSynchronize());
  const double seconds = MPI_Wtime() - begin, most = watch.most();
  PetscCall(record_state(&after));
  row->update({{"ms_coloring", 1e3 * (after.coloring - before.coloring)},
               {"ms_symbolic", 1e3 * (after.symbolic - before.symbolic)},
               {"ms_numeric_first", 1e3 * (after.numeric - before.numeric)},
               {"ms_setup_first", 1e3 * seconds},
               {"megabytes_host", (after.host - before.host) / 1e6}, // memory that is kept
               {"megabytes_host_at_most", (most - before.host) / 1e6},
               {"megabytes_device", (after.device - before.device) / 1e6}});
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Times set-ups for new values, and sweeps.
PetscErrorCode time_refresh(const Options &options, PC pc, Mat mat, Vec b, Vec x, Json *row)
{
  double again = 0, once = 0, twice = 0;
  const auto apply = [&]() -> PetscErrorCode {
    PetscFunctionBegin;
    PetscCall(PCApply(pc, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  };

  PetscFunctionBegin;
  PetscCall(
      median_seconds(options.repeat, &again, [&] { return bench::SetUpWithNewValues(pc, mat); }));
  PetscCall(PCMCPISetIts(pc, options.sweeps));
  PetscCall(median_seconds(options.repeat, &once, apply));
  PetscCall(PCMCPISetIts(pc, 2 * options.sweeps));
  PetscCall(median_seconds(options.repeat, &twice, apply));
  const double sweep = (twice - once) / static_cast<double>(options.sweeps);
  row->update({{"ms_refresh", 1e3 * again},
               {"ms_per_sweep", 1e3 * sweep},
               {"refresh_in_sweeps", again / sweep}});
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_case(const Options &options, const bench::VertexGraph &graph, Mat mat, Vec b,
                        Vec x, PetscInt bs, const std::string &type, const std::string &precision,
                        const Json &bus, Json *results)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(nullptr, "-pc_mcpi_offdiag_precision", precision.c_str()));
  PetscCall(PetscOptionsSetValue(nullptr, "-pc_mcpi_vector_precision",
                                 precision == "fp64" ? "fp64" : "fp32"));
  PetscCall(bench::CreateDevicePC(graph, mat, PETSC_TRUE, &pc));
  PetscCall(MatMult(mat, b, x)); // This copies a device matrix to its device.
  Json row = {{"mesh", options.mesh},    {"rows", graph.rows()},
              {"blocks", graph.edges()}, {"bs", bs},
              {"matrix", type},          {"precision", precision}};
  PetscCall(time_first_setup(pc, &row));
  PetscCall(time_refresh(options, pc, mat, b, x, &row));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%s %d rows  bs %d  %s %s: first set-up %.0f ms (symbolic %.0f, of it "
                        "coloring %.0f; numeric %.0f), keeps %.0f MB, takes up to %.0f, "
                        "on the device %.0f; refresh %.2f ms = %.1f sweeps",
                        options.mesh.c_str(), (int)graph.rows(), (int)bs, type.c_str(),
                        precision.c_str(), (double)row["ms_setup_first"],
                        (double)row["ms_symbolic"], (double)row["ms_coloring"],
                        (double)row["ms_numeric_first"], (double)row["megabytes_host"],
                        (double)row["megabytes_host_at_most"], (double)row["megabytes_device"],
                        (double)row["ms_refresh"], (double)row["refresh_in_sweeps"]));
  if (type == MATBAIJ) {
    row.update(bus);
    const double refresh = row["ms_refresh"];
    row["refresh_over_pinned_copy"] = refresh / (double)bus["ms_pinned_copy"];
    row["refresh_over_pageable_copy"] = refresh / (double)bus["ms_pageable_copy"];
    PetscCall(
        PetscPrintf(PETSC_COMM_WORLD,
                    " = %.2f copies from pinned memory (%.1f ms), %.2f from the matrix's (%.1f ms)",
                    (double)row["refresh_over_pinned_copy"], (double)bus["ms_pinned_copy"],
                    (double)row["refresh_over_pageable_copy"], (double)bus["ms_pageable_copy"]));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  results->push_back(row);
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_type(const Options &options, const bench::VertexGraph &graph, PetscInt bs,
                        const std::string &type, Json *results)
{
  Mat mat;
  Vec b, x;
  Json bus;
  double bytes = 0, pinned = 0, pageable = 0;

  PetscFunctionBegin;
  PetscCall(bench::CreateMatrix(PETSC_COMM_WORLD, graph, bs, type.c_str(), &mat));
  PetscCall(bench::CreateDeviceVecs(mat, &b, &x));
  if (type == MATBAIJ) {
    PetscCall(time_bus(mat, options.repeat, &bytes, &pinned, &pageable));
    bus = {{"megabytes_values", bytes / 1e6},
           {"ms_pinned_copy", 1e3 * pinned},
           {"ms_pageable_copy", 1e3 * pageable}};
  }
  for (const std::string &precision : options.precisions)
    PetscCall(run_case(options, graph, mat, b, x, bs, type, precision, bus, results));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run(int argc, char **argv)
{
  Options options;
  cudaDeviceProp device;
  Json document;

  PetscFunctionBegin;
  PetscCall(PetscLogDefaultBegin());
  PetscCall(bench::ReadCommonOptions(&options));
  PetscCall(bench::ReadList("-precision", &options.precisions));
  PetscCall(bench::ReadList("-type", &options.types));
  PetscCallCUDA(cudaGetDeviceProperties(&device, 0));
  PetscCall(bench::StartDocument("setup", options, argc, argv, &document));
  document["gpu"] = device.name;
  const bench::VertexGraph graph = bench::MakeGraph(options.mesh, options.n);
  for (const PetscInt bs : options.bs)
    for (const std::string &type : options.types)
      PetscCall(run_type(options, graph, bs, type, bench::Rows(&document)));
  PetscCall(bench::WriteDocument(options, document));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

int main(int argc, char **argv)
{
  return bench::Main(argc, argv, help, run);
}
