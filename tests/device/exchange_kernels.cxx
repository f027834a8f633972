// Tests that kernels which exchange ghosts give the bits of those that do not. If ranks share a
// device, fewer rows are taken.
#include "device/exchange_case.h"

using namespace mcpi::test;

// Compares every kernel that exchanges ghosts with the kernels that do not.
PETSC_TEST(DeviceExchangeKernels, every_block_size_and_storage_gives_the_same_bits)
{
  PetscFunctionBeginUser;
  for (PetscInt bs = 1; bs <= 8; ++bs) {
    const BlockMatrix matrix = make_matrix(bs, random_pattern(60, 3, true));
    OwnedMat mat;
    PetscCall(create_case(matrix, Layout::uneven, MATBAIJ, &mat));
    for (const std::string storage : {"fp32", "fp16", "int8", "int4"})
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

// Tiles have more ghosts and more rows to send than threads.
PETSC_TEST(DeviceExchangeKernels, many_rows_give_the_same_bits)
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
