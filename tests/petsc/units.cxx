// Tests systems in any units. Right-hand sides and matrices far from 1 give the result of those
// near 1, multiplied by the units.
#include <cmath>

#include "support/petsc.h"

using namespace mcpi::test;

namespace {

constexpr PetscInt bs = 5;
constexpr double units[] = {1e-46, 1e-30, 1e30, 1e46};
const char *const blocks[] = {"fp64", "fp32", "fp16", "int8", "int4"};
const char *const forms[] = {"prescaled", "factored"};

Vector times(double factor, Vector v)
{
  for (double &value : v) value *= factor;
  return v;
}

BlockMatrix in_units(double unit)
{
  BlockMatrix matrix = make_matrix(bs, tetrahedral_pattern(5, 4, 3));
  for (double &value : matrix.values) value *= unit;
  return matrix;
}

// Single precision may be refused if blocks are stored in double precision.
bool allowed(const std::string &storage, const std::string &vectors)
{
  return storage != "fp64" || vectors != "fp32";
}

// Makes one application with every kind of input. Results are in the units of the first system.
PetscErrorCode applications(PC pc, const Vector &b, std::vector<Vector> *results)
{
  Vector x;

  PetscFunctionBeginUser;
  results->clear();
  PetscCall(apply(pc, b, &x));
  results->push_back(x);
  PetscCall(apply_transpose(pc, b, &x));
  results->push_back(x);
  PetscCall(apply_richardson(pc, b, true, 3, &x));
  results->push_back(x);
  PetscCall(PCMCPISetRestart(pc, 2));
  PetscCall(apply_richardson(pc, b, true, 4, &x));
  results->push_back(x);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(Units, applications_scale_with_the_units_of_the_right_hand_side_and_of_the_matrix)
{
  const BlockMatrix matrix = in_units(1.0);
  const Vector b = random_vector(matrix.size(), 1);

  PetscFunctionBeginUser;
  for (const std::string storage : blocks)
    for (const std::string vectors : {"fp64", "fp32"})
      for (const std::string form : forms) {
        if (!allowed(storage, vectors)) continue;
        const std::string options = "-pc_mcpi_offdiag_precision " + storage +
                                    " -pc_mcpi_vector_precision " + vectors + " -pc_mcpi_form " +
                                    form;
        OwnedMat mat;
        Preconditioner plain;
        std::vector<Vector> expected, results;
        PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
        PetscCall(create_pc(mat, options, &plain));
        PetscCall(applications(plain, b, &expected));
        for (const double of_matrix : {1e-46, 1.0, 1e46})
          for (const double of_b : units) {
            OwnedMat other;
            Preconditioner pc;
            describe(options + ", matrix times " + std::to_string(std::log10(of_matrix)) +
                     ", b times " + std::to_string(std::log10(of_b)));
            PetscCall(
                create_mat(PETSC_COMM_WORLD, in_units(of_matrix), Layout::even, MATBAIJ, &other));
            PetscCall(create_pc(other, options, &pc));
            PetscCall(applications(pc, times(of_b, b), &results));
            // Decimal units change all roundings. If blocks have few bits, results differ by as
            // much as one such rounding.
            for (std::size_t i = 0; i < results.size(); ++i)
              EXPECT_LE(difference(times(of_matrix / of_b, results[i]), expected[i]),
                        storage == "fp64"   ? 1e-13
                        : storage == "fp32" ? 1e-6
                                            : 0.05);
          }
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Powers of two change no rounding at all.
PETSC_TEST(Units, powers_of_two_as_units_change_no_bit)
{
  const BlockMatrix matrix = in_units(1.0);
  const Vector b = random_vector(matrix.size(), 1);

  PetscFunctionBeginUser;
  for (const std::string storage : blocks)
    for (const std::string vectors : {"fp64", "fp32"}) {
      if (!allowed(storage, vectors)) continue;
      OwnedMat mat;
      Preconditioner pc;
      std::vector<Vector> expected, results;
      PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
      PetscCall(create_pc(
          mat, "-pc_mcpi_offdiag_precision " + storage + " -pc_mcpi_vector_precision " + vectors,
          &pc));
      PetscCall(applications(pc, b, &expected));
      for (const double unit : {0x1p-200, 0x1p-100, 0x1p100, 0x1p200}) {
        describe(storage + " blocks, " + vectors + " vectors, b times 2^" +
                 std::to_string(std::ilogb(unit)));
        PetscCall(PCMCPISetRestart(pc, PETSC_DECIDE));
        PetscCall(applications(pc, times(unit, b), &results));
        for (std::size_t i = 0; i < results.size(); ++i)
          EXPECT_TRUE(times(1.0 / unit, results[i]) == expected[i]);
      }
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Units, columns_of_different_units_are_solved_together)
{
  const BlockMatrix matrix = in_units(1.0);
  constexpr PetscInt columns = 6;
  const double unit[columns] = {1e-46, 0.0, 1e46, 1.0, 1e-30, 1e30};

  PetscFunctionBeginUser;
  for (const std::string options :
       {"-pc_mcpi_vector_precision fp64",
        "-pc_mcpi_vector_precision fp32 -pc_mcpi_offdiag_precision int8"}) {
    OwnedMat mat, b, x;
    Preconditioner pc;
    PetscInt local, begin;
    PetscScalar *array;
    Vector expected;
    describe(options);
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
    PetscCall(create_pc(mat, options, &pc));
    PetscCall(PCSetUp(pc));
    PetscCall(MatGetLocalSize(mat, &local, nullptr));
    PetscCall(MatGetOwnershipRange(mat, &begin, nullptr));
    for (OwnedMat *dense : {&b, &x})
      PetscCall(MatCreateDense(PETSC_COMM_WORLD, local, PETSC_DECIDE, matrix.size(), columns,
                               nullptr, dense->out()));
    PetscCall(MatDenseGetArrayWrite(b, &array));
    for (PetscInt c = 0; c < columns; ++c) {
      const Vector column =
          times(unit[c], random_vector(matrix.size(), static_cast<std::uint64_t>(c + 1)));
      for (PetscInt i = 0; i < local; ++i)
        array[c * local + i] = column[static_cast<std::size_t>(begin + i)];
    }
    PetscCall(MatDenseRestoreArrayWrite(b, &array));
    PetscCall(PCMatApply(pc, b, x));
    for (PetscInt c = 0; c < columns; ++c) {
      Vec column;
      Vector got;
      PetscCall(MatDenseGetColumnVecRead(x, c, &column));
      PetscCall(gather(column, &got));
      PetscCall(MatDenseRestoreColumnVecRead(x, c, &column));
      PetscCall(
          apply(pc, times(unit[c], random_vector(matrix.size(), static_cast<std::uint64_t>(c + 1))),
                &expected));
      if (unit[c] == 0.0)
        EXPECT_TRUE(got == expected);
      else
        EXPECT_LE(difference(times(1.0 / unit[c], got), times(1.0 / unit[c], expected)), 1e-6);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Some equations have other units than their neighbors: every fiftieth block row, or every second
// equation.
enum class Mixed { rows, components, unknowns };

BlockMatrix in_mixed_units(Mixed mixed, double unit)
{
  BlockMatrix matrix = make_matrix(bs, tetrahedral_pattern(5, 4, 3));
  const auto factor = [&](bool other) { return other ? unit : 1.0; };
  for (PetscInt i = 0; i < matrix.rows(); ++i)
    for (PetscInt e = matrix.ptr[i]; e < matrix.ptr[i + 1]; ++e)
      for (PetscInt q = 0; q < bs; ++q)
        for (PetscInt p = 0; p < bs; ++p)
          matrix.block(i, matrix.col[e])[q * bs + p] *=
              factor(mixed == Mixed::rows         ? i % 50 == 7
                     : mixed == Mixed::components ? p % 2 == 1
                                                  : q % 2 == 1);
  return matrix;
}

PetscErrorCode solve_mixed(const BlockMatrix &matrix, const std::string &options)
{
  const Vector solution = random_vector(matrix.size(), 1);
  OwnedMat mat;
  OwnedSolver ksp;
  KSPConvergedReason reason;
  Vector x;
  PetscInt its;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(create_ksp(mat, mat, "-ksp_atol 0 -ksp_rtol 1e-8 -ksp_max_it 200 " + options, &ksp));
  PetscCall(solve(ksp, matrix.multiply(solution), &x, &reason, &its));
  EXPECT_LT(0, static_cast<int>(reason));
  EXPECT_LT(0, its);
  Vector r = matrix.multiply(x);
  const Vector b = matrix.multiply(solution);
  for (std::size_t i = 0; i < r.size(); ++i) r[i] -= b[i];
  EXPECT_LE(norm(r), 1.1e-8 * norm(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Units, equations_in_different_units_converge_with_all_defaults)
{
  PetscFunctionBeginUser;
  for (const Mixed mixed : {Mixed::rows, Mixed::components, Mixed::unknowns})
    for (const double unit : {1e-60, 1e-45, 1e-20, 1e20, 1e45, 1e60})
      for (const std::string form : forms)
        for (const std::string storage : {"fp32", "int8"}) {
          describe(std::to_string(static_cast<int>(mixed)) + ", units of 1e" +
                   std::to_string(std::log10(unit)) + ", " + form + ", " + storage);
          PetscCall(solve_mixed(in_mixed_units(mixed, unit),
                                "-ksp_type fgmres -pc_mcpi_form " + form +
                                    " -pc_mcpi_offdiag_precision " + storage));
        }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A solver must not return x = 0 with CONVERGED_ATOL, nor NaN with CONVERGED_ITS.
PETSC_TEST(Units, solvers_converge_in_any_units)
{
  const Vector solution = random_vector(in_units(1.0).size(), 1);

  PetscFunctionBeginUser;
  for (const double of_matrix : {1e-46, 1.0, 1e46})
    for (const double of_b : units)
      for (const std::string method :
           {"-ksp_type fgmres", "-ksp_type gmres -ksp_pc_side right", "-ksp_type gmres",
            "-ksp_type bcgs", "-ksp_type richardson -ksp_max_it 60"})
        for (const std::string storage : blocks) {
          const BlockMatrix matrix = in_units(of_matrix);
          OwnedMat mat;
          OwnedSolver ksp;
          KSPConvergedReason reason;
          Vector x;
          PetscInt its;
          describe(method + " " + storage + ", matrix times " +
                   std::to_string(std::log10(of_matrix)) + ", x times " +
                   std::to_string(std::log10(of_b)));
          PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
          PetscCall(create_ksp(mat, mat,
                               "-ksp_atol 0 -ksp_rtol 1e-10 -pc_mcpi_offdiag_precision " + storage +
                                   " " + method,
                               &ksp));
          PetscCall(solve(ksp, matrix.multiply(times(of_b, solution)), &x, &reason, &its));
          EXPECT_LT(0, static_cast<int>(reason));
          EXPECT_LE(difference(times(1.0 / of_b, x), solution), 1e-8);
        }
  PetscFunctionReturn(PETSC_SUCCESS);
}
