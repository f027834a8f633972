// Tests bad option values and bad colorings. Every rank reports an error that names the remedy, and
// the PC is not left as if it were set up. The test does not look for leaks, because PETSc does not
// free its memory after errors.
#include "support/petsc.h"

#include <petsc/private/matimpl.h>

using namespace mcpi::test;

namespace {

const BlockMatrix &sample()
{
  static const BlockMatrix matrix = make_matrix(3, random_pattern(40, 3, false));
  return matrix;
}

// A MatColoring type of this program that gives all rows the same color. With only_last_rank, this
// holds for the last rank only, and every row of the other ranks has its own color.
template <bool only_last_rank> PetscErrorCode color_wrongly(MatColoring mc, ISColoring *coloring)
{
  PetscInt begin, end;
  ISColoringValue *values;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(mc->mat, &begin, &end));
  PetscCall(PetscMalloc1(end - begin, &values));
  for (PetscInt i = begin; i < end; ++i)
    values[i - begin] =
        static_cast<ISColoringValue>(only_last_rank && world_rank() < world_size() - 1 ? i : 0);
  PetscInt rows;
  PetscCall(MatGetSize(mc->mat, &rows, nullptr));
  PetscCall(ISColoringCreate(PetscObjectComm((PetscObject)mc), only_last_rank ? rows : 1,
                             end - begin, values, PETSC_OWN_POINTER, coloring));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <bool only_last_rank> PetscErrorCode create_wrong(MatColoring mc)
{
  PetscFunctionBeginUser;
  mc->ops->apply = color_wrongly<only_last_rank>;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Checks that a PC with these options is refused, and that it works normally after the type jplf is
// set.
PetscErrorCode check_coloring_refused(const std::string &options, const std::string &remedy)
{
  OwnedMat mat;
  Preconditioner pc, good;
  Vector x, expected;
  const Vector b = random_vector(sample().size(), 1);

  PetscFunctionBeginUser;
  describe(options);
  PetscCall(create_mat(PETSC_COMM_WORLD, sample(), Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, options, &pc));
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Caught caught = catch_error([&] { return PCSetUp(pc); });
    int codes[2] = {static_cast<int>(caught.code), -static_cast<int>(caught.code)};
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, codes, 2, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
    EXPECT_LT(0, codes[0]);
    EXPECT_EQ(codes[0], -codes[1]);
    EXPECT_CONTAINS(caught.message, remedy);
  }
  PetscCall(PetscOptionsClear(pc.options));
  PetscCall(set_options(pc, "-pc_mcpi_mat_coloring_type jplf"));
  PetscCall(apply(pc, b, &x));
  PetscCall(create_pc(mat, "", &good));
  PetscCall(apply(good, b, &expected));
  EXPECT_TRUE(x == expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(Refusals, options_refuse_bad_values_and_name_the_option)
{
  OwnedMat mat;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, sample(), Layout::even, MATBAIJ, &mat));
  for (const std::string name :
       {"sweep", "offdiag_precision", "vector_precision", "gather_precision", "form", "backend",
        "halo", "halo_frequency", "ordering"}) {
    Preconditioner pc;
    const Caught caught = catch_error([&]() -> PetscErrorCode {
      PetscFunctionBeginUser;
      PetscCall(create_pc(mat, "-pc_mcpi_" + name + " nonsense", &pc));
      PetscCall(PCSetUp(pc));
      PetscFunctionReturn(PETSC_SUCCESS);
    });
    describe(name);
    EXPECT_TRUE(caught.code != PETSC_SUCCESS);
    EXPECT_CONTAINS(caught.message, name);
    EXPECT_CONTAINS(caught.message, "nonsense");
  }
  for (const std::string option : {"its 0", "its -2", "omega 0", "omega 2", "restart -2"}) {
    Preconditioner pc;
    const auto name = option.substr(0, option.find(' '));
    describe(option);
    EXPECT_PETSC_ERROR(PETSC_ERR_ARG_OUTOFRANGE, "-pc_mcpi_" + name,
                       create_pc(mat, "-pc_mcpi_" + option, &pc));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Refusals, options_are_named_with_their_prefix)
{
  OwnedMat mat;
  OwnedPC pc;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, sample(), Layout::even, MATBAIJ, &mat));
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc.out()));
  PetscCall(PCSetType(pc, PCMCPI));
  PetscCall(PCSetOptionsPrefix(pc, "a_"));
  EXPECT_PETSC_ERROR(PETSC_ERR_ARG_OUTOFRANGE, "-a_pc_mcpi_omega must be", PCMCPISetOmega(pc, 3.0));
  EXPECT_PETSC_ERROR(PETSC_ERR_ARG_OUTOFRANGE, "lists for -a_pc_mcpi_schedule",
                     PCMCPISetSchedule(pc, static_cast<PCMCPISchedule>(99)));
  PetscCall(PCMCPISetSchedule(pc, PC_MCPI_SCHEDULE_WAVE));
  PetscCall(PCSetOperators(pc, mat, mat));
  PetscCall(PetscOptionsSetValue(nullptr, "-a_pc_mcpi_mat_coloring_wave_colors", "70000"));
  EXPECT_PETSC_ERROR(PETSC_ERR_ARG_OUTOFRANGE, "-a_pc_mcpi_mat_coloring_wave_colors must be",
                     PCSetUp(pc));
  PetscCall(PetscOptionsClearValue(nullptr, "-a_pc_mcpi_mat_coloring_wave_colors"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Sets up a PC with the prefix "a_" by these options.
static PetscErrorCode set_up_with(PetscOptions database, Mat mat)
{
  OwnedPC pc;

  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc.out()));
  PetscCall(PetscObjectSetOptions((PetscObject)(PC)pc, database));
  PetscCall(PCSetType(pc, PCMCPI));
  PetscCall(PCSetOptionsPrefix(pc, "a_"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetOperators(pc, mat, mat));
  PetscCall(PCSetUp(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Refusals, messages_of_a_setup_name_options_with_their_prefix)
{
  const std::pair<const char *, const char *> cases[] = {
      {"method dilu -a_pc_mcpi_sweep forward", "-a_pc_mcpi_method dilu needs -a_pc_mcpi_sweep"},
      {"schedule level -a_pc_mcpi_mat_coloring_type greedy", "but -a_pc_mcpi_mat_coloring_type"},
      {"schedule cluster -a_pc_mcpi_ordering coordinates", "Use -a_pc_mcpi_ordering auto"},
      {"mat_coloring_type nonsense", "Give -a_pc_mcpi_mat_coloring_type"},
      {"mat_coloring_type greedy -a_pc_mcpi_mat_coloring_maxcolors 1", "-a_pc_mcpi_mat_coloring_"},
      {"offdiag_precision fp64 -a_pc_mcpi_vector_precision fp32", "-a_pc_mcpi_vector_precision"},
      {"halo peer -a_pc_mcpi_backend host", "-a_pc_mcpi_halo peer needs"},
      {"ordering coordinates", "-a_pc_mcpi_ordering coordinates needs"},
      {"schedule wave -a_pc_mcpi_mat_coloring_maxcolors 1", "-a_pc_mcpi_mat_coloring_"}};
  OwnedMat mat;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, sample(), Layout::even, MATBAIJ, &mat));
  for (const auto &[options, message] : cases) {
    PetscOptions database;
    describe(options);
    PetscCall(PetscOptionsCreate(&database));
    PetscCall(PetscOptionsInsertString(database, (std::string("-a_pc_mcpi_") + options).c_str()));
    const Caught caught = catch_error([&] { return set_up_with(database, mat); });
    PetscCall(PetscOptionsDestroy(&database));
    EXPECT_TRUE(caught.code != PETSC_SUCCESS);
    EXPECT_CONTAINS(caught.message, message);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Refusals, the_view_names_options_with_their_prefix)
{
  const BlockMatrix &matrix = sample();
  OwnedMat mat;
  OwnedSolver ksp;
  PC pc;
  KSPConvergedReason reason;
  std::string text;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(create_ksp(mat, mat,
                       "-ksp_type cg -ksp_max_it 1 -pc_mcpi_sweep forward "
                       "-pc_mcpi_vector_precision fp32 -pc_mcpi_gather_precision bfp16",
                       &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "a_"));
  PetscCall(solve(ksp, random_vector(matrix.size(), 1), nullptr, &reason, nullptr));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, "NOT SYMMETRIC: -a_ksp_type cg needs a symmetric sweep. "
                        "Use -a_pc_mcpi_sweep symmetric");
  EXPECT_CONTAINS(text, "-a_pc_mcpi_restart\n");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Refusals, options_of_colorings_are_named)
{
  const std::string option = "-pc_mcpi_mat_coloring_wave_colors";
  OwnedMat mat;
  Preconditioner pc;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, sample(), Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, "-pc_mcpi_mat_coloring_type wave " + option + " -4", &pc));
  EXPECT_PETSC_ERROR(PETSC_ERR_ARG_OUTOFRANGE, option + " must", PCSetUp(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if !defined(PETSC_USE_DEBUG) // which looks in the setters
// Ranks with different numbers of sweeps would wait for exchanges forever.
PETSC_TEST(Refusals, settings_that_differ_from_rank_to_rank_are_refused)
{
  OwnedMat mat;
  Preconditioner pc, good;
  Vector x, expected;
  const Vector b = random_vector(sample().size(), 1);

  PetscFunctionBeginUser;
  if (world_size() == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(create_mat(PETSC_COMM_WORLD, sample(), Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, "", &good));
  PetscCall(apply(good, b, &expected));
  PetscCall(create_pc(mat, "", &pc));
  PetscCall(PCMCPISetIts(pc, world_rank() == 0 ? 1 : 3));
  EXPECT_PETSC_ERROR(PETSC_ERR_ARG_INCOMP, "-pc_mcpi_its", PCSetUp(pc));
  PetscCall(PCMCPISetIts(pc, 1));
  PetscCall(PCMCPISetOffdiagPrecision(pc, world_rank() == 0 ? PC_MCPI_PRECISION_FP32
                                                            : PC_MCPI_PRECISION_INT8));
  EXPECT_PETSC_ERROR(PETSC_ERR_ARG_INCOMP, "-pc_mcpi_offdiag_precision", PCSetUp(pc));
  PetscCall(PCMCPISetOffdiagPrecision(pc, PC_MCPI_PRECISION_FP32));
  PetscCall(set_options(pc, world_rank() == 0 ? "-pc_mcpi_mat_coloring_type jplf"
                                              : "-pc_mcpi_mat_coloring_type greedy"));
  EXPECT_PETSC_ERROR(PETSC_ERR_ARG_INCOMP, "-pc_mcpi_mat_coloring_type", PCSetUp(pc));
  PetscCall(set_options(pc, "-pc_mcpi_mat_coloring_type jplf"));
  PetscCall(apply(pc, b, &x));
  EXPECT_TRUE(x == expected);
  // of new values, too, which are not forgotten after the refusal
  PetscCall(MatShift(mat, 1.0));
  PetscCall(apply(good, b, &expected));
  EXPECT_TRUE(x != expected);
  PetscCall(PCMCPISetIts(pc, world_rank() == 0 ? 1 : 3));
  for (int attempt = 0; attempt < 2; ++attempt)
    EXPECT_PETSC_ERROR(PETSC_ERR_ARG_INCOMP, "-pc_mcpi_its", PCSetUp(pc));
  PetscCall(PCMCPISetIts(pc, 1));
  PetscCall(apply(pc, b, &x));
  EXPECT_TRUE(x == expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PETSC_TEST(Refusals, coloring_of_one_color_is_refused)
{
  PetscFunctionBeginUser;
  PetscCall(MatColoringRegister("wrong", create_wrong<false>));
  PetscCall(check_coloring_refused("-pc_mcpi_mat_coloring_type wrong",
                                   "-pc_mcpi_mat_coloring_type jplf"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Refusals, coloring_that_is_wrong_on_one_rank_is_refused)
{
  PetscFunctionBeginUser;
  PetscCall(MatColoringRegister("wrong_on_last", create_wrong<true>));
  PetscCall(check_coloring_refused("-pc_mcpi_mat_coloring_type wrong_on_last",
                                   "-pc_mcpi_mat_coloring_type jplf"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Refusals, unknown_coloring_type_is_refused)
{
  PetscFunctionBeginUser;
  PetscCall(
      check_coloring_refused("-pc_mcpi_mat_coloring_type nonsense", "-pc_mcpi_mat_coloring_type"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Refusals, too_few_colors_are_refused)
{
  PetscFunctionBeginUser;
  for (const char *type : {"jplf", "greedy", "jp"})
    PetscCall(check_coloring_refused(
        std::string("-pc_mcpi_mat_coloring_maxcolors 2 -pc_mcpi_mat_coloring_type ") + type,
        "-pc_mcpi_mat_coloring_maxcolors"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Refusals, coloring_distance_other_than_one_is_refused_by_jplf)
{
  PetscFunctionBeginUser;
  PetscCall(check_coloring_refused("-pc_mcpi_mat_coloring_distance 2",
                                   "-pc_mcpi_mat_coloring_distance 1"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Refusals, vectors_of_another_size_are_refused)
{
  const auto small = static_cast<PetscInt>(10);
  OwnedMat mat;
  Preconditioner pc;
  Vec good, wrong;
  PetscInt its;
  PCRichardsonConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, sample(), Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, "", &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(MatCreateVecs(mat, &good, nullptr));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, small, PETSC_DETERMINE, &wrong));
  for (const bool wrong_b : {false, true}) {
    const Vec b = wrong_b ? wrong : good, x = wrong_b ? good : wrong;
    describe(wrong_b ? "right-hand side" : "solution");
    EXPECT_PETSC_ERROR(PETSC_ERR_ARG_SIZ, "", PCApply(pc, b, x));
    EXPECT_PETSC_ERROR(PETSC_ERR_ARG_SIZ, "MatCreateVecs()", PCApplyTranspose(pc, b, x));
    EXPECT_PETSC_ERROR(
        PETSC_ERR_ARG_SIZ, "MatCreateVecs()",
        PCApplyRichardson(pc, b, x, nullptr, 0.0, 0.0, 0.0, 1, PETSC_TRUE, &its, &reason));
  }
  PetscCall(VecDestroy(&good));
  PetscCall(VecDestroy(&wrong));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Refusals,
           rounded_gathers_below_another_preconditioner_ask_for_a_word_on_the_outer_method)
{
  const BlockMatrix &matrix = sample();
  const Vector b = matrix.multiply(random_vector(matrix.size(), 1));

  PetscFunctionBeginUser;
  for (const std::string vectors : {"auto", "fp32"}) {
    OwnedMat mat;
    OwnedSolver ksp;
    Vector x;
    KSPConvergedReason reason;
    PetscInt its;
    PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
    PetscCall(create_ksp(mat, mat,
                         "-ksp_type fgmres -pc_type bjacobi -sub_pc_type mcpi "
                         "-sub_pc_mcpi_gather_precision bfp16 -sub_pc_mcpi_vector_precision " +
                             vectors,
                         &ksp));
    PetscCall(PetscOptionsPush(ksp.options)); // where the inner solver looks when it is made
    if (vectors == "auto") {
      EXPECT_PETSC_ERROR(PETSC_ERR_ARG_INCOMP, "-sub_pc_mcpi_vector_precision fp32",
                         solve(ksp, b, &x, &reason, &its));
    } else {
      PetscCall(solve(ksp, b, &x, &reason, &its));
      EXPECT_LT(0, static_cast<int>(reason));
    }
    PetscCall(PetscOptionsPop());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Refusals, single_precision_is_refused_where_it_does_not_hold_the_units_of_the_equations)
{
  BlockMatrix matrix = sample();
  OwnedMat mat;
  Preconditioner pc;
  std::string text;

  PetscFunctionBeginUser;
  for (PetscInt e = matrix.ptr[7]; e < matrix.ptr[8]; ++e)
    for (PetscInt k = 0; k < matrix.bs * matrix.bs; ++k) matrix.block(7, matrix.col[e])[k] *= 1e45;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  PetscCall(create_pc(mat, "-pc_mcpi_vector_precision fp32", &pc));
  EXPECT_PETSC_ERROR(PETSC_ERR_ARG_OUTOFRANGE, "-pc_mcpi_vector_precision auto", PCSetUp(pc));
  PetscCall(PCMCPISetVectorPrecision(pc, PC_MCPI_VECTOR_PRECISION_AUTO));
  PetscCall(PCSetUp(pc));
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, "vectors: fp64");
  PetscFunctionReturn(PETSC_SUCCESS);
}

namespace {

// A matrix for methods that need a symmetric preconditioner
BlockMatrix symmetric_matrix()
{
  Recipe recipe;
  recipe.symmetric = true;
  return make_matrix(3, random_pattern(40, 3, true), recipe);
}

// Solves with these options. expected: what the error says, or nothing if the solve converges
PetscErrorCode check_symmetry(const std::string &options, const std::string &expected)
{
  const BlockMatrix matrix = symmetric_matrix();
  const Vector b = matrix.multiply(random_vector(matrix.size(), 1));
  OwnedMat mat;
  OwnedSolver ksp;
  Vector x;
  KSPConvergedReason reason;
  PetscInt its;

  PetscFunctionBeginUser;
  describe(options);
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATAIJ, &mat));
  PetscCall(MatSetOption(mat, MAT_SPD, PETSC_TRUE));
  PetscCall(create_ksp(mat, mat, options, &ksp));
  PetscCall(PetscOptionsPush(ksp.options)); // where the inner solver looks when it is made
  if (expected.empty()) {
    PetscCall(solve(ksp, b, &x, &reason, &its));
    EXPECT_LT(0, static_cast<int>(reason));
  } else {
    EXPECT_PETSC_ERROR(PETSC_ERR_ARG_INCOMP, expected, solve(ksp, b, &x, &reason, &its));
    PetscCall(KSPSetType(ksp, KSPFGMRES));
    PetscCall(solve(ksp, b, &x, &reason, &its));
    EXPECT_LT(0, static_cast<int>(reason));
  }
  PetscCall(PetscOptionsPop());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(Refusals, an_unsymmetric_sweep_is_refused_to_methods_that_need_symmetry)
{
  PetscFunctionBeginUser;
  for (const std::string method : {"cg", "pipecg", "groppcg", "minres", "symmlq", "cr", "fcg",
                                   "pipefcg", "chebyshev -ksp_chebyshev_eigenvalues 0.3,1.1"})
    for (const char *sweep : {"forward", "backward"})
      PetscCall(check_symmetry("-ksp_type " + method + " -pc_mcpi_sweep " + sweep,
                               "Use -pc_mcpi_sweep symmetric"));
  for (const char *vectors : {"fp32", "fp64"})
    PetscCall(check_symmetry(std::string("-ksp_type cg -ksp_rtol 1e-1 -pc_mcpi_sweep forward "
                                         "-pc_mcpi_vector_precision ") +
                                 vectors,
                             ""));
  PetscCall(check_symmetry("-ksp_type bcgs -pc_mcpi_sweep forward", ""));
  PetscCall(check_symmetry("-ksp_type cg -pc_type mg -pc_mg_levels 1 -mg_levels_ksp_type chebyshev "
                           "-mg_levels_pc_type mcpi -mg_levels_pc_mcpi_sweep forward",
                           ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(Refusals, rounded_blocks_are_refused_to_methods_that_need_symmetry)
{
  PetscFunctionBeginUser;
  for (const std::string precision : {"fp16", "int8", "int4"}) {
    const std::string rounded = " -pc_mcpi_offdiag_precision " + precision;
    for (const std::string method : {"cg", "pipecg", "minres", "symmlq", "cr"})
      PetscCall(check_symmetry("-ksp_type " + method + rounded, "-pc_mcpi_offdiag_precision fp32"));
    PetscCall(check_symmetry("-ksp_type cg" + rounded, "-ksp_type fcg"));
    PetscCall(check_symmetry("-ksp_type cg -pc_mcpi_vector_precision fp64" + rounded, ""));
    for (const std::string method : {"fcg", "gmres", "chebyshev -ksp_max_it 200"})
      PetscCall(check_symmetry("-ksp_type " + method + rounded, ""));
  }
  for (const char *precision : {"fp64", "fp32"})
    PetscCall(
        check_symmetry(std::string("-ksp_type cg -pc_mcpi_offdiag_precision ") + precision, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// KSPCHEBYSHEV estimates eigenvalues by CG, if the matrix is called positive definite.
PETSC_TEST(Refusals, smoothers_may_round)
{
  PetscFunctionBeginUser;
  for (const char *solver : {"cg", "gmres"})
    PetscCall(
        check_symmetry(std::string("-ksp_type ") + solver +
                           " -pc_type gamg -pc_gamg_coarse_eq_limit 20 -mg_levels_pc_type mcpi "
                           "-mg_levels_pc_mcpi_offdiag_precision int8",
                       ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}
