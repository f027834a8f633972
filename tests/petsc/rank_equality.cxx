// Tests that the result on several ranks is the serial answer. Each rank also computes the serial
// answer alone, from the same whole matrix.
#include <algorithm>

#include "support/petsc.h"

using namespace mcpi::test;

namespace {

constexpr const char *precisions[] = {"fp64", "fp32", "fp16", "int8", "int4"};
constexpr const char *forms[] = {"prescaled", "factored"};
constexpr const char *orderings[] = {"auto", "natural", "rcm"};

constexpr PCMCPISweepType sweep_types[] = {PC_MCPI_SWEEP_FORWARD, PC_MCPI_SWEEP_BACKWARD,
                                           PC_MCPI_SWEEP_SYMMETRIC};

struct Problem {
  const char *name;
  BlockMatrix matrix;
  MatType type;
  Layout layout;
};

std::vector<Problem> problems()
{
  Recipe holes, symmetric;
  holes.sparsity = 0.4;
  symmetric.symmetric = true;
  return {
      {"tetrahedra", make_matrix(5, tetrahedral_pattern(4, 3, 3)), MATBAIJ, Layout::even},
      {"nonsymmetric", make_matrix(3, random_pattern(40, 3, false)), MATBAIJ, Layout::uneven},
      {"one-way couplings", make_matrix(2, one_way_pattern(32, 4), holes), MATAIJ, Layout::even},
      {"symmetric", make_matrix(4, random_pattern(30, 2, true), symmetric), MATSBAIJ,
       Layout::empty_ranks},
      {"scalar", make_matrix(1, random_pattern(60, 3, false)), MATAIJ, Layout::empty_ranks},
      {"arrow", make_matrix(7, arrow_pattern(17)), MATMPIBAIJ, Layout::all_on_last},
  };
}

// A matrix on all ranks and the same matrix on this rank alone. Both preconditioners have the same
// options.
struct Pair {
  OwnedMat shared_mat, alone_mat;
  Preconditioner shared, alone;

  PetscErrorCode create(const Problem &problem, const std::string &options)
  {
    PetscFunctionBeginUser;
    const bool mpi = std::string(problem.type) == MATMPIBAIJ;
    PetscCall(
        create_mat(PETSC_COMM_WORLD, problem.matrix, problem.layout, problem.type, &shared_mat));
    PetscCall(create_mat(PETSC_COMM_SELF, problem.matrix, Layout::even,
                         mpi ? MATSEQBAIJ : problem.type, &alone_mat));
    PetscCall(create_pc(shared_mat, options, &shared));
    PetscCall(create_pc(alone_mat, options, &alone));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode both(const std::function<PetscErrorCode(PC)> &call)
  {
    PetscFunctionBeginUser;
    PetscCall(call(shared));
    PetscCall(call(alone));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

struct Tally {
  int compared = 0, bitwise = 0;
  double worst_fp64 = 0.0, worst_other = 0.0;

  // own_sums: no residual of PETSc's MatMult, whose sums depend on the partition, took part
  void add(const Vector &a, const Vector &b, bool fp64, bool own_sums)
  {
    const double d = difference(a, b);
    if (own_sums) {
      EXPECT_TRUE(a == b);
    }
    EXPECT_LE(d, fp64 ? 1e-13 : 2e-6);
    double &worst = fp64 ? worst_fp64 : worst_other;
    worst = std::max(worst, d);
    ++compared;
    bitwise += a == b;
  }
  void print() const
  {
    if (world_rank() == 0)
      std::printf("        %d iterates compared, %d with the same bits; largest relative "
                  "difference %.1e in fp64, %.1e in others\n",
                  compared, bitwise, worst_fp64, worst_other);
  }
};

PetscErrorCode set_sweep(PC pc, int choice)
{
  PetscFunctionBeginUser;
  PetscCall(PCMCPISetSweep(pc, sweep_types[choice % 3]));
  PetscCall(PCMCPISetOmega(pc, choice % 2 ? 1.0 : choice % 4 ? 0.7 : 1.3));
  PetscCall(PCMCPISetIts(pc, 1 + choice / 3 % 3));
  PetscCall(PCMCPISetRestart(pc, choice % 5 == 2 ? 2 : 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode compare_all(const Problem &problem, const std::string &options, bool fp64,
                           Tally *tally)
{
  Pair pair;
  const Vector b = random_vector(problem.matrix.size(), 3),
               guess = random_vector(problem.matrix.size(), 4);

  PetscFunctionBeginUser;
  PetscCall(pair.create(problem, options));
  for (int choice = 0; choice < 9; ++choice) {
    Vector shared, alone;
    const bool restarts = choice % 5 == 2, guess_zero = choice % 2;
    describe(std::string(problem.name) + " " + options + " choice " + std::to_string(choice));
    PetscCall(pair.both([&](PC pc) { return set_sweep(pc, choice); }));
    PetscCall(apply(pair.shared, b, &shared));
    PetscCall(apply(pair.alone, b, &alone));
    tally->add(shared, alone, fp64, !restarts);
    PetscCall(apply_transpose(pair.shared, b, &shared));
    PetscCall(apply_transpose(pair.alone, b, &alone));
    tally->add(shared, alone, fp64, !restarts);
    shared = alone = guess;
    PetscCall(apply_richardson(pair.shared, b, guess_zero, 2, &shared));
    PetscCall(apply_richardson(pair.alone, b, guess_zero, 2, &alone));
    tally->add(shared, alone, fp64, !restarts && (fp64 || guess_zero));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(RankEquality, iterate_on_ranks_is_the_iterate_on_one)
{
  Tally tally;
  int turn = 0;

  PetscFunctionBeginUser;
  for (const Problem &problem : problems())
    for (const char *precision : precisions)
      for (const char *form : forms) {
        if (world_size() > 4 &&
            (turn + problem.matrix.bs) % 2) { // enough turns for many ranks on few cores
          ++turn;
          continue;
        }
        const bool fp64 = precision == precisions[0];
        const std::string options = std::string("-pc_mcpi_offdiag_precision ") + precision +
                                    " -pc_mcpi_form " + form + " -pc_mcpi_ordering " +
                                    orderings[turn % 3] + " -pc_mcpi_vector_precision " +
                                    (fp64 || turn / 2 % 2 ? "fp64" : "fp32");
        ++turn;
        PetscCall(compare_all(problem, options, fp64, &tally));
      }
  tally.print();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(RankEquality, reference_backend_agrees_on_any_number_of_ranks)
{
  Tally tally;

  PetscFunctionBeginUser;
  for (const Problem &problem : problems())
    PetscCall(compare_all(problem, "-pc_mcpi_backend reference -pc_mcpi_offdiag_precision int8",
                          false, &tally));
  tally.print();
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Each rank rounds the ghosts that arrive as their owner rounds them.
PETSC_TEST(RankEquality, rounded_gather_is_the_same_on_any_number_of_ranks)
{
  Tally tally;

  PetscFunctionBeginUser;
  for (const Problem &problem : problems())
    for (const char *precision : {"fp32", "int8"})
      PetscCall(compare_all(problem,
                            std::string("-pc_mcpi_gather_precision bfp16 -pc_mcpi_vector_precision "
                                        "fp32 -pc_mcpi_offdiag_precision ") +
                                precision,
                            false, &tally));
  tally.print();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(RankEquality, coloring_is_the_same_on_any_number_of_ranks)
{
  PetscFunctionBeginUser;
  for (const Problem &problem : problems()) {
    Pair pair;
    std::vector<int> shared, alone;
    describe(problem.name);
    PetscCall(pair.create(problem, ""));
    PetscCall(pair.both(PCSetUp));
    PetscCall(gather_colors(pair.shared, &shared));
    PetscCall(gather_colors(pair.alone, &alone));
    EXPECT_TRUE(shared == alone);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(RankEquality, iterate_is_that_of_the_formula)
{
  PetscFunctionBeginUser;
  for (const Problem &problem : problems()) {
    OwnedMat mat;
    Preconditioner pc;
    std::vector<int> color;
    const Vector b = random_vector(problem.matrix.size(), 5),
                 guess = random_vector(problem.matrix.size(), 6);
    PetscCall(create_mat(PETSC_COMM_WORLD, problem.matrix, problem.layout, problem.type, &mat));
    PetscCall(create_pc(mat, "-pc_mcpi_offdiag_precision fp64", &pc));
    PetscCall(PCSetUp(pc));
    PetscCall(gather_colors(pc, &color));
    DenseIteration exact(problem.matrix, color);
    for (int choice = 0; choice < 12; ++choice) {
      Sweeps sweeps;
      Vector x;
      PetscInt its, restart;
      describe(std::string(problem.name) + " choice " + std::to_string(choice));
      PetscCall(set_sweep(pc, choice));
      PetscCall(PCMCPIGetSweep(pc, &sweeps.type));
      PetscCall(PCMCPIGetOmega(pc, &sweeps.omega));
      PetscCall(PCMCPIGetIts(pc, &its));
      PetscCall(PCMCPIGetRestart(pc, &restart));
      sweeps.its = static_cast<int>(its);
      sweeps.restart = static_cast<int>(restart);
      PetscCall(apply(pc, b, &x));
      EXPECT_LE(difference(x, exact.run(sweeps, b)), 1e-12);
      PetscCall(apply_transpose(pc, b, &x));
      EXPECT_LE(difference(x, exact.transposed(sweeps, b)), 1e-12);
      sweeps.its *= 2;
      x = guess;
      PetscCall(apply_richardson(pc, b, false, 2, &x));
      EXPECT_LE(difference(x, exact.run(sweeps, b, guess)), 1e-12);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(RankEquality, the_same_run_gives_the_same_bits)
{
  PetscFunctionBeginUser;
  for (const Problem &problem : problems())
    for (const char *precision : precisions) {
      Vector first;
      const Vector b = random_vector(problem.matrix.size(), 3);
      if (world_size() > 4 && precision != precisions[problem.matrix.bs % 5]) continue;
      for (int run = 0; run < 2; ++run) {
        OwnedMat mat;
        Preconditioner pc;
        Vector x;
        describe(std::string(problem.name) + " " + precision);
        PetscCall(create_mat(PETSC_COMM_WORLD, problem.matrix, problem.layout, problem.type, &mat));
        PetscCall(create_pc(
            mat,
            std::string("-pc_mcpi_its 2 -pc_mcpi_sweep symmetric -pc_mcpi_offdiag_precision ") +
                precision,
            &pc));
        PetscCall(apply(pc, b, &x));
        PetscCall(apply(pc, b, &x));
        if (run == 0) first = x;
        EXPECT_TRUE(x == first);
      }
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(RankEquality, halo_exchanged_once_a_sweep_reads_other_ranks_as_they_were_before_the_pass)
{
  PetscFunctionBeginUser;
  for (const Problem &problem : problems()) {
    OwnedMat mat;
    Preconditioner pc;
    std::vector<int> color, owner;
    const Vector b = random_vector(problem.matrix.size(), 5),
                 guess = random_vector(problem.matrix.size(), 6);
    const auto rows = block_rows_of_ranks(problem.layout, problem.matrix.rows(), world_size());
    for (std::size_t r = 0; r < rows.size(); ++r)
      owner.insert(owner.end(), static_cast<std::size_t>(rows[r]), static_cast<int>(r));
    PetscCall(create_mat(PETSC_COMM_WORLD, problem.matrix, problem.layout, problem.type, &mat));
    PetscCall(create_pc(mat, "-pc_mcpi_offdiag_precision fp64 -pc_mcpi_halo_frequency sweep", &pc));
    PetscCall(PCSetUp(pc));
    PetscCall(gather_colors(pc, &color));
    DenseIteration exact(problem.matrix, color, owner);
    for (const PCMCPISweepType type : sweep_types)
      for (const double omega : {1.0, 0.7})
        for (const int its : {1, 3}) {
          Vector x;
          const Sweeps sweeps{type, omega, its};
          describe(std::string(problem.name) + " sweep " + std::to_string(type) + " omega " +
                   std::to_string(omega));
          PetscCall(PCMCPISetSweep(pc, type));
          PetscCall(PCMCPISetOmega(pc, omega));
          PetscCall(PCMCPISetIts(pc, its));
          PetscCall(apply(pc, b, &x));
          EXPECT_LE(difference(x, exact.run(sweeps, b)), 1e-12);
          PetscCall(apply_transpose(pc, b, &x));
          EXPECT_LE(difference(x, exact.transposed(sweeps, b)), 1e-12);
          x = guess;
          PetscCall(apply_richardson(pc, b, false, 1, &x));
          EXPECT_LE(difference(x, exact.run(sweeps, b, guess)), 1e-12);
        }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(RankEquality, halo_exchanged_once_a_sweep_converges_to_the_solution)
{
  PetscFunctionBeginUser;
  for (const Problem &problem : problems()) {
    OwnedMat mat;
    Preconditioner pc;
    Vector x;
    const Vector solution = random_vector(problem.matrix.size(), 8);
    describe(problem.name);
    PetscCall(create_mat(PETSC_COMM_WORLD, problem.matrix, problem.layout, problem.type, &mat));
    PetscCall(create_pc(
        mat, "-pc_mcpi_offdiag_precision fp64 -pc_mcpi_halo_frequency sweep -pc_mcpi_its 60", &pc));
    PetscCall(apply(pc, problem.matrix.multiply(solution), &x));
    EXPECT_LE(difference(x, solution), 1e-6);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
