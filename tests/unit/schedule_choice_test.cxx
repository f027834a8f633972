// Tests what the schedule auto takes.
#include "pc/schedule_choice.h"

#include <gtest/gtest.h>

namespace mcpi::test {
namespace {

Settings settings_of(PCMCPISchedule schedule)
{
  Settings settings;
  settings.schedule = schedule;
  return settings;
}

TEST(ScheduleChoice, takes_what_it_is_told_everywhere)
{
  for (const Target target : {Target::cpu, Target::cuda, Target::other_device})
    for (const PCMCPISchedule schedule : {PC_MCPI_SCHEDULE_COLOR, PC_MCPI_SCHEDULE_WAVE,
                                          PC_MCPI_SCHEDULE_CLUSTER, PC_MCPI_SCHEDULE_LEVEL}) {
      const ScheduleChoice choice = ScheduleChoose(settings_of(schedule), target, {1000});
      EXPECT_EQ(choice.type, schedule);
      EXPECT_EQ(choice.reason, "");
    }
}

TEST(ScheduleChoice, colors_waves_and_levels_by_their_own_type)
{
  const auto coloring = [](PCMCPISchedule schedule) {
    return ScheduleChoose(settings_of(schedule), Target::cpu, {1000}).coloring;
  };
  EXPECT_EQ(coloring(PC_MCPI_SCHEDULE_COLOR), "jplf");
  EXPECT_EQ(coloring(PC_MCPI_SCHEDULE_CLUSTER), "jplf");
  EXPECT_EQ(coloring(PC_MCPI_SCHEDULE_WAVE), "wave");
  EXPECT_EQ(coloring(PC_MCPI_SCHEDULE_LEVEL), "levels");
}

TEST(ScheduleChoice, makes_large_clusters_on_a_cpu_and_small_ones_on_a_device_unless_told_otherwise)
{
  Settings settings = settings_of(PC_MCPI_SCHEDULE_CLUSTER);
  EXPECT_EQ(ScheduleChoose(settings, Target::cpu, {1000}).cluster_rows, 512);
  EXPECT_EQ(ScheduleChoose(settings, Target::cuda, {1000}).cluster_rows, 4);
  EXPECT_EQ(ScheduleChoose(settings, Target::other_device, {1000}).cluster_rows, 4);
  settings.cluster_rows = 7;
  for (const Target target : {Target::cpu, Target::cuda, Target::other_device})
    EXPECT_EQ(ScheduleChoose(settings, target, {1000}).cluster_rows, 7);
}

TEST(ScheduleChoice, of_auto_is_the_order_of_the_matrix_on_one_cpu_rank_if_levels_have_rows)
{
  const auto of = [](PetscInt64 rows, PetscInt64 levels, int ranks) {
    return ScheduleChoose(settings_of(PC_MCPI_SCHEDULE_AUTO), Target::cpu, {rows, ranks, levels})
        .type;
  };
  EXPECT_EQ(of(1000, 30, 1), PC_MCPI_SCHEDULE_LEVEL);
  EXPECT_EQ(of(1000, 1000, 1), PC_MCPI_SCHEDULE_CLUSTER);      // a chain
  EXPECT_EQ(of(10000000, 70000, 1), PC_MCPI_SCHEDULE_CLUSTER); // PETSc has 65,535 colors
  EXPECT_EQ(of(1000, 30, 2), PC_MCPI_SCHEDULE_CLUSTER);
  EXPECT_EQ(of(0, 0, 1), PC_MCPI_SCHEDULE_CLUSTER);
}

TEST(ScheduleChoice, of_auto_is_cluster_on_cpu_ranks_whatever_the_size)
{
  for (const PetscInt64 rows : {0, 100, 10000000}) {
    const ScheduleChoice choice =
        ScheduleChoose(settings_of(PC_MCPI_SCHEDULE_AUTO), Target::cpu, {rows, 4});
    EXPECT_EQ(choice.type, PC_MCPI_SCHEDULE_CLUSTER);
    EXPECT_NE(choice.reason.find("CPU"), std::string::npos);
  }
}

TEST(ScheduleChoice, of_auto_is_wave_on_a_device_with_many_rows_and_color_with_few)
{
  for (const Target target : {Target::cuda, Target::other_device}) {
    const auto of = [&](PetscInt64 rows) {
      return ScheduleChoose(settings_of(PC_MCPI_SCHEDULE_AUTO), target, {rows});
    };
    EXPECT_EQ(of(0).type, PC_MCPI_SCHEDULE_COLOR);
    EXPECT_EQ(of(99999).type, PC_MCPI_SCHEDULE_COLOR);
    EXPECT_EQ(of(99999).coloring, "jplf");
    EXPECT_NE(of(99999).reason.find("less than 100000"), std::string::npos);
    EXPECT_EQ(of(100000).type, PC_MCPI_SCHEDULE_WAVE);
    EXPECT_EQ(of(100000).coloring, "wave");
    EXPECT_NE(of(100000).reason.find("100000 block rows or more"), std::string::npos);
  }
}

TEST(ScheduleChoice, of_auto_leaves_a_given_coloring_and_a_given_order_of_rows)
{
  Settings settings = settings_of(PC_MCPI_SCHEDULE_AUTO);
  settings.ordering = PC_MCPI_ORDERING_COORDINATES;
  EXPECT_EQ(ScheduleChoose(settings, Target::cpu, {1000}).type, PC_MCPI_SCHEDULE_COLOR);
  EXPECT_EQ(ScheduleChoose(settings, Target::cuda, {1000000}).type, PC_MCPI_SCHEDULE_WAVE);
  for (const PCMCPIOrderingType ordering : {PC_MCPI_ORDERING_RCM, PC_MCPI_ORDERING_NATURAL}) {
    settings.ordering = ordering;
    EXPECT_EQ(ScheduleChoose(settings, Target::cpu, {1000}).type, PC_MCPI_SCHEDULE_CLUSTER);
  }
  settings.coloring = "greedy";
  for (const Target target : {Target::cpu, Target::cuda}) {
    const ScheduleChoice choice = ScheduleChoose(settings, target, {1000000});
    EXPECT_EQ(choice.type, PC_MCPI_SCHEDULE_COLOR);
    EXPECT_EQ(choice.coloring, "greedy");
    EXPECT_NE(choice.reason.find("-pc_mcpi_mat_coloring_type greedy"), std::string::npos);
  }
}

} // namespace
} // namespace mcpi::test
