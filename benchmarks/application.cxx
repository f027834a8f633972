#include "application.h"

#include <petsc/private/petscimpl.h> // PetscObjectStateIncrease()
#include <petscdevice_cuda.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "common.h"

namespace bench {

PetscErrorCode CheckNames(const std::vector<std::string> &precisions,
                          const std::vector<std::string> &gathers)
{
  PetscFunctionBegin;
  for (const std::string &name : precisions)
    PetscCheck(ChosenPrecisions({name}).size() == 1, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
               "-precision: there is no %s", name.c_str());
  for (const std::string &name : gathers)
    PetscCheck(name == "fp32" || name == "bfp16", PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
               "-gather: there is no %s", name.c_str());
  PetscFunctionReturn(PETSC_SUCCESS);
}

std::vector<Precision> ChosenPrecisions(const std::vector<std::string> &names)
{
  std::vector<Precision> chosen;
  std::copy_if(std::begin(kPrecisions), std::end(kPrecisions), std::back_inserter(chosen),
               [&](const Precision &precision) {
                 return std::find(names.begin(), names.end(), precision.name) != names.end();
               });
  return chosen;
}

PCMCPIGatherPrecision GatherPrecision(const std::string &name)
{
  return name == "bfp16" ? PC_MCPI_GATHER_PRECISION_BFP16 : PC_MCPI_GATHER_PRECISION_FP32;
}

PetscErrorCode CreateDevicePC(const VertexGraph &graph, Mat mat, PetscBool coordinates, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PetscObjectComm((PetscObject)mat), pc));
  PetscCall(PCSetType(*pc, PCMCPI));
  PetscCall(PCSetOperators(*pc, mat, mat));
  if (coordinates) {
    std::vector<PetscReal> points = Coordinates(graph, mat);
    PetscCall(PCSetCoordinates(*pc, 3, static_cast<PetscInt>(points.size() / 3), points.data()));
  }
  PetscCall(PCMCPISetBackend(*pc, PC_MCPI_BACKEND_CUDA));
  PetscCall(UseMeasuredSweeps(*pc));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SetUpWithNewValues(PC pc, Mat mat)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectStateIncrease((PetscObject)mat));
  PetscCall(PCSetUp(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RelativeDifference(Vec x, Vec y, double *difference)
{
  PetscReal far, norm;

  PetscFunctionBegin;
  PetscCall(VecNorm(y, NORM_2, &norm));
  PetscCall(VecAXPY(x, -1.0, y));
  PetscCall(VecNorm(x, NORM_2, &far));
  *difference = far / norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TimeApplication(PC pc, Vec b, Vec x, PetscInt its, PetscInt repeat,
                               double *milliseconds)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)pc);
  std::vector<double> times;
  cudaEvent_t begin, end;

  PetscFunctionBegin;
  PetscCall(PCMCPISetIts(pc, its));
  PetscCallCUDA(cudaEventCreate(&begin));
  PetscCallCUDA(cudaEventCreate(&end));
  for (PetscInt r = -2; r < repeat; ++r) {
    float elapsed = 0;
    PetscCallMPI(MPI_Barrier(comm));
    PetscCallCUDA(cudaEventRecord(begin, nullptr));
    PetscCall(PCApply(pc, b, x));
    PetscCallCUDA(cudaEventRecord(end, nullptr));
    PetscCallCUDA(cudaEventSynchronize(end));
    PetscCallCUDA(cudaEventElapsedTime(&elapsed, begin, end));
    if (r >= 0) times.push_back(elapsed);
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, times.data(), static_cast<int>(times.size()), MPI_DOUBLE,
                             MPI_MAX, comm));
  PetscCallCUDA(cudaEventDestroy(begin));
  PetscCallCUDA(cudaEventDestroy(end));
  *milliseconds = Median(times);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TimeSweep(PC pc, Vec b, Vec x, PetscInt its, PetscInt repeat, double *sweep,
                         double *apply)
{
  constexpr PetscInt kMany = 4;
  double many;

  PetscFunctionBegin;
  PetscCall(TimeApplication(pc, b, x, its, repeat, apply));
  PetscCall(TimeApplication(pc, b, x, kMany * its, repeat, &many));
  *sweep = (many - *apply) / static_cast<double>((kMany - 1) * its);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CreateDeviceVecs(Mat mat, Vec *b, Vec *x)
{
  PetscInt local;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(mat, &local, nullptr));
  PetscCall(VecCreate(PetscObjectComm((PetscObject)mat), b));
  PetscCall(VecSetSizes(*b, local, PETSC_DETERMINE));
  PetscCall(VecSetType(*b, VECCUDA));
  PetscCall(VecDuplicate(*b, x));
  PetscCall(VecSetRandom(*b, nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace bench
