// Initializes, finalizes and initializes PETSc again in one program, with logging. Nothing of the
// first time may be used the second time. The main() of this file replaces that of
// support_main.cxx.
#include <cstdio>

#include "support.h"

using namespace test;

namespace {

PetscErrorCode one_life()
{
  const BlockMatrix matrix = make_matrix(3, random_pattern(30, 3, false));
  const Values solution = noise(matrix.rows(), 1);
  OwnedMat mat;
  OwnedSolver ksp;
  KSPConvergedReason reason;
  Values x;
  PetscLogEvent event;
  PetscEventPerfInfo info;

  PetscFunctionBeginUser;
  PetscCall(PCMCPIRegister());
  PetscCall(PCMCPIRegister());
  PetscCall(PetscLogDefaultBegin());
  for (int turn = 1; turn < 3; ++turn) {
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
    PetscCall(create_ksp(mat, mat, "", &ksp));
    PetscCall(solve(ksp, matrix.multiply(solution), &x, &reason, nullptr));
    CHECK_LT(0, static_cast<int>(reason));
    CHECK_LE(difference(x, solution), 1e-3);
    for (const char *name : {"MCPISymbolic", "MCPINumeric", "MCPISweep"}) {
      PetscCall(PetscLogEventGetId(name, &event));
      CHECK_LE(0, event);
      if (event < 0) continue;
      PetscCall(PetscLogEventGetPerfInfo(0, event, &info));
      CHECK_LE(turn, info.count);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

int main(int argc, char **argv)
{
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 2;
  for (int life = 0; life < 3; ++life) {
    if (PetscInitialize(&argc, &argv, nullptr, nullptr) != PETSC_SUCCESS) return 2;
    for (int other = 0; other < 40 * life;
         ++other) { // so that events have other numbers than before
      PetscLogEvent event;
      PetscCallAbort(
          PETSC_COMM_WORLD,
          PetscLogEventRegister(("other" + std::to_string(other)).c_str(), KSP_CLASSID, &event));
    }
    describe("life " + std::to_string(life));
    PetscCallAbort(PETSC_COMM_WORLD, one_life());
    PetscCallAbort(PETSC_COMM_WORLD, PetscFinalize());
  }
  const int failed = failures_of_all_ranks();
  if (failed == 0) std::printf("ok\n");
  MPI_Finalize();
  return failed ? 1 : 0;
}
