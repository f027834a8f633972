// This file chooses the schedule.
#include "pc/schedule_choice.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/tuning.h"
#include "pc/option_table.h"
#include "petsc/prefix.h"
#include "petscmcpi.h"

namespace mcpi {
namespace {

struct Rule {
  Target target;
  PCMCPISchedule schedule;
  PetscInt64 least_rows; // block rows of a rank, in the mean
  int most_ranks;
  const char *reason;
};

// What auto takes: the first rule that fits. The records are in benchmarks/results.
//
// CPU. Levels are Gauss-Seidel in the order of the matrix, as PCSOR is: docs/notes/choice.md. On
// several ranks levels take one exchange after the other. amd-epyc-flow-clusters.json: clusters
// solve boundary layers in a third of the time of colors, and the wing in 0.8 of it. Set-ups take
// the same time. amd-epyc-flow-schedules.json: waves of 32 colors take as many iterations as
// clusters, but exchange more often. It is not so everywhere: in amd-epyc-example-schedules.json
// clusters take 0.8 to 1.3 times the iterations of colors.
//
// Devices. nvidia-h200-sweep-schedules.json, 1,124,864 rows: a symmetric sweep by 32 waves takes
// 1.0 to 1.6 times as long as one by colors. By clusters of 4 rows it takes 1.1 to 1.6 times as
// long (nvidia-h200-sweep-clusters.json). Waves take 0.4 to 0.8 of the iterations of colors
// (amd-epyc-flow-schedules.json). Their result does not depend on the partition. A stage of a
// cluster takes about 1 us on CUDA; with Kokkos each stage is a launch.
// nvidia-h200-sweep-small.json: with few rows a color takes the same time, whatever its size, and
// 16 colors take twice the time of 8.
constexpr int kAny = std::numeric_limits<int>::max();
constexpr Rule kRules[] = {
    {Target::cpu, PC_MCPI_SCHEDULE_LEVEL, 0, 1, "one CPU rank can keep the order of the matrix"},
    {Target::cpu, PC_MCPI_SCHEDULE_CLUSTER, 0, kAny, "clusters take the least time on CPUs"},
    {Target::cuda, PC_MCPI_SCHEDULE_WAVE, 100000, kAny, "a device has 100000 block rows or more"},
    {Target::cuda, PC_MCPI_SCHEDULE_COLOR, 0, kAny, "a device has less than 100000 block rows"},
    {Target::other_device, PC_MCPI_SCHEDULE_WAVE, 100000, kAny,
     "a device has 100000 block rows or more"},
    {Target::other_device, PC_MCPI_SCHEDULE_COLOR, 0, kAny,
     "a device has less than 100000 block rows"},
};

// Whether clusters may be ordered as the user wants it.
bool suits_clusters(PCMCPIOrderingType ordering)
{
  return ordering == PC_MCPI_ORDERING_AUTO || ordering == PC_MCPI_ORDERING_RCM ||
         ordering == PC_MCPI_ORDERING_NATURAL;
}

// The type of coloring that makes a schedule, null for a schedule that goes with any type
const char *coloring_of(PCMCPISchedule schedule)
{
  switch (schedule) {
  case PC_MCPI_SCHEDULE_WAVE:
    return MATCOLORINGWAVE;
  case PC_MCPI_SCHEDULE_LEVEL:
    return MATCOLORINGLEVELS;
  default:
    return nullptr;
  }
}

// Whether levels have enough work to be worth a step, and are not too many for PETSc's colors.
bool suits_levels(const SystemShape &shape)
{
  return shape.levels > 0 && shape.levels < IS_COLORING_MAX &&
         (shape.rows_per_rank >= CommonTuning::kRowsOfLevel * shape.levels ||
          shape.bs >= CommonTuning::kManyUnknowns);
}

// Whether the user has chosen the type of coloring
bool is_given(const Settings &settings)
{
  return settings.coloring != Settings().coloring;
}

// Rows of a cluster are relaxed one after the other, for which a device has too many threads.
PetscInt cluster_rows(const Settings &settings, Target target)
{
  if (settings.cluster_rows != PETSC_DECIDE) return settings.cluster_rows;
  return target == Target::cpu ? CommonTuning::kClusterRowsOnCpu
                               : CommonTuning::kClusterRowsOnDevice;
}

ScheduleChoice chosen(const Settings &settings, PCMCPISchedule type, const std::string &reason)
{
  const char *own = coloring_of(type);
  return {type, own ? own : is_given(settings) ? settings.coloring : MATCOLORINGJPLF, reason};
}

ScheduleChoice choose(const Settings &settings, Target target, const SystemShape &shape)
{
  if (settings.schedule != PC_MCPI_SCHEDULE_AUTO) return chosen(settings, settings.schedule, "");
  if (is_given(settings))
    return chosen(settings, PC_MCPI_SCHEDULE_COLOR,
                  with_prefix("-pc_mcpi_mat_coloring_type ") + settings.coloring + " is given");
  for (const Rule &rule : kRules) {
    if (rule.target != target || shape.rows_per_rank < rule.least_rows ||
        shape.ranks > rule.most_ranks)
      continue;
    if (rule.schedule == PC_MCPI_SCHEDULE_LEVEL && !suits_levels(shape)) continue;
    if (rule.schedule == PC_MCPI_SCHEDULE_CLUSTER && !suits_clusters(settings.ordering))
      return chosen(settings, PC_MCPI_SCHEDULE_COLOR,
                    with_prefix("clusters do not take -pc_mcpi_ordering ") +
                        PCMCPIOrderingTypes[settings.ordering]);
    return chosen(settings, rule.schedule, rule.reason);
  }
  return chosen(settings, PC_MCPI_SCHEDULE_COLOR, "nothing else is measured here");
}

} // namespace

PetscInt64 CountLevels(const BlockGraph &graph)
{
  std::vector<PetscInt> level(static_cast<std::size_t>(graph.rows), 1);
  PetscInt64 levels = 0;
  for (Row i = 0; i < graph.rows; ++i) {
    for (Offset k = graph.ptr[i]; k < graph.ptr[i + 1]; ++k)
      if (graph.col[k] < i) level[i] = std::max(level[i], level[graph.col[k]] + 1);
    // A row follows those that couple to it, too.
    for (Offset k = graph.ptr[i]; k < graph.ptr[i + 1]; ++k)
      if (graph.col[k] > i && graph.col[k] < graph.rows)
        level[graph.col[k]] = std::max(level[graph.col[k]], level[i] + 1);
    levels = std::max<PetscInt64>(levels, level[i]);
  }
  return levels;
}

ScheduleChoice ScheduleChoose(const Settings &settings, Target target, const SystemShape &shape)
{
  ScheduleChoice choice = choose(settings, target, shape);
  choice.cluster_rows = cluster_rows(settings, target);
  return choice;
}

PetscErrorCode ScheduleCheck(MPI_Comm comm, const Settings &settings)
{
  const char *own = coloring_of(settings.schedule);

  PetscFunctionBegin;
  PetscCheck(!own || !is_given(settings) || settings.coloring == own, comm, PETSC_ERR_ARG_INCOMP,
             "-%spc_mcpi_schedule %s is the coloring of type %s, but "
             "-%spc_mcpi_mat_coloring_type is %s. Give one of the two options only",
             current_prefix(), PCMCPISchedules[settings.schedule], own, current_prefix(),
             settings.coloring.c_str());
  PetscCheck(settings.schedule != PC_MCPI_SCHEDULE_CLUSTER || suits_clusters(settings.ordering),
             comm, PETSC_ERR_ARG_INCOMP, "%s",
             with_prefix("-pc_mcpi_schedule cluster orders rows by rcm or natural. Use "
                         "-pc_mcpi_ordering auto, which is the default, or -pc_mcpi_schedule color")
                 .c_str());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
