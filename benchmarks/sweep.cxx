static char help[] =
    "Time per sweep of PCMCPI on a CUDA device through PCApply(), beside the bytes that must move "
    "at the measured read bandwidth.\n"
    "  -mesh <mix,tet,grid>    -n <104>: vertices along an edge    -bs <5>    -precision "
    "<fp32,...>    -gather <fp32,bfp16>    -sweeps "
    "<15>    "
    "-repeat <15>    -allocations <3>: set-ups at other addresses, of which the median counts\n"
    "  -check <false>: compare with the host backend    -coordinates <true>: rows of a color on a "
    "Hilbert curve    -json <file>    -commit "
    "<text>\n";

#include <petscdevice_cuda.h>
#include <petscksp.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "application.h"
#include "common.h"
#include "device_read.h"
#include "mesh.h"
#include "petscmcpi.h"

namespace {

using Json = nlohmann::json;

struct Options : bench::CommonOptions {
  Options() : CommonOptions{104, 15, 15, {5}, "mix", {}, {}} {}

  std::vector<std::string> gathers = {"fp32", "bfp16"};
  std::vector<std::string> precisions = {"fp64", "fp32", "fp16", "int8", "int4"};
  PetscBool coordinates = PETSC_TRUE, check = PETSC_FALSE;
  PetscInt allocations = 3;
};

// The least bytes of a sweep over all blocks. Each block with its column, each row's right-hand
// side and x are read once, and x is written once. If products read a rounded copy of x, the copy
// is read once and written once, and x is not read.
double bytes_per_sweep(const bench::VertexGraph &graph, PetscInt bs,
                       const bench::Precision &precision, bool rounded)
{
  const double copy = 4.0 * static_cast<double>((bs + 2) / 2),
               x = precision.vector * static_cast<double>(bs);
  const double block = static_cast<double>(bs) * static_cast<double>(bs);
  return static_cast<double>(graph.edges()) *
             (std::ceil(block * precision.bits / 8) + precision.exponent + 4.0) +
         static_cast<double>(graph.rows()) * (2.0 * x + (rounded ? 2.0 * copy : x));
}

// |x - y| / |y|, where x is the result of sweeps on the device, and y that of the host
PetscErrorCode difference_to_host(PC device, Mat mat, Vec b, Vec x, const char *precision,
                                  double *difference)
{
  PC host;
  Vec y;

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &host));
  PetscCall(PCSetType(host, PCMCPI));
  PetscCall(PCSetOperators(host, mat, mat));
  PetscCall(PetscOptionsSetValue(nullptr, "-host_pc_mcpi_offdiag_precision", precision));
  PetscCall(bench::UseMeasuredSweeps(host));
  PetscCall(PCSetOptionsPrefix(host, "host_"));
  PetscCall(PCSetFromOptions(host));
  PetscCall(PCMCPISetBackend(host, PC_MCPI_BACKEND_HOST));
  PetscCall(VecDuplicate(x, &y));
  for (PC pc : {device, host}) PetscCall(PCMCPISetIts(pc, 3));
  PetscCall(PCApply(device, b, x));
  PetscCall(PCApply(host, b, y));
  PetscCall(bench::RelativeDifference(x, y, difference));
  PetscCall(VecDestroy(&y));
  PetscCall(PCDestroy(&host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Measures the milliseconds of a sweep and of an application. Each attempt stores the blocks at
// another place in memory, because times depend on the place.
PetscErrorCode time_precision(const Options &options, PC pc, Vec b, Vec x,
                              const bench::Precision &precision, const std::string &gather,
                              PetscInt attempt, double *sweep, double *apply)
{
  constexpr std::size_t kShift = 37 << 20;
  const PCMCPIPrecision other =
      precision.type == PC_MCPI_PRECISION_FP16 ? PC_MCPI_PRECISION_FP32 : PC_MCPI_PRECISION_FP16;
  void *taken = nullptr;

  PetscFunctionBegin;
  PetscCall(PCMCPISetGatherPrecision(
      pc, PC_MCPI_GATHER_PRECISION_FP32));         // fp64 vectors do not allow bfp16
  PetscCall(PCMCPISetOffdiagPrecision(pc, other)); // so that the next line stores blocks again
  PetscCall(bench::SetBlocks(pc, precision.type));
  PetscCall(PCMCPISetGatherPrecision(pc, bench::GatherPrecision(gather)));
  if (attempt > 0) PetscCallCUDA(cudaMalloc(&taken, static_cast<std::size_t>(attempt) * kShift));
  PetscCall(PCSetUp(pc));
  PetscCall(bench::TimeSweep(pc, b, x, options.sweeps, options.repeat, sweep, apply));
  PetscCallCUDA(cudaFree(taken));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_precision(const Options &options, const bench::VertexGraph &graph, PC pc,
                             Mat mat, Vec b, Vec x, PetscInt bs, const bench::Precision &precision,
                             const std::string &gather, double read, Json *results)
{
  std::vector<double> sweeps, applications;

  PetscFunctionBegin;
  for (PetscInt attempt = 0; attempt < options.allocations; ++attempt) {
    double one = 0.0, apply = 0.0;
    PetscCall(time_precision(options, pc, b, x, precision, gather, attempt, &one, &apply));
    sweeps.push_back(one);
    applications.push_back(apply);
  }
  const double sweep = bench::Median(sweeps), once = bench::Median(applications),
               bytes = bytes_per_sweep(graph, bs, precision, gather == "bfp16");
  double far = -1.0;
  if (options.check) PetscCall(difference_to_host(pc, mat, b, x, precision.name, &far));
  Json row = {{"mesh", options.mesh},
              {"rows", graph.rows()},
              {"blocks", graph.edges()},
              {"bs", bs},
              {"precision", precision.name},
              {"gather", gather},
              {"ms_per_sweep", sweep},
              {"ms_per_sweep_all", sweeps},
              {"ms_application", once},
              {"application_over_sweeps", once / (static_cast<double>(options.sweeps) * sweep)},
              {"megabytes_per_sweep", bytes / 1e6},
              {"share_of_read_bandwidth", bytes / (sweep * 1e-3) / read}};
  PetscCall(bench::DescribeSweeps(pc, &row));
  const auto colors = row["colors"].get<int>();
  row["us_per_color"] = 1e3 * sweep / colors;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%s %7d rows  bs %2d  %s %s  %2d colors  %8.4f ms a sweep (%.4f to %.4f)  "
                        "%5.1f %% of read  PCApply %5.3f of its sweeps\n",
                        options.mesh.c_str(), (int)graph.rows(), (int)bs, precision.name,
                        gather == "bfp16" ? "gather bfp16" : "", colors, sweep,
                        *std::min_element(sweeps.begin(), sweeps.end()),
                        *std::max_element(sweeps.begin(), sweeps.end()),
                        100 * (double)row["share_of_read_bandwidth"],
                        (double)row["application_over_sweeps"]));
  if (options.check) {
    row["difference_to_host"] = far;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  differs from the host by %.1e\n", far));
  }
  results->push_back(row);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_block_size(const Options &options, const bench::VertexGraph &graph, PetscInt bs,
                              double read, Json *results)
{
  Mat mat;
  Vec b, x;
  PC pc;

  PetscFunctionBegin;
  PetscCall(bench::CreateMatrix(PETSC_COMM_WORLD, graph, bs, MATBAIJ, &mat));
  PetscCall(bench::CreateDeviceVecs(mat, &b, &x));
  PetscCall(bench::CreateDevicePC(graph, mat, options.coordinates, &pc));
  for (const bench::Precision &precision : bench::ChosenPrecisions(options.precisions))
    for (const std::string &gather : options.gathers)
      if (gather == "fp32" || precision.vector < 8)
        PetscCall(
            run_precision(options, graph, pc, mat, b, x, bs, precision, gather, read, results));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode read_options(Options *options)
{
  PetscFunctionBegin;
  PetscCall(bench::ReadCommonOptions(options));
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-coordinates", &options->coordinates, nullptr));
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-check", &options->check, nullptr));
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-allocations", &options->allocations, nullptr));
  PetscCheck(options->allocations > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-allocations must be positive");
  PetscCall(bench::ReadList("-precision", &options->precisions));
  PetscCall(bench::ReadList("-gather", &options->gathers));
  PetscCall(bench::CheckNames(options->precisions, options->gathers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run(int argc, char **argv)
{
  Options options;
  cudaDeviceProp device;
  Json document;

  PetscFunctionBegin;
  PetscCall(read_options(&options));
  PetscCallCUDA(cudaGetDeviceProperties(&device, 0));
  const double read = device_read_bandwidth();
  PetscCheck(read > 0, PETSC_COMM_SELF, PETSC_ERR_GPU, "The read bandwidth could not be measured");
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, reads %.0f GB/s\n", device.name, read / 1e9));
  PetscCall(bench::StartDocument("sweep", options, argc, argv, &document));
  document["gpu"] = device.name;
  const bench::VertexGraph graph = bench::MakeGraph(options.mesh, options.n);
  for (const PetscInt bs : options.bs)
    PetscCall(run_block_size(options, graph, bs, read, bench::Rows(&document)));
  bench::AddToRows({{"read_gigabytes_per_second", read / 1e9}}, &document);
  PetscCall(bench::WriteDocument(options, document));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

int main(int argc, char **argv)
{
  return bench::Main(argc, argv, help, run);
}
