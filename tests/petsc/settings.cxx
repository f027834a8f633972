// Tests options, setters and getters: what they refuse, what PCView() prints, and when they take
// effect. Tests that hold for all options are in option_table.cxx.
#include <cmath>
#include <limits>

#include "support/petsc.h"

using namespace mcpi::test;

namespace {

const BlockMatrix &sample()
{
  static const BlockMatrix matrix = make_matrix(3, random_pattern(40, 3, false));
  return matrix;
}

PetscErrorCode create_sample(const std::string &options, OwnedMat *mat, Preconditioner *pc)
{
  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, sample(), Layout::even, MATBAIJ, mat));
  PetscCall(create_pc(*mat, options, pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(Settings, no_block_has_failed_before_the_set_up)
{
  OwnedMat mat;
  Preconditioner pc;
  PetscInt row;

  PetscFunctionBeginUser;
  PetscCall(create_sample("", &mat, &pc));
  PetscCall(PCMCPIGetFailedBlock(pc, &row));
  EXPECT_EQ(row, -1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Settings, vectors_are_fp64_where_no_method_has_been_seen)
{
  OwnedMat mat;
  Preconditioner pc;
  PCMCPIVectorPrecision precision;
  std::string text;

  PetscFunctionBeginUser;
  PetscCall(create_sample("", &mat, &pc));
  PetscCall(PCMCPIGetVectorPrecision(pc, &precision));
  EXPECT_EQ(precision, PC_MCPI_VECTOR_PRECISION_AUTO);
  PetscCall(PCSetUp(pc));
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text,
                  "vectors: fp64 (auto: gmres is expected, which assumes that the preconditioner "
                  "is a linear operator)");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Settings, fp64_blocks_with_fp32_vectors_are_refused)
{
  OwnedMat mat;
  Preconditioner pc;
  Vector x;

  PetscFunctionBeginUser;
  PetscCall(create_sample("", &mat, &pc));
  PetscCall(PCMCPISetVectorPrecision(pc, PC_MCPI_VECTOR_PRECISION_FP32));
  PetscCall(PCMCPISetOffdiagPrecision(pc, PC_MCPI_PRECISION_FP64));
  const Caught caught = catch_error([&] { return PCSetUp(pc); });
  EXPECT_TRUE(caught.code != PETSC_SUCCESS);
  EXPECT_CONTAINS(caught.message, "-pc_mcpi_vector_precision");
  if (caught.code == PETSC_SUCCESS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCMCPISetVectorPrecision(pc, PC_MCPI_VECTOR_PRECISION_FP64));
  PetscCall(apply(pc, random_vector(sample().size(), 1), &x));
  EXPECT_TRUE(std::isfinite(norm(x)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Given, or following the blocks
PETSC_TEST(Settings, rounded_gather_with_fp64_vectors_is_refused)
{
  const Vector b = random_vector(sample().size(), 1);
  OwnedMat mat;
  Vector x;

  PetscFunctionBeginUser;
  for (const char *options :
       {"-pc_mcpi_vector_precision fp64", "-pc_mcpi_offdiag_precision fp64"}) {
    Preconditioner pc;
    describe(options);
    PetscCall(create_sample(options, &mat, &pc));
    PetscCall(apply(pc, b, &x));
    PetscCall(PCMCPISetGatherPrecision(pc, PC_MCPI_GATHER_PRECISION_BFP16));
    EXPECT_PETSC_ERROR(PETSC_ERR_ARG_INCOMP, "-pc_mcpi_gather_precision", PCSetUp(pc));
    EXPECT_PETSC_ERROR(PETSC_ERR_ARG_INCOMP, "-pc_mcpi_vector_precision", PCSetUp(pc));
    PetscCall(PCMCPISetOffdiagPrecision(pc, PC_MCPI_PRECISION_INT8));
    PetscCall(PCMCPISetVectorPrecision(pc, PC_MCPI_VECTOR_PRECISION_FP32));
    PetscCall(apply(pc, b, &x));
    EXPECT_TRUE(std::isfinite(norm(x)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Settings, view_says_when_rounded_gather_is_safe_and_counts_its_memory)
{
  OwnedMat mat;
  Preconditioner pc;
  std::string text, before;

  PetscFunctionBeginUser;
  PetscCall(create_sample("-pc_mcpi_sweep forward -pc_mcpi_vector_precision fp32", &mat, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(view(pc, &before));
  EXPECT_TRUE(before.find("bfp16") == std::string::npos);
  PetscCall(PCMCPISetGatherPrecision(pc, PC_MCPI_GATHER_PRECISION_BFP16));
  PetscCall(PCSetUp(pc));
  PetscCall(view(pc, &text));
  for (const char *part : {"bfp16", "KSPFGMRES", "-pc_mcpi_restart"}) EXPECT_CONTAINS(text, part);
  const auto moved = [](const std::string &from) {
    return std::stod(from.substr(from.find("one sweep: ") + 11));
  };
  EXPECT_LE(std::abs(moved(text) - moved(before) - sample().rows() * 3 * sizeof(float) * 1e-6),
            1e-5); // a copy more is written
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Settings, refuse_bad_values_and_name_the_option)
{
  OwnedMat mat;
  Preconditioner pc;
  PetscReal omega;
  constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN(),
                   infinity = std::numeric_limits<double>::infinity();

  PetscFunctionBeginUser;
  PetscCall(create_sample("-pc_mcpi_omega 0.5", &mat, &pc));
  for (const double value : {0.0, 2.0, -1.0, 2.5, not_a_number, infinity})
    EXPECT_PETSC_ERROR(PETSC_ERR_ARG_OUTOFRANGE, "-pc_mcpi_omega", PCMCPISetOmega(pc, value));
  PetscCall(PCMCPIGetOmega(pc, &omega));
  EXPECT_EQ(omega, 0.5);
  for (const PetscInt value : {0, -3, (1 << 29) + 1})
    EXPECT_PETSC_ERROR(PETSC_ERR_ARG_OUTOFRANGE, "-pc_mcpi_its", PCMCPISetIts(pc, value));
  EXPECT_PETSC_ERROR(PETSC_ERR_ARG_OUTOFRANGE, "-pc_mcpi_restart", PCMCPISetRestart(pc, -2));
  for (const PetscInt value : {0, -2})
    EXPECT_PETSC_ERROR(PETSC_ERR_ARG_OUTOFRANGE, "-pc_mcpi_setup_threads",
                       set_options(pc, "-pc_mcpi_setup_threads " + std::to_string(value)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Settings, coloring_is_there_after_the_set_up)
{
  OwnedMat mat;
  Preconditioner pc;
  ISColoring coloring;
  PetscInt rows, local, colors;
  const ISColoringValue *values;

  PetscFunctionBeginUser;
  PetscCall(create_sample("", &mat, &pc));
  EXPECT_PETSC_ERROR(PETSC_ERR_ORDER, "PCSetUp", PCMCPIGetColoring(pc, &coloring));
  PetscCall(PCSetUp(pc));
  PetscCall(PCMCPIGetColoring(pc, &coloring));
  PetscCall(ISColoringGetColors(coloring, &local, &colors, &values));
  PetscCall(MatGetLocalSize(mat, &rows, nullptr));
  EXPECT_EQ(local, rows / 3);
  PetscCall(PCReset(pc));
  EXPECT_PETSC_ERROR(PETSC_ERR_ORDER, "PCSetUp", PCMCPIGetColoring(pc, &coloring));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Settings, backends_that_were_not_built_are_refused_at_set_up)
{
  OwnedMat mat;
  Preconditioner pc;
  Vector first, again;
  const Vector b = random_vector(sample().size(), 1);

  PetscFunctionBeginUser;
  PetscCall(create_sample("", &mat, &pc));
  PetscCall(apply(pc, b, &first));
#if !defined(MCPI_HAVE_KOKKOS)
  PetscCall(PCMCPISetBackend(pc, PC_MCPI_BACKEND_KOKKOS));
  EXPECT_PETSC_ERROR(PETSC_ERR_SUP_SYS, "-pc_mcpi_backend", PCSetUp(pc));
#endif
  PetscCall(PCMCPISetBackend(pc, PC_MCPI_BACKEND_HOST));
  PetscCall(PCMCPISetHalo(pc, PC_MCPI_HALO_NCCL));
  EXPECT_PETSC_ERROR(PETSC_ERR_SUP_SYS, "-pc_mcpi_halo", PCSetUp(pc));
  PetscCall(PCMCPISetHalo(pc, PC_MCPI_HALO_SF));
  PetscCall(apply(pc, b, &again));
  EXPECT_TRUE(again == first);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Settings, other_types_ignore_setters_and_refuse_getters)
{
  OwnedPC pc;
  PetscInt its;

  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc.out()));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(PCMCPISetIts(pc, 3));
  EXPECT_PETSC_ERROR(PETSC_ERR_SUP, "PCMCPIGetIts", PCMCPIGetIts(pc, &its));
  PetscCall(PCSetType(pc, PCMCPI));
  PetscCall(PCMCPIGetIts(pc, &its));
  EXPECT_EQ(its, PETSC_DECIDE);
  PetscCall(PCSetType(pc, PCJACOBI));
  EXPECT_PETSC_ERROR(PETSC_ERR_SUP, "PCMCPIGetIts",
                     PCMCPIGetIts(pc, &its)); // nothing is left composed
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Settings, options_obey_the_prefix)
{
  OwnedMat mat;
  OwnedOptions options;
  OwnedPC pc;
  PetscInt its;
  PCMCPIPrecision precision;
  std::string text;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, sample(), Layout::even, MATBAIJ, &mat));
  PetscCall(PetscOptionsCreate(options.out()));
  PetscCall(PetscOptionsInsertString(
      options, "-a_pc_mcpi_its 7 -pc_mcpi_its 3 -a_pc_mcpi_offdiag_precision int8 "
               "-pc_mcpi_offdiag_precision fp64 "
               "-a_pc_mcpi_mat_coloring_type greedy -pc_mcpi_mat_coloring_type jp"));
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc.out()));
  PetscCall(PetscObjectSetOptions((PetscObject)(PC)pc, options));
  PetscCall(PCSetOptionsPrefix(pc, "a_"));
  PetscCall(PCSetType(pc, PCMCPI));
  PetscCall(PCSetOperators(pc, mat, mat));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCMCPIGetIts(pc, &its));
  EXPECT_EQ(its, 7);
  PetscCall(PCMCPIGetOffdiagPrecision(pc, &precision));
  EXPECT_EQ(precision, PC_MCPI_PRECISION_INT8);
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, "by greedy");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void check_view_of_halo(const std::string &text, const char *on_ranks)
{
  EXPECT_CONTAINS(text, world_size() > 1 ? on_ranks : "halo: none on one rank");
}

PETSC_TEST(Settings, view_prints_every_setting_in_force)
{
  OwnedMat mat;
  Preconditioner pc, plain;
  std::string text;

  PetscFunctionBeginUser;
  PetscCall(create_sample("-pc_mcpi_its 3 -pc_mcpi_sweep backward -pc_mcpi_omega 0.875 "
                          "-pc_mcpi_restart 6 -pc_mcpi_offdiag_precision int8 "
                          "-pc_mcpi_vector_precision fp64 -pc_mcpi_form factored "
                          "-pc_mcpi_halo_frequency sweep "
                          "-pc_mcpi_backend reference -pc_mcpi_ordering rcm "
                          "-pc_mcpi_mat_coloring_type greedy",
                          &mat, &pc));
  PetscCall(view(pc, &text));
  check_view_of_halo(text, "exchanged every sweep\n");
  for (const char *part : {"type: mcpi", "3 backward", "0.875", "6 sweeps", "int8", "factored",
                           "fp64", "reference", "rcm", "greedy", "not set up"})
    EXPECT_CONTAINS(text, part);
  PetscCall(PCSetUp(pc));
  PetscCall(view(pc, &text));
  for (const char *part :
       {"3 backward", "0.875", "6 sweeps", "int8", "factored", "fp64", "reference", "rcm", "greedy",
        "block size 3", "colors: ", "largest", "smallest", "memory"})
    EXPECT_CONTAINS(text, part);
  PetscCall(
      PCMCPISetOffdiagPrecision(pc, PC_MCPI_PRECISION_FP16)); // what there was to view is gone
  PetscCall(view(pc, &text));
  for (const char *part : {"fp16", "not set up"}) EXPECT_CONTAINS(text, part);
  PetscCall(create_pc(mat, "", &plain));
  PetscCall(PCSetUp(plain));
  PetscCall(view(plain, &text));
  check_view_of_halo(text, "exchanged every color\n");
  for (const char *part : {"1 symmetric", "omega = 1", "off-diagonal blocks: fp32",
                           "vectors: fp64 (auto", "prescaled", "host", "jplf"})
    EXPECT_CONTAINS(text, part);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Settings, view_says_why_products_are_those_of_petsc)
{
  OwnedMat mat;
  Preconditioner pc, plain;
  std::string text;

  PetscFunctionBeginUser;
  PetscCall(create_sample("-pc_mcpi_block_product", &mat, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, "products with the matrix are PETSc's, because");
  PetscCall(create_pc(mat, "", &plain));
  PetscCall(PCSetUp(plain));
  PetscCall(view(plain, &text));
  EXPECT_EQ(text.find("products with the matrix"), std::string::npos);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Settings, gram_schmidt_of_host_vectors_is_that_of_petsc)
{
  const BlockMatrix matrix = sample();
  const Vector b = random_vector(matrix.size(), 3);
  const std::string options = "-ksp_type fgmres -ksp_rtol 1e-9 ";
  OwnedMat mat;
  OwnedSolver mine, theirs;
  Vector x, expected;
  KSPConvergedReason reason;
  PetscInt its, expected_its;
  std::string text;
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::uneven, MATBAIJ, &mat));
  PetscCall(create_ksp(mat, mat, options + "-pc_mcpi_gram_schmidt", &mine));
  PetscCall(create_ksp(mat, mat, options, &theirs));
  PetscCall(KSPGetPC(mine, &pc));
  for (int turn = 0; turn < 2; ++turn) { // the second time without the option
    PetscCall(solve(mine, b, &x, &reason, &its));
    PetscCall(solve(theirs, b, &expected, &reason, &expected_its));
    EXPECT_EQ(its, expected_its);
    EXPECT_EQ(x, expected);
    PetscCall(view(pc, &text));
    EXPECT_EQ(text.find("classical Gram-Schmidt is PETSc's, because") != std::string::npos,
              turn == 0);
    PetscCall(set_options(pc, "-pc_mcpi_gram_schmidt false"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Settings, view_names_the_row_that_failed)
{
  BlockMatrix matrix = sample();
  OwnedMat mat;
  Preconditioner pc;
  std::string text;

  PetscFunctionBeginUser;
  matrix.block(31, 31)[0] = std::numeric_limits<double>::quiet_NaN();
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, "", &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, "block row 31");
  PetscFunctionReturn(PETSC_SUCCESS);
}
