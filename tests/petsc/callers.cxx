// Tests what the preconditioner does for the Krylov method that applies it, and after the method
// has ended.
#include <cmath>

#include "support/petsc.h"

using namespace mcpi::test;

namespace {

constexpr PetscInt bs = 4;

BlockMatrix system_of_blocks()
{
  return make_matrix(bs, tetrahedral_pattern(6, 5, 4));
}

// |P(u + v) - P(u) - P(v)| / |P(u + v)|
PetscErrorCode nonlinearity(PC pc, PetscInt rows, double *result)
{
  const Vector u = random_vector(rows, 1), v = random_vector(rows, 2);
  Vector both = u, pu, pv, sum;

  PetscFunctionBeginUser;
  for (std::size_t i = 0; i < both.size(); ++i) both[i] += v[i];
  PetscCall(apply(pc, u, &pu));
  PetscCall(apply(pc, v, &pv));
  PetscCall(apply(pc, both, &sum));
  for (std::size_t i = 0; i < pu.size(); ++i) pu[i] += pv[i];
  *result = difference(pu, sum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode check_solve(KSP ksp, const BlockMatrix &matrix)
{
  const Vector solution = random_vector(matrix.size(), 3);
  KSPConvergedReason reason;
  PetscInt its;
  Vector x;

  PetscFunctionBeginUser;
  PetscCall(solve(ksp, matrix.multiply(solution), &x, &reason, &its));
  EXPECT_LT(0, static_cast<int>(reason));
  EXPECT_LE(difference(x, solution), 1e-6);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(Callers, after_a_flexible_method_an_application_without_a_method_is_linear)
{
  const BlockMatrix matrix = system_of_blocks();
  OwnedMat mat;
  OwnedSolver ksp;
  PC pc;
  double error;
  std::string text;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(create_ksp(mat, mat, "-ksp_type fgmres -ksp_rtol 1e-9", &ksp));
  PetscCall(check_solve(ksp, matrix));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, "vectors: fp32");
  PetscCall(nonlinearity(pc, matrix.size(), &error));
  EXPECT_LE(error, 1e-14);
  PetscCall(check_solve(ksp, matrix));
  PetscCall(PCReset(pc));
  PetscCall(PCSetOperators(pc, mat, mat));
  PetscCall(PCSetUp(pc));
  PetscCall(nonlinearity(pc, matrix.size(), &error));
  EXPECT_LE(error, 1e-14);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A maximum over all ranks may lose the NaN of one rank.
PETSC_TEST(Callers, richardson_does_not_converge_to_a_nan_of_any_rank)
{
  const BlockMatrix matrix = system_of_blocks();
  PetscMPIInt ranks;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  for (PetscMPIInt rank = 0; rank < ranks; ++rank) {
    OwnedMat mat;
    OwnedSolver ksp;
    Vector x;
    KSPConvergedReason reason;
    PetscInt its, begin;
    Vector b = random_vector(matrix.size(), 1);
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
    const PetscInt *ranges;
    PetscCall(MatGetOwnershipRanges(mat, &ranges));
    begin = ranges[rank];
    b[static_cast<std::size_t>(begin)] = std::nan("");
    describe("NaN on rank " + std::to_string(rank));
    PetscCall(create_ksp(mat, mat, "-ksp_type richardson -ksp_max_it 1", &ksp));
    PetscCall(solve(ksp, b, &x, &reason, &its));
    EXPECT_LT(static_cast<int>(reason), 0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

namespace {

// Where a solve fails
enum class Fault { none, product, monitor, convergence_test, inner_solve };

struct Faulty {
  Fault fault = Fault::none;
  Mat mat = nullptr;
  KSP inner = nullptr; // whose solve fails inside a product. The program catches that error.
  int products = 0;
  bool caught = false;
};

PetscErrorCode multiply(Mat shell, Vec x, Vec y)
{
  Faulty *faulty;

  PetscFunctionBeginUser;
  PetscCall(MatShellGetContext(shell, &faulty));
  const bool now = ++faulty->products == 3;
  PetscCheck(!now || faulty->fault != Fault::product, PETSC_COMM_WORLD, PETSC_ERR_USER,
             "on purpose");
  if (now && faulty->fault == Fault::inner_solve) {
    OwnedVec z;
    PetscCall(VecDuplicate(y, z.out()));
    faulty->caught = catch_error([&] { return KSPSolve(faulty->inner, x, z); }).code != 0;
  }
  PetscCall(MatMult(faulty->mat, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode monitor(KSP, PetscInt iteration, PetscReal, void *context)
{
  const Faulty *faulty = static_cast<Faulty *>(context);

  PetscFunctionBeginUser;
  PetscCheck(faulty->fault != Fault::monitor || iteration != 2, PETSC_COMM_WORLD, PETSC_ERR_USER,
             "on purpose");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode test_convergence(KSP, PetscInt iteration, PetscReal norm, KSPConvergedReason *reason,
                                void *context)
{
  const Faulty *faulty = static_cast<Faulty *>(context);

  PetscFunctionBeginUser;
  PetscCheck(faulty->fault != Fault::convergence_test || iteration != 2, PETSC_COMM_WORLD,
             PETSC_ERR_USER, "on purpose");
  *reason = KSP_CONVERGED_ITERATING;
  if (iteration > 300) *reason = KSP_DIVERGED_ITS;
  if (norm < 1e-9) *reason = KSP_CONVERGED_RTOL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A solver whose solve fails where its Faulty says
struct FaultySolver {
  Faulty faulty;
  OwnedMat mat, shell;
  OwnedSolver ksp;
};

PetscErrorCode create_faulty(const BlockMatrix &matrix, Fault fault, FaultySolver *solver)
{
  PetscInt rows;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &solver->mat));
  solver->faulty.fault = fault;
  solver->faulty.mat = solver->mat;
  PetscCall(MatGetLocalSize(solver->mat, &rows, nullptr));
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, rows, rows, PETSC_DETERMINE, PETSC_DETERMINE,
                           &solver->faulty, solver->shell.out()));
  PetscCall(
      MatShellSetOperation(solver->shell, MATOP_MULT, reinterpret_cast<void (*)()>(multiply)));
  PetscCall(create_ksp(solver->shell, solver->mat, "-ksp_type fgmres", &solver->ksp));
  PetscCall(KSPMonitorSet(solver->ksp, monitor, &solver->faulty, nullptr));
  PetscCall(KSPSetConvergenceTest(solver->ksp, test_convergence, &solver->faulty, nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode check_fails(KSP ksp, const Vector &b)
{
  KSPConvergedReason reason;
  PetscInt its;

  PetscFunctionBeginUser;
  EXPECT_PETSC_ERROR(PETSC_ERR_USER, "on purpose", solve(ksp, b, nullptr, &reason, &its));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode check_linear(PC pc, PetscInt rows)
{
  double error;

  PetscFunctionBeginUser;
  PetscCall(nonlinearity(pc, rows, &error));
  EXPECT_LE(error, 1e-14);
  PetscFunctionReturn(PETSC_SUCCESS);
}

constexpr Fault kFaults[] = {Fault::product, Fault::monitor, Fault::convergence_test};

} // namespace

PETSC_TEST(Callers, a_solve_ends_with_an_error_that_the_program_catches)
{
  const BlockMatrix matrix = system_of_blocks();
  const Vector b = matrix.multiply(random_vector(matrix.size(), 3));

  PetscFunctionBeginUser;
  for (const Fault fault : kFaults)
    for (const char *next : {KSPFGMRES, KSPGMRES, KSPRICHARDSON}) {
      FaultySolver solver;
      PC pc;
      std::string text;
      describe("fault " + std::to_string(static_cast<int>(fault)) + ", then " + next);
      PetscCall(create_faulty(matrix, fault, &solver));
      PetscCall(check_fails(solver.ksp, b));
      PetscCall(KSPGetPC(solver.ksp, &pc));
      PetscCall(check_linear(pc, matrix.size()));
      // A product that has failed leaves vectors of the KSP locked.
      OwnedSolver fresh;
      PetscCall(create_ksp(solver.shell, solver.mat, "-ksp_rtol 1e-9", &fresh));
      PetscCall(KSPSetPC(fresh, pc));
      KSP ksp = fault == Fault::product ? fresh : solver.ksp;
      solver.faulty.fault = Fault::none;
      PetscCall(KSPSetType(ksp, next));
      PetscCall(check_solve(ksp, matrix));
      PetscCall(view(pc, &text));
      EXPECT_CONTAINS(text,
                      std::string("vectors: ") + (std::string(next) == KSPGMRES ? "fp64" : "fp32"));
      PetscCall(check_linear(pc, matrix.size()));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Callers, a_solver_that_is_destroyed_after_an_error_leaves_a_linear_preconditioner)
{
  const BlockMatrix matrix = system_of_blocks();
  const Vector b = matrix.multiply(random_vector(matrix.size(), 3));

  PetscFunctionBeginUser;
  for (const Fault fault : kFaults) {
    FaultySolver solver;
    OwnedPC kept;
    OwnedSolver next;
    PC pc;
    describe("fault " + std::to_string(static_cast<int>(fault)));
    PetscCall(create_faulty(matrix, fault, &solver));
    PetscCall(check_fails(solver.ksp, b));
    PetscCall(KSPGetPC(solver.ksp, &pc));
    PetscCall(PetscObjectReference((PetscObject)pc));
    *kept.out() = pc;
    solver.ksp.ksp.reset();
    PetscCall(check_linear(pc, matrix.size()));
    PetscCall(create_ksp(solver.mat, solver.mat, "-ksp_type gmres -ksp_rtol 1e-9", &next));
    PetscCall(KSPSetPC(next, pc));
    PetscCall(check_solve(next, matrix));
    PetscCall(check_linear(pc, matrix.size()));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The method of the outer solve is known again after the error.
PETSC_TEST(Callers, an_inner_solve_with_the_same_preconditioner_may_end_with_an_error)
{
  const BlockMatrix matrix = system_of_blocks();
  FaultySolver outer, inner;
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(create_faulty(matrix, Fault::inner_solve, &outer));
  PetscCall(create_faulty(matrix, Fault::monitor, &inner));
  PetscCall(KSPGetPC(outer.ksp, &pc));
  PetscCall(KSPSetType(outer.ksp, KSPGMRES));
  PetscCall(KSPSetPC(inner.ksp, pc));
  outer.faulty.inner = inner.ksp;
  PetscCall(check_solve(outer.ksp, matrix));
  EXPECT_TRUE(outer.faulty.caught);
  PetscCall(check_linear(pc, matrix.size()));
  PetscFunctionReturn(PETSC_SUCCESS);
}
