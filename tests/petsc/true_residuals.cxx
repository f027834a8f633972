// Tests that, with all defaults of PCMCPI, every method reaches the true residual that it reaches
// with PCSOR.
// -table prints the residuals as a table in Markdown. -n is the number of vertices along an edge of
// the mesh.
#include <cmath>

#include "support/petsc.h"

using namespace mcpi::test;

namespace {

constexpr PetscInt bs = 5;
constexpr double tolerances[] = {1e-6, 1e-10, 1e-12};
// Methods lose some digits themselves.
constexpr double kAllowed = 2.0;
// Below this tolerance, GMRES without refined orthogonalization loses digits with every
// preconditioner. Rounding then decides how many: PCSOR ended at 0.6 to 4.2 times 1e-12.
constexpr double kRefinedBelow = 1e-11;
#if PETSC_VERSION_LT(3, 26, 0)
constexpr char kRefined[] = " -ksp_gmres_cgs_refinement_type refine_ifneeded";
#else
constexpr char kRefined[] = " -ksp_orthogonalization_cgs_refinement_type refine_ifneeded";
#endif

enum class Kind { general, definite, easy };

struct Method {
  const char *name, *options;
  Kind kind = Kind::general;
  bool aij = false; // blocks are split, or products are formed
  bool mg = false;
};

// %s is the type of the preconditioner
constexpr Method methods[] = {
    {"GMRES, left", "-ksp_type gmres -pc_type %s"},
    {"GMRES, right", "-ksp_type gmres -ksp_pc_side right -pc_type %s"},
    {"BCGS", "-ksp_type bcgs -pc_type %s"},
    {"BCGSL", "-ksp_type bcgsl -pc_type %s"},
    {"TFQMR", "-ksp_type tfqmr -pc_type %s"},
    {"CGS", "-ksp_type cgs -pc_type %s"},
    {"FGMRES", "-ksp_type fgmres -pc_type %s"},
    {"GCR", "-ksp_type gcr -pc_type %s"},
    {"Richardson", "-ksp_type richardson -ksp_max_it 300 -pc_type %s", Kind::easy},
    {"CG", "-ksp_type cg -pc_type %s", Kind::definite},
    {"FCG", "-ksp_type fcg -pc_type %s", Kind::definite},
    {"MINRES", "-ksp_type minres -pc_type %s", Kind::definite},
    {"CR", "-ksp_type cr -pc_type %s", Kind::definite},
    {"Chebyshev", "-ksp_type chebyshev -ksp_chebyshev_eigenvalues 0.001,1.05 -pc_type %s",
     Kind::definite},
    {"LSQR", "-ksp_type lsqr -pc_type %s", Kind::definite},
    {"PIPEFGMRES", "-ksp_type pipefgmres -pc_type %s"},
    {"PIPEFCG", "-ksp_type pipefcg -pc_type %s", Kind::definite},
    {"GMRES, PCMG",
     "-ksp_type gmres -pc_type mg -pc_mg_galerkin both -mg_levels_pc_type %s -mg_coarse_pc_type "
     "redundant",
     Kind::general, true, true},
    {"CG, PCMG",
     "-ksp_type cg -pc_type mg -pc_mg_galerkin both -mg_levels_pc_type %s -mg_coarse_pc_type "
     "redundant",
     Kind::definite, true, true},
    {"GMRES, PCGAMG",
     "-ksp_type gmres -pc_type gamg -pc_gamg_coarse_eq_limit 40 -mg_levels_pc_type %s",
     Kind::definite, true},
    {"CG, PCGAMG", "-ksp_type cg -pc_type gamg -pc_gamg_coarse_eq_limit 40 -mg_levels_pc_type %s",
     Kind::definite, true},
    {"GMRES, PCGAMG, Richardson",
     "-ksp_type gmres -pc_type gamg -pc_gamg_coarse_eq_limit 40 -mg_levels_ksp_type richardson "
     "-mg_levels_pc_type %s",
     Kind::definite, true},
    {"GMRES, PCASM", "-ksp_type gmres -pc_type asm -sub_pc_type %s"},
    {"BCGS, PCASM", "-ksp_type bcgs -pc_type asm -sub_pc_type %s"},
    {"GMRES, PCBJACOBI", "-ksp_type gmres -pc_type bjacobi -sub_pc_type %s"},
    {"GMRES, PCASM, Richardson",
     "-ksp_type gmres -pc_type asm -sub_ksp_type richardson -sub_ksp_max_it 2 -sub_pc_type %s"},
    {"BCGS, PCBJACOBI, Richardson",
     "-ksp_type bcgs -pc_type bjacobi -sub_ksp_type richardson -sub_ksp_max_it 2 -sub_pc_type %s"},
    {"GMRES, PCKSP, Richardson",
     "-ksp_type gmres -pc_type ksp -ksp_ksp_type richardson -ksp_ksp_max_it 2 -ksp_pc_type %s"},
    {"GMRES, PCFIELDSPLIT",
     "-ksp_type gmres -pc_type fieldsplit -pc_fieldsplit_block_size 5 -pc_fieldsplit_0_fields 0,1 "
     "-pc_fieldsplit_1_fields 2,3,4 "
     "-fieldsplit_pc_type %s",
     Kind::general, true},
};

// Coupled diffusion. The general kind also has convection, and the easy kind also has decay.
BlockMatrix matrix_of(Kind kind, PetscInt edge)
{
  constexpr double kCoupling = 0.1, kFlow = 0.4;
  const double reaction = kind == Kind::easy ? 1.0 : 1e-2;
  const bool definite = kind == Kind::definite;
  Recipe recipe;
  recipe.symmetric = definite;
  BlockMatrix matrix = make_matrix(bs, tetrahedral_pattern(edge, edge - 1, edge - 2), recipe);
  for (PetscInt i = 0; i < matrix.rows(); ++i) {
    double *diagonal = matrix.block(i, i);
    for (PetscInt k = 0; k < bs * bs; ++k) diagonal[k] = k % (bs + 1) ? 0.0 : reaction;
    for (PetscInt e = matrix.ptr[i]; e < matrix.ptr[i + 1]; ++e) {
      const PetscInt j = matrix.col[e];
      if (j == i) continue;
      const double along = definite ? 1.0 : j < i ? 1.0 + kFlow : 1.0 - kFlow;
      const Vector coupling = random_vector(
          bs * bs, static_cast<std::uint64_t>(std::min(i, j) * matrix.rows() + std::max(i, j)));
      double *block = matrix.block(i, j);
      for (PetscInt q = 0; q < bs; ++q)
        for (PetscInt p = 0; p < bs; ++p) {
          const double couples =
              definite ? coupling[p * bs + q] + coupling[q * bs + p] : coupling[q * bs + p];
          block[q * bs + p] = -along * ((p == q ? 1.0 : 0.0) + kCoupling * couples);
          diagonal[q * bs + p] -= block[q * bs + p];
        }
    }
  }
  return matrix;
}

double relative_residual(const BlockMatrix &matrix, const Vector &b, const Vector &x)
{
  Vector r = matrix.multiply(x);
  for (std::size_t i = 0; i < r.size(); ++i) r[i] = b[i] - r[i];
  return norm(r) / norm(b);
}

struct Result {
  double residual = 0.0; // true and relative
  PetscInt its = 0;
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;

  bool converged() const { return reason > 0; }
};

std::string options_of(const Method &method, const std::string &type, double tolerance)
{
  std::string options = method.options;
  options.replace(options.find("%s"), 2, type);
  std::ostringstream all;
  all << "-ksp_max_it 4000 -ksp_gmres_restart 100 -ksp_gcr_restart 100 -ksp_rtol " << tolerance
      << " " << options;
  if (tolerance < kRefinedBelow) all << kRefined;
  return all.str();
}

// Solves with a user's options. They are in the current database, because inner solvers read the
// database that is current when they are made.
PetscErrorCode solve_with(const Method &method, const BlockMatrix &matrix, Mat mat,
                          const std::string &options, Result *result)
{
  OwnedSolver solver;
  OwnedMat interpolation;
  PC pc;
  Vector x;
  const Vector b = matrix.multiply(random_vector(matrix.size(), 1));

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsCreate(solver.options.out()));
  PetscCall(insert_options(solver.options, options));
  PetscCall(PetscOptionsPush(solver.options));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, solver.ksp.out()));
  PetscCall(KSPSetOperators(solver, mat, mat));
  if (method.mg) {
    PetscCall(KSPGetPC(solver, &pc));
    PetscCall(PCSetType(pc, PCMG));
    PetscCall(PCMGSetLevels(pc, 2, nullptr));
    PetscCall(create_interpolation(mat, bs, &interpolation));
    PetscCall(PCMGSetInterpolation(pc, 1, interpolation));
  }
  PetscCall(KSPSetFromOptions(solver));
  PetscCall(solve(solver, b, &x, &result->reason, &result->its));
  result->residual = relative_residual(matrix, b, x);
  solver.ksp.reset();
  PetscCall(PetscOptionsPop());
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool tables()
{
  PetscBool given = PETSC_FALSE;
  (void)PetscOptionsHasName(nullptr, nullptr, "-table", &given);
  return given == PETSC_TRUE;
}

PetscInt edge_of_mesh()
{
  PetscInt edge = 7;
  (void)PetscOptionsGetInt(nullptr, nullptr, "-n", &edge, nullptr);
  return edge;
}

std::string cell(const Result &result)
{
  char text[64];
  (void)std::snprintf(text, sizeof text, "%.1e (%d)", result.residual,
                      static_cast<int>(result.its));
  return result.converged() ? text : std::string(text) + " not converged";
}

// Compares the residual of PCMCPI with these options with that of PCSOR, at every tolerance up to
// this one.
PetscErrorCode compare_with_sor(const Method &method, const std::string &mcpi_options,
                                double largest_tolerance)
{
  const BlockMatrix matrix = matrix_of(method.kind, edge_of_mesh());
  OwnedMat mat;
  std::string row = std::string("| ") + method.name + " |";

  PetscFunctionBeginUser;
  PetscCall(
      create_mat(PETSC_COMM_WORLD, matrix, Layout::even, method.aij ? MATAIJ : MATBAIJ, &mat));
  if (std::string(method.options).find("gamg") != std::string::npos)
    PetscCall(MatSetOption(mat, MAT_SPD, PETSC_TRUE));
  for (const double tolerance : tolerances) {
    Result sor, mcpi;
    if (tolerance > largest_tolerance) continue;
    PetscCall(solve_with(method, matrix, mat, options_of(method, "sor", tolerance), &sor));
    PetscCall(solve_with(method, matrix, mat, options_of(method, "mcpi", tolerance) + mcpi_options,
                         &mcpi));
    describe(std::string(method.name) + mcpi_options + ", tolerance " +
             std::to_string(std::log10(tolerance)));
    if (sor.converged()) {
      EXPECT_LT(0, static_cast<int>(mcpi.reason));
      EXPECT_LE(mcpi.residual, kAllowed * std::max(sor.residual, tolerance));
    }
    row += " " + cell(mcpi) + " | " + cell(sor) + " |";
  }
  if (tables()) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", row.c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode print_head(const char *title, double largest_tolerance)
{
  PetscFunctionBegin;
  if (!tables()) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n%s\n\n| method |", title));
  for (const double tolerance : tolerances)
    if (tolerance <= largest_tolerance)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %g, mcpi | %g, sor |", tolerance, tolerance));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n|---|"));
  for (const double tolerance : tolerances)
    if (tolerance <= largest_tolerance) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "---|---|"));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(TrueResiduals, every_method_reaches_with_all_defaults_of_mcpi_the_true_residual_of_sor)
{
  PetscFunctionBeginUser;
  PetscCall(print_head("All defaults", 1.0));
  for (const Method &method : methods) PetscCall(compare_with_sor(method, "", 1.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(TrueResiduals, every_storage_reaches_the_true_residual_of_sor)
{
  PetscFunctionBeginUser;
  for (const char *precision : {"fp64", "fp16", "int8", "int4"}) {
    PetscCall(print_head(precision, tolerances[2]));
    for (const Method &method : methods) {
      if (method.kind == Kind::definite) continue; // rounded blocks are not symmetric
      PetscCall(compare_with_sor(method,
                                 std::string(" -pc_mcpi_offdiag_precision ") + precision +
                                     " -mg_levels_pc_mcpi_offdiag_precision " + precision +
                                     " -sub_pc_mcpi_offdiag_precision " + precision +
                                     " -ksp_pc_mcpi_offdiag_precision " + precision,
                                 tolerances[2]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
