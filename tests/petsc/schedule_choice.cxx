// Tests the choice of a schedule: wave and level are colorings, auto says what it takes, and
// options that do not go together are refused.
#include "plan_places.h"

using namespace mcpi::test;

namespace {

const char *const kExact = "-pc_mcpi_offdiag_precision fp64 ";

BlockMatrix box()
{
  return make_matrix(2, tetrahedral_pattern(6, 5, 5));
}

PetscErrorCode create(const BlockMatrix &matrix, const std::string &options, OwnedMat *mat,
                      Preconditioner *pc)
{
  PetscFunctionBeginUser;
  describe(options);
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::uneven, MATBAIJ, mat));
  PetscCall(create_pc(*mat, kExact + options, pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Sets up, with a point for each row if the options ask for an order along coordinates, and checks
// that PCView() prints the text.
PetscErrorCode check_view(const BlockMatrix &matrix, const std::string &options,
                          const std::string &expected)
{
  OwnedMat mat;
  Preconditioner pc;
  PetscInt rows;
  std::string text;

  PetscFunctionBeginUser;
  PetscCall(create(matrix, options, &mat, &pc));
  PetscCall(MatGetLocalSize(mat, &rows, nullptr));
  rows /= static_cast<PetscInt>(matrix.bs);
  if (options.find("coordinates") != std::string::npos) {
    std::vector<PetscReal> points(static_cast<std::size_t>(rows), 0.0);
    PetscCall(PCSetCoordinates(pc, 1, rows, points.data()));
  }
  PetscCall(PCSetUp(pc));
  PetscCall(view(pc, &text));
  EXPECT_CONTAINS(text, expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(ScheduleChoice, wave_and_level_are_colorings_with_the_serial_result)
{
  const BlockMatrix matrix = box();
  const Vector b = random_vector(matrix.size(), 1);
  const std::pair<std::string, std::string> cases[] = {{"wave", "wave"}, {"level", "levels"}};

  PetscFunctionBeginUser;
  for (const auto &[schedule, type] : cases) {
    const std::string options = "-pc_mcpi_schedule " + schedule;
    OwnedMat mat, other, whole;
    Preconditioner pc, by_type, alone;
    std::vector<int> colors, colors_by_type, colors_alone;
    Vector x, x_by_type, x_alone;
    PetscCall(create(matrix, options, &mat, &pc));
    PetscCall(create(matrix, "-pc_mcpi_mat_coloring_type " + type, &other, &by_type));
    PetscCall(create_mat(PETSC_COMM_SELF, matrix, Layout::even, MATBAIJ, &whole));
    PetscCall(create_pc(whole, kExact + options, &alone));
    PetscCall(apply(pc, b, &x));
    PetscCall(apply(by_type, b, &x_by_type));
    PetscCall(apply(alone, b, &x_alone));
    EXPECT_TRUE(same_bits(x, x_by_type));
    EXPECT_TRUE(same_bits(x, x_alone));
    PetscCall(gather_colors(pc, &colors));
    PetscCall(gather_colors(by_type, &colors_by_type));
    PetscCall(gather_colors(alone, &colors_alone));
    EXPECT_EQ(colors, colors_by_type);
    EXPECT_EQ(colors, colors_alone);
    EXPECT_FALSE(plan_of(pc).clustered);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(ScheduleChoice, is_shown_with_its_coloring)
{
  const BlockMatrix matrix = box();

  PetscFunctionBeginUser;
  PetscCall(check_view(matrix, "-pc_mcpi_schedule wave", "by wave,"));
  PetscCall(check_view(matrix, "-pc_mcpi_schedule wave", "schedule: wave\n"));
  PetscCall(check_view(matrix, "-pc_mcpi_schedule level", "by levels,"));
  PetscCall(
      check_view(matrix, "-pc_mcpi_schedule cluster -pc_mcpi_cluster_rows 9",
                 "schedule: cluster, at most 9 block rows in a cluster, kept for new values"));
  PetscCall(check_view(matrix, "-pc_mcpi_schedule cluster -pc_mcpi_scaling_keep false",
                       "made anew for new values"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(ScheduleChoice, of_wave_follows_the_options_of_its_coloring)
{
  PetscFunctionBeginUser;
  for (const char *more : {"", " -pc_mcpi_mat_coloring_type wave"})
    PetscCall(check_view(box(),
                         std::string("-pc_mcpi_schedule wave "
                                     "-pc_mcpi_mat_coloring_wave_colors 10") +
                             more,
                         "colors: 10 by wave"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(ScheduleChoice, refuses_another_coloring_beside_wave_and_level_until_one_is_changed)
{
  const BlockMatrix matrix = box();

  PetscFunctionBeginUser;
  for (const std::string schedule : {"wave", "level"})
    for (const std::string type :
         {"jplf", "greedy", "natural", schedule == "wave" ? "levels" : "wave"}) {
      OwnedMat mat;
      Preconditioner pc;
      PetscCall(create(matrix,
                       "-pc_mcpi_schedule " + schedule + " -pc_mcpi_mat_coloring_type " + type,
                       &mat, &pc));
      EXPECT_PETSC_ERROR(PETSC_ERR_ARG_INCOMP, "-pc_mcpi_schedule " + schedule, PCSetUp(pc));
      EXPECT_PETSC_ERROR(PETSC_ERR_ARG_INCOMP, "-pc_mcpi_mat_coloring_type is " + type,
                         PCSetUp(pc));
      PetscCall(PCMCPISetSchedule(pc, PC_MCPI_SCHEDULE_COLOR));
      PetscCall(PCSetUp(pc));
      PetscCall(PCMCPISetSchedule(pc, PC_MCPI_SCHEDULE_WAVE));
      PetscCall(set_options(pc, "-pc_mcpi_mat_coloring_type wave"));
      PetscCall(PCSetUp(pc));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(ScheduleChoice, of_auto_on_a_cpu_gives_way_to_other_options)
{
  const BlockMatrix matrix = box();
  OwnedMat mat;
  Preconditioner pc;
  PCMCPISchedule schedule;
  const bool alone = world_size() == 1;

  PetscFunctionBeginUser;
  PetscCall(check_view(matrix, "-pc_mcpi_schedule auto",
                       alone ? "schedule: level (auto: one CPU rank can keep the order"
                             : "schedule: cluster (auto: clusters take the least time on CPUs"));
  PetscCall(check_view(matrix, "-pc_mcpi_schedule auto -pc_mcpi_mat_coloring_type greedy",
                       "schedule: color (auto: -pc_mcpi_mat_coloring_type greedy is given)"));
  if (!alone)
    PetscCall(
        check_view(matrix, "-pc_mcpi_schedule auto -pc_mcpi_ordering coordinates",
                   "schedule: color (auto: clusters do not take -pc_mcpi_ordering coordinates)"));
  // Each level of a chain is one row.
  PetscCall(check_view(make_matrix(2, chain_pattern(200)), "-pc_mcpi_schedule auto",
                       "schedule: cluster (auto"));
  PetscCall(create(matrix, "-pc_mcpi_schedule auto", &mat, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCMCPIGetSchedule(pc, &schedule));
  EXPECT_EQ(schedule, PC_MCPI_SCHEDULE_AUTO);
  EXPECT_EQ(plan_of(pc).clustered, !alone);
  PetscFunctionReturn(PETSC_SUCCESS);
}
