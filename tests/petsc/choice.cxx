// Tests what the preconditioner chooses by itself: schedule, sweeps, storage of blocks and
// precision of vectors.
#include <algorithm>

#include "support/petsc.h"

using namespace mcpi::test;

namespace {

// These programs also run with other backends: -test_backend.
bool on_cpu()
{
  const std::string backend = backend_under_test();
  return backend.empty() || backend == "host" || backend == "reference";
}

BlockMatrix system_of(int bs)
{
  return make_matrix(bs, tetrahedral_pattern(6, 5, 4));
}

// A chain of block rows whose off-diagonal blocks are multiplied by a factor
BlockMatrix chain(Row rows, int bs, double factor)
{
  BlockMatrix matrix = make_matrix(bs, chain_pattern(rows));
  scale_offdiag(matrix, factor);
  return matrix;
}

// A KSP with the options, its PC, and the matrix
PetscErrorCode create(const BlockMatrix &matrix, const std::string &options, OwnedMat *mat,
                      OwnedSolver *ksp, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::uneven, MATBAIJ, mat));
  PetscCall(create_ksp(*mat, *mat, options, ksp, Defaults::chosen));
  PetscCall(KSPGetPC(*ksp, pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Solves by one iteration at most, and returns what PCView() shows then.
PetscErrorCode solve_and_view(const BlockMatrix &matrix, const std::string &options, Vector *x,
                              std::string *text)
{
  OwnedMat mat;
  OwnedSolver ksp;
  PC pc;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  describe(options);
  PetscCall(create(matrix, "-ksp_max_it 1 " + options, &mat, &ksp, &pc));
  PetscCall(solve(ksp, random_vector(matrix.size(), 1), x, &reason, nullptr));
  PetscCall(view(pc, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

struct Expected {
  const char *options;
  int bs;
  const char *blocks, *vectors;
  bool one_sweep;
};

} // namespace

PETSC_TEST(Choice, follows_the_method_and_the_block_size)
{
  const Expected cases[] = {
      {"", 4, "fp32", "fp64", false},
      {"-ksp_type gmres", 4, "fp32", "fp64", false},
      {"-ksp_type bcgs", 5, "fp32", "fp64", false},
      {"-ksp_type fgmres", 4, "int8", "fp32", false},
      {"-ksp_type gcr", 5, "int8", "fp32", false},
      {"-ksp_type fgmres", 2, "fp32", "fp32", false},
      {"-ksp_type cg", 4, "fp32", "fp64", true},
      {"-ksp_type fcg", 4, "int8", "fp32", false},
      {"-ksp_type preonly", 4, "fp32", "fp64", false},
      {"-ksp_type richardson", 4, "fp32", "fp32", true},
      {"-ksp_type richardson -ksp_norm_type none", 4, "fp32", "fp64", true},
  };

  PetscFunctionBeginUser;
  for (const Expected &expected : cases) {
    std::string text;
    Vector x;
    PetscCall(solve_and_view(system_of(expected.bs), expected.options, &x, &text));
    EXPECT_CONTAINS(text, std::string("vectors: ") + expected.vectors + " (auto:");
    if (!on_cpu()) continue;
    const char *blocks = world_size() > 1 ? expected.blocks : "fp32"; // see memory_limits()
    EXPECT_CONTAINS(text, std::string("off-diagonal blocks: ") + blocks + " (auto:");
    EXPECT_EQ(text.find("sweeps: 1 ") != std::string::npos, expected.one_sweep);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Choice, of_the_schedule_is_the_order_of_the_matrix_on_one_rank_and_clusters_on_several)
{
  PetscMPIInt ranks;
  std::string text;
  Vector x;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(solve_and_view(system_of(4), "", &x, &text));
  EXPECT_CONTAINS(text, !on_cpu()    ? "schedule: color (auto:"
                        : ranks == 1 ? "schedule: level (auto:"
                                     : "schedule: cluster (auto:");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Choice, repeats_itself_and_can_be_pasted)
{
  PetscFunctionBeginUser;
  for (const std::string method : {"-ksp_type gmres", "-ksp_type fgmres", "-ksp_type cg"}) {
    const BlockMatrix matrix = system_of(4);
    std::string first, again, pasted;
    Vector x, x_again, x_pasted;
    PetscCall(solve_and_view(matrix, method, &x, &first));
    PetscCall(solve_and_view(matrix, method, &x_again, &again));
    EXPECT_EQ(first, again);
    EXPECT_TRUE(same_bits(x, x_again));
    const std::string options = chosen_options(first);
    for (const char *name : {"schedule", "its", "offdiag_precision", "gather_precision"})
      EXPECT_CONTAINS(options, std::string("-pc_mcpi_") + name + " ");
    PetscCall(solve_and_view(matrix, method + options, &x_pasted, &pasted));
    EXPECT_EQ(chosen_options(pasted), "");
    EXPECT_TRUE(same_bits(x, x_pasted));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Choice, never_overrules_a_given_option)
{
  const std::pair<const char *, const char *> cases[] = {
      {"-pc_mcpi_its 7", "sweeps: 7 "},
      {"-pc_mcpi_its 1", "sweeps: 1 symmetric, omega = 1.\n"},
      {"-pc_mcpi_schedule color", "schedule: color\n"},
      {"-pc_mcpi_schedule wave", "schedule: wave\n"},
      {"-pc_mcpi_mat_coloring_type greedy", "by greedy,"},
      {"-pc_mcpi_mat_coloring_type jplf", "by jplf,"},
      {"-pc_mcpi_offdiag_precision fp16", "off-diagonal blocks: fp16,"},
      {"-pc_mcpi_offdiag_precision fp64", "off-diagonal blocks: fp64,"},
      {"-pc_mcpi_gather_precision bfp16", "products read x as bfp16"},
      {"-pc_mcpi_vector_precision fp64", "vectors: fp64\n"},
  };

  PetscFunctionBeginUser;
  for (const auto &[options, expected] : cases) {
    std::string text;
    Vector x;
    PetscCall(solve_and_view(system_of(4), std::string("-ksp_type fgmres ") + options, &x, &text));
    EXPECT_CONTAINS(text, expected);
    const std::string given(options);
    EXPECT_EQ(chosen_options(text).find(given.substr(0, given.find(' ') + 1)), std::string::npos);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Sweeps diverge far from diagonal dominance. A Krylov method then converges with one sweep.
PETSC_TEST(Choice, takes_one_sweep_where_more_sweeps_enlarge_an_error)
{
  BlockMatrix dominant = system_of(4), other = dominant;

  PetscFunctionBeginUser;
  scale_offdiag(other, 20.0);
  for (const std::string options : {"", "-ksp_type fgmres", "-ksp_type bcgs",
                                    "-ksp_type fgmres -pc_mcpi_offdiag_precision fp64"})
    for (const BlockMatrix *matrix : {&dominant, &other}) {
      std::string text;
      Vector x;
      PetscCall(solve_and_view(*matrix, options, &x, &text));
      const bool one = text.find("sweeps: 1 symmetric, omega = 1. (auto: more sweeps enlarge") !=
                       std::string::npos;
      EXPECT_EQ(one, matrix == &other) << text;
      EXPECT_EQ(text.find("method: ilu0"), text.npos) << text; // ILU(0) is worse
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// As in a run that is restarted after some matrices
PETSC_TEST(Choice, does_not_follow_earlier_matrices_if_nothing_is_kept)
{
  const BlockMatrix matrix = system_of(4);

  PetscFunctionBeginUser;
  for (const double before : {1.0, 20.0})
    for (const double factor : {1.0, 20.0}) {
      const std::string options = "-ksp_max_it 2 -pc_mcpi_scaling_keep false";
      BlockMatrix first = matrix, second = matrix;
      const Vector b = random_vector(matrix.size(), 1);
      OwnedMat mat, restarted;
      OwnedSolver ksp, ksp_restarted;
      PC pc;
      KSPConvergedReason reason;
      Vector x, x_restarted;
      scale_offdiag(first, before);
      scale_offdiag(second, factor);
      PetscCall(create(first, options, &mat, &ksp, &pc));
      for (int k = 0; k < 3; ++k) PetscCall(solve(ksp, b, &x, &reason, nullptr));
      PetscCall(set_values(second, mat));
      PetscCall(solve(ksp, b, &x, &reason, nullptr));
      PetscCall(create(second, options, &restarted, &ksp_restarted, &pc));
      PetscCall(solve(ksp_restarted, b, &x_restarted, &reason, nullptr));
      EXPECT_TRUE(same_bits(x, x_restarted)) << before << " " << factor;
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Squares of such residuals are out of range.
PETSC_TEST(Choice, does_not_depend_on_the_units_of_the_matrix)
{
  const BlockMatrix matrix = system_of(4);
  std::string expected;

  PetscFunctionBeginUser;
  for (const double unit : {1.0, 1e-200, 1e200}) {
    BlockMatrix other = matrix;
    Vector b = random_vector(matrix.size(), 1);
    OwnedMat mat;
    OwnedSolver ksp;
    PC pc;
    KSPConvergedReason reason;
    std::string text;
    Vector x;
    describe(std::to_string(unit));
    for (double &value : other.values) value *= unit;
    for (double &value : b) value *= 1e-100 * unit; // PETSc's own norms of 1e200 overflow
    PetscCall(create(other, "-ksp_rtol 1e-8", &mat, &ksp, &pc));
    PetscCall(PetscSetFPTrap(PETSC_FP_TRAP_ON));
    PetscCall(solve(ksp, b, &x, &reason, nullptr));
    PetscCall(PetscSetFPTrap(PETSC_FP_TRAP_OFF));
    EXPECT_GT(reason, 0);
    PetscCall(view(pc, &text));
    if (expected.empty()) expected = chosen_options(text);
    EXPECT_EQ(chosen_options(text), expected);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Gauss-Seidel diverges on such a chain. ILU(0) of a chain in its order is exact.
PETSC_TEST(Choice, takes_incomplete_factors_where_sweeps_diverge_and_factors_do_not)
{
  const BlockMatrix matrix = chain(60, 2, 4.0);
  const Vector b = random_vector(matrix.size(), 1);

  PetscFunctionBeginUser;
  if (world_size() > 1 || !on_cpu()) PetscFunctionReturn(PETSC_SUCCESS);
  for (const std::string method : {"", "-ksp_type fgmres", "-ksp_type bcgs"}) {
    const std::string options = method + " -ksp_rtol 1e-10";
    OwnedMat mat;
    OwnedSolver ksp;
    PC pc;
    KSPConvergedReason reason;
    std::string first, text;
    Vector x, pasted;
    describe(options);
    PetscCall(create(matrix, options, &mat, &ksp, &pc));
    PetscCall(solve(ksp, b, &x, &reason, nullptr));
    EXPECT_GT(reason, 0);
    EXPECT_LE(difference(matrix.multiply(x), b), 1e-8);
    PetscCall(view(pc, &first));
    EXPECT_CONTAINS(first, "method: ilu0 (auto: Gauss-Seidel enlarges an error)");
    EXPECT_CONTAINS(chosen_options(first), "-pc_mcpi_method ilu0");
    PetscCall(set_values(matrix, mat)); // The next values keep the method.
    PetscCall(solve(ksp, b, &x, &reason, nullptr));
    PetscCall(view(pc, &text));
    EXPECT_CONTAINS(text, "method: ilu0 (auto");
    PetscCall(solve_and_view(matrix, options + " -ksp_max_it 100" + chosen_options(first), &pasted,
                             &text));
    EXPECT_EQ(chosen_options(text), "");
    EXPECT_TRUE(same_bits(x, pasted));
    for (const std::string given : {" -pc_mcpi_method point", " -pc_mcpi_omega 0.9",
                                    " -pc_mcpi_sweep forward", " -pc_mcpi_its 4"}) {
      PetscCall(solve_and_view(matrix, options + given, &pasted, &text));
      EXPECT_EQ(text.find("method: ilu0"), text.npos) << given;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The second pivot of a chain of ones is zero, so ILU(0) breaks down, first or with later values.
PETSC_TEST(Choice, leaves_factors_that_break_down)
{
  BlockMatrix ones = chain(61, 1, 4.0);
  const BlockMatrix matrix = ones;
  OwnedMat mat;
  OwnedSolver ksp;
  PC pc;
  KSPConvergedReason reason;
  std::string text;
  Vector x;

  PetscFunctionBeginUser;
  if (world_size() > 1 || !on_cpu()) PetscFunctionReturn(PETSC_SUCCESS);
  std::fill(ones.values.begin(), ones.values.end(), 1.0);
  const Vector b = random_vector(matrix.size(), 3);
  PetscCall(solve_and_view(ones, "", &x, &text));
  EXPECT_EQ(text.find("method: ilu0"), text.npos);
  EXPECT_EQ(text.find("FAILED"), text.npos);
  PetscCall(create(matrix, "", &mat, &ksp, &pc));
  for (int k = 0; k < 5; ++k) {
    PetscCall(set_values(matrix, mat));
    PetscCall(solve(ksp, b, &x, &reason, nullptr));
  }
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, "method: ilu0 (auto");
  PetscCall(set_values(ones, mat));
  PetscCall(solve(ksp, b, &x, &reason, nullptr));
  EXPECT_NE(reason, KSP_DIVERGED_PC_FAILED);
  PetscCall(view(pc, &text));
  EXPECT_EQ(text.find("method: ilu0"), text.npos);
  EXPECT_CONTAINS(text, "more sweeps enlarge");
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Of the first values, those along the chain count alone, for which ILU(0) is exact. ILU(0) of the
// second values enlarges errors.
PETSC_TEST(Choice, leaves_factors_that_later_values_make_bad)
{
  constexpr Row kRows = 80;
  Pattern pattern = chain_pattern(kRows);
  OwnedMat mat;
  OwnedSolver ksp;
  PC pc;
  KSPConvergedReason reason;
  std::string text;
  Vector x;

  PetscFunctionBeginUser;
  if (world_size() > 1 || !on_cpu()) PetscFunctionReturn(PETSC_SUCCESS);
  for (Row i = 0; i < kRows; ++i)
    for (const Row far : {(i + 9) % kRows, (i * 7 + 3) % kRows})
      if (far != i) pattern[static_cast<std::size_t>(i)].push_back(far);
  BlockMatrix first = make_matrix(1, symmetrised(pattern)), second = first;
  const Vector numbers = random_vector(first.values.size(), 1);
  for (Row i = 0; i < kRows; ++i)
    for (Row k = first.ptr[i]; k < first.ptr[i + 1]; ++k) {
      const Row j = first.col[k];
      first.values[k] = j == i ? 1.0 : j == i + 1 ? -1.6 : j == i - 1 ? 2.0 : 1e-9;
      second.values[k] = j == i ? 1.0 : numbers[k];
    }
  const Vector b = random_vector(first.size(), 3);
  PetscCall(create(first, "", &mat, &ksp, &pc));
  PetscCall(solve(ksp, b, &x, &reason, nullptr));
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, "method: ilu0 (auto");
  PetscCall(set_values(second, mat));
  PetscCall(solve(ksp, b, &x, &reason, nullptr));
  PetscCall(view(pc, &text));
  EXPECT_EQ(text.find("method: ilu0"), text.npos);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Factors define symmetric sweeps with omega 1.
PETSC_TEST(Choice, leaves_factors_when_an_option_does_not_suit_them)
{
  const BlockMatrix matrix = chain(60, 2, 4.0);
  const Vector b = random_vector(matrix.size(), 1);

  PetscFunctionBeginUser;
  if (world_size() > 1 || !on_cpu()) PetscFunctionReturn(PETSC_SUCCESS);
  for (const char *option : {"-pc_mcpi_omega 0.9", "-pc_mcpi_sweep forward",
                             "-pc_mcpi_method point", "-pc_mcpi_halo_frequency sweep"}) {
    OwnedMat mat;
    OwnedSolver ksp;
    PC pc;
    KSPConvergedReason reason;
    std::string text;
    Vector x, x_fresh;
    describe(option);
    PetscCall(create(matrix, "", &mat, &ksp, &pc));
    for (int k = 0; k < 3; ++k) PetscCall(solve(ksp, b, &x, &reason, nullptr));
    PetscCall(set_options(pc, option));
    PetscCall(solve(ksp, b, &x, &reason, nullptr));
    PetscCall(view(pc, &text));
    EXPECT_EQ(text.find("method: ilu0"), text.npos);
    EXPECT_CONTAINS(text, "more sweeps enlarge");
    PetscCall(create(matrix, option, &mat, &ksp, &pc));
    PetscCall(solve(ksp, b, &x_fresh, &reason, nullptr));
    EXPECT_TRUE(same_bits(x, x_fresh));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// After trials that found all sweeps good, new values are tried less and less often, until 50
// applications have been made. After a trial that did not, the next values are tried.
PETSC_TEST(Choice, of_sweeps_follows_new_values)
{
  const BlockMatrix matrix = system_of(4);
  OwnedMat mat;
  OwnedSolver ksp;
  PC pc;
  std::string text;
  KSPConvergedReason reason;
  Vector x;

  PetscFunctionBeginUser;
  PetscCall(create(matrix, "-ksp_max_it 1", &mat, &ksp, &pc));
  const auto solve_with = [&](double factor, bool limited) -> PetscErrorCode {
    BlockMatrix scaled = matrix;
    PetscFunctionBeginUser;
    scale_offdiag(scaled, factor);
    PetscCall(set_values(scaled, mat));
    PetscCall(solve(ksp, random_vector(matrix.size(), 1), &x, &reason, nullptr));
    PetscCall(view(pc, &text));
    EXPECT_EQ(text.find("enlarge an error") != std::string::npos, limited) << factor << text;
    PetscFunctionReturn(PETSC_SUCCESS);
  };
  PetscCall(solve_with(1.0, false));
  PetscCall(solve_with(1.0, false));
  for (int k = 0; k < 3; ++k) PetscCall(solve_with(20.0, false)); // as after two good trials
  PetscCall(solve_with(20.0, true));
  PetscCall(solve_with(1e-30, false));
  PetscCall(solve_with(1.0, false));
  for (int k = 0; k < 50; ++k) PetscCall(apply(pc, random_vector(matrix.size(), 2), &x));
  PetscCall(solve_with(20.0, true));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The set-up expects FGMRES, as the options say, and prepares blocks of 8 bits.
PETSC_TEST(Choice, is_mended_when_another_method_comes_than_the_set_up_expected)
{
  const BlockMatrix matrix = system_of(4);
  OwnedMat mat;
  OwnedSolver ksp;
  PC pc;
  std::string text;
  KSPConvergedReason reason;
  Vector x, applied;

  PetscFunctionBeginUser;
  PetscCall(create(matrix, "-ksp_type fgmres", &mat, &ksp, &pc));
  PetscCall(KSPSetUp(ksp));
  PetscCall(view(pc, &text));
  if (world_size() > 1) {
    EXPECT_CONTAINS(text, "off-diagonal blocks: int8 (auto: fgmres is expected");
  }
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(solve(ksp, random_vector(matrix.size(), 1), &x, &reason, nullptr));
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, "off-diagonal blocks: fp32 (auto: cg applies them");
  EXPECT_EQ(text.find("NOT SYMMETRIC"), std::string::npos);
  PetscCall(KSPSetType(ksp, KSPFGMRES)); // Blocks with more bits serve it, too.
  PetscCall(solve(ksp, random_vector(matrix.size(), 1), &x, &reason, nullptr));
  PetscCall(view(pc, &text));
  if (on_cpu()) {
    EXPECT_CONTAINS(text, "off-diagonal blocks: fp32");
  }
  EXPECT_CONTAINS(text, "vectors: fp32");
  PetscCall(apply(pc, random_vector(matrix.size(), 2), &applied)); // no method is known
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, "vectors: fp64");
  EXPECT_CONTAINS(text, "sweeps: 1 ");
  PetscFunctionReturn(PETSC_SUCCESS);
}
