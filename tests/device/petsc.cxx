// Compares a backend on a device with the host backend, through PETSc. Matrices and vectors are on
// the host and on the device, and the tests run on one rank and on several. The option
// -device_backend <cuda,kokkos> selects the backend.
#include <cuda_runtime.h>

#include "support/petsc.h"

using namespace mcpi::test;

namespace {

std::string backend()
{
  char name[16] = "cuda";
  (void)PetscOptionsGetString(nullptr, nullptr, "-device_backend", name, sizeof name, nullptr);
  return std::string(" -pc_mcpi_backend ") + name + " ";
}

struct Case {
  MatType type;
  const char *vectors; // type of the vectors; null: the type that the matrix creates
  double sparsity;
};
constexpr Case cases[] = {
    {MATBAIJ, nullptr, 0.0},        {MATBAIJ, VECCUDA, 0.0},        {MATAIJ, nullptr, 0.3},
    {MATAIJCUSPARSE, nullptr, 0.0}, {MATAIJCUSPARSE, nullptr, 0.3},
};

struct Precision {
  const char *options;
  // Tolerance between the two backends. With integer storage, a few numbers may be rounded
  // differently.
  double tolerance;
};
constexpr Precision precisions[] = {
    {"-pc_mcpi_offdiag_precision fp64", 1e-11},
    {"-pc_mcpi_offdiag_precision fp32", 2e-6},
    {"-pc_mcpi_offdiag_precision fp32 -pc_mcpi_vector_precision fp32", 2e-6},
    {"-pc_mcpi_offdiag_precision fp16 -pc_mcpi_vector_precision fp32 -pc_mcpi_gather_precision "
     "bfp16",
     1e-3},
    {"-pc_mcpi_offdiag_precision int8 -pc_mcpi_vector_precision fp32", 2e-2},
    {"-pc_mcpi_offdiag_precision int4 -pc_mcpi_vector_precision fp32 -pc_mcpi_gather_precision "
     "bfp16",
     0.2},
};

PetscErrorCode create_pair(Mat mat, const std::string &options, Preconditioner *device,
                           Preconditioner *host)
{
  PetscFunctionBeginUser;
  PetscCall(create_pc(mat, options + backend(), device));
  PetscCall(create_pc(mat, options + " -pc_mcpi_backend host", host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode compare(PC device, PC host, PetscInt rows, double tolerance)
{
  const Vector b = random_vector(rows, 3);
  Vector guess = random_vector(rows, 4), x, y;

  PetscFunctionBeginUser;
  PetscCall(apply(device, b, &x));
  PetscCall(apply(host, b, &y));
  EXPECT_LE(difference(x, y), tolerance);
  // A guess that is much larger than the solution leaves its rounding errors in the difference
  const double scale = norm(y) / norm(guess);
  for (double &number : guess) number *= scale;
  PetscCall(apply_transpose(device, b, &x));
  PetscCall(apply_transpose(host, b, &y));
  EXPECT_LE(difference(x, y), tolerance);
  x = y = guess;
  PetscCall(apply_richardson(device, b, false, 2, &x));
  PetscCall(apply_richardson(host, b, false, 2, &y));
  EXPECT_LE(difference(x, y), tolerance);
  PetscFunctionReturn(PETSC_SUCCESS);
}

BlockMatrix matrix_of(PetscInt bs, double sparsity)
{
  Recipe recipe;
  recipe.sparsity = sparsity;
  return make_matrix(bs, random_pattern(60, 3, false), recipe);
}

PetscErrorCode create_case(const Case &kind, const BlockMatrix &matrix, OwnedMat *mat)
{
  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::uneven, kind.type, mat));
  if (kind.vectors) PetscCall(MatSetVecType(*mat, kind.vectors));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(DevicePetsc, every_matrix_gives_the_iterates_of_the_host)
{
  PetscFunctionBeginUser;
  for (const Case &kind : cases)
    for (const PetscInt bs : {1, 3, 5, 9}) {
      BlockMatrix matrix = matrix_of(bs, kind.sparsity);
      OwnedMat mat;
      PetscCall(create_case(kind, matrix, &mat));
      for (const Precision &precision : precisions)
        for (const char *sweeps :
             {"-pc_mcpi_its 3", "-pc_mcpi_sweep symmetric -pc_mcpi_its 2 -pc_mcpi_omega 0.8",
              "-pc_mcpi_its 5 -pc_mcpi_restart 2", "-pc_mcpi_method dilu",
              "-pc_mcpi_method ilu0"}) {
          Preconditioner device, host;
          describe(std::string(kind.type) + " bs " + std::to_string(bs) + " " + precision.options +
                   " " + sweeps);
          PetscCall(
              create_pair(mat, std::string(precision.options) + " " + sweeps, &device, &host));
          PetscCall(compare(device, host, matrix.size(), precision.tolerance));
        }
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// PETSc's values of a device are read through the host, to find the empty unknowns.
PETSC_TEST(DevicePetsc, empty_unknowns_are_left_out_and_keep_their_guess)
{
  PetscFunctionBeginUser;
  for (const Case &kind : cases)
    for (const PetscInt bs : {1, 3, 5, 9, 40})
      for (const Precision &precision : precisions)
        for (const char *method :
             {"-pc_mcpi_its 2", "-pc_mcpi_method dilu", "-pc_mcpi_method ilu0"}) {
          if (bs == 40 && &precision > precisions + 1) continue;
          BlockMatrix matrix = matrix_of(bs, kind.sparsity);
          std::vector<Row> empty{bs * 7};
          for (Row i = 20 * bs; i < 21 * bs; ++i) empty.push_back(i); // a whole block row
          empty.push_back(60 * bs - 1);
          empty_unknowns(matrix, empty);
          OwnedMat mat;
          Preconditioner device, host;
          std::string text;
          describe(std::string(kind.type) + " bs " + std::to_string(bs) + " " + precision.options +
                   " " + method);
          PetscCall(create_case(kind, matrix, &mat));
          PetscCall(
              create_pair(mat, std::string(precision.options) + " " + method, &device, &host));
          PetscCall(compare(device, host, matrix.size(), precision.tolerance));
          PetscCall(view(device, &text));
          EXPECT_CONTAINS(text, "empty unknowns: " + std::to_string(empty.size()) + " ");
          const Vector guess = random_vector(matrix.size(), 7);
          Vector x = guess;
          PetscCall(apply_richardson(device, random_vector(matrix.size(), 8), false, 1, &x));
          for (const Row i : empty) EXPECT_EQ(x[i], guess[i]);
        }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// On one rank each stage of clusters has rows enough for relax_ordered_rows. With rounded gathers a
// row is sent by one packet, otherwise by two.
PETSC_TEST(DevicePetsc, stages_of_many_rows_give_the_iterates_of_the_host)
{
  constexpr Precision wide{"-pc_mcpi_offdiag_precision fp32 -pc_mcpi_vector_precision fp32 "
                           "-pc_mcpi_gather_precision bfp16",
                           1e-3},
      half{"-pc_mcpi_offdiag_precision fp16 -pc_mcpi_vector_precision fp32", 1e-3};

  PetscFunctionBeginUser;
  for (const PetscInt bs : {4, 5}) {
    const BlockMatrix matrix = make_matrix(bs, tetrahedral_pattern(48, 48, 48));
    OwnedMat mat;
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
    const auto check = [&](const Precision &precision, const char *form) {
      Preconditioner device, host;
      PetscFunctionBeginUser;
      describe("bs " + std::to_string(bs) + " " + precision.options + form);
      PetscCall(create_pair(mat,
                            std::string(precision.options) + form +
                                " -pc_mcpi_schedule cluster -pc_mcpi_cluster_rows 1"
                                " -pc_mcpi_sweep symmetric -pc_mcpi_its 3",
                            &device, &host));
      PetscCall(compare(device, host, static_cast<PetscInt>(matrix.size()), precision.tolerance));
      PetscFunctionReturn(PETSC_SUCCESS);
    };
    for (const Precision &precision : precisions) PetscCall(check(precision, ""));
    for (const Precision &precision : {wide, half}) PetscCall(check(precision, ""));
    for (const char *form : {" -pc_mcpi_form factored", " -pc_mcpi_omega 0.8"})
      PetscCall(check(wide, form));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// With one color a symmetric sweep relaxes rows in its first pass only.
PETSC_TEST(DevicePetsc, sweeps_of_a_block_diagonal_matrix_are_those_of_the_host)
{
  PetscFunctionBeginUser;
  const BlockMatrix matrix = make_matrix(5, Pattern(200));
  OwnedMat mat;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  for (const char *gathers : {"fp32", "bfp16"}) {
    Preconditioner device, host;
    describe(gathers);
    PetscCall(create_pair(mat,
                          std::string("-pc_mcpi_offdiag_precision int8 -pc_mcpi_vector_precision "
                                      "fp32 -pc_mcpi_its 3 -pc_mcpi_gather_precision ") +
                              gathers,
                          &device, &host));
    PetscCall(compare(device, host, static_cast<PetscInt>(matrix.size()), 1e-5));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Blocks lack an entry either near the diagonal or far from it, so it may be missing on one side of
// the partition only. With one layout, all rows are on the last rank.
PETSC_TEST(DevicePetsc, holes_may_be_anywhere)
{
  PetscFunctionBeginUser;
  for (const Layout layout : {Layout::uneven, Layout::all_on_last})
    for (const bool near : {true, false}) {
      BlockMatrix matrix = matrix_of(4, 0.0);
      for (PetscInt row = 0; row < matrix.rows(); ++row)
        for (PetscInt k = matrix.ptr[row]; k < matrix.ptr[row + 1]; ++k)
          if (const PetscInt distance = std::abs(matrix.col[k] - row);
              distance > 0 && (distance < 15) == near)
            matrix.values[static_cast<std::size_t>(k) * 16 + 5] = 0.0;
      OwnedMat mat;
      Preconditioner device, host;
      describe(std::string(name_of(layout)) + (near ? " near" : " far"));
      PetscCall(create_mat(PETSC_COMM_WORLD, matrix, layout, MATAIJCUSPARSE, &mat));
      PetscCall(create_pair(mat, "-pc_mcpi_its 2 -pc_mcpi_offdiag_precision fp64", &device, &host));
      PetscCall(compare(device, host, matrix.size(), 1e-11));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(DevicePetsc, a_matrix_bound_to_the_host_is_read_there)
{
  const BlockMatrix matrix = matrix_of(3, 0.0);
  OwnedMat mat;
  Preconditioner device, host;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::uneven, MATAIJCUSPARSE, &mat));
  for (const PetscBool bound : {PETSC_TRUE, PETSC_FALSE}) {
    PetscCall(MatBindToCPU(mat, bound));
    PetscCall(create_pair(mat, "-pc_mcpi_offdiag_precision fp64", &device, &host));
    PetscCall(compare(device, host, matrix.size(), 1e-11));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(DevicePetsc, values_on_the_device_stay_there)
{
  PetscFunctionBeginUser;
  for (const double sparsity : {0.0, 0.3}) {
    BlockMatrix matrix = matrix_of(4, sparsity);
    OwnedMat mat;
    Preconditioner device, host;
    PetscCall(create_case({MATAIJCUSPARSE, nullptr, sparsity}, matrix, &mat));
    PetscCall(create_pc(mat, "-pc_mcpi_offdiag_precision fp64" + backend(), &device));
    PetscCall(PCSetUp(device));
    PetscCall(MatScale(mat, 2.0)); // on the device
    const PetscLogDouble before = petsc_gtoc_sz;
    PetscCall(PCSetUp(device));
    EXPECT_EQ(petsc_gtoc_sz, before);
    PetscCall(create_pc(mat, "-pc_mcpi_offdiag_precision fp64 -pc_mcpi_backend host", &host));
    PetscCall(compare(device, host, matrix.size(), 1e-11));
    EXPECT_LT(before, petsc_gtoc_sz); // The host's set-up copies the values from the device.
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(DevicePetsc, new_values_are_seen)
{
  PetscFunctionBeginUser;
  for (const Case &kind : cases) {
    const BlockMatrix first = matrix_of(5, kind.sparsity);
    BlockMatrix second = first;
    OwnedMat mat;
    Preconditioner device, host;
    Vector before, after;
    for (std::size_t k = 0; k < second.values.size(); ++k)
      second.values[k] *= 1.0 + 0.3 * static_cast<double>(k % 7);
    describe(kind.type);
    PetscCall(create_case(kind, first, &mat));
    PetscCall(create_pair(mat, "-pc_mcpi_its 2 -pc_mcpi_offdiag_precision fp64", &device, &host));
    PetscCall(compare(device, host, first.size(), 1e-11));
    PetscCall(apply(device, random_vector(first.size(), 1), &before));
    PetscCall(set_values(second, mat));
    PetscCall(PCSetUp(device));
    PetscCall(PCSetUp(host));
    PetscCall(compare(device, host, first.size(), 1e-11));
    PetscCall(apply(device, random_vector(first.size(), 1), &after));
    EXPECT_LT(1e-3, difference(after, before));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The device keeps blocks for vectors in single precision when the matrix has changed.
PETSC_TEST(DevicePetsc, kept_preconditioners_serve_every_method)
{
  constexpr PetscScalar factor = 1.5;

  PetscFunctionBeginUser;
  for (const PetscInt bs : {1, 5, 12})
    for (const char *options : {"", " -pc_mcpi_schedule cluster", " -pc_mcpi_method dilu"}) {
      const BlockMatrix matrix = make_matrix(bs, random_pattern(200, 4, true));
      const Vector b = random_vector(static_cast<PetscInt>(matrix.size()), 3);
      OwnedMat mat;
      OwnedSolver ksp;
      PC pc;
      Vector x;
      KSPConvergedReason reason;
      std::string text;
      describe("bs " + std::to_string(bs) + options);
      PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
      PetscCall(
          create_ksp(mat, mat, "-ksp_type fgmres -ksp_rtol 1e-10" + backend() + options, &ksp));
      PetscCall(KSPGetPC(ksp, &pc));
      PetscCall(solve(ksp, b, &x, &reason, nullptr));
      PetscCall(view(pc, &text));
      EXPECT_CONTAINS(text, "vectors: fp32");
      PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
      PetscCall(MatScale(mat, factor));
      for (const char *type : {KSPGMRES, KSPFGMRES, KSPBCGS}) {
        describe(type);
        PetscCall(KSPSetType(ksp, type));
        PetscCall(solve(ksp, b, &x, &reason, nullptr));
        EXPECT_LT(0, static_cast<int>(reason));
        for (PetscScalar &number : x) number *= factor;
        EXPECT_LT(difference(matrix.multiply(x), b), 1e-8);
        PetscCall(view(pc, &text));
        if (backend().find("cuda") != std::string::npos) {
          EXPECT_CONTAINS(text, "vectors: fp64");
        }
      }
      PetscCall(apply(pc, b, &x)); // outside a solve
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The matrix has as many nonzeros as before, but in other places.
PETSC_TEST(DevicePetsc, a_matrix_preallocated_again_is_set_up_again)
{
  constexpr PetscInt bs = 3, n = 40;

  PetscFunctionBeginUser;
  for (const char *type : {MATBAIJ, MATAIJCUSPARSE}) {
    OwnedMat mat;
    Preconditioner device;
    bool used = false;
    for (const PetscInt distance : {1, 7, 2}) {
      const std::vector<PetscInt> two(n, 2);
      Pattern pattern(n);
      Preconditioner host;
      for (PetscInt i = 0; i < n; ++i) pattern[i].push_back((i + distance) % n);
      const BlockMatrix matrix = make_matrix(bs, pattern);
      describe(std::string(type) + " distance " + std::to_string(distance));
      if (used) {
        PetscCall(MatXAIJSetPreallocation(mat, bs, two.data(), two.data(), nullptr, nullptr));
        PetscCall(set_values(matrix, mat));
      } else {
        PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, type, &mat));
        PetscCall(
            create_pc(mat, "-pc_mcpi_its 2 -pc_mcpi_offdiag_precision fp64" + backend(), &device));
      }
      used = true;
      PetscCall(create_pc(
          mat, "-pc_mcpi_its 2 -pc_mcpi_offdiag_precision fp64 -pc_mcpi_backend host", &host));
      PetscCall(compare(device, host, matrix.size(), 1e-11));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A program may use several devices, and change the current device at any time.
PETSC_TEST(DevicePetsc, the_current_device_of_the_program_is_left_as_it_is)
{
  const BlockMatrix matrix = make_matrix(5, random_pattern(300, 6, true));
  const Vector b = random_vector(matrix.size(), 1);
  int devices = 0, first = 0, current = -1;
  Vector before, after;

  PetscFunctionBeginUser;
  EXPECT_EQ(static_cast<int>(cudaGetDeviceCount(&devices)), 0);
  if (devices < 2) PetscFunctionReturn(PETSC_SUCCESS);
  {
    OwnedMat mat;
    Preconditioner pc;
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
    PetscCall(create_pc(mat, "-pc_mcpi_its 2" + backend(), &pc));
    PetscCall(apply(pc, b, &before));
    EXPECT_EQ(static_cast<int>(cudaGetDevice(&first)), 0);
    const int other = (first + 1) % devices;
    EXPECT_EQ(static_cast<int>(cudaSetDevice(other)), 0);
    PetscCall(apply(pc, b, &after));
    EXPECT_TRUE(after == before);
    PetscCall(set_values(matrix, mat));
    PetscCall(PCSetUp(pc));
    PetscCall(apply(pc, b, &after));
    EXPECT_TRUE(after == before);
    PetscCall(apply_transpose(pc, b, &after));
    EXPECT_EQ(static_cast<int>(cudaGetDevice(&current)), 0);
    EXPECT_EQ(current, other);
  }
  EXPECT_EQ(static_cast<int>(cudaGetDevice(&current)), 0);
  EXPECT_EQ(current, (first + 1) % devices); // also after all objects are destroyed
  EXPECT_EQ(static_cast<int>(cudaSetDevice(first)), 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(DevicePetsc, bad_values_fail_on_all_ranks_and_are_forgotten)
{
  PetscFunctionBeginUser;
  for (const Case &kind : cases) {
    const BlockMatrix good = matrix_of(3, kind.sparsity);
    BlockMatrix bad = good;
    OwnedMat mat;
    OwnedSolver solver;
    KSPConvergedReason reason;
    PetscInt its, row;
    PC pc;
    std::fill_n(bad.block(50, 50), 9, 1.0); // a singular block
    describe(kind.type);
    PetscCall(create_case(kind, bad, &mat));
    PetscCall(create_ksp(mat, mat, "-ksp_type gmres -pc_type mcpi" + backend(), &solver));
    PetscCall(solve(solver, random_vector(good.size(), 1), nullptr, &reason, &its));
    EXPECT_EQ(reason, KSP_DIVERGED_PC_FAILED);
    PetscCall(KSPGetPC(solver, &pc));
    PetscCall(PCMCPIGetFailedBlock(pc, &row));
    EXPECT_EQ(row, 50);
    PetscCall(set_values(good, mat));
    PetscCall(solve(solver, random_vector(good.size(), 1), nullptr, &reason, &its));
    EXPECT_LT(0, reason);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(DevicePetsc, few_bits_reach_tight_tolerances)
{
  PetscFunctionBeginUser;
  for (const Case &kind : cases)
    for (const char *method :
         {"-ksp_type fgmres -pc_mcpi_offdiag_precision int4 -pc_mcpi_gather_precision bfp16",
          "-ksp_type richardson -ksp_max_it 200 -pc_mcpi_its 6 -pc_mcpi_restart 3 "
          "-pc_mcpi_offdiag_precision int8",
          "-ksp_type fgmres -pc_mcpi_offdiag_precision fp16"}) {
      const BlockMatrix matrix = matrix_of(5, kind.sparsity);
      OwnedMat mat;
      OwnedSolver solver;
      KSPConvergedReason reason;
      PetscInt its;
      Vector x;
      const Vector b = random_vector(matrix.size(), 9);
      describe(std::string(kind.type) + " " + method);
      PetscCall(create_case(kind, matrix, &mat));
      PetscCall(
          create_ksp(mat, mat, "-pc_type mcpi -ksp_rtol 1e-11" + backend() + method, &solver));
      PetscCall(solve(solver, b, &x, &reason, &its));
      EXPECT_LT(0, reason);
      EXPECT_LE(difference(matrix.multiply(x), b), 1e-9);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Caches do not grow with the number of the user's vectors. Repeated set-ups do not take more
// memory.
PETSC_TEST(DevicePetsc, ten_thousand_applications_and_a_hundred_set_ups_leave_memory_as_it_was)
{
  const BlockMatrix matrix = matrix_of(5, 0.0);
  OwnedMat mat;
  Preconditioner pc;
  std::size_t before = 0, after = 0, total;

  PetscFunctionBeginUser;
  if (world_size() > 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(create_case({MATAIJCUSPARSE, nullptr, 0.0}, matrix, &mat));
  PetscCall(create_pc(mat, "-pc_mcpi_its 4 -pc_mcpi_offdiag_precision int8" + backend(), &pc));
  for (int round = 0; round < 101; ++round) {
    std::vector<OwnedVec> b(5), x(5);
    for (int k = 0; k < 5; ++k) {
      PetscCall(create_vec(
          mat, random_vector(matrix.size(), static_cast<std::uint64_t>(5 * round + k + 1)), &b[k]));
      PetscCall(VecDuplicate(b[k], x[k].out()));
    }
    PetscCall(set_values(matrix, mat));
    PetscCall(PCSetUp(pc));
    for (int k = 0; k < 100; ++k) PetscCall(PCApply(pc, b[k % 5], x[(k + round) % 5]));
    if (round == 0) {
      EXPECT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);
    }
  }
  EXPECT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
  EXPECT_EQ(after, before);
  PetscFunctionReturn(PETSC_SUCCESS);
}
