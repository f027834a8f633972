// Tests -pc_mcpi_tune: it measures once, fixes what options leave open, and nothing else.
#include "support/petsc.h"

using namespace mcpi::test;

namespace {

struct Tuned {
  PCMCPISchedule schedule;
  PetscInt its;
  PCMCPIPrecision storage;
};

// Solves twice, and checks that both solutions are right and that the second measures nothing.
PetscErrorCode solve_twice(const std::string &options, Tuned *first)
{
  const BlockMatrix matrix = make_matrix(4, tetrahedral_pattern(6, 5, 4));
  const Vector solution = random_vector(matrix.size(), 3);
  OwnedMat mat;
  OwnedSolver ksp;
  PC pc;
  KSPConvergedReason reason;
  Tuned second;

  PetscFunctionBeginUser;
  describe(options);
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::uneven, MATBAIJ, &mat));
  PetscCall(create_ksp(mat, mat,
                       "-ksp_rtol 1e-9 -pc_mcpi_tune -pc_mcpi_tune_seconds 0.2 " + options, &ksp,
                       Defaults::chosen));
  PetscCall(KSPGetPC(ksp, &pc));
  for (Tuned *tuned : {first, &second}) {
    Vector x;
    PetscCall(solve(ksp, matrix.multiply(solution), &x, &reason, nullptr));
    EXPECT_LT(0, static_cast<int>(reason));
    EXPECT_LE(difference(x, solution), 1e-6);
    PetscCall(PCMCPIGetSchedule(pc, &tuned->schedule));
    PetscCall(PCMCPIGetIts(pc, &tuned->its));
    PetscCall(PCMCPIGetOffdiagPrecision(pc, &tuned->storage));
  }
  EXPECT_EQ(first->schedule, second.schedule);
  EXPECT_EQ(first->its, second.its);
  EXPECT_EQ(first->storage, second.storage);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(Tune, fixes_what_options_leave_open)
{
  Tuned tuned;

  PetscFunctionBeginUser;
  for (const char *method : {"-ksp_type gmres", "-ksp_type fgmres", "-ksp_type bcgs"}) {
    PetscCall(solve_twice(method, &tuned));
    EXPECT_NE(tuned.schedule, PC_MCPI_SCHEDULE_AUTO);
    EXPECT_NE(tuned.storage, PC_MCPI_PRECISION_AUTO);
    EXPECT_GE(tuned.its, 1);
    EXPECT_LE(tuned.its, 32);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Tune, keeps_given_options)
{
  Tuned tuned;

  PetscFunctionBeginUser;
  PetscCall(solve_twice("-ksp_type fgmres -pc_mcpi_its 3", &tuned));
  EXPECT_EQ(tuned.its, 3);
  PetscCall(solve_twice("-ksp_type fgmres -pc_mcpi_schedule wave", &tuned));
  EXPECT_EQ(tuned.schedule, PC_MCPI_SCHEDULE_WAVE);
  PetscCall(solve_twice("-ksp_type fgmres -pc_mcpi_offdiag_precision fp16", &tuned));
  EXPECT_EQ(tuned.storage, PC_MCPI_PRECISION_FP16);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The system is not symmetric, so nothing converges. The storage must not disturb the method.
PETSC_TEST(Tune, gives_methods_for_symmetric_matrices_no_blocks_of_few_bits)
{
  const BlockMatrix matrix = make_matrix(4, tetrahedral_pattern(6, 5, 4));
  OwnedMat mat;
  OwnedSolver ksp;
  PC pc;
  KSPConvergedReason reason;
  PCMCPIPrecision storage;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::uneven, MATBAIJ, &mat));
  PetscCall(create_ksp(mat, mat,
                       "-ksp_type cg -ksp_max_it 5 -pc_mcpi_tune -pc_mcpi_tune_seconds 0.2", &ksp,
                       Defaults::chosen));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(solve(ksp, random_vector(matrix.size(), 1), nullptr, &reason, nullptr));
  PetscCall(PCMCPIGetOffdiagPrecision(pc, &storage));
  EXPECT_TRUE(storage == PC_MCPI_PRECISION_FP32 || storage == PC_MCPI_PRECISION_AUTO);
  PetscFunctionReturn(PETSC_SUCCESS);
}
