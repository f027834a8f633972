// Tests the exchanges of ghosts between devices. All exchanges give the same bits, whichever ranks
// are late. If ranks share a device, fewer rounds are run.
#include <cuda_runtime.h>
#include <unistd.h>

#include <random>

#include "support/petsc.h"

using namespace mcpi::test;

namespace {

bool own_devices()
{
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices >= world_size();
}

std::vector<const char *> exchanges()
{
  std::vector<const char *> names = {"sf", "peer"};
  if (own_devices()) names.push_back("nccl");
  return names;
}

// Adds options for the device. With this vector precision, relaxations may contain the exchanges,
// if the blocks allow it.
std::string on_device(const std::string &options, const std::string &halo)
{
  const char *const vectors =
      options.find("offdiag_precision fp64") == std::string::npos ? "fp32" : "fp64";
  return options + " -pc_mcpi_vector_precision " + vectors +
         " -pc_mcpi_backend cuda -pc_mcpi_halo " + halo;
}

PetscErrorCode create_case(const BlockMatrix &matrix, Layout layout, MatType type, OwnedMat *mat)
{
  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, layout, type, mat));
  PetscCall(MatSetVecType(*mat, VECCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

void CUDART_CB sleep_on_stream(void *microseconds)
{
  usleep(static_cast<useconds_t>(reinterpret_cast<std::uintptr_t>(microseconds)));
}

} // namespace

PETSC_TEST(DeviceExchanges, all_give_the_same_bits)
{
  PetscFunctionBeginUser;
  for (const PetscInt bs : {1, 5, 8, 12})
    for (const Layout layout : {Layout::uneven, Layout::empty_ranks})
      for (const char *options :
           {"-pc_mcpi_its 3", "-pc_mcpi_its 2 -pc_mcpi_sweep symmetric -pc_mcpi_omega 0.9",
            "-pc_mcpi_its 2 -pc_mcpi_sweep symmetric", "-pc_mcpi_its 2 -pc_mcpi_overlap false",
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

// Compares every kernel that exchanges ghosts with the kernels that do not.
PETSC_TEST(DeviceExchanges, every_block_size_and_storage_gives_the_same_bits)
{
  PetscFunctionBeginUser;
  for (PetscInt bs = 1; bs <= 8; ++bs) {
    const BlockMatrix matrix = make_matrix(bs, random_pattern(60, 3, true));
    OwnedMat mat;
    PetscCall(create_case(matrix, Layout::uneven, MATBAIJ, &mat));
    for (const std::string storage : {"fp32", "fp16", "bf16", "int8", "int4"})
      for (const std::string gather : {"fp32", "bfp16"}) {
        const std::string options = "-pc_mcpi_its 2 -pc_mcpi_sweep symmetric -pc_mcpi_omega 0.9 "
                                    "-pc_mcpi_offdiag_precision " +
                                    storage + " -pc_mcpi_gather_precision " + gather +
                                    (gather == "fp32" ? " -pc_mcpi_form factored " : " ");
        Vector expected, x;
        describe(options + " bs " + std::to_string(bs));
        for (const char *halo : {"sf", "peer"}) {
          Preconditioner pc;
          std::string text;
          PetscCall(create_pc(mat, on_device(options, halo), &pc));
          // If the words of a packet could arrive separately, an error would show about once in
          // some hundred applications.
          for (int again = 0; again < 20; ++again) {
            PetscCall(apply(pc, random_vector(matrix.size(), 5), &x));
            if (expected.empty()) expected = x;
            EXPECT_TRUE(x == expected);
          }
          PetscCall(view(pc, &text));
          if (std::string(halo) == "peer") {
            EXPECT_CONTAINS(text,
                            own_devices() ? "peer inside the relaxations" : "ranks share a device");
          }
        }
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

// Tiles have more ghosts and more rows to send than threads.
PETSC_TEST(DeviceExchanges, many_rows_give_the_same_bits)
{
  PetscFunctionBeginUser;
  for (const char *options :
       {"-pc_mcpi_its 3 -pc_mcpi_offdiag_precision int4 -pc_mcpi_gather_precision bfp16",
        "-pc_mcpi_its 2 -pc_mcpi_sweep symmetric -pc_mcpi_omega 0.9"}) {
    const BlockMatrix matrix =
        make_matrix(5, random_pattern(own_devices() ? 40000 : 4000, 4, true));
    OwnedMat mat;
    Vector expected, x;
    describe(options);
    PetscCall(create_case(matrix, Layout::uneven, MATBAIJ, &mat));
    for (const char *halo : {"sf", "peer"}) {
      Preconditioner pc;
      PetscCall(create_pc(mat, on_device(options, halo), &pc));
      for (int round = 0; round < 3; ++round)
        PetscCall(apply(pc, random_vector(matrix.size(), 5), &x));
      if (expected.empty()) expected = x;
      EXPECT_TRUE(x == expected);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// One-way patterns are included: a rank that only sends does not wait for values.
PETSC_TEST(DeviceExchanges, late_ranks_change_nothing)
{
  const int rounds = own_devices() ? 1000 : 40;

  PetscFunctionBeginUser;
  for (const char *halo : exchanges())
    for (const bool one_way : {false, true}) {
      const BlockMatrix matrix =
          make_matrix(5, one_way ? one_way_pattern(80, 3) : random_pattern(80, 3, true));
      OwnedMat mat;
      OwnedVec b, x;
      Preconditioner pc;
      std::mt19937 delays(7 + static_cast<unsigned>(world_rank())), kinds(3);
      Vector expected[4], values;
      if (std::string(halo) == "sf") continue;
      describe(std::string(halo) + (one_way ? " one way" : ""));
      PetscCall(create_case(matrix, Layout::uneven, MATAIJCUSPARSE, &mat));
      PetscCall(create_pc(mat, on_device("", halo), &pc));
      PetscCall(create_vec(mat, random_vector(matrix.size(), 5), &b));
      PetscCall(VecDuplicate(b, x.out()));
      for (int round = 0; round < rounds; ++round) {
        const unsigned kind = round < 4 ? static_cast<unsigned>(round) : kinds() % 4U;
        const unsigned late = delays() % 8U;
        PetscCall(PCMCPISetSweep(pc, kind < 2    ? PC_MCPI_SWEEP_FORWARD
                                     : kind == 2 ? PC_MCPI_SWEEP_BACKWARD
                                                 : PC_MCPI_SWEEP_SYMMETRIC));
        PetscCall(PCMCPISetIts(pc, kind == 0 ? 1 : 3));
        PetscCall(PCMCPISetOmega(pc, kind == 3 ? 0.9 : 1.0));
        PetscCall(PCMCPISetOverlap(
            pc, kinds() % 4U != 0
                    ? PETSC_TRUE
                    : PETSC_FALSE)); // with and without separate kernels for the exchange
        if (late == 0) usleep(delays() % 2000U);
        if (late == 1) {
          EXPECT_EQ(cudaLaunchHostFunc(nullptr, sleep_on_stream,
                                       reinterpret_cast<void *>(std::uintptr_t{delays() % 2000U})),
                    cudaSuccess);
        }
        PetscCall(PCApply(pc, b, x));
        if (round >= 4 && round % 5 != 0) continue; // so that ranks run ahead of each other
        PetscCall(gather(x, &values));
        if (expected[kind].empty()) expected[kind] = values;
        EXPECT_TRUE(values == expected[kind]);
      }
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Backends and exchanges are replaced while the PC exists.
PETSC_TEST(DeviceExchanges, another_storage_or_exchange_changes_nothing_else)
{
  const BlockMatrix matrix = make_matrix(5, random_pattern(60, 3, true));
  const Vector b = random_vector(matrix.size(), 5);
  OwnedMat mat;
  Preconditioner pc;
  Vector expected[2], x;

  PetscFunctionBeginUser;
  PetscCall(create_case(matrix, Layout::uneven, MATAIJCUSPARSE, &mat));
  PetscCall(
      create_pc(mat, "-pc_mcpi_backend cuda -pc_mcpi_vector_precision fp32 -pc_mcpi_its 2", &pc));
  for (const PCMCPIHaloType halo :
       {PC_MCPI_HALO_PEER, own_devices() ? PC_MCPI_HALO_NCCL : PC_MCPI_HALO_PEER, PC_MCPI_HALO_SF,
        PC_MCPI_HALO_PEER}) {
    PetscCall(PCMCPISetHalo(pc, halo));
    for (int k = 0; k < 2; ++k) {
      PetscCall(
          PCMCPISetOffdiagPrecision(pc, k == 0 ? PC_MCPI_PRECISION_FP32 : PC_MCPI_PRECISION_INT4));
      for (int round = 0; round < 3; ++round) PetscCall(apply(pc, b, &x));
      if (expected[k].empty()) expected[k] = x;
      EXPECT_TRUE(x == expected[k]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(DeviceExchanges, automatic_choice_and_its_reason_are_printed)
{
  const BlockMatrix matrix = make_matrix(3, random_pattern(40, 3, true));
  OwnedMat mat;
  Preconditioner pc;
  std::string text;

  PetscFunctionBeginUser;
  PetscCall(create_case(matrix, Layout::even, MATAIJCUSPARSE, &mat));
  PetscCall(create_pc(mat, "-pc_mcpi_backend cuda -pc_mcpi_vector_precision fp32", &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, own_devices() ? "halo: peer inside the relaxations,"
                                      : "halo: sf (not peer: ranks share a device");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(DeviceExchanges, several_preconditioners_live_side_by_side)
{
  constexpr int kMany = 3;
  OwnedMat mat[kMany];
  Preconditioner pc[kMany];
  Vector alone[kMany], x;

  PetscFunctionBeginUser;
  for (const bool together : {false, true}) {
    for (int k = 0; k < kMany; ++k) {
      const BlockMatrix matrix = make_matrix(
          2 + k, random_pattern(40 + 10 * k, 3, k != 1, static_cast<std::uint64_t>(k) + 1));
      PetscCall(create_case(matrix, Layout::uneven, MATAIJCUSPARSE, &mat[k]));
      PetscCall(create_pc(mat[k], on_device("-pc_mcpi_its 2", "peer"), &pc[k]));
      PetscCall(apply(pc[k], random_vector(matrix.size(), 3), &x));
      if (!together) alone[k] = x;
      EXPECT_TRUE(x == alone[k]);
      if (!together) pc[k] = Preconditioner();
    }
    for (int round = 0; together && round < 20; ++round)
      for (int k = 0; k < kMany; ++k) {
        if (round == 10) PetscCall(PCReset(pc[k]));
        if (round == 10) PetscCall(PCSetOperators(pc[k], mat[k], mat[k]));
        PetscCall(apply(pc[k], random_vector(static_cast<PetscInt>(alone[k].size()), 3), &x));
        EXPECT_TRUE(x == alone[k]);
      }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Missing values must appear as numbers that are not finite, in every format that is exchanged. The
// matrix has so many couplings that all of up to eight ranks need rank 0 in every application.
static PetscErrorCode leave_rank_0_behind(PetscInt bs, const std::string &options)
{
  const BlockMatrix matrix = make_matrix(bs, random_pattern(40, 12, true));
  OwnedMat mat;
  OwnedVec b, x;
  Preconditioner pc;
  PetscReal size;

  PetscFunctionBeginUser;
  describe(options + " bs " + std::to_string(bs));
  PetscCall(create_case(matrix, Layout::even, MATAIJCUSPARSE, &mat));
  PetscCall(create_pc(mat, on_device("-pc_mcpi_halo_timeout 0.5 " + options, "peer"), &pc));
  PetscCall(create_vec(mat, random_vector(matrix.size(), 5), &b));
  PetscCall(VecDuplicate(b, x.out()));
  PetscCall(PCSetUp(pc));
  // With single precision, the PC needs this norm. VecNorm() would wait for all ranks later, so it
  // is called here, and PETSc keeps the result.
  PetscCall(VecNorm(b, NORM_INFINITY, &size));
  if (world_rank() > 0) {
    const PetscScalar *values;
    PetscInt local;
    PetscCall(PCApply(pc, b, x));
    PetscCall(VecGetArrayRead(x, &values));
    PetscCall(VecGetLocalSize(x, &local));
    size = 0;
    for (PetscInt k = 0; k < local; ++k) size += PetscAbsScalar(values[k]);
    PetscCall(VecRestoreArrayRead(x, &values));
    EXPECT_TRUE(PetscIsInfOrNanReal(size));
    const Caught caught = catch_error([&] { return PCApply(pc, b, x); });
    EXPECT_EQ(caught.code, PETSC_ERR_LIB);
    EXPECT_CONTAINS(caught.message, "-pc_mcpi_halo_timeout");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(DeviceExchanges, a_rank_that_does_not_come_is_an_error_and_no_hang)
{
  PetscFunctionBeginUser;
  PetscCall(leave_rank_0_behind(2, ""));
  PetscCall(leave_rank_0_behind(4, "-pc_mcpi_offdiag_precision fp64"));
  PetscCall(leave_rank_0_behind(4, "-pc_mcpi_gather_precision bfp16"));
  PetscCall(
      leave_rank_0_behind(5, "-pc_mcpi_gather_precision bfp16 -pc_mcpi_offdiag_precision int4"));
  PetscCall(leave_rank_0_behind(11, "-pc_mcpi_gather_precision bfp16"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
