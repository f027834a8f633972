// Tests the warnings of options that do not exist.
#include "support/petsc.h"

using namespace mcpi::test;

namespace {

// Calls PCSetFromOptions() of a PC with this prefix. printed: what the first rank writes to stderr
PetscErrorCode set_from_options(const std::string &prefix, const std::string &options,
                                std::string *printed, MPI_Comm comm = PETSC_COMM_WORLD)
{
  OwnedOptions database;
  OwnedPC pc;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsCreate(database.out()));
  PetscCall(PetscOptionsInsertString(database, options.c_str()));
  PetscCall(PCCreate(comm, pc.out()));
  PetscCall(PetscObjectSetOptions((PetscObject)(PC)pc, database));
  PetscCall(PCSetType(pc, PCMCPI));
  PetscCall(PCSetOptionsPrefix(pc, prefix.c_str()));
  testing::internal::CaptureStderr();
  const PetscErrorCode error = PCSetFromOptions(pc);
  *printed = testing::internal::GetCapturedStderr();
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode check(const std::string &prefix, const std::string &options,
                     const std::string &expected)
{
  std::string printed;

  PetscFunctionBeginUser;
  describe("\"" + prefix + "\" " + options);
  PetscCall(set_from_options(prefix, options, &printed));
  if (world_rank() > 0 || expected.empty())
    EXPECT_EQ(printed, "");
  else
    EXPECT_CONTAINS(printed, expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(UnknownOptions, the_nearest_option_is_named)
{
  PetscFunctionBeginUser;
  PetscCall(
      check("", "-pc_mcpi_it 4", "There is no option -pc_mcpi_it. Did you mean -pc_mcpi_its?"));
  PetscCall(check("a_", "-a_pc_mcpi_sweeps forward", "Did you mean -a_pc_mcpi_sweep?"));
  PetscCall(check("", "-pc_mcpi_precision int8", "There is no option -pc_mcpi_precision. "));
  PetscCall(check("", "-pc_mcpi_offdiag_precison int8 -pc_mcpi_its 2",
                  "Did you mean -pc_mcpi_offdiag_precision?"));
  PetscCall(check("", "-pc_mcpi_PRECISION_OFFDIAG int8", "There is no option -pc_mcpi_PRECISION_"));
  PetscCall(check("", "-pc_mcpi_coloring_type jp", "Did you mean -pc_mcpi_mat_coloring_type?"));
  PetscCall(check("", "-pc_mcpi_q 1", "-help lists the options"));
  PetscCall(check("", "-pc_mcpi_schedul", "Did you mean -pc_mcpi_schedule?"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(UnknownOptions, an_option_is_named_once)
{
  PetscFunctionBeginUser;
  PetscCall(check("", "-pc_mcpi_onega 1.1", "Did you mean -pc_mcpi_omega?"));
  PetscCall(check("", "-pc_mcpi_onega 1.1", ""));
  PetscCall(check("b_", "-b_pc_mcpi_onega 1.1", "Did you mean -b_pc_mcpi_omega?"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// PETSc takes options without the number of a level for all levels.
PETSC_TEST(UnknownOptions, numbers_of_prefixes_may_be_left_out)
{
  PetscFunctionBeginUser;
  PetscCall(check("mg_levels_1_", "-mg_levels_pc_mcpi_itss 1", "-mg_levels_pc_mcpi_its?"));
  PetscCall(check("mg_levels_1_", "-mg_levels_1_pc_mcpi_itss 1", "-mg_levels_1_pc_mcpi_its?"));
  PetscCall(check("x_fieldsplit_0_mg_levels_2_", "-x_fieldsplit_0_mg_levels_pc_mcpi_itss 1",
                  "-x_fieldsplit_0_mg_levels_pc_mcpi_its?"));
  PetscCall(check("mg_levels_1_", "-mg_levels_pc_mcpi_its 1", ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(UnknownOptions, other_options_are_not_named)
{
  PetscFunctionBeginUser;
  for (const char *options :
       {"-pc_mcpi_its 2", "-pc_mcpi_ITS 2", "-pc_mcpi_mat_coloring_wave_colors 9",
        "-pc_mcpi_mat_coloring_maxcolors 9 -pc_mcpi_mat_coloring_type jplf", "-pc_mcpi",
        "-other_pc_mcpi_itsss 2", "-pc_sor_its 2", "-mcpi_its 2", "-pc_type jacobi"})
    PetscCall(check("", options, ""));
  PetscCall(check("a_", "-pc_mcpi_itssss 2", ""));
  PetscCall(check("a_", "-b_a_pc_mcpi_itssss 2", ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(UnknownOptions, one_rank_prints_for_all_ranks_with_a_preconditioner_of_their_own)
{
  std::string printed;

  PetscFunctionBeginUser;
  PetscCall(set_from_options("sub_", "-sub_pc_mcpi_itz 2", &printed, PETSC_COMM_SELF));
  EXPECT_EQ(printed.empty(), world_rank() > 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}
