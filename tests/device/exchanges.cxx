// Tests that all exchanges of ghosts between devices give the same bits. NCCL is left out where
// ranks share a device, which it does not support.
#include "device/exchange_case.h"

using namespace mcpi::test;

namespace {

// Applies the PC to count columns. x receives the results, column by column.
PetscErrorCode apply_to_several(PC pc, Mat mat, const Vector &b, int count, Vector *x)
{
  OwnedVec one, result;
  OwnedMat in, out;
  PetscInt local;

  PetscFunctionBeginUser;
  PetscCall(create_vec(mat, b, &one));
  PetscCall(VecDuplicate(one, result.out()));
  PetscCall(VecGetLocalSize(one, &local));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, local, PETSC_DECIDE, PETSC_DETERMINE, count, nullptr,
                           in.out()));
  PetscCall(MatDuplicate(in, MAT_DO_NOT_COPY_VALUES, out.out()));
  for (int k = 0; k < count; ++k) {
    Vec column;
    PetscCall(MatDenseGetColumnVecWrite(in, k, &column));
    PetscCall(VecCopy(one, column));
    PetscCall(VecScale(column, 1.0 + k));
    PetscCall(MatDenseRestoreColumnVecWrite(in, k, &column));
  }
  PetscCall(PCMatApply(pc, in, out));
  x->clear();
  for (int k = 0; k < count; ++k) {
    Vec column;
    Vector values;
    PetscCall(MatDenseGetColumnVecRead(out, k, &column));
    PetscCall(VecCopy(column, result));
    PetscCall(MatDenseRestoreColumnVecRead(out, k, &column));
    PetscCall(gather(result, &values));
    x->insert(x->end(), values.begin(), values.end());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Uses all operations of a PC, one after the other
PetscErrorCode use(PC pc, Mat mat, const BlockMatrix &matrix, Vector *all)
{
  const Vector b = random_vector(matrix.size(), 5), guess = random_vector(matrix.size(), 6);
  Vector x;
  const auto keep = [&] { all->insert(all->end(), x.begin(), x.end()); };

  PetscFunctionBeginUser;
  all->clear();
  for (int round = 0; round < 2; ++round) {
    PetscCall(apply(pc, b, &x));
    keep();
    PetscCall(apply_to_several(pc, mat, b, 3, &x)); // The exchanged rows are longer here.
    keep();
    PetscCall(apply_transpose(pc, b, &x));
    keep();
    x = guess;
    PetscCall(apply_richardson(pc, b, false, 2, &x));
    keep();
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(DeviceExchanges, all_give_the_same_bits)
{
  PetscFunctionBeginUser;
  for (const PetscInt bs : {1, 5, 8, 12})
    for (const Layout layout : {Layout::uneven, Layout::empty_ranks})
      for (const char *options :
           {"-pc_mcpi_its 3", "-pc_mcpi_its 2 -pc_mcpi_sweep symmetric -pc_mcpi_omega 0.9",
            "-pc_mcpi_its 2 -pc_mcpi_sweep symmetric",
            "-pc_mcpi_its 3 -pc_mcpi_halo_frequency sweep",
            "-pc_mcpi_its 4 -pc_mcpi_restart 2 -pc_mcpi_offdiag_precision int4 "
            "-pc_mcpi_gather_precision bfp16",
            "-pc_mcpi_offdiag_precision fp64 -pc_mcpi_sweep backward",
            "-pc_mcpi_its 3 -pc_mcpi_sweep backward -pc_mcpi_offdiag_precision fp16 "
            "-pc_mcpi_gather_precision bfp16 -pc_mcpi_omega 1.1"}) {
        const BlockMatrix matrix = make_matrix(
            bs, random_pattern(60, 3, bs == 5 || bs == 8)); // symmetric: inside the relaxations
        OwnedMat mat;
        Vector expected, x;
        describe(std::string(options) + " bs " + std::to_string(bs) + " " + name_of(layout));
        // cuSPARSE does not guarantee the same bits for the residuals that restarts need.
        PetscCall(create_case(
            matrix, layout,
            std::string(options).find("restart") == std::string::npos ? MATAIJCUSPARSE : MATBAIJ,
            &mat));
        for (const char *halo : exchanges()) {
          Preconditioner pc;
          if (std::string(halo) == "nccl" && (bs != 5 || layout != Layout::uneven))
            continue; // NCCL starts slowly.
          PetscCall(create_pc(mat, on_device(options, halo), &pc));
          PetscCall(use(pc, mat, matrix, &x));
          if (expected.empty()) expected = x;
          EXPECT_TRUE(x == expected);
        }
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The cases are a row that only one rank has, and couplings that exist in one direction only.
PETSC_TEST(DeviceExchanges, what_relaxations_cannot_exchange_is_exchanged_beside_them)
{
  struct Case {
    Pattern pattern;
    const char *reason;
  };

  PetscFunctionBeginUser;
  for (const Case &one :
       {Case{arrow_pattern(700), "not inside the relaxations: blocks, vectors or long rows"},
        Case{one_way_pattern(80, 3),
             "not inside the relaxations: the pattern is not symmetric between ranks"}}) {
    const BlockMatrix matrix = make_matrix(5, one.pattern);
    OwnedMat mat;
    Vector expected, x;
    describe(one.reason);
    PetscCall(create_case(matrix, Layout::uneven, MATBAIJ, &mat));
    for (const char *halo : {"sf", "peer"}) {
      Preconditioner pc;
      std::string text;
      PetscCall(create_pc(mat, on_device("-pc_mcpi_its 2", halo), &pc));
      PetscCall(apply(pc, random_vector(matrix.size(), 5), &x));
      if (expected.empty()) expected = x;
      EXPECT_TRUE(x == expected);
      PetscCall(view(pc, &text));
      if (std::string(halo) == "peer" && own_devices()) {
        EXPECT_CONTAINS(text, one.reason);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Columns of cleared rows stay in PETSc's lists of columns, but no rank sends their values.
PETSC_TEST(DeviceExchanges, rows_cleared_by_boundary_conditions_are_not_waited_for)
{
  const BlockMatrix matrix = make_matrix(5, random_pattern(300, 3, true));
  OwnedMat mat;
  Vector expected, x;
  std::vector<PetscInt> cleared;
  PetscInt begin, end;

  PetscFunctionBeginUser;
  PetscCall(create_case(matrix, Layout::uneven, MATBAIJ, &mat));
  PetscCall(MatGetOwnershipRange(mat, &begin, &end));
  for (PetscInt row = begin; row < end; ++row)
    if (row / matrix.bs % 2 == 0) cleared.push_back(row);
  PetscCall(MatZeroRows(mat, static_cast<PetscInt>(cleared.size()), cleared.data(), 1.0, nullptr,
                        nullptr));
  for (const char *halo : exchanges()) {
    Preconditioner pc;
    PetscCall(create_pc(mat, on_device("-pc_mcpi_its 3 -pc_mcpi_halo_timeout 20", halo), &pc));
    PetscCall(apply(pc, random_vector(matrix.size(), 5), &x));
    if (expected.empty()) expected = x;
    EXPECT_TRUE(x == expected);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
