// Tests matrices that PCMCPI does not support. Every rank reports a PETSc error that names the
// remedy, and the same PC works afterwards with a good matrix.
#include "support/petsc.h"

using namespace mcpi::test;

namespace {

const BlockMatrix &good_matrix()
{
  static const BlockMatrix matrix = make_matrix(2, random_pattern(24, 3, false));
  return matrix;
}

// The PC of every test. It works, then fails with a bad matrix, and then works again.
class Patient {
public:
  PetscErrorCode create()
  {
    PetscFunctionBeginUser;
    PetscCall(create_mat(PETSC_COMM_WORLD, good_matrix(), Layout::even, MATBAIJ, &good_));
    PetscCall(create_pc(good_, "-pc_mcpi_offdiag_precision fp64", &pc_));
    PetscCall(apply(pc_, random_vector(good_matrix().size(), 1), &before_));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  Caught attempt(Mat bad)
  {
    return catch_error([&]() -> PetscErrorCode {
      PetscFunctionBeginUser;
      PetscCall(set_operators(bad));
      PetscCall(PCSetUp(pc_));
      PetscFunctionReturn(PETSC_SUCCESS);
    });
  }

  PetscErrorCode check_recovery()
  {
    Vector after;

    PetscFunctionBeginUser;
    PetscCall(set_operators(good_));
    PetscCall(apply(pc_, random_vector(good_matrix().size(), 1), &after));
    EXPECT_TRUE(after == before_);
    PetscFunctionReturn(PETSC_SUCCESS);
  }

private:
  // PCSetOperators() refuses other local sizes unless PCReset() was called before.
  PetscErrorCode set_operators(Mat mat)
  {
    Mat old;
    PetscInt m, n, old_m, old_n;
    PetscInt differ;

    PetscFunctionBeginUser;
    PetscCall(PCGetOperators(pc_, nullptr, &old));
    PetscCall(MatGetLocalSize(old, &old_m, &old_n));
    PetscCall(MatGetLocalSize(mat, &m, &n));
    differ = m != old_m || n != old_n;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &differ, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
    if (differ) PetscCall(PCReset(pc_));
    PetscCall(PCSetOperators(pc_, mat, mat));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  OwnedMat good_;
  Preconditioner pc_;
  Vector before_;
};

PetscErrorCode check_refused(Mat bad, PetscErrorCode code, const std::string &remedy)
{
  Patient patient;

  PetscFunctionBeginUser;
  PetscCall(patient.create());
  expect_error(__FILE__, __LINE__, patient.attempt(bad), code, remedy);
  PetscCall(patient.check_recovery());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode check_fresh_refused(Mat bad, PetscErrorCode code, const std::string &remedy)
{
  Preconditioner pc;

  PetscFunctionBeginUser;
  PetscCall(create_pc(bad, "", &pc));
  EXPECT_PETSC_ERROR(code, remedy, PCSetUp(pc));
  EXPECT_PETSC_ERROR(code, remedy, PCSetUp(pc)); // A second attempt fails, too.
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode create_aij(PetscInt m, PetscInt n, PetscInt row_bs, PetscInt column_bs,
                          OwnedMat *mat)
{
  PetscInt begin, end;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, mat->out()));
  PetscCall(MatSetSizes(*mat, m, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSizes(*mat, row_bs, column_bs));
  PetscCall(MatSetType(*mat, MATAIJ));
  PetscCall(MatSetUp(*mat));
  PetscCall(MatGetOwnershipRange(*mat, &begin, &end));
  for (PetscInt i = begin; i < end; ++i) PetscCall(MatSetValue(*mat, i, i, 1.0, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode assemble(Mat mat)
{
  PetscFunctionBeginUser;
  PetscCall(MatAssemblyBegin(mat, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(mat, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(Unsupported, types_that_hold_no_blocks_are_refused)
{
  PetscFunctionBeginUser;
  for (const MatType type : {MATDENSE, MATSELL, MATSHELL, MATNEST, MATTRANSPOSEVIRTUAL}) {
    OwnedMat aij, bad;
    describe(type);
    PetscCall(create_mat(PETSC_COMM_WORLD, good_matrix(), Layout::even, MATAIJ, &aij));
    const std::string name = type;
    if (name == MATSHELL) {
      PetscInt m;
      PetscCall(MatGetLocalSize(aij, &m, nullptr));
      PetscCall(MatCreateShell(PETSC_COMM_WORLD, m, m, PETSC_DETERMINE, PETSC_DETERMINE, nullptr,
                               bad.out()));
      PetscCall(MatSetUp(bad));
      PetscCall(assemble(bad));
    } else if (name == MATNEST) {
      Mat blocks[] = {aij, nullptr, nullptr, aij};
      PetscCall(MatCreateNest(PETSC_COMM_WORLD, 2, nullptr, 2, nullptr, blocks, bad.out()));
    } else if (name == MATTRANSPOSEVIRTUAL) {
      PetscCall(MatCreateTranspose(aij, bad.out()));
    } else {
      PetscCall(MatConvert(aij, type, MAT_INITIAL_MATRIX, bad.out()));
    }
    PetscCall(check_fresh_refused(bad, PETSC_ERR_SUP, "-mat_type baij"));
    PetscCall(check_refused(bad, PETSC_ERR_SUP, "-mat_type baij"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Unsupported, matrices_that_are_not_square_are_refused)
{
  OwnedMat bad;

  PetscFunctionBeginUser;
  PetscCall(create_aij(12, 14, 2, 2, &bad));
  PetscCall(assemble(bad));
  PetscCall(check_refused(bad, PETSC_ERR_ARG_SIZ, "square"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Unsupported, rows_and_columns_partitioned_differently_are_refused)
{
  OwnedMat bad;

  PetscFunctionBeginUser;
  if (world_size() == 1) PetscFunctionReturn(PETSC_SUCCESS);
  const int last = world_size() - 1, rank = world_rank();
  PetscCall(create_aij(12, rank == 0 ? 10 : rank == last ? 14 : 12, 2, 2, &bad));
  PetscCall(assemble(bad));
  PetscCall(check_refused(bad, PETSC_ERR_ARG_SIZ, "MatSetSizes"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Unsupported, matrices_that_are_not_assembled_are_refused)
{
  OwnedMat bad;

  PetscFunctionBeginUser;
  PetscCall(create_aij(12, 12, 2, 2, &bad));
  PetscCall(check_refused(bad, PETSC_ERR_ARG_WRONGSTATE, "MatAssemblyBegin"));
  PetscCall(assemble(bad));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// If one block is missing on one rank, every rank must report which.
PETSC_TEST(Unsupported, rows_without_their_diagonal_block_are_refused)
{
  const PetscInt bs = 3, n = 20, missing = 17;

  PetscFunctionBeginUser;
  for (const MatType type : {MATAIJ, MATBAIJ}) {
    BlockMatrix matrix = make_matrix(bs, random_pattern(n, 2, false));
    OwnedMat bad;
    describe(type);
    for (PetscInt k = matrix.ptr[missing]; k < matrix.ptr[missing + 1]; ++k)
      if (matrix.col[k] == missing) {
        matrix.col.erase(matrix.col.begin() + k);
        matrix.values.erase(matrix.values.begin() + k * bs * bs,
                            matrix.values.begin() + (k + 1) * bs * bs);
        break;
      }
    for (PetscInt i = missing + 1; i <= n; ++i) --matrix.ptr[i];
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, type, &bad));
    PetscCall(check_fresh_refused(bad, PETSC_ERR_ARG_WRONGSTATE, "MatSetValuesBlocked"));
    PetscCall(check_refused(bad, PETSC_ERR_ARG_WRONGSTATE, "block row 17 has no diagonal block"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The remedy in the message for a missing diagonal block must help.
PETSC_TEST(Unsupported, diagonal_block_inserted_after_the_refusal_helps)
{
  OwnedMat bad;
  Preconditioner pc;
  PetscInt begin, end;
  PCFailedReason reason;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, bad.out()));
  PetscCall(MatSetSizes(bad, 6, 6, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSize(bad, 3));
  PetscCall(MatSetType(bad, MATAIJ));
  PetscCall(MatSetUp(bad));
  PetscCall(MatSetOption(bad, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(bad, &begin, &end));
  for (PetscInt i = begin + 3; i < end; ++i) PetscCall(MatSetValue(bad, i, i, 1.0, INSERT_VALUES));
  PetscCall(assemble(bad));
  PetscCall(create_pc(bad, "", &pc));
  EXPECT_PETSC_ERROR(PETSC_ERR_ARG_WRONGSTATE, "MatSetValuesBlocked", PCSetUp(pc));

  const PetscInt row = begin / 3;
  // Zeros are a block, too. One of ones is singular.
  for (const Vector &block : {Vector(9, 0.0), Vector(9, 1.0), Vector{2, 0, 0, 0, 2, 0, 0, 0, 2}}) {
    PetscCall(MatSetValuesBlocked(bad, 1, &row, 1, &row, block.data(), INSERT_VALUES));
    PetscCall(assemble(bad));
    PetscCall(PCSetUp(pc));
    PetscCall(PCGetFailedReason(pc, &reason));
    EXPECT_EQ(static_cast<int>(reason),
              static_cast<int>(block[1] == 1.0 ? PC_FACTOR_NUMERIC_ZEROPIVOT : PC_NOERROR));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// PETSc 3.18 loses off-process blocks if a rank without such blocks gets its first one after an
// assembly. MatMult() then crashes.
PETSC_TEST(Unsupported, off_process_blocks_that_petsc_has_lost_are_named)
{
  constexpr PetscInt bs = 2, n = 24;
  constexpr PetscScalar block[] = {2.0, 0.5, 0.5, 2.0};
  Patient patient;
  OwnedMat mat;

  PetscFunctionBeginUser;
  PetscCall(patient.create());
  const std::vector<PetscInt> rows = block_rows_of_ranks(Layout::even, n, world_size()), two(n, 2);
  PetscCall(MatCreate(PETSC_COMM_WORLD, mat.out()));
  PetscCall(MatSetSizes(mat, rows[world_rank()] * bs, rows[world_rank()] * bs, n * bs, n * bs));
  PetscCall(MatSetType(mat, MATBAIJ));
  PetscCall(MatXAIJSetPreallocation(mat, bs, two.data(), two.data(), nullptr, nullptr));
  PetscCall(MatSetOption(mat, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (const bool later : {false, true}) {
    PetscInt first, end;
    PetscCall(MatGetOwnershipRange(mat, &first, &end));
    for (PetscInt row = first / bs; row < end / bs; ++row) {
      const PetscInt column = later ? n - 1 - row : row;
      if (!later || world_rank() == 0)
        PetscCall(MatSetValuesBlocked(mat, 1, &row, 1, &column, block, INSERT_VALUES));
    }
    PetscCall(assemble(mat));
  }
  const Caught caught = patient.attempt(mat);
  if (caught.code != PETSC_SUCCESS)
    expect_error(__FILE__, __LINE__, caught, PETSC_ERR_ARG_WRONGSTATE, "before that assembly");
  EXPECT_TRUE(caught.code == PETSC_SUCCESS || world_size() > 1);
  PetscCall(patient.check_recovery());
  PetscFunctionReturn(PETSC_SUCCESS);
}
