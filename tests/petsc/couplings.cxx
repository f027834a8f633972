// Tests components that couple in one direction only, or almost so: reservoirs, triangular systems,
// and one coupling of 1e-19.
#include <array>
#include <cmath>

#include "support/petsc.h"

using namespace mcpi::test;

namespace {

struct Coupling {
  const char *name;
  std::array<double, 9> rows; // D^{-1}O, row by row
};

// The first two are the maxima of D^{-1}O of PETSc's snes/ex33 and of the Jacobian of an SPE1 case.
constexpr Coupling couplings[] = {
    {"reservoir",
     {2.40793299e-02, 2.28236999e-02, 0, 3.52750064e-19, 0.5, 0, 5.18023282e-03, 9.54934323e-01,
      0.5}},
    {"SPE1",
     {0, 1.06647621e-10, 3.89894558e-05, 0, 0.997857795, 3.65923609e+05, 0, 1.07306462e-03,
      1.71804661e+03}},
    {"one tiny coupling", {0.3, 0.2, 0, 1e-19, 0.5, 0, 0.005, 0.9, 0.5}},
    {"upper triangular", {0.5, 0.2, 0.3, 0, 0.5, 0.2, 0, 0, 0.5}},
    {"lower triangular, 1e-300 and 1e300", {0.5, 0, 0, 1e-300, 0.5, 0, 1e300, 0.2, 0.5}},
    {"two coupled, one reads", {0.5, 0.3, 0, 0.3, 0.5, 0, 0.2, 0.3, 0.5}},
};

// Systems of 18 unknowns that this many iterations do not solve stay unsolved.
constexpr char kMethod[] = "-ksp_type fgmres -ksp_max_it 200";

// A chain of block rows. Diagonal blocks are identities. The blocks to the next row hold the
// couplings, and those to the preceding row hold a tenth of them.
BlockMatrix chain(const Coupling &coupling, PetscInt n)
{
  Pattern pattern(static_cast<std::size_t>(n));
  for (PetscInt i = 0; i < n; ++i)
    for (const PetscInt j : {i - 1, i + 1})
      if (j >= 0 && j < n) pattern[static_cast<std::size_t>(i)].push_back(j);
  BlockMatrix matrix = make_matrix(3, pattern);
  for (PetscInt i = 0; i < n; ++i)
    for (PetscInt e = matrix.ptr[i]; e < matrix.ptr[i + 1]; ++e) {
      const PetscInt j = matrix.col[e];
      double *block = matrix.block(i, j);
      for (std::size_t p = 0; p < 3; ++p)
        for (std::size_t q = 0; q < 3; ++q) {
          const double o = coupling.rows[3 * p + q];
          block[q * 3 + p] = i == j ? (p == q ? 1.0 : 0.0) : j > i ? -o : -0.1 * o;
        }
    }
  return matrix;
}

// Solves with mcpi by all storages. must: the system is one that SOR solves
PetscErrorCode check_storages(const Coupling &coupling, Mat mat, const Vector &b, bool must)
{
  PetscFunctionBeginUser;
  for (const char *storage : {"fp64", "fp32", "fp16", "int8", "int4"})
    for (const char *form : {"prescaled", "factored", "entries"}) {
      if (!takes_form(form, storage)) continue;
      OwnedSolver mcpi;
      KSPConvergedReason reason;
      Vector x;
      PetscInt its;
      describe(std::string(coupling.name) + ", " + storage + ", " + form);
      PetscCall(create_ksp(mat, mat,
                           std::string(kMethod) + " -pc_mcpi_offdiag_precision " + storage +
                               " -pc_mcpi_form " + form,
                           &mcpi));
      PetscCall(solve(mcpi, b, &x, &reason, &its));
      if (must) {
        EXPECT_LT(0, static_cast<int>(reason));
      }
      if (reason > 0) {
        for (const double value : x) EXPECT_TRUE(std::isfinite(value));
      }
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(Couplings, couplings_without_a_way_back_converge_in_every_storage)
{
  int solved = 0;

  PetscFunctionBeginUser;
  for (const Coupling &coupling : couplings) {
    const BlockMatrix matrix = chain(coupling, 6);
    const Vector b(static_cast<std::size_t>(matrix.size()), 1.0);
    OwnedMat mat;
    OwnedSolver sor;
    KSPConvergedReason reason;
    Vector x;
    PetscInt its;
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
    PetscCall(create_ksp(mat, mat, std::string(kMethod) + " -pc_type sor", &sor));
    PetscCall(solve(sor, b, &x, &reason, &its));
    solved += reason > 0;
    PetscCall(check_storages(coupling, mat, b, reason > 0));
  }
  EXPECT_LE(4, solved);
  PetscFunctionReturn(PETSC_SUCCESS);
}
