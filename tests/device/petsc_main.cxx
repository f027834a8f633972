#include <cuda_runtime.h>

#include <cstdio>

#include "support.h"

using namespace test;

int main(int argc, char **argv)
{
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("Skipped: no CUDA device");
    return 0;
  }
  if (PetscInitialize(&argc, &argv, nullptr, nullptr) != PETSC_SUCCESS) return 2;
  PetscCallAbort(PETSC_COMM_WORLD, PCMCPIRegister());
  const int failed = run_all();
  PetscCallAbort(PETSC_COMM_WORLD, PetscFinalize());
  return failed ? 1 : 0;
}
