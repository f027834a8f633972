// Tests what is set up again when the matrix changes. The result is always that of a new
// preconditioner.
#include <malloc.h>

#include <algorithm>
#include <cmath>

#include "support/allocations.h"
#include "support/petsc.h"

using namespace mcpi::test;

namespace {

constexpr PetscInt bs = 3, n = 40;

BlockMatrix matrix_of(std::uint64_t pattern_seed, std::uint64_t value_seed = 1,
                      PetscInt block_size = bs)
{
  Recipe recipe;
  recipe.seed = value_seed;
  return make_matrix(block_size, random_pattern(n, 2, false, pattern_seed), recipe);
}

struct Counts {
  int symbolic = 0, numeric = 0;

  bool operator==(const Counts &) const = default;
};

std::ostream &operator<<(std::ostream &out, const Counts &counts)
{
  return out << counts.symbolic << " symbolic and " << counts.numeric << " numeric set-ups";
}

PetscErrorCode count_of(const char *name, int *count)
{
  PetscLogEvent event;
  PetscEventPerfInfo info;

  PetscFunctionBeginUser;
  PetscCall(PetscLogEventGetId(name, &event));
  PetscCall(PetscLogEventGetPerfInfo(0, event, &info));
  *count = info.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The number of set-ups since the last call
PetscErrorCode new_set_ups(Counts *fresh)
{
  static Counts before;
  Counts now;

  PetscFunctionBeginUser;
  PetscCall(count_of("MCPISymbolic", &now.symbolic));
  PetscCall(count_of("MCPINumeric", &now.numeric));
  *fresh = {now.symbolic - before.symbolic, now.numeric - before.numeric};
  before = now;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define EXPECT_SET_UPS(symbolic, numeric)                                                          \
  do {                                                                                             \
    Counts fresh;                                                                                  \
    PetscCall(new_set_ups(&fresh));                                                                \
    EXPECT_EQ(fresh, (Counts{symbolic, numeric}));                                                 \
  } while (0)

PetscErrorCode start_counting()
{
  Counts ignored;

  PetscFunctionBeginUser;
  PetscCall(PetscLogDefaultBegin());
  PetscCall(new_set_ups(&ignored));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Compares the iterate with that of a new preconditioner. The counts do not change.
PetscErrorCode check_like_new(PC pc, Mat mat, const std::string &options)
{
  Preconditioner fresh;
  PetscInt rows;
  Vector x, expected;
  Counts ignored;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(mat, &rows, nullptr));
  const Vector b = random_vector(rows, 7);
  PetscCall(create_pc(mat, options, &fresh));
  PetscCall(apply(fresh, b, &expected));
  PetscCall(new_set_ups(&ignored));
  PetscCall(apply(pc, b, &x));
  EXPECT_TRUE(x == expected);
  PetscCall(apply_transpose(fresh, b, &expected));
  PetscCall(apply_transpose(pc, b, &x));
  EXPECT_TRUE(x == expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Adds blocks to a matrix that has been in use.
PetscErrorCode add_couplings(const BlockMatrix &matrix, Mat mat)
{
  PetscFunctionBeginUser;
  PetscCall(MatSetOption(mat, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(set_values(matrix, mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

BlockMatrix with_couplings(const std::vector<std::pair<PetscInt, PetscInt>> &added)
{
  Pattern pattern = random_pattern(n, 2, false, 1);
  for (const auto &[i, j] : added) {
    auto &row = pattern[i];
    row.insert(std::lower_bound(row.begin(), row.end(), j), j);
  }
  for (auto &row : pattern) row.erase(std::unique(row.begin(), row.end()), row.end());
  return make_matrix(bs, pattern);
}

constexpr const char *options = "-pc_mcpi_its 2";

} // namespace

PETSC_TEST(LifeCycle, new_values_take_a_numeric_set_up_alone)
{
  PetscFunctionBeginUser;
  PetscCall(start_counting());
  for (const MatType type : {MATBAIJ, MATAIJ}) {
    OwnedMat mat;
    Preconditioner pc;
    ISColoring first, later;
    describe(type);
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix_of(1), Layout::even, type, &mat));
    PetscCall(create_pc(mat, options, &pc));
    PetscCall(PCSetUp(pc));
    EXPECT_SET_UPS(1, 1);
    PetscCall(PCMCPIGetColoring(pc, &first));
    for (std::uint64_t seed = 2; seed < 5; ++seed) {
      PetscCall(set_values(matrix_of(1, seed), mat));
      PetscCall(check_like_new(pc, mat, options));
      EXPECT_SET_UPS(0, 1);
    }
    PetscCall(PCMCPIGetColoring(pc, &later));
    EXPECT_TRUE(first == later);
    PetscCall(check_like_new(pc, mat, options));
    EXPECT_SET_UPS(0, 0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// For a rank without rows, MatShift() prepares the empty portions again each time.
PETSC_TEST(LifeCycle, shifted_matrix_takes_a_numeric_set_up_alone)
{
  PetscFunctionBeginUser;
  PetscCall(start_counting());
  for (const MatType type : {MATBAIJ, MATAIJ})
    for (const Layout layout : {Layout::even, Layout::empty_ranks}) {
      OwnedMat mat;
      Preconditioner pc;
      describe(std::string(type) + " " + name_of(layout));
      PetscCall(create_mat(PETSC_COMM_WORLD, matrix_of(1), layout, type, &mat));
      PetscCall(create_pc(mat, options, &pc));
      PetscCall(PCSetUp(pc));
      EXPECT_SET_UPS(1, 1);
      for (int step = 0; step < 3; ++step) {
        PetscCall(MatShift(mat, 0.5));
        PetscCall(check_like_new(pc, mat, options));
        EXPECT_SET_UPS(0, 1);
      }
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(LifeCycle, numeric_set_up_allocates_nothing_that_grows_with_the_matrix)
{
  PetscFunctionBeginUser;
  for (const MatType type : {MATBAIJ, MATAIJ}) {
    OwnedMat mat;
    Preconditioner pc;
    const BlockMatrix matrix = make_matrix(4, tetrahedral_pattern(12, 12, 10));
    describe(type);
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, type, &mat));
    PetscCall(create_pc(mat, "-pc_mcpi_offdiag_precision int8", &pc));
    PetscCall(PCSetUp(pc));
    PetscCall(set_values(matrix, mat));
    const std::size_t before = allocations().bytes;
    PetscCall(PCSetUp(pc));
    EXPECT_LE(allocations().bytes - before, std::size_t{20000});
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(LifeCycle, new_nonzeros_take_a_symbolic_set_up)
{
  PetscFunctionBeginUser;
  PetscCall(start_counting());
  for (const MatType type : {MATBAIJ, MATAIJ}) {
    OwnedMat mat;
    Preconditioner pc;
    describe(type);
    PetscCall(create_mat(PETSC_COMM_WORLD, with_couplings({}), Layout::even, type, &mat));
    PetscCall(create_pc(mat, options, &pc));
    PetscCall(PCSetUp(pc));
    std::vector<std::pair<PetscInt, PetscInt>> added{{n - 1, n - 2}}; // on the last rank alone
    if (std::string(type) == MATAIJ)
      added.emplace_back(n - 1, 7); // with another one, where PETSc 3.18's MPIBAIJ loses new blocks
    PetscCall(add_couplings(with_couplings(added), mat));
    PetscCall(check_like_new(pc, mat, options));
    EXPECT_SET_UPS(1, 1);
    added.insert(added.end(), {{1, 2}, {2, 1}}); // on the first rank alone
    PetscCall(add_couplings(with_couplings(added), mat));
    PetscCall(check_like_new(pc, mat, options));
    EXPECT_SET_UPS(1, 1);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(LifeCycle, replaced_matrix_takes_a_symbolic_set_up)
{
  // As many nonzeros on every rank, in other places: rows read the block row a given distance away
  const auto shifted = [](PetscInt distance) {
    Pattern pattern(n);
    for (PetscInt i = 0; i < n; ++i) pattern[i].push_back((i + distance) % n);
    return make_matrix(bs, pattern);
  };

  PetscFunctionBeginUser;
  for (const MatType type : {MATBAIJ, MATAIJ}) {
    OwnedMat mat;
    Preconditioner pc;
    describe(type);
    PetscCall(create_mat(PETSC_COMM_WORLD, shifted(1), Layout::even, type, &mat));
    PetscCall(create_pc(mat, options, &pc));
    PetscCall(PCSetUp(pc));
    for (const PetscInt distance : {2, 7, 20, 1}) {
      OwnedMat other;
      PetscCall(create_mat(PETSC_COMM_WORLD, shifted(distance), Layout::even, type, &other));
      PetscCall(MatHeaderReplace(mat, other.address()));
      PetscCall(check_like_new(pc, mat, options));
    }
    OwnedMat other;
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix_of(3), Layout::even, type, &other));
    PetscCall(MatHeaderReplace(mat, other.address()));
    PetscCall(check_like_new(pc, mat, options));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(LifeCycle, another_pmat_takes_its_place)
{
  OwnedMat amat, baij, other_values, other_pattern, other_type;
  Preconditioner pc;

  PetscFunctionBeginUser;
  PetscCall(start_counting());
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix_of(1), Layout::even, MATAIJ, &amat));
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix_of(1), Layout::even, MATBAIJ, &baij));
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix_of(1, 5), Layout::even, MATBAIJ, &other_values));
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix_of(2), Layout::even, MATBAIJ, &other_pattern));
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix_of(2), Layout::even, MATAIJ, &other_type));
  PetscCall(create_pc(baij, options, &pc));
  for (Mat pmat : {(Mat)baij, (Mat)other_values, (Mat)other_pattern, (Mat)other_type, (Mat)baij}) {
    PetscCall(PCSetOperators(pc, amat, pmat));
    PetscCall(check_like_new(pc, pmat, options));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// PETSc refuses MatSetBlockSize() on a matrix in use, so this is another matrix of the same size.
PETSC_TEST(LifeCycle, pmat_of_another_block_size_takes_its_place)
{
  const BlockMatrix small = make_matrix(2, random_pattern(30, 2, false)),
                    large = make_matrix(6, random_pattern(10, 2, false)),
                    scalar = make_matrix(1, random_pattern(60, 2, false));
  Preconditioner pc;
  OwnedMat mats[3];

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, small, Layout::all_on_last, MATBAIJ, &mats[0]));
  PetscCall(create_mat(PETSC_COMM_WORLD, large, Layout::all_on_last, MATBAIJ, &mats[1]));
  PetscCall(create_mat(PETSC_COMM_WORLD, scalar, Layout::all_on_last, MATAIJ, &mats[2]));
  PetscCall(create_pc(mats[0], options, &pc));
  for (const int next : {0, 1, 2, 1, 0}) {
    PetscCall(PCSetOperators(pc, mats[next], mats[next]));
    PetscCall(check_like_new(pc, mats[next], options));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(LifeCycle, pmat_of_another_size_works_after_a_reset)
{
  Preconditioner pc;
  OwnedMat first;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix_of(1), Layout::even, MATBAIJ, &first));
  PetscCall(create_pc(first, options, &pc));
  PetscCall(PCReset(pc)); // before any set-up
  for (const PetscInt rows : {10, 70, 0, 25}) {
    OwnedMat mat;
    describe(std::to_string(rows) + " block rows");
    PetscCall(create_mat(PETSC_COMM_WORLD, make_matrix(5, random_pattern(rows, 2, false)),
                         Layout::even, MATBAIJ, &mat));
    PetscCall(PCSetOperators(pc, mat, mat));
    PetscCall(check_like_new(pc, mat, options));
    PetscCall(PCReset(pc));
    PetscCall(PCReset(pc));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(LifeCycle, reused_preconditioner_stays_until_it_may_change)
{
  OwnedMat mat;
  Preconditioner pc;
  const Vector b = random_vector(n * bs, 7);
  Vector before, after;

  PetscFunctionBeginUser;
  PetscCall(start_counting());
  PetscCall(create_mat(PETSC_COMM_WORLD, with_couplings({}), Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, options, &pc));
  PetscCall(apply(pc, b, &before));
  PetscCall(PCSetReusePreconditioner(pc, PETSC_TRUE));
  PetscCall(add_couplings(with_couplings({{n - 1, n - 2}, {1, 2}}), mat));
  EXPECT_SET_UPS(1, 1);
  PetscCall(apply(pc, b, &after));
  EXPECT_TRUE(after == before);
  EXPECT_SET_UPS(0, 0);
  PetscCall(PCSetReusePreconditioner(pc, PETSC_FALSE));
  PetscCall(check_like_new(pc, mat, options));
  EXPECT_SET_UPS(1, 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The vectors get another precision without another set-up, after a change of the matrix, too.
PETSC_TEST(LifeCycle, kept_preconditioners_serve_every_method)
{
  constexpr PetscScalar factor = 1.5;
  const BlockMatrix matrix = matrix_of(1);
  const Vector b = random_vector(matrix.size(), 1);
  OwnedMat mat;
  OwnedSolver ksp;
  PC pc;
  Vector x;
  std::string text;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(start_counting());
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(create_ksp(mat, mat, "-ksp_type fgmres -ksp_rtol 1e-10", &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(solve(ksp, b, &x, &reason, nullptr));
  PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
  PetscCall(MatScale(mat, factor));
  for (const char *type : {KSPGMRES, KSPFGMRES, KSPBCGS}) {
    describe(type);
    PetscCall(KSPSetType(ksp, type));
    Counts counts;
    PetscCall(new_set_ups(&counts));
    PetscCall(solve(ksp, b, &x, &reason, nullptr));
    EXPECT_LT(0, static_cast<int>(reason));
    for (PetscScalar &number : x) number *= factor;
    EXPECT_LT(difference(matrix.multiply(x), b), 1e-8);
    EXPECT_SET_UPS(0, 0);
    PetscCall(view(pc, &text));
    EXPECT_CONTAINS(text,
                    std::string("vectors: ") + (std::string(type) == KSPFGMRES ? "fp32" : "fp64"));
  }
  PetscCall(apply(pc, b, &x)); // outside a solve
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(LifeCycle, ksp_reuses_the_preconditioner_when_told)
{
  OwnedMat mat;
  OwnedSolver ksp;
  KSPConvergedReason reason;
  Vector x;
  bool first = true;

  PetscFunctionBeginUser;
  PetscCall(start_counting());
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix_of(1), Layout::even, MATBAIJ, &mat));
  PetscCall(create_ksp(mat, mat, "-ksp_rtol 1e-10", &ksp));
  for (const bool reuse : {false, true, false})
    for (std::uint64_t seed = 1; seed < 4; ++seed) {
      const BlockMatrix matrix = matrix_of(1, seed);
      const Vector solution = random_vector(n * bs, seed);
      PetscCall(set_values(matrix, mat));
      PetscCall(KSPSetReusePreconditioner(ksp, reuse ? PETSC_TRUE : PETSC_FALSE));
      PetscCall(solve(ksp, matrix.multiply(solution), &x, &reason, nullptr));
      EXPECT_LT(0, static_cast<int>(reason));
      EXPECT_LE(difference(x, solution), 1e-7);
      EXPECT_SET_UPS(first ? 1 : 0, reuse ? 0 : 1);
      first = false;
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(LifeCycle, preconditioners_that_were_never_used_leave_nothing)
{
  OwnedMat mat;
  Preconditioner unused, reset;
  OwnedPC bare;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix_of(1), Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, options, &unused));
  PetscCall(create_pc(mat, options, &reset));
  PetscCall(PCSetUp(reset));
  PetscCall(PCReset(reset));
  PetscCall(PCCreate(PETSC_COMM_WORLD, bare.out()));
  PetscCall(PCSetType(bare, PCMCPI));
  PetscCall(PCSetType(bare, PCJACOBI));
  PetscCall(PCSetType(bare, PCMCPI));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(LifeCycle, many_preconditioners_live_side_by_side)
{
  constexpr const char *settings[] = {
      "-pc_mcpi_offdiag_precision fp64",
      "-pc_mcpi_offdiag_precision int4 -pc_mcpi_its 3",
      "-pc_mcpi_sweep symmetric -pc_mcpi_omega 0.8",
      "-pc_mcpi_sweep backward -pc_mcpi_form factored",
      "-pc_mcpi_halo_frequency sweep -pc_mcpi_offdiag_precision int8",
      "-pc_mcpi_backend reference -pc_mcpi_ordering rcm",
      "-pc_mcpi_restart 2 -pc_mcpi_its 4 -pc_mcpi_offdiag_precision fp16"};
  std::vector<OwnedMat> mats(std::size(settings));
  std::vector<Preconditioner> pcs(std::size(settings));

  PetscFunctionBeginUser;
  for (std::size_t k = 0; k < pcs.size(); ++k) {
    const PetscInt block_size = 1 + static_cast<PetscInt>(k);
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix_of(k, 1, block_size), Layout::uneven,
                         k % 2 ? MATAIJ : MATBAIJ, &mats[k]));
    PetscCall(create_pc(mats[k], settings[k], &pcs[k]));
  }
  for (const PC pc : pcs) PetscCall(PCSetUp(pc));
  for (int turn = 0; turn < 2; ++turn)
    for (std::size_t k = 0; k < pcs.size(); ++k) {
      describe(settings[k]);
      PetscCall(check_like_new(pcs[k], mats[k], settings[k]));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if !defined(__SANITIZE_ADDRESS__) // its allocator does not report memory in use
PETSC_TEST(LifeCycle, view_tells_the_memory_that_is_held)
{
  const BlockMatrix matrix = make_matrix(1, tetrahedral_pattern(40, 30, 20));
  const auto held = [] {
    const auto info = mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd);
  };

  PetscFunctionBeginUser;
  if (world_size() > 1) PetscFunctionReturn(PETSC_SUCCESS); // of the exchange PETSc holds the most
  for (const char *options : {"-pc_mcpi_backend host -pc_mcpi_offdiag_precision int8",
                              "-pc_mcpi_backend host -pc_mcpi_offdiag_precision fp32",
                              "-pc_mcpi_backend host -pc_mcpi_method dilu",
                              "-pc_mcpi_backend host -pc_mcpi_method ilu0"}) {
    OwnedMat mat;
    Preconditioner pc;
    OwnedVec b, x;
    std::string text;
    describe(options);
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
    PetscCall(create_pc(mat, options, &pc));
    PetscCall(MatCreateVecs(mat, x.out(), b.out()));
    PetscCall(VecSet(b, 1.0));
    const double before = held();
    PetscCall(PCSetUp(pc));
    PetscCall(PCApply(pc, b, x));
    const double taken = held() - before;
    if (before == 0.0) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(view(pc, &text));
    const double told = std::stod(text.substr(text.find("host memory held: ") + 18)) * 1e6;
    EXPECT_LE(std::abs(told - taken), 0.03 * taken);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
