// Tests that stiff couplings of the unknowns of a point, such as drag, chemistry or a penalty on a
// slanted wall, cost neither iterations nor digits, in any storage.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/dense.h"
#include "setup/amplification.h"
#include "support/petsc.h"

using namespace mcpi::test;
using mcpi::Offset;

namespace {

constexpr double kStiffness[] = {1e2, 1e4, 1e6, 1e8, 1e10, 1e12, 1e14};
// On several ranks, which measure together: every third stiffness, and the first two methods
constexpr int kStepOnRanks = 3, kMethodsOnRanks = 2;
constexpr const char *kStorages[] = {"int4", "int8", "fp16", "fp32", "fp64"};
constexpr const char *kMethods[] = {"fgmres", "gmres", "gmres -ksp_pc_side right",
                                    "bcgs -ksp_pc_side right"};
// A Krylov method of another preconditioner ends elsewhere below its tolerance, so residuals of two
// preconditioners differ by more than rounding.
constexpr double kAllowed = 10.0;

struct Coupling {
  const char *name;
  int bs;
  bool everywhere;  // or in every third point
  double neighbors; // by how much the couplings of points are as stiff
  // The coupling of a point's unknowns, to be multiplied by the stiffness
  void (*add)(int bs, Row point, double stiffness, double *block);
};

void add_rank_one(int bs, const Vector &u, const Vector &v, double stiffness, double *block)
{
  double product = 0.0;
  for (int i = 0; i < bs; ++i) product += u[i] * v[i];
  for (int j = 0; j < bs; ++j)
    for (int i = 0; i < bs; ++i) block[j * bs + i] += stiffness * u[i] * v[j] / product;
}

// Drag between two phases: k (x0 - x1), with different weights in the two equations
void add_drag(int bs, Row, double stiffness, double *block)
{
  block[0] += stiffness;
  block[bs] -= stiffness;
  block[1] -= 0.37 * stiffness;
  block[bs + 1] += 0.37 * stiffness;
}
// A penalty on the velocity through a wall that is no coordinate plane
void add_wall(int bs, Row point, double stiffness, double *block)
{
  const Vector normal = random_vector(bs, 7 + static_cast<std::uint64_t>(point));
  add_rank_one(bs, normal, normal, stiffness, block);
}
// A penalty whose normal nearly lies in a coordinate plane
void add_flat_wall(int bs, Row, double stiffness, double *block)
{
  Vector normal = random_vector(bs, 9);
  normal[bs - 1] = 0.003;
  add_rank_one(bs, normal, normal, stiffness, block);
}
// A fast reaction: what it consumes is not what it depends on
void add_reaction(int bs, Row point, double stiffness, double *block)
{
  Vector rate = random_vector(bs, 3), produced = random_vector(bs, 5);
  for (int i = 0; i < bs; ++i) {
    rate[i] = 1.5 + rate[i] + 0.1 * static_cast<double>(point % 7);
    produced[i] = 1.5 + produced[i];
  }
  add_rank_one(bs, produced, rate, stiffness, block);
}

constexpr Coupling kCouplings[] = {
    {"drag", 2, true, 0.0, add_drag},
    {"slanted walls", 3, false, 0.0, add_wall},
    {"penalties everywhere", 5, true, 0.0, add_wall},
    {"reactions", 4, true, 0.0, add_reaction},
    {"drag beside a third unknown", 3, true, 0.0, add_drag},
    {"walls near a coordinate plane", 4, false, 0.0, add_flat_wall},
    {"stiff neighbors", 3, true, 0.01, add_flat_wall},
};

// Diffusion and convection of each unknown, weakly coupled, and the stiff coupling
BlockMatrix matrix_of(const Coupling &coupling, double stiffness)
{
  const int bs = coupling.bs;
  BlockMatrix matrix = make_matrix(bs, tetrahedral_pattern(6, 5, 4), Recipe());
  for (Row i = 0; i < matrix.rows(); ++i) {
    double *diagonal = matrix.block(i, i);
    std::fill_n(diagonal, bs * bs, 0.0);
    for (int p = 0; p < bs; ++p) diagonal[p * bs + p] = 0.5;
    for (Offset e = matrix.ptr[i]; e < matrix.ptr[i + 1]; ++e) {
      const Row j = matrix.col[e];
      if (j == i) continue;
      const double along = j < i ? 1.2 : 0.8;
      const Vector weak = random_vector(bs * bs, static_cast<std::uint64_t>(e));
      double *block = matrix.block(i, j);
      for (int n = 0; n < bs * bs; ++n) {
        block[n] = -along * ((n % (bs + 1) == 0 ? 1.0 : 0.0) + 0.1 / bs * weak[n]);
        if (n % (bs + 1) == 0) diagonal[n] -= block[n];
      }
      if (coupling.neighbors > 0.0)
        coupling.add(bs, j, -0.1 * coupling.neighbors * stiffness, block);
    }
    if (coupling.everywhere || i % 3 == 0) coupling.add(bs, i, stiffness, diagonal);
  }
  return matrix;
}

struct Result {
  double residual = 0.0; // true and relative
  PetscInt its = 0;
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
};

PetscErrorCode solve_with(const BlockMatrix &matrix, Mat mat, const std::string &options,
                          Result *result)
{
  OwnedSolver solver;
  Vector x;
  const Vector b = random_vector(matrix.size(), 1);

  PetscFunctionBeginUser;
  PetscCall(create_ksp(mat, mat, "-ksp_rtol 1e-8 -ksp_max_it 1000 " + options, &solver));
  PetscCall(solve(solver, b, &x, &result->reason, &result->its));
  Vector r = matrix.multiply(x);
  for (std::size_t i = 0; i < r.size(); ++i) r[i] = b[i] - r[i];
  result->residual = norm(r) / norm(b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode solve_all(const Coupling &coupling, const std::string &method, double stiffness,
                         Result *sor, Result *results)
{
  OwnedMat mat;
  const BlockMatrix matrix = matrix_of(coupling, stiffness);

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATAIJ, &mat));
  PetscCall(solve_with(matrix, mat, "-ksp_type " + method + " -pc_type sor", sor));
  for (const char *storage : kStorages)
    PetscCall(solve_with(matrix, mat,
                         "-ksp_type " + method +
                             " -pc_type mcpi -pc_mcpi_its 4 -pc_mcpi_offdiag_precision " + storage,
                         results++));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode compare_with_sor(const Coupling &coupling, const std::string &method)
{
  Result soft_sor, soft[std::size(kStorages)];

  PetscFunctionBeginUser;
  PetscCall(solve_all(coupling, method, 1.0, &soft_sor, soft));
  for (std::size_t n = 0; n<std::size(kStiffness); n += world_size()> 1 ? kStepOnRanks : 1) {
    const double stiffness = kStiffness[n];
    // Double precision then has too few digits for exact blocks, too.
    if (coupling.neighbors > 0.0 && stiffness > 1e10) continue;
    Result sor, stiff[std::size(kStorages)];
    PetscCall(solve_all(coupling, method, stiffness, &sor, stiff));
    for (std::size_t k = 0; k < std::size(kStorages); ++k) {
      describe(std::string(coupling.name) + ", " + method + ", " + kStorages[k] + ", stiffness 1e" +
               std::to_string(std::lround(std::log10(stiffness))));
      EXPECT_LT(0, static_cast<int>(stiff[k].reason));
      EXPECT_LE(stiff[k].residual, kAllowed * std::max(sor.residual, 1e-8));
      EXPECT_LE(2 * stiff[k].its, 3 * soft[k].its);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// What -ksp_view says of a preconditioner for this stiffness
PetscErrorCode view_of(const Coupling &coupling, double stiffness, const std::string &options,
                       std::string *text)
{
  OwnedMat mat;
  Preconditioner pc;

  PetscFunctionBeginUser;
  PetscCall(
      create_mat(PETSC_COMM_WORLD, matrix_of(coupling, stiffness), Layout::even, MATAIJ, &mat));
  PetscCall(create_pc(mat, options, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(view(pc, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Blocks of rows whose columns all are the row before and the row after, one after the other
class Rows final : public mcpi::BlockRows {
public:
  explicit Rows(std::vector<std::pair<Vector, Vector>> rows) : rows_(std::move(rows)) {}
  void row(Row row, const double *&diagonal, const double *const *&offdiag) override
  {
    diagonal = rows_[row].first.data();
    offdiag_ = rows_[row].second.data();
    offdiag = &offdiag_;
  }

private:
  std::vector<std::pair<Vector, Vector>> rows_;
  const double *offdiag_ = nullptr;
};

mcpi::Amplification amplification_of(const Vector &diagonal, const Vector &offdiag)
{
  mcpi::BlockGraph graph;
  graph.bs = static_cast<PetscInt>(std::lround(std::sqrt(diagonal.size())));
  graph.rows = 1;
  graph.ptr = {0, 1};
  Rows rows({{diagonal, offdiag}});
  return mcpi::measure_amplification(graph, rows);
}

} // namespace

PETSC_TEST(StiffCouplings, cost_neither_iterations_nor_digits_in_any_storage)
{
  PetscFunctionBeginUser;
  const std::size_t methods = world_size() > 1 ? kMethodsOnRanks : std::size(kMethods);
  for (const Coupling &coupling : kCouplings)
    for (std::size_t k = 0; k < methods; ++k) PetscCall(compare_with_sor(coupling, kMethods[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(StiffCouplings, change_form_or_storage_and_the_view_says_why)
{
  std::string text;

  PetscFunctionBeginUser;
  PetscCall(view_of(kCouplings[0], 1.0, "-pc_mcpi_offdiag_precision int8", &text));
  EXPECT_CONTAINS(text, "off-diagonal blocks: int8, prescaled form\n");
  PetscCall(view_of(kCouplings[0], 1e9, "-pc_mcpi_offdiag_precision int8", &text));
  EXPECT_CONTAINS(text, "off-diagonal blocks: int8, factored form");
  EXPECT_CONTAINS(text, "auto: diagonal blocks amplify the rounding");
  PetscCall(view_of(kCouplings[6], 1e12, "-pc_mcpi_offdiag_precision int4", &text));
  EXPECT_CONTAINS(text, " instead of int4");
  // A form that is given is kept, and so is the storage.
  PetscCall(view_of(kCouplings[0], 1e9, "-pc_mcpi_offdiag_precision int8 -pc_mcpi_form prescaled",
                    &text));
  EXPECT_CONTAINS(text, "off-diagonal blocks: int8, prescaled form\n");
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The diagonal blocks stay as they are.
PETSC_TEST(StiffCouplings, are_measured_again_when_the_couplings_of_points_change)
{
  Coupling coupling = kCouplings[6];
  OwnedMat mat;
  OwnedSolver solver;
  Vector x;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix_of(coupling, 1e8), Layout::even, MATAIJ, &mat));
  PetscCall(create_ksp(
      mat, mat, "-ksp_type gmres -ksp_rtol 1e-8 -pc_type mcpi -pc_mcpi_offdiag_precision int8",
      &solver));
  for (const double neighbors : {1.0, 0.0}) {
    coupling.neighbors = neighbors;
    const BlockMatrix matrix = matrix_of(coupling, 1e8);
    const Vector b = random_vector(matrix.size(), 1);
    describe("neighbors " + std::to_string(neighbors));
    PetscCall(set_values(matrix, mat));
    PetscCall(solve(solver, b, &x, &reason, nullptr));
    EXPECT_LT(0, static_cast<int>(reason));
    EXPECT_LT(difference(matrix.multiply(x), b), neighbors > 0.0 ? 1e-3 : 1e-7);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(StiffCouplings, give_a_flexible_method_vectors_in_double_precision)
{
  OwnedMat soft, stiff;
  OwnedSolver solver;
  PC pc;
  std::string text;
  Vector x;
  KSPConvergedReason reason;
  PetscInt its;
  const BlockMatrix matrix = matrix_of(kCouplings[0], 1e9);

  PetscFunctionBeginUser;
  PetscCall(
      create_mat(PETSC_COMM_WORLD, matrix_of(kCouplings[0], 1.0), Layout::even, MATAIJ, &soft));
  PetscCall(create_ksp(soft, soft, "-ksp_type fgmres -pc_type mcpi", &solver));
  PetscCall(KSPGetPC(solver, &pc));
  // The first values are harmless, the second are not, and the third are again.
  for (const bool is_stiff : {false, true, false}) {
    PetscCall(set_values(matrix_of(kCouplings[0], is_stiff ? 1e9 : 1.0), soft));
    PetscCall(solve(solver, random_vector(matrix.size(), 1), &x, &reason, &its));
    EXPECT_LT(0, static_cast<int>(reason));
    PetscCall(view(pc, &text));
    EXPECT_CONTAINS(text, is_stiff ? "vectors: fp64 (auto: diagonal blocks have condition numbers"
                                   : "vectors: fp32 (auto: fgmres is flexible)");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

TEST(Amplification, of_a_coupling_that_only_the_diagonal_block_has_is_that_of_the_prescaled_form)
{
  // D = I + k n n^T with n = (0.6, 0.8), O = -I
  const double k = 1e6;
  const mcpi::Amplification found =
      amplification_of({1 + 0.36 * k, 0.48 * k, 0.48 * k, 1 + 0.64 * k}, {-1, 0, 0, -1});
  EXPECT_GT(found.prescaled, 0.1 * k);
  EXPECT_LT(found.prescaled, 10 * k);
  EXPECT_LT(found.factored, 50);
}

// What is rounded then acts on soft solutions as it does on stiff ones.
TEST(Amplification, of_couplings_that_are_as_stiff_as_the_diagonal_block_is_large_in_both_forms)
{
  const double k = 1e6;
  const Vector block = {1 + 0.36 * k, 0.48 * k, 0.48 * k, 1 + 0.64 * k};
  const mcpi::Amplification found = amplification_of(block, block);
  EXPECT_GT(found.prescaled, 0.1 * k);
  EXPECT_GT(found.factored, 0.1 * k);
}

// The first equation of a point has hardly any coupling to other points.
TEST(Amplification, of_equations_with_tiny_couplings_is_small)
{
  const mcpi::Amplification found =
      amplification_of({1, 0.5, 0, 1e-4, 1, 0.7, 0, 0.7, 1}, {1e-19, 0, 0, 0, 1, 0, 0, 0, 1});
  EXPECT_LT(found.prescaled, 50);
}

TEST(Amplification, does_not_depend_on_the_units_of_equations_and_unknowns)
{
  const double k = 1e6;
  const Vector diagonal = {1 + 0.36 * k, 0.48 * k, 0.48 * k, 1 + 0.64 * k},
               offdiag = {-1, 0, 0, -1};
  const double equation[] = {0x1p40, 0x1p-30}, unknown[] = {0x1p-25, 0x1p33};
  Vector d = diagonal, o = offdiag;
  for (int n = 0; n < 4; ++n) {
    d[n] *= equation[n % 2] * unknown[n / 2];
    o[n] *= equation[n % 2] * unknown[n / 2];
  }
  const mcpi::Amplification plain = amplification_of(diagonal, offdiag),
                            scaled = amplification_of(d, o);
  EXPECT_LT(scaled.prescaled, 4 * plain.prescaled);
  EXPECT_GT(4 * scaled.prescaled, plain.prescaled);
}

TEST(Amplification, ignores_axes_rows_without_couplings_and_blocks_without_inverse)
{
  for (const auto &[diagonal, offdiag] :
       {std::pair<Vector, Vector>{{1e9, 0, 0, 1}, {1, 0, 0, 1}}, // equilibrated
        {{1 + 3.6e5, 4.8e5, 4.8e5, 1 + 6.4e5}, {0, 0, 0, 0}},    // nothing is rounded
        {{1, 1, 1, 1}, {1, 0, 0, 1}}}) {                         // the set-up fails
    const mcpi::Amplification found = amplification_of(diagonal, offdiag);
    EXPECT_LE(found.prescaled, 4);
    EXPECT_LE(found.factored, 4);
  }
}
