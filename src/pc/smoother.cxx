// This file implements the life of the smoother and its symbolic set-up.
#include "pc/smoother.h"

#include <petsc/private/petscimpl.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "backend/host/host_backend.h"
#include "core/threads.h"
#include "core/tuning.h"
#include "petsc/collective.h"
#include "petsc/compat.h"
#include "setup/chunks.h"
#include "setup/clusters.h"
#include "setup/row_groups.h"

namespace mcpi {

PetscErrorCode Smoother::destroy()
{
  const DeviceGuard guard(choice_.device);

  PetscFunctionBegin;
  ready_ = false;
  planned_transposed_ = transposed_current_ = false;
  found_ = Stiffness();
  trials_ = Trials();
  identity_ = MatrixIdentity();
  failure_ = Failure();
  empty_ = EmptyUnknowns();
  halo_choice_ = HaloChoice();
  drop_backend();
  halo_.reset();
  drop_method();
  values_.reset();
  PetscCall(ColoringDestroy(&coloring_));
  PetscCall(BlockGraphDestroy(&graph_));
  PetscCall(residual_.destroy());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Smoother::stores(Mat pmat, bool *current) const
{
  PetscObjectState state;
  PetscObjectId id;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)pmat, &state));
  PetscCall(PetscObjectGetId((PetscObject)pmat, &id));
  PetscMPIInt other = state != stored_state_ || id != stored_id_;
  PetscCallMPI(
      MPI_Allreduce(MPI_IN_PLACE, &other, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)pmat)));
  *current = !other;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Forgets trials that do not serve these values.
PetscErrorCode Smoother::renew_trials(Mat pmat, const Settings &settings)
{
  bool current = true;

  PetscFunctionBegin;
  if (!settings.keeps) PetscCall(stores(pmat, &current));
  if (!current) trials_ = Trials();
  trials_.count_setup();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Smoother::setup(Mat pmat, const Settings &settings, const Caller &caller,
                               const Coordinates &coordinates, PetscObject options)
{
  struct Portions : MatrixPortions {
    ~Portions() { (void)MatrixPortionsDestroy(this); } // after an error, too
  } portions;
  MatrixIdentity identity;
  PetscObjectState state;
  PetscMPIInt changed;

  PetscFunctionBegin;
  if (!ready_) { // the last set-up may have failed half-way, on some ranks only
    drop_backend();
    drop_method();
  }
  ready_ = false;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pmat), &ranks_));
  PetscCall(SettingsCheckAgreement(PetscObjectComm((PetscObject)pmat), settings));
  PetscCall(SettingsCheckPrecisions(PetscObjectComm((PetscObject)pmat), settings));
  PetscCall(SettingsCheckMethod(PetscObjectComm((PetscObject)pmat), settings));
  PetscCall(ScheduleCheck(PetscObjectComm((PetscObject)pmat), settings));
  failure_ = Failure();
  PetscCall(MatrixPortionsGet(pmat, &portions));
  PetscCall(count_threads(PetscObjectComm((PetscObject)pmat), settings.setup_threads));
  PetscCall(MatrixIdentityGet(pmat, portions, threads_, &identity));
  PetscCall(PetscObjectStateGet((PetscObject)pmat, &state));
  changed = !(identity == identity_) ||
            (!settings.keeps && plan().clustered && state != clustered_state_);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &changed, 1, MPI_INT, MPI_MAX,
                             PetscObjectComm((PetscObject)pmat)));
  if (changed || !backend_) {
    const bool was_on_device = on_device(), was_on_cuda = on_cuda();
    BackendChoice choice;
    PetscCall(BackendDecide(pmat, settings, &choice));
    choice_ = std::move(choice);
    // The plan, the values and the exchange depend on the memory in which the sweeps work.
    changed = changed || on_device() != was_on_device || on_cuda() != was_on_cuda;
  }
  const DeviceGuard guard(choice_.device);
  if (changed) {
    PetscCall(PetscLogEventBegin(Events().symbolic, pmat, 0, 0, 0));
    PetscCall(destroy());
    PetscCall(symbolic(pmat, portions, settings, caller, coordinates, options));
    clustered_state_ = state;
    PetscCall(PetscLogEventEnd(Events().symbolic, pmat, 0, 0, 0));
  }
  PetscCall(PetscLogEventBegin(Events().numeric, pmat, 0, 0, 0));
  wanted_ = wanted_by(settings, caller);
  PetscCall(renew_trials(pmat, settings));
  PetscCall(set_values(settings, portions));
  PetscCall(PetscLogEventEnd(Events().numeric, pmat, 0, 0, 0));
  identity_ = identity;
  stored_state_ = state;
  stored_id_ = identity.id;
  ready_ = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Sets the number of threads of a set-up. Unless the user has chosen it, the ranks of a node share
// the cores to which they are bound, and a single process uses all its cores. A rank uses one
// thread if the program has ranks outside the matrix's communicator, since nothing is known of
// them.
PetscErrorCode Smoother::count_threads(MPI_Comm comm, PetscInt chosen)
{
  PetscMPIInt size, world, on_node = 1;
  MPI_Comm node;

  PetscFunctionBegin;
  threads_ = static_cast<int>(std::max<PetscInt>(chosen, 1));
  if (chosen > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &world));
  if (size != world) PetscFunctionReturn(PETSC_SUCCESS);
  if (size > 1 && ranks_on_node_ == 0) {
    PetscCallMPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    PetscCallMPI(MPI_Comm_size(node, &on_node));
    PetscCallMPI(MPI_Comm_free(&node));
    ranks_on_node_ = on_node;
  }
  threads_ = std::max(1, usable_cores() / std::max(1, ranks_on_node_));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Makes clusters of the local rows and colors them. order: the rows, in the order in which clusters
// start and their rows are relaxed
PetscErrorCode Smoother::color_clusters(const MatrixPortions &portions, const Settings &settings,
                                        PetscObject options, std::vector<Row> *order)
{
  std::vector<Row> cluster;

  PetscFunctionBegin;
  PetscCall(OrderingCreateForClusters(graph_, settings.ordering, order, &ordering_used_));
  PetscCall(with_host_values(portions, [&](MatrixValues &values) {
    return RunTogether(graph_.comm, [&] {
      cluster = grow_clusters(make_strengths(graph_, values), *order,
                              static_cast<Row>(schedule_.cluster_rows));
    });
  }));
  PetscCall(ColoringCreateOfClusters(graph_, schedule_.coloring, options, std::move(cluster),
                                     &coloring_));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Only sweeps of one core go from chunk to chunk. Chunks of fewer rows than there are colors would
// take memory, and not help.
Row Smoother::chunk_rows(const Settings &settings) const
{
  if (choice_.type != PC_MCPI_BACKEND_HOST && choice_.type != PC_MCPI_BACKEND_REFERENCE) return 0;
  if (settings.chunk_rows == 0) return 0;
  if (settings.chunk_rows == PETSC_DECIDE) return decided_chunk_rows(graph_, coloring_.colors);
  return static_cast<Row>(std::clamp<PetscInt64>(settings.chunk_rows, coloring_.colors,
                                                 std::numeric_limits<Row>::max() / 2));
}

// Returns the most rows of the clusters whose stages are taken together. Where rows are relaxed one
// after the other, stages need not be long, and x of few rows is in near caches. If settings of the
// numeric set-up change later, the plan is kept: a new one would only be faster.
Row Smoother::rows_together(const Settings &settings) const
{
  if (on_device()) return 0;
  const bool in_sequence =
      choice_.type == PC_MCPI_BACKEND_HOST &&
      relaxes_in_sequence(backend_config(settings, ChoosePrecisions(settings, wanted_, found_)),
                          static_cast<int>(graph_.bs), simd_kernels());
  return in_sequence ? CommonTuning::kRowsInSequence : CommonTuning::kRowsTogether;
}

// Finds what a rank has in the mean.
PetscErrorCode Smoother::count_blocks()
{
  double blocks = static_cast<double>(graph_.ptr[graph_.rows]);

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &blocks, 1, MPI_DOUBLE, MPI_SUM, graph_.comm));
  size_ = {static_cast<double>(graph_.global_rows) / ranks_, blocks / ranks_,
           static_cast<int>(graph_.bs), 1};
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Blocks of many unknowns may be nearly empty, as those of species that diffuse without each other.
// Sweeps over entries take them as they are. Other sweeps store and multiply them whole.
PetscErrorCode Smoother::count_entries(const MatrixPortions &portions, const Settings &settings)
{
  PetscFunctionBegin;
  PetscCall(EntrySharesCount(graph_, portions, &shares_));
  if (!shares_.few()) PetscFunctionReturn(PETSC_SUCCESS);
  size_.entries = shares_.all;
  PetscCall(PetscInfo(portions.diag,
                      "PCMCPI: blocks of %" PetscInt_FMT " unknowns hold %.2g %% of their numbers, "
                      "and sweeps multiply with %s\n",
                      graph_.bs, 100.0 * shares_.all,
                      takes_entries(settings) ? "these" : "all of them"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Smoother::symbolic(Mat pmat, const MatrixPortions &portions,
                                  const Settings &settings, const Caller &caller,
                                  const Coordinates &coordinates, PetscObject options)
{
  std::vector<Row> order;

  PetscFunctionBegin;
  PetscCall(BlockGraphCreate(pmat, portions, threads_, &graph_));
  PetscCall(count_blocks());
  PetscCall(count_entries(portions, settings));
  wanted_ = wanted_by(settings, caller);
  PetscCall(FindRowGroups(graph_, &row_group_));
  if (row_group_ > 1)
    PetscCall(PetscInfo(options, "%s\n", AdviceForBlockSize(graph_.bs, row_group_).c_str()));
  const bool may_take_levels =
      settings.schedule == PC_MCPI_SCHEDULE_AUTO && ranks_ == 1 && target() == Target::cpu;
  schedule_ = ScheduleChoose(
      settings, target(),
      {graph_.global_rows / ranks_, ranks_, may_take_levels ? CountLevels(graph_) : 0, graph_.bs});
  if (schedule_.type == PC_MCPI_SCHEDULE_CLUSTER) {
    PetscCall(color_clusters(portions, settings, options, &order));
  } else {
    PetscCall(ColoringCreate(graph_, schedule_.coloring, options, &coloring_));
    PetscCall(
        OrderingCreate(graph_, coloring_, settings.ordering, coordinates, &order, &ordering_used_));
  }
  const PetscInt stages = schedule_.type == PC_MCPI_SCHEDULE_CLUSTER ? schedule_.cluster_rows : 1;
  size_.steps = static_cast<int>(coloring_.colors * stages);
  PetscCall(PlanBuild(graph_, coloring_, order,
                      {!on_device(), rows_together(settings), chunk_rows(settings)}, &built_));
  values_ = make_matrix_values(portions, graph_,
                               {on_cuda() || choice_.kokkos_on_cuda, choice_.kokkos_on_device});
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
