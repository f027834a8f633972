// -pc_mcpi_gram_schmidt beside PETSc's own classical Gram-Schmidt, on vectors of a device
#include "support/petsc.h"

using namespace mcpi::test;

#if PETSC_VERSION_GE(3, 26, 0)

namespace {

constexpr double kTolerance = 1e-13;

// A solver whose PC is mcpi, and what it has computed
struct Solver {
  BlockMatrix matrix;
  OwnedMat mat;
  OwnedSolver ksp;
  Vector x;
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  PetscInt its = 0;
};

PetscErrorCode create(Layout layout, const std::string &options, Solver *solver)
{
  Recipe recipe;

  PetscFunctionBeginUser;
  solver->matrix = make_matrix(5, random_pattern(60, 3, false), recipe);
  PetscCall(create_mat(PETSC_COMM_WORLD, solver->matrix, layout, MATAIJCUSPARSE, &solver->mat));
  PetscCall(create_ksp(solver->mat, solver->mat, "-ksp_type fgmres -ksp_rtol 1e-10 " + options,
                       &solver->ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode solve(Solver *solver)
{
  PetscFunctionBeginUser;
  PetscCall(solve(solver->ksp, random_vector(solver->matrix.size(), 3), &solver->x, &solver->reason,
                  &solver->its));
  EXPECT_GT(solver->reason, 0);
  EXPECT_GT(solver->its, 3);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// n vectors of norm 1 that are orthogonal to each other, and one more
PetscErrorCode make_vectors(const Solver &solver, PetscInt n, std::vector<OwnedVec> *v)
{
  PetscFunctionBeginUser;
  v->resize(static_cast<std::size_t>(n) + 1);
  for (std::size_t k = 0; k < v->size(); ++k) {
    OwnedVec &now = (*v)[k];
    PetscCall(create_vec(solver.mat, random_vector(solver.matrix.size(), 20 + static_cast<int>(k)),
                         &now));
    if (k == static_cast<std::size_t>(n)) break;
    for (int turn = 0; turn < 2; ++turn)
      for (std::size_t j = 0; j < k; ++j) {
        PetscScalar h;
        PetscCall(VecDot(now, (*v)[j], &h));
        PetscCall(VecAXPY(now, -h, (*v)[j]));
      }
    PetscCall(VecNormalize(now, nullptr));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode expect_view(KSP ksp, const std::string &part)
{
  std::string text;
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, part);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Compares the function that a KSP has with PETSc's. It makes the last of these vectors orthogonal
// to the first n.
PetscErrorCode compare(const Solver &solver, const std::vector<OwnedVec> &vectors, PetscInt n,
                       KSPOrthogonalizationCGSRefinementType refinement)
{
  const auto count = static_cast<std::size_t>(n);
  std::vector<Vec> v(vectors.begin(), vectors.begin() + n);
  std::vector<PetscScalar> h(count + 1, 7e77), expected = h, again = h;
  KSPOrthogonalizationFn *function;
  OwnedKSP fresh; // PETSc's function does nothing after a solve
  OwnedVec mine, theirs, last;
  Vector result, wanted, repeated;

  PetscFunctionBeginUser;
  for (OwnedVec *vec : {&mine, &theirs, &last}) {
    PetscCall(VecDuplicate(vectors.back(), vec->out()));
    PetscCall(VecCopy(vectors.back(), *vec));
  }
  PetscCall(KSPCreate(PETSC_COMM_WORLD, fresh.out()));
  PetscCall(KSPOrthogonalizationSetCGSRefinementType(fresh, refinement));
  PetscCall(KSPOrthogonalizationClassicalGramSchmidt(fresh, v.data(), n, theirs, expected.data()));
  PetscCall(KSPOrthogonalizationSetCGSRefinementType(solver.ksp, refinement));
  PetscCall(KSPOrthogonalizationGet(solver.ksp, &function));
  EXPECT_NE(function, KSPOrthogonalizationClassicalGramSchmidt);
  PetscCall(function(solver.ksp, v.data(), n, mine, h.data()));
  EXPECT_LE(difference(h, expected), kTolerance);
  EXPECT_EQ(h[count], 7e77); // nothing was written behind
  PetscCall(gather(mine, &result));
  PetscCall(gather(theirs, &wanted));
  EXPECT_LE(difference(result, wanted), kTolerance);
  // Without a vector, the one behind the n is meant. The bits are the same in every run.
  v.push_back(last);
  PetscCall(function(solver.ksp, v.data(), n, nullptr, again.data()));
  EXPECT_EQ(again, h);
  PetscCall(gather(last, &repeated));
  EXPECT_EQ(repeated, result);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(GramSchmidt, coefficients_and_vectors_are_those_of_petsc)
{
  PetscFunctionBeginUser;
  for (const Layout layout : {Layout::uneven, Layout::empty_ranks, Layout::all_on_last}) {
    Solver solver;
    std::vector<OwnedVec> vectors;
    PetscCall(create(layout, "-pc_mcpi_gram_schmidt", &solver));
    PetscCall(solve(&solver));
    PetscCall(expect_view(solver.ksp, "takes several vectors at a time"));
    PetscCall(make_vectors(solver, 130, &vectors));
    for (const auto refinement :
         {KSP_ORTHOGONALIZATION_CGS_REFINE_NEVER, KSP_ORTHOGONALIZATION_CGS_REFINE_IFNEEDED,
          KSP_ORTHOGONALIZATION_CGS_REFINE_ALWAYS})
      for (const PetscInt n : {1, 2, 3, 7, 8, 9, 16, 30, 63, 64, 65, 130}) {
        describe(std::string(name_of(layout)) + " refinement " + std::to_string(refinement) +
                 " n " + std::to_string(n));
        PetscCall(compare(solver, vectors, n, refinement));
      }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(GramSchmidt, solves_take_the_iterations_of_petsc)
{
  PetscFunctionBeginUser;
  for (const char *type : {KSPGMRES, KSPFGMRES, KSPLGMRES}) {
    const std::string options = std::string("-ksp_type ") + type;
    Solver mine, theirs;
    describe(type);
    PetscCall(create(Layout::uneven, options + " -pc_mcpi_gram_schmidt", &mine));
    PetscCall(create(Layout::uneven, options, &theirs));
    PetscCall(solve(&mine));
    PetscCall(solve(&theirs));
    EXPECT_EQ(mine.its, theirs.its);
    EXPECT_LE(difference(mine.x, theirs.x), 1e-8);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(GramSchmidt, it_is_taken_back_on_demand)
{
  Solver solver;
  KSPOrthogonalizationFn *function;
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(create(Layout::uneven, "-pc_mcpi_gram_schmidt", &solver));
  PetscCall(solve(&solver));
  const PetscInt expected = solver.its;
  PetscCall(KSPGetPC(solver.ksp, &pc));
  PetscCall(PCMCPISetGramSchmidt(pc, PETSC_FALSE));
  PetscCall(solve(&solver));
  EXPECT_EQ(solver.its, expected);
  PetscCall(KSPOrthogonalizationGet(solver.ksp, &function));
  EXPECT_EQ(function, KSPOrthogonalizationClassicalGramSchmidt);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(GramSchmidt, another_orthogonalization_stays)
{
  Solver solver;
  KSPOrthogonalizationFn *function;

  PetscFunctionBeginUser;
  PetscCall(create(Layout::uneven, "-pc_mcpi_gram_schmidt -ksp_orthogonalization mgs", &solver));
  PetscCall(solve(&solver));
  PetscCall(KSPOrthogonalizationGet(solver.ksp, &function));
  EXPECT_EQ(function, KSPOrthogonalizationModifiedGramSchmidt);
  PetscCall(expect_view(solver.ksp, "does not use -ksp_orthogonalization cgs"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(GramSchmidt, a_solve_stops_at_numbers_that_are_not_finite)
{
  Solver solver;
  KSPOrthogonalizationFn *function;
  KSPConvergedReason reason;
  std::vector<OwnedVec> v;
  std::vector<PetscScalar> h(3);

  PetscFunctionBeginUser;
  PetscCall(create(Layout::uneven, "-pc_mcpi_gram_schmidt", &solver));
  PetscCall(solve(&solver));
  PetscCall(make_vectors(solver, 3, &v));
  PetscCall(VecSet(v[3], std::numeric_limits<double>::quiet_NaN()));
  std::vector<Vec> pointers(v.begin(), v.end());
  PetscCall(KSPOrthogonalizationGet(solver.ksp, &function));
  PetscCall(function(solver.ksp, pointers.data(), 3, nullptr, h.data()));
  PetscCall(KSPGetConvergedReason(solver.ksp, &reason));
  EXPECT_LT(reason, 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(GramSchmidt, vectors_on_the_host_are_left_to_petsc)
{
  Solver solver;

  PetscFunctionBeginUser;
  PetscCall(create(Layout::uneven, "-pc_mcpi_gram_schmidt", &solver));
  PetscCall(MatBindToCPU(solver.mat, PETSC_TRUE));
  PetscCall(solve(&solver));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#endif
