// Finalizes and initializes PETSc again in one program, with logging. Nothing of the first time may
// be used the second time.
#include "support/petsc.h"

using namespace mcpi::test;

namespace {

PetscErrorCode one_life()
{
  const BlockMatrix matrix = make_matrix(3, random_pattern(30, 3, false));
  const Vector solution = random_vector(matrix.size(), 1);
  OwnedMat mat;
  OwnedSolver ksp;
  KSPConvergedReason reason;
  Vector x;
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
    EXPECT_LT(0, static_cast<int>(reason));
    EXPECT_LE(difference(x, solution), 1e-3);
    for (const char *name : {"MCPISymbolic", "MCPINumeric", "MCPISweep"}) {
      PetscCall(PetscLogEventGetId(name, &event));
      EXPECT_LE(0, event);
      if (event < 0) continue;
      PetscCall(PetscLogEventGetPerfInfo(0, event, &info));
      EXPECT_LE(turn, info.count);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(Reinitialize, nothing_is_left_of_petsc_as_it_was_before_it_was_finalized)
{
  int argc;
  char **argv;

  PetscFunctionBeginUser;
  PetscCall(PetscGetArgs(&argc, &argv));
  for (int life = 0; life < 3; ++life) {
    if (life > 0) {
      PetscCall(PetscFinalize());
      PetscCall(PetscInitialize(&argc, &argv, nullptr, nullptr));
    }
    for (int other = 0; other < 40 * life;
         ++other) { // so that events have other numbers than before
      PetscLogEvent event;
      PetscCall(
          PetscLogEventRegister(("other" + std::to_string(other)).c_str(), KSP_CLASSID, &event));
    }
    describe("life " + std::to_string(life));
    PetscCall(one_life());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
