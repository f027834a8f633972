// Tests matrices with unknowns whose rows and columns are zero, as PCGAMG makes them. The rest of
// their block is relaxed, and they keep their value. What is singular otherwise fails.
#include <algorithm>
#include <cmath>

#include "factors.h"

using namespace mcpi::test;

namespace {

struct Problem {
  const char *name;
  BlockMatrix matrix, regular; // regular: 1 on the diagonal of the empty unknowns
  std::vector<Row> empty;
  MatType type;
  Layout layout;

  // x with these values of the empty unknowns
  Vector with(Vector x, const Vector &values) const
  {
    for (const Row i : empty) x[i] = values[i];
    return x;
  }
  Vector with_zeros(const Vector &x) const { return with(x, Vector(x.size(), 0.0)); }
};

// Empties some unknowns: all of the first row and of a row in the middle, and one component of
// every fourth row.
Problem problem(const char *name, BlockMatrix matrix, MatType type, Layout layout)
{
  Problem made{name, std::move(matrix), {}, {}, type, layout};
  const Row bs = made.matrix.bs, rows = made.matrix.rows();
  for (Row row = 0; row < rows; ++row)
    for (Row i = 0; i < bs; ++i)
      if (row == 0 || row == rows / 2 || (row % 4 == 3 && i == row / 4 % bs))
        made.empty.push_back(row * bs + i);
  made.regular = made.matrix;
  empty_unknowns(made.matrix, made.empty);
  empty_unknowns(made.regular, made.empty, 1.0);
  return made;
}

std::vector<Problem> problems()
{
  Recipe symmetric, holes;
  symmetric.symmetric = true;
  holes.sparsity = 0.3;
  return {
      problem("scalar", make_matrix(1, random_pattern(40, 3, false)), MATAIJ, Layout::even),
      problem("nonsymmetric", make_matrix(3, random_pattern(30, 3, false)), MATBAIJ,
              Layout::uneven),
      problem("one-way", make_matrix(2, one_way_pattern(24, 4), holes), MATAIJ,
              Layout::empty_ranks),
      problem("symmetric", make_matrix(6, random_pattern(24, 2, true), symmetric), MATSBAIJ,
              Layout::even),
      problem("large", make_matrix(35, random_pattern(7, 2, false)), MATBAIJ, Layout::even),
  };
}

struct SweepCase {
  const char *options;
  Sweeps sweeps;
};
const SweepCase sweep_cases[] = {
    {"-pc_mcpi_sweep forward -pc_mcpi_its 2", {PC_MCPI_SWEEP_FORWARD, 1.0, 2}},
    {"-pc_mcpi_sweep backward -pc_mcpi_omega 0.7 ", {PC_MCPI_SWEEP_BACKWARD, 0.7, 1}},
    {"-pc_mcpi_sweep symmetric -pc_mcpi_omega 1.2 -pc_mcpi_its 2",
     {PC_MCPI_SWEEP_SYMMETRIC, 1.2, 2}},
};

PetscErrorCode create_failed(const BlockMatrix &matrix, const std::string &options,
                             PetscInt bad_row)
{
  OwnedMat mat;
  Preconditioner pc;
  PCFailedReason reason;
  PetscInt row;
  std::string text;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, options, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCGetFailedReason(pc, &reason));
  EXPECT_EQ(static_cast<int>(reason), static_cast<int>(PC_FACTOR_NUMERIC_ZEROPIVOT));
  PetscCall(PCMCPIGetFailedBlock(pc, &row));
  EXPECT_EQ(row, bad_row);
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, "FAILED at block row " + std::to_string(bad_row) + ": ");
  EXPECT_CONTAINS(text, "singular");
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(EmptyUnknowns, rest_is_relaxed_by_the_formula)
{
  PetscFunctionBeginUser;
  for (const Problem &problem : problems())
    for (const SweepCase &choice : sweep_cases)
      for (const char *form : {"prescaled", "factored", "entries"}) {
        if (!takes_form(form, "fp64")) continue;
        const Vector b = random_vector(problem.matrix.size(), 1),
                     guess = random_vector(problem.matrix.size(), 2);
        OwnedMat mat;
        Preconditioner pc;
        std::vector<int> color;
        Vector x;
        describe(std::string(problem.name) + " " + choice.options + " " + form);
        PetscCall(create_mat(PETSC_COMM_WORLD, problem.matrix, problem.layout, problem.type, &mat));
        PetscCall(create_pc(mat,
                            std::string("-pc_mcpi_offdiag_precision fp64 ") + choice.options +
                                " -pc_mcpi_form " + form,
                            &pc));
        PetscCall(apply(pc, b, &x));
        PetscCall(gather_colors(pc, &color));
        DenseIteration formula(problem.regular, color);
        EXPECT_LE(difference(x, problem.with_zeros(formula.run(choice.sweeps, b))), 1e-12);
        PetscCall(apply_transpose(pc, b, &x));
        EXPECT_LE(difference(x, problem.with_zeros(formula.transposed(choice.sweeps, b))), 1e-12);
        x = guess;
        PetscCall(apply_richardson(pc, b, false, 1, &x));
        EXPECT_LE(difference(x, problem.with(formula.run(choice.sweeps, b, guess), guess)), 1e-12);
        for (const Row i : problem.empty) EXPECT_EQ(x[i], guess[i]);
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// With 1 on the diagonal and zero on the right-hand side, an unknown without couplings is zero,
// too.
PETSC_TEST(EmptyUnknowns, count_as_unknowns_of_zero_in_every_storage_schedule_and_method)
{
  constexpr const char *choices[] = {
      "",
      "-pc_mcpi_form factored -pc_mcpi_sweep forward -pc_mcpi_its 3",
      "-pc_mcpi_restart 1 -pc_mcpi_its 2",
      "-pc_mcpi_omega 0.8",
      "-pc_mcpi_schedule cluster -pc_mcpi_cluster_rows 4",
      "-pc_mcpi_schedule level -pc_mcpi_form factored",
      "-pc_mcpi_method dilu",
      "-pc_mcpi_method ilu0 -pc_mcpi_its 2",
      "-pc_mcpi_method ilu0 -pc_mcpi_form factored -pc_mcpi_schedule cluster"};

  std::size_t turn = 0;

  PetscFunctionBeginUser;
  for (const Problem &problem : problems())
    for (const char *precision :
         {"fp64", "fp32", "fp16", "int8", "int4",
          "int8 -pc_mcpi_vector_precision fp32 -pc_mcpi_gather_precision bfp16"})
      for (const char *choice : choices) {
        if (problem.matrix.bs > 2 && turn++ % (problem.matrix.bs > 6 ? 5 : 2) != 0) continue;
        const std::string options =
            std::string(choice) + " -pc_mcpi_offdiag_precision " + precision;
        const Vector b = random_vector(problem.matrix.size(), 3),
                     guess = random_vector(problem.matrix.size(), 4);
        OwnedMat mat, regular_mat;
        Preconditioner pc, regular;
        Vector x, expected;
        describe(std::string(problem.name) + " " + options);
        PetscCall(create_mat(PETSC_COMM_WORLD, problem.matrix, problem.layout, problem.type, &mat));
        PetscCall(create_mat(PETSC_COMM_WORLD, problem.regular, problem.layout, problem.type,
                             &regular_mat));
        PetscCall(create_pc(mat, options, &pc));
        PetscCall(create_pc(regular_mat, options, &regular));
        PetscCall(apply(pc, b, &x));
        PetscCall(apply(regular, problem.with_zeros(b), &expected));
        EXPECT_EQ(difference(x, expected), 0.0);
        PetscCall(apply_transpose(pc, b, &x));
        PetscCall(apply_transpose(regular, problem.with_zeros(b), &expected));
        // Transposed sweeps read b of empty unknowns, which share exponents with others in bfp16.
        EXPECT_LE(difference(x, expected), options.ends_with("bfp16") ? 1e-5 : 0.0);
        x = expected = guess;
        PetscCall(apply_richardson(pc, b, false, 2, &x));
        PetscCall(apply_richardson(regular, problem.with(b, guess), false, 2, &expected));
        EXPECT_LE(difference(x, expected), 1e-13);
        for (const Row i : problem.empty) EXPECT_EQ(x[i], guess[i]);
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(EmptyUnknowns, are_left_out_by_the_factors_of_the_formula)
{
  PetscFunctionBeginUser;
  for (const Problem &problem : problems())
    for (const bool fill : {false, true}) {
      const Vector b = random_vector(problem.matrix.size(), 3);
      OwnedMat mat;
      Preconditioner pc;
      std::vector<int> place;
      Vector x;
      describe(std::string(problem.name) + (fill ? " ilu0" : " dilu"));
      PetscCall(create_mat(PETSC_COMM_WORLD, problem.matrix, problem.layout, problem.type, &mat));
      PetscCall(create_pc(mat,
                          std::string("-pc_mcpi_offdiag_precision fp64 -pc_mcpi_method ") +
                              (fill ? "ilu0" : "dilu"),
                          &pc));
      PetscCall(apply(pc, b, &x));
      PetscCall(gather_places(pc, mat, &place));
      Factors factors(problem.regular, place, fill);
      EXPECT_LE(difference(factors.multiply(false, x), problem.with_zeros(b)), 1e-12);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(EmptyUnknowns, count_is_that_of_all_ranks)
{
  PetscFunctionBeginUser;
  for (const Problem &problem : problems())
    for (const bool some : {true, false}) {
      OwnedMat mat;
      Preconditioner pc;
      std::string text;
      describe(problem.name);
      PetscCall(create_mat(PETSC_COMM_WORLD, some ? problem.matrix : problem.regular,
                           problem.layout, problem.type, &mat));
      PetscCall(create_pc(mat, "", &pc));
      PetscCall(PCSetUp(pc));
      PetscCall(view(pc, &text));
      if (some)
        EXPECT_CONTAINS(text,
                        "  empty unknowns: " + std::to_string(problem.empty.size()) + " (all");
      else
        EXPECT_EQ(text.find("empty unknowns"), std::string::npos);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(EmptyUnknowns, all_of_a_matrix_give_zero_from_zero)
{
  PetscFunctionBeginUser;
  for (const PetscInt bs : {1, 4, 9})
    for (const char *options : {"", "-pc_mcpi_form factored -pc_mcpi_offdiag_precision int8",
                                "-pc_mcpi_vector_precision fp32", "-pc_mcpi_method ilu0"}) {
      BlockMatrix matrix = make_matrix(bs, random_pattern(12, 2, true));
      OwnedMat mat;
      Preconditioner pc;
      Vector x;
      std::fill(matrix.values.begin(), matrix.values.end(), 0.0);
      describe("bs " + std::to_string(bs) + " " + options);
      PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
      PetscCall(create_pc(mat, options, &pc));
      PetscCall(apply(pc, random_vector(matrix.size(), 1), &x));
      EXPECT_EQ(norm(x), 0.0);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A row or a column that is zero in the diagonal block, but not elsewhere
PETSC_TEST(EmptyUnknowns, one_with_an_entry_on_any_rank_is_a_singular_block)
{
  constexpr Row bs = 2, rows = 12, bad = 4;
  const Pattern all(rows, [] {
    std::vector<Row> row(rows);
    std::iota(row.begin(), row.end(), 0);
    return row;
  }());
  Pattern pattern = all;
  for (Row i = 0; i < rows; ++i) pattern[i].erase(pattern[i].begin() + i);

  PetscFunctionBeginUser;
  for (const char *method : {"point", "dilu", "ilu0"})
    for (const bool others : {false, true}) // whether there are empty unknowns, too
      for (const bool column : {false, true})
        for (Row far = 0; far < rows; ++far)
          for (const double entry : {1e-300, kNaN}) {
            // A NaN of an earlier row is reported first. A factorization carries it on.
            if (far == bad) continue;
            if (std::isnan(entry) && (far < bad || std::string(method) != "point")) continue;
            BlockMatrix matrix = make_matrix(bs, pattern);
            empty_unknowns(matrix, others ? std::vector<Row>{3, bad * bs + 1, rows * bs - 1}
                                          : std::vector<Row>{bad * bs + 1});
            // The other component of that row is never empty.
            if (column)
              matrix.block(far, bad)[bs] = entry;
            else
              matrix.block(bad, far)[1] = entry;
            describe(std::string(method) + (others ? " others" : "") +
                     (column ? " column" : " row") + " at " + std::to_string(far) + " " +
                     std::to_string(entry));
            PetscCall(create_failed(matrix, std::string("-pc_mcpi_method ") + method, bad));
          }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Row 0 is empty. Rows 1 and 2 are equal, so that the second pivot of DILU and ILU(0) is zero.
PETSC_TEST(EmptyUnknowns, zero_pivots_of_a_factorization_are_none)
{
  BlockMatrix matrix = make_matrix(1, Pattern{{}, {2}, {1}});

  PetscFunctionBeginUser;
  std::fill(matrix.values.begin(), matrix.values.end(), 1.0);
  empty_unknowns(matrix, {0});
  for (const char *method : {"dilu", "ilu0"}) {
    OwnedMat mat;
    Preconditioner pc;
    std::vector<int> color;
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATAIJ, &mat));
    PetscCall(create_pc(mat, "", &pc));
    PetscCall(PCSetUp(pc));
    PetscCall(gather_colors(pc, &color));
    describe(method);
    PetscCall(create_failed(matrix, std::string("-pc_mcpi_method ") + method,
                            color[1] > color[2] ? 1 : 2));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(EmptyUnknowns, come_and_go_with_new_values)
{
  PetscFunctionBeginUser;
  for (const char *options :
       {"-ksp_type gmres", "-ksp_type fgmres -pc_mcpi_offdiag_precision int8",
        "-ksp_type richardson -pc_mcpi_offdiag_precision fp64 -ksp_max_it 200",
        "-ksp_type fgmres -pc_mcpi_method ilu0"}) {
    const Problem some =
        problem("", make_matrix(3, random_pattern(30, 3, false)), MATBAIJ, Layout::even);
    const BlockMatrix full = make_matrix(3, random_pattern(30, 3, false));
    BlockMatrix singular = some.matrix;
    OwnedMat mat;
    OwnedSolver solver;
    std::fill_n(singular.block(28, 28), 3, 0.0); // a column of one block
    PetscCall(create_mat(PETSC_COMM_WORLD, full, Layout::even, MATBAIJ, &mat));
    PetscCall(create_ksp(mat, mat, std::string(options) + " -ksp_rtol 1e-9", &solver));
    for (const BlockMatrix *matrix : std::initializer_list<const BlockMatrix *>{
             &full, &some.matrix, &some.matrix, &singular, &some.matrix, &full, &singular, &full}) {
      const Vector solution = matrix == &full ? random_vector(full.size(), 1)
                                              : some.with_zeros(random_vector(full.size(), 1));
      KSPConvergedReason reason;
      Vector x;
      describe(options);
      PetscCall(set_values(*matrix, mat));
      PetscCall(KSPSetOperators(solver, mat, mat));
      PetscCall(solve(solver, matrix->multiply(solution), &x, &reason, nullptr));
      if (matrix == &singular) {
        EXPECT_EQ(static_cast<int>(reason), static_cast<int>(KSP_DIVERGED_PC_FAILED));
      } else {
        EXPECT_LT(0, static_cast<int>(reason));
        EXPECT_LE(difference(x, solution), 1e-7);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
