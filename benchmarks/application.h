// What the benchmarks of applications on CUDA devices share.
#pragma once

#include <petscpc.h>

#include <string>
#include <vector>

#include "mesh.h"
#include "petscmcpi.h"

namespace bench {

struct Precision {
  const char *name;
  PCMCPIPrecision type;
  double bits, exponent, vector;
};
constexpr Precision kPrecisions[] = {
    {"fp64", PC_MCPI_PRECISION_FP64, 64, 0, 8}, {"fp32", PC_MCPI_PRECISION_FP32, 32, 0, 4},
    {"fp16", PC_MCPI_PRECISION_FP16, 16, 0, 4}, {"bf16", PC_MCPI_PRECISION_BF16, 16, 0, 4},
    {"int8", PC_MCPI_PRECISION_INT8, 8, 1, 4},  {"int4", PC_MCPI_PRECISION_INT4, 4, 1, 4}};

// An error names the first that there is not.
PetscErrorCode CheckNames(const std::vector<std::string> &precisions,
                          const std::vector<std::string> &gathers);
// Those that are named, in the order above
std::vector<Precision> ChosenPrecisions(const std::vector<std::string> &names);
PCMCPIGatherPrecision GatherPrecision(const std::string &name); // bfp16, else fp32

// On the device; with the vertices' coordinates unless told otherwise. Collective.
PetscErrorCode CreateDevicePC(const VertexGraph &graph, Mat mat, PetscBool coordinates, PC *pc);
// Milliseconds of one PCApply() with so many sweeps: the median of repeat ones, of the slowest
// rank. Collective.
PetscErrorCode TimeApplication(PC pc, Vec b, Vec x, PetscInt its, PetscInt repeat,
                               double *milliseconds);

// Milliseconds of a sweep, by the difference to an application with more of them, and of an
// application. Collective.
PetscErrorCode TimeSweep(PC pc, Vec b, Vec x, PetscInt its, PetscInt repeat, double *sweep,
                         double *apply);
// CUDA Vecs of a square matrix's layout, b random. Collective.
PetscErrorCode CreateDeviceVecs(Mat mat, Vec *b, Vec *x);

} // namespace bench
