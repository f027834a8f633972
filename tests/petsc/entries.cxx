// Tests sweeps over the entries of large blocks (-pc_mcpi_form entries), and when auto takes them.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <utility>

#include "support/petsc.h"

using namespace mcpi::test;

namespace {

// Rows of 40 unknowns whose blocks hold about this share of entries. Some diagonal blocks need
// pivoting, because the equations of their rows have changed places.
BlockMatrix species(const Pattern &pattern, double share)
{
  Recipe recipe;
  recipe.sparsity = 1.0 - share;
  BlockMatrix matrix = make_matrix(40, pattern, recipe);
  const auto bs = static_cast<std::size_t>(matrix.bs);
  const Vector draw = random_vector(bs * bs, 7);
  for (Row row = 0; row < matrix.rows(); ++row) {
    const std::span<double> diagonal = matrix.diagonal(row);
    for (std::size_t k = 0; k < diagonal.size(); ++k)
      if (k / bs != k % bs && 0.5 * (draw[k] + 1.0) > share) diagonal[k] = 0.0;
    for (Row e = matrix.ptr[row]; e < matrix.ptr[row + 1] && row % 2; ++e)
      for (std::size_t j = 0; j < bs; ++j) {
        double *column = matrix.block(row, matrix.col[e]) + j * bs;
        std::rotate(column, column + 3, column + bs);
      }
  }
  return matrix;
}

std::string printed;

PetscErrorCode keep_printed(FILE *, const char format[], va_list arguments)
{
  char text[4096];
  std::vsnprintf(text, sizeof(text), format, arguments);
  printed += text;
  return PETSC_SUCCESS;
}

// AIJ without the zeros of the blocks
PetscErrorCode create_aij(const BlockMatrix &matrix, Layout layout, OwnedMat *mat)
{
  OwnedMat blocks;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, layout, MATBAIJ, &blocks));
  PetscInt first, last, rows, columns;
  PetscCall(MatGetOwnershipRange(blocks, &first, &last));
  PetscCall(MatGetLocalSize(blocks, &rows, &columns));
  PetscCall(MatCreate(PETSC_COMM_WORLD, mat->out()));
  PetscCall(MatSetSizes(*mat, rows, columns, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*mat, MATAIJ));
  PetscCall(MatSetBlockSize(*mat, matrix.bs));
  PetscCall(MatSetUp(*mat));
  PetscCall(MatSetOption(*mat, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt row = first; row < last; ++row) {
    const PetscInt *cols;
    const PetscScalar *values;
    PetscInt count;
    PetscCall(MatGetRow(blocks, row, &count, &cols, &values));
    for (PetscInt k = 0; k < count; ++k)
      if (values[k] != 0.0 || cols[k] == row)
        PetscCall(MatSetValue(*mat, row, cols[k], values[k], INSERT_VALUES));
    PetscCall(MatRestoreRow(blocks, row, &count, &cols, &values));
  }
  PetscCall(MatAssemblyBegin(*mat, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*mat, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(Entries, give_what_whole_blocks_give_in_every_schedule_and_sweep)
{
  constexpr const char *schedules[] = {"color", "wave", "cluster", "level"};
  constexpr const char *sweeps[] = {"-pc_mcpi_sweep forward -pc_mcpi_its 2",
                                    "-pc_mcpi_sweep backward -pc_mcpi_omega 0.7",
                                    "-pc_mcpi_sweep symmetric -pc_mcpi_omega 1.2 -pc_mcpi_its 3",
                                    "-pc_mcpi_sweep symmetric -pc_mcpi_its 3 -pc_mcpi_restart 2",
                                    "-pc_mcpi_sweep symmetric -pc_mcpi_halo_frequency sweep"};
  constexpr Layout layouts[] = {Layout::even, Layout::uneven, Layout::empty_ranks,
                                Layout::all_on_last};
  std::size_t turn = 0;
  const BlockMatrix matrices[] = {species(random_pattern(9, 2, false), 0.1),
                                  species(random_pattern(12, 2, true), 0.05)};

  PetscFunctionBeginUser;
  for (const BlockMatrix &matrix : matrices)
    for (const char *schedule : schedules)
      for (const char *sweep : sweeps) {
        const Vector b = random_vector(matrix.size(), 1), guess = random_vector(matrix.size(), 2);
        OwnedMat mat;
        Preconditioner pc, whole;
        Vector x, expected;
        const std::string options =
            std::string("-pc_mcpi_form entries -pc_mcpi_schedule ") + schedule + " " + sweep;
        describe(options);
        PetscCall(create_aij(matrix, layouts[turn++ % 4], &mat));
        PetscCall(create_pc(mat, options, &pc, Defaults::chosen));
        PetscCall(
            create_pc(mat, options + " -pc_mcpi_backend reference", &whole, Defaults::chosen));
        PetscCall(apply(pc, b, &x));
        PetscCall(apply(whole, b, &expected));
        EXPECT_LE(difference(x, expected), 1e-11);
        PetscCall(apply_transpose(pc, b, &x));
        PetscCall(apply_transpose(whole, b, &expected));
        EXPECT_LE(difference(x, expected), 1e-11);
        x = expected = guess;
        PetscCall(apply_richardson(pc, b, false, 2, &x));
        PetscCall(apply_richardson(whole, b, false, 2, &expected));
        EXPECT_LE(difference(x, expected), 1e-11);
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Entries, of_several_right_hand_sides_are_those_of_one)
{
  const BlockMatrix matrix = species(random_pattern(9, 2, false), 0.1);
  OwnedMat mat, in, out;
  Preconditioner pc;
  PetscInt rows;

  PetscFunctionBeginUser;
  PetscCall(create_aij(matrix, Layout::even, &mat));
  PetscCall(create_pc(mat, "-pc_mcpi_form entries -pc_mcpi_its 2", &pc, Defaults::chosen));
  PetscCall(MatGetLocalSize(mat, &rows, nullptr));
  PetscCall(
      MatCreateDense(PETSC_COMM_WORLD, rows, PETSC_DECIDE, PETSC_DETERMINE, 3, nullptr, in.out()));
  PetscCall(MatDuplicate(in, MAT_DO_NOT_COPY_VALUES, out.out()));
  for (PetscInt c = 0; c < 3; ++c) {
    Vec column;
    OwnedVec from;
    PetscCall(create_vec(mat, random_vector(matrix.size(), 20 + c), &from));
    PetscCall(MatDenseGetColumnVecWrite(in, c, &column));
    PetscCall(VecCopy(from, column));
    PetscCall(MatDenseRestoreColumnVecWrite(in, c, &column));
  }
  PetscCall(PCMatApply(pc, in, out));
  for (PetscInt c = 0; c < 3; ++c) {
    Vec column;
    Vector x, alone;
    PetscCall(MatDenseGetColumnVecRead(out, c, &column));
    PetscCall(gather(column, &x));
    PetscCall(MatDenseRestoreColumnVecRead(out, c, &column));
    PetscCall(apply(pc, random_vector(matrix.size(), 20 + c), &alone));
    EXPECT_LE(difference(x, alone), 1e-14);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Entries, are_measured_by_the_tuner_beside_whole_blocks)
{
  const BlockMatrix matrix = species(random_pattern(9, 2, true), 0.05);
  const Vector b = random_vector(matrix.size(), 1);

  PetscFunctionBeginUser;
  for (const std::string options :
       {"-ksp_type gmres", "-ksp_type fgmres", "-ksp_type bcgs -pc_mcpi_form entries"}) {
    OwnedMat mat;
    OwnedSolver solver;
    KSPConvergedReason reason;
    PetscInt its;
    Vector x;
    describe(options);
    PetscCall(create_aij(matrix, Layout::even, &mat));
    PetscCall(create_ksp(mat, mat,
                         "-pc_type mcpi -pc_mcpi_tune -pc_mcpi_tune_seconds 0.5 -ksp_rtol 1e-10 " +
                             options,
                         &solver, Defaults::chosen));
    for (int turn = 0; turn < 2; ++turn) {
      printed.clear();
      const auto before = std::exchange(PetscVFPrintf, keep_printed);
      PetscCall(solve(solver, b, &x, &reason, &its));
      PetscVFPrintf = before;
      EXPECT_LT(0, static_cast<int>(reason));
      EXPECT_LT(norm(residual(matrix, x, b)), 1e-8 * norm(b));
      if (turn > 0 || world_rank() > 0) continue;
      EXPECT_CONTAINS(printed, "PCMCPI: goes on with");
      const bool given = options.ends_with("entries");
      EXPECT_EQ(printed.find("-pc_mcpi_form entries") == std::string::npos, given) << printed;
      EXPECT_EQ(printed.find("-pc_mcpi_offdiag_precision fp32") == std::string::npos, given);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Options that come and go leave what a fresh preconditioner has.
PETSC_TEST(Entries, come_back_when_options_no_longer_prevent_them)
{
  const BlockMatrix matrix = species(random_pattern(9, 2, false), 0.05);
  const Vector b = random_vector(matrix.size(), 1);
  OwnedMat mat;
  Preconditioner pc;
  Vector x, expected;

  PetscFunctionBeginUser;
  PetscCall(create_aij(matrix, Layout::even, &mat));
  PetscCall(create_pc(mat, "-pc_mcpi_its 2", &pc, Defaults::chosen));
  PetscCall(apply(pc, b, &expected));
  for (const auto &[other, back] :
       {std::pair{"-pc_mcpi_offdiag_precision int8", "-pc_mcpi_offdiag_precision auto"},
        std::pair{"-pc_mcpi_form factored", "-pc_mcpi_form auto"},
        std::pair{"-pc_mcpi_method ilu0", "-pc_mcpi_method auto"},
        std::pair{"-pc_mcpi_backend reference", "-pc_mcpi_backend auto"}}) {
    std::string text;
    describe(other);
    PetscCall(set_options(pc, other));
    PetscCall(apply(pc, b, &x));
    PetscCall(view(pc, &text));
    EXPECT_EQ(text.find("entries form"), std::string::npos) << text;
    PetscCall(set_options(pc, back));
    PetscCall(apply(pc, b, &x));
    EXPECT_TRUE(same_bits(x, expected));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Entries, give_way_to_incomplete_factors_where_sweeps_diverge)
{
  BlockMatrix matrix = species(chain_pattern(30), 0.05);
  const Vector b = random_vector(matrix.size(), 1);
  OwnedMat mat;
  OwnedSolver solver;
  PC pc;
  KSPConvergedReason reason;
  Vector x;
  std::string text;

  PetscFunctionBeginUser;
  if (world_size() > 1) PetscFunctionReturn(PETSC_SUCCESS);
  scale_offdiag(matrix, 100.0);
  PetscCall(create_aij(matrix, Layout::even, &mat));
  PetscCall(create_ksp(mat, mat, "-pc_type mcpi -ksp_rtol 1e-10", &solver, Defaults::chosen));
  PetscCall(solve(solver, b, &x, &reason, nullptr));
  EXPECT_LT(0, static_cast<int>(reason));
  EXPECT_LT(norm(residual(matrix, x, b)), 1e-7 * norm(b));
  PetscCall(KSPGetPC(solver, &pc));
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, "method: ilu0 (auto");
  EXPECT_EQ(text.find("entries form"), std::string::npos) << text;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The choice follows from the share of entries, and pasted options make it again.
PETSC_TEST(Entries, are_taken_where_large_blocks_have_few)
{
  struct {
    double share;
    bool entries;
    const char *options;
  } const cases[] = {{0.05, true, ""},
                     {0.04, true, "-ksp_type fgmres"},
                     {0.15, false, ""}, // enough for blocks of 100 unknowns
                     {0.9, false, ""},
                     {0.05, false, "-pc_mcpi_offdiag_precision fp32"},
                     {0.05, false, "-pc_mcpi_form prescaled"},
                     {0.05, false, "-pc_mcpi_backend reference"},
                     {0.05, false, "-pc_mcpi_method ilu0"}};

  PetscFunctionBeginUser;
  for (const auto &[share, entries, options] : cases) {
    const BlockMatrix matrix = species(random_pattern(9, 2, false), share);
    const Vector b = random_vector(matrix.size(), 1);
    OwnedMat mat;
    OwnedSolver solver, again;
    PC pc;
    KSPConvergedReason reason;
    PetscInt its;
    Vector x, pasted;
    std::string text;
    describe(std::to_string(share) + " " + options);
    PetscCall(create_aij(matrix, Layout::even, &mat));
    PetscCall(
        create_ksp(mat, mat, std::string("-pc_type mcpi ") + options, &solver, Defaults::chosen));
    PetscCall(solve(solver, b, &x, &reason, &its));
    EXPECT_LT(0, static_cast<int>(reason));
    PetscCall(KSPGetPC(solver, &pc));
    PetscCall(view(pc, &text));
    if (!entries) {
      EXPECT_EQ(text.find("entries form"), std::string::npos) << text;
      continue;
    }
    EXPECT_CONTAINS(text, "fp64, entries form (auto: blocks hold ");
    const std::string chosen = chosen_options(text);
    EXPECT_CONTAINS(chosen, "-pc_mcpi_form entries");
    PetscCall(create_ksp(mat, mat, std::string("-pc_type mcpi ") + options + chosen, &again,
                         Defaults::chosen));
    PetscCall(solve(again, b, &pasted, &reason, &its));
    EXPECT_TRUE(same_bits(x, pasted));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Entries, follow_new_values_and_survive_a_bad_one)
{
  const Pattern pattern = random_pattern(9, 2, false);
  BlockMatrix matrix = species(pattern, 0.1);
  const Vector b = random_vector(matrix.size(), 1);
  OwnedMat mat;
  Preconditioner pc, fresh;
  PCFailedReason reason;
  Vector x, expected;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, "-pc_mcpi_form entries", &pc, Defaults::chosen));
  PetscCall(apply(pc, b, &x));
  PetscCall(apply_transpose(pc, b, &x));
  const double before = matrix.diagonal(3)[0];
  matrix.diagonal(3)[0] = kNaN;
  PetscCall(set_values(matrix, mat));
  PetscCall(PCSetUp(pc));
  PetscCall(PCGetFailedReason(pc, &reason));
  EXPECT_NE(static_cast<int>(reason), static_cast<int>(PC_NOERROR));
  matrix.diagonal(3)[0] = before;
  for (double &value : matrix.values) value *= 2.0;
  PetscCall(set_values(matrix, mat));
  PetscCall(PCSetUp(pc));
  PetscCall(apply(pc, b, &x));
  PetscCall(create_pc(mat, "-pc_mcpi_form entries", &fresh, Defaults::chosen));
  PetscCall(apply(fresh, b, &expected));
  EXPECT_TRUE(same_bits(x, expected));
  PetscCall(apply_transpose(pc, b, &x));
  PetscCall(apply_transpose(fresh, b, &expected));
  EXPECT_TRUE(same_bits(x, expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Full diagonal blocks would have full factors.
PETSC_TEST(Entries, are_not_taken_beside_full_diagonal_blocks)
{
  BlockMatrix matrix = species(tetrahedral_pattern(3, 3, 3), 0.01);
  OwnedMat mat;
  Preconditioner pc;
  std::string text;

  PetscFunctionBeginUser;
  for (Row row = 0; row < matrix.rows(); ++row)
    for (double &value : matrix.diagonal(row)) value += 1e-4;
  PetscCall(create_aij(matrix, Layout::even, &mat));
  PetscCall(create_pc(mat, "", &pc, Defaults::chosen));
  PetscCall(PCSetUp(pc));
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, "of their numbers, and sweeps multiply with all of them");
  PetscFunctionReturn(PETSC_SUCCESS);
}
