static char help[] = "Time per iteration of KSPFGMRES with PCMCPI on CUDA devices, one rank each, "
                     "and of its parts: run it with 1, 2, 4... ranks.\n"
                     "  -mesh <tet,mix>    -n <104>: vertices along an edge of the whole mesh    "
                     "-bs <5>    -precision <fp32,int4>    -its <1,5,15>\n"
                     "  -gather <bfp16>    -repeat <5>    -json <file>    -commit <text>\n";

#include <petscdevice_cuda.h>
#include <petscksp.h>

#include <string>
#include <vector>

#include "application.h"
#include "common.h"
#include "timing.h"

namespace {

using Json = nlohmann::json;

constexpr PetscInt kIterations = 30; // one restart of GMRES
constexpr PetscInt kUncounted = 2;

struct Options : bench::CommonOptions {
  Options() : CommonOptions{104, 0, 5, {5}, "tet", {}, {}} {}

  std::vector<std::string> precisions = {"fp32", "int4"}, its = {"1", "5", "15"};
  std::string gather = "bfp16";
};

PetscErrorCode time_solver(const Options &options, KSP ksp, Vec b, Vec x,
                           const bench::Precision &precision, PetscInt its, Json *results)
{
  double solve, product, apply;
  PetscMPIInt ranks;
  PetscInt rows, bs;
  Mat mat;
  PC pc;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(KSPGetOperators(ksp, &mat, nullptr));
  PetscCall(MatGetSize(mat, &rows, nullptr));
  PetscCall(MatGetBlockSize(mat, &bs));
  PetscCall(bench::SetBlocks(pc, precision.type));
  PetscCall(PCMCPISetIts(pc, its));
  PetscCall(KSPSetUp(ksp));
  PetscCall(bench::TimeMedian(
      kUncounted, options.repeat, [&] { return KSPSolve(ksp, b, x); }, &solve));
  PetscCall(bench::TimeMedian(kUncounted, options.repeat,
                              bench::Many(kIterations, [&] { return MatMult(mat, b, x); }),
                              &product));
  PetscCall(bench::TimeMedian(kUncounted, options.repeat,
                              bench::Many(kIterations, [&] { return PCApply(pc, b, x); }), &apply));
  for (double *time : {&solve, &product, &apply}) *time /= static_cast<double>(kIterations);
  results->push_back({{"ranks", ranks},
                      {"mesh", options.mesh},
                      {"rows", rows / bs},
                      {"bs", bs},
                      {"precision", precision.name},
                      {"gather", options.gather},
                      {"its", its},
                      {"ms_iteration", solve},
                      {"ms_matmult", product},
                      {"ms_pcapply", apply},
                      {"ms_rest", solve - product - apply}});
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%d ranks %8d rows %s %s its %2d  an iteration %7.3f ms: MatMult %6.3f  "
                        "PCApply %6.3f  the rest %6.3f\n",
                        (int)ranks, (int)(rows / bs), options.mesh.c_str(), precision.name,
                        (int)its, solve, product, apply, solve - product - apply));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_block_size(const Options &options, const bench::VertexGraph &graph, PetscInt bs,
                              Json *results)
{
  Mat mat;
  Vec b, x;
  PC pc;
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(bench::CreateMatrix(PETSC_COMM_WORLD, graph, bs, MATAIJCUSPARSE, &mat));
  PetscCall(bench::CreateDeviceVecs(mat, &b, &x));
  PetscCall(bench::CreateDevicePC(graph, mat, PETSC_TRUE, &pc));
  PetscCall(PCMCPISetGatherPrecision(pc, bench::GatherPrecision(options.gather)));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPSetOperators(ksp, mat, mat));
  PetscCall(KSPSetPC(ksp, pc));
  PetscCall(KSPGMRESSetRestart(ksp, kIterations));
  PetscCall(KSPSetTolerances(ksp, 1e-50, 1e-300, 1e300, kIterations));
  PetscCall(KSPSetFromOptions(ksp));
  for (const bench::Precision &precision : bench::ChosenPrecisions(options.precisions))
    for (const std::string &its : options.its)
      PetscCall(time_solver(options, ksp, b, x, precision, std::stoi(its), results));
  PetscCall(KSPDestroy(&ksp));
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
  PetscCall(bench::ReadList("-precision", &options.precisions));
  PetscCall(bench::ReadList("-its", &options.its));
  PetscCall(bench::ReadText("-gather", &options.gather));
  PetscCall(bench::CheckNames(options.precisions, {options.gather}));
  PetscCallCUDA(cudaGetDeviceProperties(&device, 0));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(bench::StartDocument("krylov", options, argc, argv, &document));
  document["gpu"] = device.name;
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
