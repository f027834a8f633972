// This file implements how the smoother makes, enlarges and drops its backend and its exchange.
#include "pc/smoother.h"

#include <algorithm>

#include "petsc/collective.h"
#include "petsc/compat.h"
#include "petsc/prefix.h"

namespace mcpi {

// Drops the backend in three steps. The launches that were recorded end first. An exchange on the
// device goes next, since it uses the backend's stream and vectors. The backend goes last.
void Smoother::drop_backend()
{
  const DeviceGuard guard(choice_.device);
  if (DeviceExchange *device = device_exchange()) (void)device->launch_exchanges(false);
  if (halo_ && halo_->on_device()) halo_.reset();
  backend_.reset();
  ReleaseWithKokkos(this, nullptr);
}

PetscErrorCode Smoother::create_halo(const Settings &settings)
{
  PetscInt counts[] = {plan().ghosts, on_cuda() && !BlockGraphIsSymmetric(graph_)};

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, counts, 2, MPIU_INT, MPI_MAX, graph_.comm));
  exchanges_ = counts[0] > 0;
  PetscCall(HaloCreate(
      graph_.comm, plan(), built_.ghost_owner,
      {settings.halo, settings.halo_timeout, on_cuda(), exchanges_, counts[1] == 0, Events().halo},
      &halo_, &halo_choice_));
  PetscFunctionReturn(PETSC_SUCCESS);
}

BackendConfig Smoother::backend_config(const Settings &settings, const Precisions &precisions) const
{
  return {{precisions.offdiag, precisions.form, settings.keeps},
          precisions.double_vectors,
          precisions.bfp16_gather,
          settings.sweep == PC_MCPI_SWEEP_SYMMETRIC,
          on_cuda()};
}

PetscErrorCode Smoother::create_backend(const Settings &settings)
{
  const BackendConfig config = backend_config(settings, made_for_);

  PetscFunctionBegin;
  if (choice_.type == PC_MCPI_BACKEND_KOKKOS) ReleaseWithKokkos(this, [this] { drop_backend(); });
  PetscCall(BackendCreate(graph_.comm, choice_.type, plan(), config, &backend_));
  PetscCall(connect_halo());
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Lets the exchange work with a new backend.
PetscErrorCode Smoother::connect_halo()
{
  DeviceExchange *device = device_exchange();

  PetscFunctionBegin;
  if (device) {
    void *stream = device->launch_exchanges(halo_->on_device());
    halo_->use_stream(stream, device->not_a_number());
  }
  // The halo makes its buffers for one right-hand side now, since this may be collective. An
  // application to one right-hand side then waits for its neighbors only. Exchanges with a time
  // limit do not wait for ever.
  PetscCall(static_cast<PetscErrorCode>(halo_->prepare(backend_->row_bytes({}).vector)));
  PetscMPIInt inside = device && device->use_packets(halo_->packets());
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &inside, 1, MPI_INT, MPI_MIN, graph_.comm));
  if (device && !inside) (void)device->use_packets(nullptr);
  halo_choice_.inside = inside;
  if (halo_->packets() && !inside)
    halo_choice_.reason_not_inside =
        "blocks, vectors or long rows that relaxations with exchanges do not take";
  transposed_current_ = false;
  room_ = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Gives the vectors other precisions without another numeric set-up, if the backend can. All ranks
// have backends of the same type, so the result is the same everywhere.
PetscErrorCode Smoother::change_vectors(const Precisions &wanted, bool as_they_are, bool *changed)
{
  const DeviceGuard guard(choice_.device);
  std::unique_ptr<Backend> made;

  PetscFunctionBegin;
  *changed = false;
  if (!backend_ || wanted.offdiag != made_for_.offdiag || wanted.form != made_for_.form)
    PetscFunctionReturn(PETSC_SUCCESS);
  const PetscErrorCode failed = RunTogether(graph_.comm, [&] {
    made = backend_->with_vectors(wanted.double_vectors, wanted.bfp16_gather, as_they_are);
  });
  if (failed) drop_backend(); // On some rank its blocks are lost.
  PetscCall(failed);
  if (!made) PetscFunctionReturn(PETSC_SUCCESS);
  if (DeviceExchange *device = device_exchange()) (void)device->launch_exchanges(false);
  backend_ = std::move(made);
  made_for_ = wanted;
  PetscCall(connect_halo());
  *changed = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Smoother::fit(const Settings &settings, const Wanted &wanted, bool *fits)
{
  const Precisions chosen = ChoosePrecisions(settings, wanted, found_);

  PetscFunctionBegin;
  *fits = chosen == made_for_;
  if (!*fits) PetscCall(change_vectors(chosen, false, fits));
  if (*fits) wanted_ = wanted;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Smoother::widen_vectors()
{
  Precisions wanted = made_for_;
  bool changed;

  PetscFunctionBegin;
  wanted.double_vectors = true;
  wanted.bfp16_gather = false;
  PetscCall(change_vectors(wanted, true, &changed));
  if (changed) {
    wanted_.double_vectors = true;
    wanted_.bfp16_gather = false;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Makes the plan of the transposed matrix, once for each nonzero pattern.
PetscErrorCode Smoother::plan_transposed()
{
  PetscFunctionBegin;
  if (planned_transposed_) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(RunTogether(graph_.comm,
                        [&] { PlanBuildTransposed(graph_, built_, &transposed_, &outgoing_); }));
  planned_transposed_ = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Builds the transposed operator, once for each numeric set-up. Stored records are sent to the
// ranks that own their columns.
PetscErrorCode Smoother::prepare_transposed()
{
  MPI_Datatype record;

  PetscFunctionBegin;
  if (transposed_current_) PetscFunctionReturn(PETSC_SUCCESS);
  const std::size_t size = backend_->info().record_bytes;
  PetscCall(plan_transposed());
  PetscCall(RunTogether(graph_.comm, [&] {
    sent_.resize(outgoing_.size() * size);
    received_.resize(graph_.in_col.size() * size);
    backend_->pack_records(outgoing_, sent_.data());
  }));
  PetscCallMPI(MPI_Type_contiguous(static_cast<int>(size), MPI_CHAR, &record));
  PetscCallMPI(MPI_Type_commit(&record));
  PetscCall(PetscSFGatherBegin(graph_.edges, record, sent_.data(), received_.data()));
  PetscCall(PetscSFGatherEnd(graph_.edges, record, sent_.data(), received_.data()));
  PetscCallMPI(MPI_Type_free(&record));
  PetscCall(
      RunTogether(graph_.comm, [&] { backend_->build_transposed(transposed_, received_.data()); }));
  transposed_current_ = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Makes room for the right-hand sides of an application. This is collective if there are more of
// them than in any application before. Otherwise a rank waits for neighbors only.
PetscErrorCode Smoother::make_room(const ApplyArgs &apply)
{
  PetscFunctionBegin;
  if (apply.nrhs > room_) {
    room_ = 0; // the old room may be lost if reserve() fails
    PetscCall(RunTogether(graph_.comm, [&] { backend_->reserve(apply.nrhs); }));
    PetscCall(static_cast<PetscErrorCode>(halo_->prepare(backend_->row_bytes(apply).vector)));
    // This drops the recorded launches, which hold the old addresses.
    if (DeviceExchange *device = device_exchange())
      (void)device->launch_exchanges(halo_->on_device());
    room_ = apply.nrhs;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(static_cast<PetscErrorCode>(halo_->prepare(backend_->row_bytes(apply).vector)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
