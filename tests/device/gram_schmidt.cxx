// -pc_mcpi_gram_schmidt beside PETSc's own classical Gram-Schmidt, on vectors of a device
#include "support/petsc.h"

using namespace mcpi::test;

#if PETSC_VERSION_GE(3, 26, 0)
#include <petsc/private/kspimpl.h>

#include <cmath>
#include <utility>

namespace {

constexpr double kTolerance = 1e-11; // in the last pass most of a vector cancels

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

// Whether a KSP has mcpi's function
bool replaced(KSP ksp)
{
  KSPOrthogonalizationFn *function = nullptr;
  (void)KSPOrthogonalizationGet(ksp, &function);
  return function != KSPOrthogonalizationClassicalGramSchmidt &&
         function != KSPOrthogonalizationModifiedGramSchmidt;
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

// n vectors that are nearly orthogonal to each other, and a random one
PetscErrorCode make_vectors(const Solver &solver, PetscInt n, std::vector<OwnedVec> *v)
{
  const auto last = static_cast<std::size_t>(n);

  PetscFunctionBeginUser;
  v->resize(last + 1);
  for (std::size_t k = 0; k < v->size(); ++k) {
    OwnedVec &now = (*v)[k];
    PetscCall(create_vec(solver.mat, random_vector(solver.matrix.size(), 20 + static_cast<int>(k)),
                         &now));
    if (k == last) break;
    for (int turn = 0; turn < 2; ++turn)
      for (std::size_t j = 0; j < k; ++j) {
        PetscScalar h;
        PetscCall(VecDot(now, (*v)[j], &h));
        PetscCall(VecAXPY(now, -h, (*v)[j]));
      }
    PetscCall(VecNormalize(now, nullptr));
  }
  for (std::size_t k = 1; k < last; ++k) PetscCall(VecAXPY((*v)[k], 1e-3, (*v)[0]));
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

// Sets a vector to the last of these plus `part` times the sum of the first n. For a large part, one
// pass leaves about 1e-3 of them in it, and a second one 1e-6.
PetscErrorCode combine(const std::vector<OwnedVec> &vectors, PetscInt n, double part, Vec x)
{
  PetscFunctionBeginUser;
  PetscCall(VecCopy(vectors.back(), x));
  for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k)
    PetscCall(VecAXPY(x, part, vectors[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Makes such a vector orthogonal to the first n by the function that a KSP has, and compares the
// result with that of PETSc's function.
PetscErrorCode compare(const Solver &solver, const std::vector<OwnedVec> &vectors, PetscInt n,
                       double part, KSPOrthogonalizationCGSRefinementType refinement,
                       Vector *result)
{
  const auto count = static_cast<std::size_t>(n);
  std::vector<Vec> v(vectors.begin(), vectors.begin() + n);
  std::vector<PetscScalar> h(count + 1, 7e77), expected = h, again = h;
  KSPOrthogonalizationFn *function;
  OwnedKSP fresh; // PETSc's function does nothing after a solve
  OwnedVec mine, theirs, last;
  Vector wanted, repeated;

  PetscFunctionBeginUser;
  for (OwnedVec *vec : {&mine, &theirs, &last}) {
    PetscCall(VecDuplicate(vectors.back(), vec->out()));
    PetscCall(combine(vectors, n, part, *vec));
  }
  PetscCall(KSPCreate(PETSC_COMM_WORLD, fresh.out()));
  PetscCall(KSPOrthogonalizationSetCGSRefinementType(fresh, refinement));
  PetscCall(KSPOrthogonalizationClassicalGramSchmidt(fresh, v.data(), n, theirs, expected.data()));
  PetscCall(KSPOrthogonalizationSetCGSRefinementType(solver.ksp, refinement));
  PetscCall(KSPOrthogonalizationGet(solver.ksp, &function));
  PetscCall(function(solver.ksp, v.data(), n, mine, h.data()));
  EXPECT_EQ(h[count], 7e77); // nothing was written behind
  h.pop_back();
  expected.pop_back();
  EXPECT_LE(difference(h, expected), kTolerance);
  PetscCall(gather(mine, result));
  PetscCall(gather(theirs, &wanted));
  EXPECT_LE(difference(*result, wanted), kTolerance);
  // Without a vector, the one behind the n is meant. The bits are the same in every run.
  v.push_back(last);
  PetscCall(function(solver.ksp, v.data(), n, nullptr, again.data()));
  again.pop_back();
  EXPECT_EQ(again, h);
  PetscCall(gather(last, &repeated));
  EXPECT_EQ(repeated, *result);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode compare_refinements(const Solver &solver, const std::vector<OwnedVec> &vectors,
                                   PetscInt n, double part)
{
  Vector never, if_needed, always;

  PetscFunctionBeginUser;
  PetscCall(compare(solver, vectors, n, part, KSP_ORTHOGONALIZATION_CGS_REFINE_NEVER, &never));
  PetscCall(
      compare(solver, vectors, n, part, KSP_ORTHOGONALIZATION_CGS_REFINE_IFNEEDED, &if_needed));
  PetscCall(compare(solver, vectors, n, part, KSP_ORTHOGONALIZATION_CGS_REFINE_ALWAYS, &always));
  EXPECT_TRUE(n == 1 || difference(never, always) > 1e-8);
  if (part > 0.0) {
    EXPECT_EQ(if_needed, always);
  } else if (n < 30) { // less is removed than is left
    EXPECT_EQ(if_needed, never);
  }
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
    EXPECT_TRUE(replaced(solver.ksp));
    PetscCall(make_vectors(solver, 130, &vectors));
    for (const PetscInt n : {1, 2, 3, 7, 8, 9, 16, 30, 63, 64, 65, 130})
      for (const double part : {0.0, 100.0}) {
        describe(std::string(name_of(layout)) + " n " + std::to_string(n) + " part " +
                 std::to_string(part));
        PetscCall(compare_refinements(solver, vectors, n, part));
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
    PetscCall(solve(&theirs));
    for (int turn = 0; turn < 2; ++turn) {
      PetscCall(solve(&mine));
      EXPECT_TRUE(replaced(mine.ksp));
      EXPECT_EQ(mine.its, theirs.its);
      EXPECT_LE(difference(mine.x, theirs.x), 1e-8);
      PetscCall(KSPSetFromOptions(mine.ksp));
    }
    EXPECT_FALSE(replaced(theirs.ksp));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(GramSchmidt, it_is_taken_back_on_demand_from_all_solvers)
{
  Solver one, other;
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(create(Layout::uneven, "-pc_mcpi_gram_schmidt", &one));
  PetscCall(create(Layout::uneven, "", &other));
  PetscCall(KSPGetPC(one.ksp, &pc));
  PetscCall(KSPSetPC(other.ksp, pc));
  for (const bool wanted : {true, false}) {
    PetscCall(set_options(pc, wanted ? "-pc_mcpi_gram_schmidt" : "-pc_mcpi_gram_schmidt false"));
    for (Solver *solver : {&one, &other}) {
      PetscCall(solve(solver));
      EXPECT_EQ(replaced(solver->ksp), wanted);
    }
  }
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
  // Numbers of a Krylov vector and of the new vector. With the last pair, the coefficient is
  // finite, and what is left is not.
  const std::pair<double, double> cases[] = {{kNaN, kNaN}, {1e200, 1e200}, {1e200, 1e100}};

  PetscFunctionBeginUser;
  for (const auto &[old, now] : cases) {
    Solver solver;
    KSPOrthogonalizationFn *function;
    KSPConvergedReason reason;
    std::vector<OwnedVec> v;
    std::vector<PetscScalar> h(3);
    describe(std::to_string(std::log10(old)) + " " + std::to_string(std::log10(now)));
    PetscCall(create(Layout::uneven, "-pc_mcpi_gram_schmidt", &solver));
    PetscCall(solve(&solver));
    PetscCall(make_vectors(solver, 3, &v));
    PetscCall(VecSet(v[2], old));
    PetscCall(VecSet(v[3], now));
    std::vector<Vec> pointers(v.begin(), v.end());
    PetscCall(KSPOrthogonalizationSetCGSRefinementType(solver.ksp,
                                                       KSP_ORTHOGONALIZATION_CGS_REFINE_IFNEEDED));
    PetscCall(KSPOrthogonalizationGet(solver.ksp, &function));
    KSP(solver.ksp)->reason = KSP_CONVERGED_ITERATING; // as within a solve
    PetscCall(function(solver.ksp, pointers.data(), 3, nullptr, h.data()));
    PetscCall(KSPGetConvergedReason(solver.ksp, &reason));
    EXPECT_LT(reason, 0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(GramSchmidt, another_solver_that_a_program_gave_the_function_gets_memory_for_it)
{
  Solver one, other;
  KSPOrthogonalizationFn *function;
  PetscObject memory;

  PetscFunctionBeginUser;
  PetscCall(create(Layout::uneven, "-pc_mcpi_gram_schmidt", &one));
  PetscCall(create(Layout::uneven, "-pc_mcpi_gram_schmidt", &other));
  PetscCall(solve(&one));
  PetscCall(KSPOrthogonalizationGet(one.ksp, &function));
  PetscCall(KSPOrthogonalizationSet(other.ksp, function));
  PetscCall(solve(&other));
  PetscCall(PetscObjectQuery((PetscObject)(KSP)other.ksp, "mcpi Gram-Schmidt", &memory));
  EXPECT_TRUE(memory != nullptr);
  EXPECT_TRUE(same_bits(one.x, other.x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(GramSchmidt, ranks_that_have_bound_vectors_to_the_cpu_get_the_same_result)
{
  constexpr PetscInt n = 9;
  Solver solver;
  KSPOrthogonalizationFn *function;
  std::vector<OwnedVec> vectors;
  std::vector<PetscScalar> h(n);
  OwnedVec x;
  Vector wanted, found;

  PetscFunctionBeginUser;
  PetscCall(create(Layout::uneven, "-pc_mcpi_gram_schmidt", &solver));
  PetscCall(solve(&solver));
  PetscCall(make_vectors(solver, n, &vectors));
  PetscCall(compare(solver, vectors, n, 100.0, KSP_ORTHOGONALIZATION_CGS_REFINE_IFNEEDED, &wanted));
  PetscCall(VecDuplicate(vectors.back(), x.out()));
  PetscCall(combine(vectors, n, 100.0, x));
  std::vector<Vec> pointers(vectors.begin(), vectors.begin() + n);
  pointers.push_back(x);
  for (Vec vec : pointers)
    PetscCall(VecBindToCPU(vec, world_rank() == world_size() - 1 ? PETSC_TRUE : PETSC_FALSE));
  PetscCall(KSPOrthogonalizationGet(solver.ksp, &function));
  PetscCall(function(solver.ksp, pointers.data(), n, nullptr, h.data()));
  PetscCall(gather(x, &found));
  EXPECT_TRUE(same_bits(found, wanted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Solves with a matrix and vectors that the ranks from `first` on have bound to the CPU.
static PetscErrorCode solve_bound(const Solver &solver, int first, PetscInt *its)
{
  const PetscBool host = world_rank() >= first ? PETSC_TRUE : PETSC_FALSE;
  OwnedVec b, x;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(MatBindToCPU(solver.mat, host));
  PetscCall(create_vec(solver.mat, random_vector(solver.matrix.size(), 3), &b));
  PetscCall(VecDuplicate(b, x.out()));
  for (Vec vec : {Vec(b), Vec(x)}) {
    PetscCall(VecSetBindingPropagates(vec, PETSC_TRUE));
    PetscCall(VecBindToCPU(vec, host));
  }
  PetscCall(KSPReset(solver.ksp)); // so that it makes its vectors anew
  PetscCall(KSPSetOperators(solver.ksp, solver.mat, solver.mat));
  PetscCall(KSPSolve(solver.ksp, b, x));
  PetscCall(KSPGetConvergedReason(solver.ksp, &reason));
  PetscCall(KSPGetIterationNumber(solver.ksp, its));
  EXPECT_GT(reason, 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(GramSchmidt, vectors_that_are_bound_to_the_cpu_are_left_to_petsc)
{
  Solver solver;

  PetscFunctionBeginUser;
  PetscCall(create(Layout::uneven, "-pc_mcpi_gram_schmidt", &solver));
  PetscCall(solve(&solver));
  for (const int first : {world_size(), 0, world_size() - 1, world_size()}) {
    PetscInt its;
    describe("bound from rank " + std::to_string(first) + " on");
    PetscCall(solve_bound(solver, first, &its));
    EXPECT_EQ(its, solver.its);
    EXPECT_EQ(replaced(solver.ksp), first == world_size());
    if (first < world_size())
      PetscCall(expect_view(solver.ksp, "because vectors are on the CPU on some rank"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#endif
