static char help[] =
    "Time per sweep of PCMCPI on several CUDA devices, one rank each, for every exchange: run it "
    "with 1, 2, 4... ranks.\n"
    "  -mesh <mix,tet,grid>    -n <104>: vertices along an edge of the whole mesh    -bs <5>    "
    "-precision <fp32,int4>    -gather <bfp16>\n"
    "  -halo <peer,nccl,sf>    -sweeps <15>    -repeat <9>    -json <file>    -commit <text>\n";

#include <petscdevice_cuda.h>
#include <petscksp.h>

#include <algorithm>
#include <string>
#include <vector>

#include "application.h"
#include "common.h"

namespace {

using Json = nlohmann::json;

struct Options : bench::CommonOptions {
  Options() : CommonOptions{104, 15, 9, {5}, "tet", {}, {}} {}

  std::vector<std::string> halos = {"peer", "nccl", "sf"}, precisions = {"fp32", "int4"};
  std::string gather = "bfp16";
};

// The number of ghosts of the rank that has most
PetscErrorCode most_ghosts(Mat mat, PetscInt *ghosts)
{
  PetscMPIInt ranks;

  PetscFunctionBegin;
  *ghosts = 0;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  if (ranks > 1) PetscCall(MatGetGhosts(mat, ghosts, nullptr));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, ghosts, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode time_frequencies(const Options &options, PetscInt rows, Mat mat, PC pc, Vec b, Vec x,
                                const bench::Precision &precision, const std::string &halo,
                                Json *results)
{
  PetscMPIInt ranks;
  ISColoring coloring;
  PetscInt colors, ghosts;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(bench::SetBlocks(pc, precision.type));
  PetscCall(PCMCPISetGatherPrecision(pc, bench::GatherPrecision(options.gather)));
  PetscCall(PCSetUp(pc));
  PetscCall(PCMCPIGetColoring(pc, &coloring));
  PetscCall(ISColoringGetColors(coloring, nullptr, &colors, nullptr));
  PetscCall(most_ghosts(mat, &ghosts));
  for (const PCMCPIHaloFrequency type :
       {PC_MCPI_HALO_FREQUENCY_COLOR, PC_MCPI_HALO_FREQUENCY_SWEEP}) {
    const char *const frequency = PCMCPIHaloFrequencies[type];
    double once, sweep;
    if (ranks == 1 && type != PC_MCPI_HALO_FREQUENCY_COLOR) continue;
    PetscCall(PCMCPISetHaloFrequency(pc, type));
    PetscCall(bench::TimeSweep(pc, b, x, options.sweeps, options.repeat, &sweep, &once));
    results->push_back({{"ranks", ranks},
                        {"mesh", options.mesh},
                        {"rows", rows},
                        {"precision", precision.name},
                        {"gather", options.gather},
                        {"halo", ranks == 1 ? "none" : halo},
                        {"frequency", frequency},
                        {"colors", colors},
                        {"ghosts_of_a_rank", ghosts},
                        {"ms_per_sweep", sweep},
                        {"us_per_color", 1e3 * sweep / static_cast<double>(colors)},
                        {"ms_application", once}});
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%d ranks %8d rows %s %s  %-4s every %s  %2d colors  %8.4f ms "
                          "a sweep  %6.2f us a color\n",
                          (int)ranks, (int)rows, options.mesh.c_str(), precision.name,
                          ranks == 1 ? "none" : halo.c_str(), frequency, (int)colors, sweep,
                          1e3 * sweep / (double)colors));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_block_size(const Options &options, const bench::VertexGraph &graph, PetscInt bs,
                              Json *results)
{
  const char *const names[] = {"auto", "sf", "nccl", "peer"};
  PetscMPIInt ranks;
  Mat mat;
  Vec b, x;
  PC pc;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(bench::CreateMatrix(PETSC_COMM_WORLD, graph, bs, MATBAIJ, &mat));
  PetscCall(bench::CreateDeviceVecs(mat, &b, &x));
  PetscCall(bench::CreateDevicePC(graph, mat, PETSC_TRUE, &pc));
  for (const std::string &halo : options.halos) {
    const auto type = std::find(std::begin(names), std::end(names), halo) - std::begin(names);
    PetscCheck(type < 4, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
               "-halo takes auto, sf, nccl and peer");
    if (ranks > 1) PetscCall(PCMCPISetHalo(pc, static_cast<PCMCPIHaloType>(type)));
    for (const bench::Precision &precision : bench::ChosenPrecisions(options.precisions))
      PetscCall(time_frequencies(options, graph.rows(), mat, pc, b, x, precision, halo, results));
    if (ranks == 1) break;
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run(int argc, char **argv)
{
  Options options;
  cudaDeviceProp device;
  PetscMPIInt ranks;
  Json document;

  PetscFunctionBegin;
  PetscCall(bench::ReadCommonOptions(&options));
  PetscCall(bench::ReadList("-halo", &options.halos));
  PetscCall(bench::ReadList("-precision", &options.precisions));
  PetscCall(bench::ReadText("-gather", &options.gather));
  PetscCall(bench::CheckNames(options.precisions, {options.gather}));
  PetscCallCUDA(cudaGetDeviceProperties(&device, 0));
  PetscCall(bench::StartDocument("scaling", options, argc, argv, &document));
  document["gpu"] = device.name;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  const bench::VertexGraph graph = bench::InBoxes(bench::MakeGraph(options.mesh, options.n), ranks);
  for (const PetscInt bs : options.bs)
    PetscCall(run_block_size(options, graph, bs, bench::Rows(&document)));
  PetscCall(bench::WriteDocument(options, document));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

int main(int argc, char **argv)
{
  return bench::Main(argc, argv, help, run);
}
