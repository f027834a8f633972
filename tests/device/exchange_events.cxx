// Tests exchanges of ghosts between devices through late and missing ranks, replaced exchanges, and
// several preconditioners. If ranks share a device, fewer rounds are run.
#include <unistd.h>

#include <random>

#include "device/exchange_case.h"

using namespace mcpi::test;

namespace {

void CUDART_CB sleep_on_stream(void *microseconds)
{
  usleep(static_cast<useconds_t>(reinterpret_cast<std::uintptr_t>(microseconds)));
}

} // namespace

// One-way patterns are included: a rank that only sends does not wait for values.
PETSC_TEST(DeviceExchangeEvents, late_ranks_change_nothing)
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
      Vector expected[8], values;
      if (std::string(halo) == "sf") continue;
      describe(std::string(halo) + (one_way ? " one way" : ""));
      PetscCall(create_case(matrix, Layout::uneven, MATAIJCUSPARSE, &mat));
      PetscCall(create_pc(mat, on_device("", halo), &pc));
      PetscCall(create_vec(mat, random_vector(matrix.size(), 5), &b));
      PetscCall(VecDuplicate(b, x.out()));
      for (int round = 0; round < rounds; ++round) {
        const unsigned kind = round < 4 ? static_cast<unsigned>(round) : kinds() % 4U;
        // A transposed application has separate kernels for the exchange.
        const bool transposed = kinds() % 4U == 0;
        Vector &same = expected[kind + (transposed ? 4U : 0U)];
        const unsigned late = delays() % 8U;
        PetscCall(PCMCPISetSweep(pc, kind < 2    ? PC_MCPI_SWEEP_FORWARD
                                     : kind == 2 ? PC_MCPI_SWEEP_BACKWARD
                                                 : PC_MCPI_SWEEP_SYMMETRIC));
        PetscCall(PCMCPISetIts(pc, kind == 0 ? 1 : 3));
        PetscCall(PCMCPISetOmega(pc, kind == 3 ? 0.9 : 1.0));
        if (late == 0) usleep(delays() % 2000U);
        if (late == 1) {
          EXPECT_EQ(cudaLaunchHostFunc(nullptr, sleep_on_stream,
                                       reinterpret_cast<void *>(std::uintptr_t{delays() % 2000U})),
                    cudaSuccess);
        }
        PetscCall(transposed ? PCApplyTranspose(pc, b, x) : PCApply(pc, b, x));
        if (round >= 4 && round % 5 != 0) continue; // so that ranks run ahead of each other
        PetscCall(gather(x, &values));
        if (same.empty()) same = values;
        EXPECT_TRUE(values == same);
      }
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Backends and exchanges are replaced while the PC exists.
PETSC_TEST(DeviceExchangeEvents, another_storage_or_exchange_changes_nothing_else)
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

PETSC_TEST(DeviceExchangeEvents, automatic_choice_and_its_reason_are_printed)
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

PETSC_TEST(DeviceExchangeEvents, several_preconditioners_live_side_by_side)
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

PETSC_TEST(DeviceExchangeEvents, a_rank_that_does_not_come_is_an_error_and_no_hang)
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
