// Common code of the benchmarks that time applications of the PC on CUDA devices.
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
constexpr Precision kPrecisions[] = {{"fp64", PC_MCPI_PRECISION_FP64, 64, 0, 8},
                                     {"fp32", PC_MCPI_PRECISION_FP32, 32, 0, 4},
                                     {"fp16", PC_MCPI_PRECISION_FP16, 16, 0, 4},
                                     {"int8", PC_MCPI_PRECISION_INT8, 8, 1, 4},
                                     {"int4", PC_MCPI_PRECISION_INT4, 4, 1, 4}};

// The error message names the first unknown name.
PetscErrorCode CheckNames(const std::vector<std::string> &precisions,
                          const std::vector<std::string> &gathers);
// The precisions with these names, in the order above
std::vector<Precision> ChosenPrecisions(const std::vector<std::string> &names);
PCMCPIGatherPrecision GatherPrecision(const std::string &name); // bfp16, otherwise fp32

// Collective. Creates a PC that uses the device. coordinates: it gets those of the vertices.
PetscErrorCode CreateDevicePC(const VertexGraph &graph, Mat mat, PetscBool coordinates, PC *pc);
// Collective. Measures the milliseconds of one PCApply(). its: the number of sweeps. The result is
// the median of repeat measurements on the slowest rank.
PetscErrorCode TimeApplication(PC pc, Vec b, Vec x, PetscInt its, PetscInt repeat,
                               double *milliseconds);

// Collective. Measures the milliseconds of a sweep and of an application. The time of a sweep is
// found from the difference to an application with more sweeps.
PetscErrorCode TimeSweep(PC pc, Vec b, Vec x, PetscInt its, PetscInt repeat, double *sweep,
                         double *apply);
// Collective. Makes the numeric set-up, as if new values had been set in the matrix.
PetscErrorCode SetUpWithNewValues(PC pc, Mat mat);
// Collective. Computes |x - y| / |y|. x is overwritten.
PetscErrorCode RelativeDifference(Vec x, Vec y, double *difference);
// Collective. Creates CUDA Vecs with the layout of a square matrix. b is random.
PetscErrorCode CreateDeviceVecs(Mat mat, Vec *b, Vec *x);

} // namespace bench
