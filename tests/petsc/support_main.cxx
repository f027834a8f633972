// main() of every test program that does not define its own
#include "support.h"

int main(int argc, char **argv)
{
  if (PetscInitialize(&argc, &argv, nullptr, nullptr) != PETSC_SUCCESS) return 2;
  PetscCallAbort(PETSC_COMM_WORLD, PCMCPIRegister());
  const int failed = test::run_all();
  PetscCallAbort(PETSC_COMM_WORLD, PetscFinalize());
  return failed ? 1 : 0;
}
