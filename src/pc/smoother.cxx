// This file implements the set-up of the smoother, and its application to arrays.
#include "pc/smoother.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/memory.h"
#include "core/threads.h"
#include "petsc/collective.h"
#include "petsc/compat.h"

namespace mcpi {
namespace {

// Exponents of two, for Smoother::scale_for(). Single precision has 126 powers of two below 1, and
// 127 above. kLargest: of the largest number that a right-hand side may load. kMaxSpread: of the
// largest ratio between that number and the largest number that is loaded.
constexpr int kLargest = 30, kMaxSpread = 120;

// Whether vectors may get double precision although the method does not need it.
bool may_widen(const Settings &settings)
{
  return settings.vector == PC_MCPI_VECTOR_PRECISION_AUTO &&
         settings.gather != PC_MCPI_GATHER_PRECISION_BFP16;
}

// A measurement of GPU time. The destructor ends it after an error, too. PETSc would otherwise
// refuse the next measurement.
class GpuTime {
public:
  GpuTime() = default;
  GpuTime(const GpuTime &) = delete;
  GpuTime &operator=(const GpuTime &) = delete;
  ~GpuTime() { (void)end(); }

  PetscErrorCode begin()
  {
    PetscFunctionBegin;
    PetscCall(PetscLogGpuTimeBegin());
    running_ = true;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode end()
  {
    PetscFunctionBegin;
    if (!running_) PetscFunctionReturn(PETSC_SUCCESS);
    running_ = false;
    PetscCall(PetscLogGpuTimeEnd());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

private:
  bool running_ = false;
};

} // namespace

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

PetscErrorCode Smoother::destroy()
{
  const DeviceGuard guard(choice_.device);

  PetscFunctionBegin;
  ready_ = false;
  have_transposed_ = false;
  identity_ = MatrixIdentity();
  failure_ = Failure();
  halo_choice_ = HaloChoice();
  drop_backend();
  halo_.reset();
  values_.reset();
  PetscCall(ColoringDestroy(&coloring_));
  PetscCall(BlockGraphDestroy(&graph_));
  PetscCall(residual_.destroy());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Smoother::setup(Mat pmat, const Settings &settings, bool double_vectors,
                               const Coordinates &coordinates, PetscObject options)
{
  struct Parts : MatrixParts {
    ~Parts() { (void)MatrixPartsDestroy(this); } // after an error, too
  } parts;
  MatrixIdentity identity;
  PetscMPIInt changed;

  PetscFunctionBegin;
  if (!ready_) drop_backend(); // the last set-up may have failed half-way, on some ranks only
  ready_ = false;
  const bool wide = double_vectors || (may_widen(settings) && widened());
  prepared_for_double_ = double_vectors;
  if (wide != double_vectors_) drop_backend();
  double_vectors_ = wide;
  PetscCall(SettingsCheckAgreement(PetscObjectComm((PetscObject)pmat), settings));
  failure_ = Failure();
  PetscCall(MatrixPartsGet(pmat, &parts));
  PetscCall(count_threads(PetscObjectComm((PetscObject)pmat), settings.setup_threads));
  PetscCall(MatrixIdentityGet(pmat, parts, threads_, &identity));
  changed = !(identity == identity_);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &changed, 1, MPI_INT, MPI_MAX,
                             PetscObjectComm((PetscObject)pmat)));
  if (changed || !backend_) {
    const bool was_on_device = on_device(), was_on_cuda = on_cuda();
    BackendChoice choice;
    PetscCall(BackendDecide(pmat, settings.backend, &choice));
    choice_ = std::move(choice);
    // The plan, the values and the exchange depend on the memory in which the sweeps work.
    changed = changed || on_device() != was_on_device || on_cuda() != was_on_cuda;
  }
  const DeviceGuard guard(choice_.device);
  if (changed) {
    PetscCall(PetscLogEventBegin(Events().symbolic, pmat, 0, 0, 0));
    PetscCall(destroy());
    PetscCall(symbolic(pmat, parts, settings, coordinates, options));
    PetscCall(PetscLogEventEnd(Events().symbolic, pmat, 0, 0, 0));
  }
  PetscCall(PetscLogEventBegin(Events().numeric, pmat, 0, 0, 0));
  PetscCall(numeric_in_range(settings, parts));
  PetscCall(PetscLogEventEnd(Events().numeric, pmat, 0, 0, 0));
  identity_ = identity;
  ready_ = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Returns how many powers of two may lie between the largest entry of D^{-1}b that scale_for()
// expects and the largest entry that D^{-1}b has.
int Smoother::spread(PCMCPIForm form) const
{
  const auto of = [](const std::vector<double> &factors) {
    const auto [least, most] = std::minmax_element(factors.begin(), factors.end());
    return std::ilogb(*most) - std::ilogb(*least);
  };
  const int forward = inverse_spread_ + (form == PC_MCPI_FORM_FACTORED ? of(scales().left) : 0);
  return std::max(forward, of(scales().right));
}

// Makes the numeric set-up. Vectors get double precision if the units of the equations are too
// different for single precision. This choice depends on the present values alone.
PetscErrorCode Smoother::numeric_in_range(const Settings &settings, const MatrixParts &parts)
{
  PetscFunctionBegin;
  for (;;) {
    if (!backend_) {
      if (!halo_) PetscCall(create_halo(settings));
      PetscCall(create_backend(settings));
    }
    PetscCall(numeric(parts));
    const bool outside = spread(settings.form) > kMaxSpread,
               needed = prepared_for_double_ || outside;
    if (failure_.defect != Defect::none || needed == double_vectors_) break;
    PetscCheck(may_widen(settings), graph_.comm, PETSC_ERR_ARG_OUTOFRANGE,
               "PCMCPI: the units of the equations differ by a factor of about 2^%d, more than "
               "vectors in single precision hold. Use -pc_mcpi_vector_precision auto and "
               "-pc_mcpi_gather_precision fp32, or scale the equations",
               spread(settings.form));
    drop_backend();
    double_vectors_ = needed;
  }
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

PetscErrorCode Smoother::symbolic(Mat pmat, const MatrixParts &parts, const Settings &settings,
                                  const Coordinates &coordinates, PetscObject options)
{
  std::vector<Row> order;

  PetscFunctionBegin;
  PetscCall(BlockGraphCreate(pmat, parts, &graph_));
  PetscCall(ColoringCreate(graph_, settings.coloring, options, &coloring_));
  PetscCall(
      OrderingCreate(graph_, coloring_, settings.ordering, coordinates, &order, &ordering_used_));
  PetscCall(PlanBuild(graph_, coloring_, order,
                      on_device() ? Arrangement::as_ordered : Arrangement::equal_rows_together,
                      &built_));
  values_ = make_matrix_values(parts, graph_,
                               {on_cuda() || choice_.kokkos_on_cuda, choice_.kokkos_on_device});
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Smoother::create_backend(const Settings &settings)
{
  const BackendConfig config{
      {settings.offdiag, settings.form, settings.scaling, settings.keep_scaling},
      double_vectors_,
      settings.gather == PC_MCPI_GATHER_PRECISION_BFP16};

  PetscFunctionBegin;
  PetscCheck(settings.offdiag != PC_MCPI_PRECISION_FP64 || config.double_vectors, graph_.comm,
             PETSC_ERR_ARG_INCOMP,
             "-pc_mcpi_offdiag_precision fp64 needs -pc_mcpi_vector_precision fp64 or auto");
  PetscCheck(!config.bfp16_gather || !config.double_vectors, graph_.comm, PETSC_ERR_ARG_INCOMP,
             "-pc_mcpi_gather_precision bfp16 needs -pc_mcpi_vector_precision fp32 or auto, and "
             "-pc_mcpi_offdiag_precision below fp64");
  if (choice_.type == PC_MCPI_BACKEND_KOKKOS) ReleaseWithKokkos(this, [this] { drop_backend(); });
  PetscCall(BackendCreate(graph_.comm, choice_.type, plan(), config, &backend_));
  DeviceExchange *device = device_exchange();
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
  have_transposed_ = false;
  room_ = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
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

PetscErrorCode Smoother::numeric(const MatrixParts &parts)
{
  NumericStatus status;
  void *stream = nullptr;
  const auto reduce = [this](double *values, int count) {
    return static_cast<int>(
        MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_MAX, graph_.comm));
  };

  PetscFunctionBegin;
  transposed_current_ = false;
  if (on_device()) PetscCall(UserStream(&stream));
  // open() may fail on one rank only: a device may have no memory for PETSc's own copy of the
  // values.
  const PetscErrorCode opened = values_->open(parts, threads_, stream);
  PetscMPIInt closed = opened != PETSC_SUCCESS;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &closed, 1, MPI_INT, MPI_MAX, graph_.comm));
  PetscCall(opened);
  PetscCheck(!closed, PETSC_COMM_SELF, PETSC_ERR_LIB,
             "PCMCPI: another rank cannot read the values of its matrix");
  const int error = backend_->refresh(*values_, reduce, status);
  PetscCall(values_->close());
  PetscCallMPI(error);
  // One reduction finds the first bad block row of all ranks, and the largest exponents. The number
  // of a bad row is its global row, with the defect as last digit in base kDigit. The number of a
  // failed device is below that of any row. Exponents change their sign, so that the minimum finds
  // the largest.
  constexpr PetscInt64 kDigit = 8, kNone = std::numeric_limits<PetscInt64>::max(), kDevice = -1;
  const auto exponent = [](double value) {
    return std::isfinite(value) && value > 0.0 ? -static_cast<PetscInt64>(std::ilogb(value))
                                               : kNone;
  };
  const InverseRange inverse = backend_->info().inverse;
  PetscInt64 least[3] = {kNone, exponent(inverse.largest), exponent(inverse.reciprocal)};
  PetscInt64 &first = least[0];
  if (status.defect == Defect::backend)
    first = kDevice;
  else if (status.defect != Defect::none)
    first = static_cast<PetscInt64>(graph_.row_start + status.row) * kDigit +
            static_cast<int>(status.defect);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, least, 3, MPIU_INT64, MPI_MIN, graph_.comm));
  const bool known = least[1] != kNone && least[2] != kNone;
  inverse_exponent_ = known ? -static_cast<int>(least[1]) : 0;
  inverse_spread_ = known ? -static_cast<int>(least[1]) - static_cast<int>(least[2]) : 0;
  PetscCheck(first != kDevice, graph_.comm, PETSC_ERR_LIB, "PCMCPI: %s",
             status.problem.empty() ? "the numeric set-up failed on another rank"
                                    : status.problem.c_str());
  if (first != kNone)
    failure_ = {static_cast<Defect>(first % kDigit), static_cast<PetscInt>(first / kDigit)};
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Builds the transposed operator, once for each numeric set-up. Stored records are sent to the
// ranks that own their columns.
PetscErrorCode Smoother::prepare_transposed()
{
  MPI_Datatype unit;

  PetscFunctionBegin;
  if (have_transposed_ && transposed_current_) PetscFunctionReturn(PETSC_SUCCESS);
  const std::size_t size = backend_->info().record_bytes;
  PetscCall(RunTogether(graph_.comm, [&] {
    if (!have_transposed_) {
      PlanBuildTransposed(graph_, built_, &transposed_, &outgoing_);
      sent_.resize(outgoing_.size() * size);
      received_.resize(graph_.in_col.size() * size);
    }
    backend_->pack_records(outgoing_, sent_.data());
  }));
  PetscCallMPI(MPI_Type_contiguous(static_cast<int>(size), MPI_CHAR, &unit));
  PetscCallMPI(MPI_Type_commit(&unit));
  PetscCall(PetscSFGatherBegin(graph_.edges, unit, sent_.data(), received_.data()));
  PetscCall(PetscSFGatherEnd(graph_.edges, unit, sent_.data(), received_.data()));
  PetscCallMPI(MPI_Type_free(&unit));
  PetscCall(
      RunTogether(graph_.comm, [&] { backend_->build_transposed(transposed_, received_.data()); }));
  have_transposed_ = transposed_current_ = true;
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

// Returns the power of two by which a right-hand side is multiplied when it is loaded. With this
// scale, the largest number that may be loaded is about 2^kLargest. The largest number that is
// loaded is at most 2^kMaxSpread times smaller, which is far from underflow in single precision.
// size: about the largest magnitude of the right-hand side
double Smoother::scale_for(double size, bool transposed, PCMCPIForm form) const
{
  constexpr int kMax = 1000; // 2^kMax and its inverse are normal numbers
  if (double_vectors_ || !(size > 0.0) || !std::isfinite(size)) return 1.0;
  const auto exponent = [](const std::vector<double> &factors) {
    return std::ilogb(*std::max_element(factors.begin(), factors.end()));
  };
  int loaded = std::ilogb(size); // exponent of the right-hand side as it is loaded
  if (transposed)
    loaded += exponent(scales().right);
  else
    loaded += form == PC_MCPI_FORM_PRESCALED ? inverse_exponent_ : exponent(scales().left);
  // In factored form b is loaded, and D^{-1}b is formed later. The scale is half-way between them.
  if (form == PC_MCPI_FORM_FACTORED) loaded += inverse_exponent_ / 2;
  return std::ldexp(1.0, std::clamp(kLargest - loaded, -kMax, kMax));
}

PetscErrorCode Smoother::sweep(const Settings &settings, const ApplyArgs &kind,
                               const ConstColumns &b, const MutableColumns &x, PetscInt its,
                               bool from_zero)
{
  const SweepConfig config{settings.sweep,
                           exchanges_ ? settings.frequency : PC_MCPI_HALO_FREQUENCY_COLOR,
                           settings.overlap, true};
  ApplyArgs apply = kind;
  MulticolorSweep sweep(kind.transposed ? transposed_ : plan(), *backend_, *halo_, config);

  PetscFunctionBegin;
  PetscCall(make_room(apply));
  if (on_device()) PetscCall(UserStream(&apply.stream));
  PetscCall(PetscLogEventBegin(Events().sweep, 0, 0, 0, 0));
  GpuTime timing;
  if (on_device()) PetscCall(timing.begin());
  ApplyGuard underway(*halo_);
  backend_->load_rhs(apply, b);
  if (!from_zero) backend_->load_guess(apply, {x.data, x.ld, x.device});
  PetscCall(static_cast<PetscErrorCode>(sweep.run(apply, static_cast<int>(its), from_zero)));
  underway.end();
  backend_->store(apply, x);
  PetscCall(timing.end());
  const double block = static_cast<double>(plan().bs) * plan().bs;
  const double flops =
      2.0 * kind.nrhs * block *
      (static_cast<double>(sweep.blocks_read(apply, static_cast<int>(its), from_zero)) +
       plan().rows);
  if (on_device())
    PetscCall(PetscLogGpuFlops(flops));
  else
    PetscCall(PetscLogFlops(flops));
  PetscCall(PetscLogEventEnd(Events().sweep, 0, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Sweeps with rounded blocks would spoil a good x. Below fp64 storage, an application with a guess
// or with restarts therefore computes the residual and sweeps on the correction, from zero.
PetscErrorCode Smoother::apply(Mat pmat, const Settings &settings, const Request &request,
                               const ConstColumns &b, const MutableColumns &x)
{
  const int nrhs = request.nrhs;
  ApplyArgs apply{request.transposed, nrhs, settings.omega};
  bool zero = !request.nonzero_guess;
  PetscInt total = request.sweeps;

  const DeviceGuard guard(choice_.device);

  PetscFunctionBegin;
  if (request.transposed) PetscCall(prepare_transposed());
  if (request.nonzero_guess && settings.offdiag == PC_MCPI_PRECISION_FP64 && request.restart == 0 &&
      !request.transposed) {
    PetscCall(sweep(settings, apply, b, x, total, false));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  while (total > 0) {
    // The adjoint of a sequence of cycles is the sequence of their adjoints in the opposite order.
    // The short cycle therefore comes first in a transposed application.
    const PetscInt cycle = request.restart > 0 ? request.restart : total, rest = total % cycle;
    const PetscInt its = request.transposed && rest > 0 ? rest : std::min(cycle, total);
    if (zero) {
      apply.scale = scale_for(request.size, request.transposed, settings.form);
      PetscCall(sweep(settings, apply, b, x, its, true));
    } else {
      double size = 0.0;
      PetscCall(residual_.prepare(pmat, nrhs, x.device));
      PetscCall(residual_.compute(pmat, request.transposed, nrhs, b, x));
      if (!double_vectors_) PetscCall(residual_.largest(nrhs, &size));
      apply.scale = scale_for(size, request.transposed, settings.form);
      PetscCall(sweep(settings, apply, residual_.residual(), residual_.correction(), its, true));
      PetscCall(residual_.add_correction(nrhs, x));
    }
    zero = false;
    total -= its;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

double Smoother::host_bytes() const
{
  const auto of_triangle = [](const Triangle &t) { return bytes_of(t.ptr, t.col, t.source); };
  const auto of_plan = [&](const ColorPlan &p) {
    return bytes_of(p.color_begin, p.boundary_end, p.ghost_begin, p.row_of) + of_triangle(p.lower) +
           of_triangle(p.upper);
  };
  const double symbolic = of_plan(built_.plan) + bytes_of(built_.ghost_owner, built_.ghost_place) +
                          bytes_of(graph_.ptr, graph_.col, graph_.ghosts, graph_.ghost_of_column,
                                   graph_.in_ptr, graph_.in_col, graph_.in_slot) +
                          bytes_of(coloring_.color, coloring_.ghost_color) +
                          static_cast<double>(graph_.rows) * sizeof(ISColoringValue);
  const double transposed = of_plan(transposed_) + bytes_of(outgoing_, sent_, received_);
  return symbolic + transposed +
         (on_device()
              ? 0.0
              : static_cast<double>(backend_->info().memory_bytes) + residual_.memory_bytes());
}

double Smoother::device_bytes() const
{
  return on_device() ? static_cast<double>(backend_->info().memory_bytes) + residual_.memory_bytes()
                     : 0.0;
}

double Smoother::sweep_bytes(const Settings &settings, PetscInt its) const
{
  const SweepConfig config{settings.sweep,
                           exchanges_ ? settings.frequency : PC_MCPI_HALO_FREQUENCY_COLOR,
                           settings.overlap, true};
  const ApplyArgs apply{false, 1, settings.omega};
  const MulticolorSweep sweep(plan(), *backend_, *halo_, config);
  const double passes =
      static_cast<double>(its) * (settings.sweep == PC_MCPI_SWEEP_SYMMETRIC ? 2 : 1);
  const double number = double_vectors_ ? sizeof(double) : sizeof(float);
  const double entry = number * plan().bs * apply.nrhs;
  // Each block: its record and its column are read. Each row, in each pass: two row pointers, the
  // right-hand side and x are read, and x is written. If there is a rounded copy of x, the copy is
  // read and written as well, and x itself is read only if omega is not 1.
  const double gathered = static_cast<double>(backend_->row_bytes(apply).gathered);
  const double vectors =
      gathered > 0.0 ? (settings.omega == 1.0 ? 2.0 : 3.0) * entry + 2.0 * gathered : 3.0 * entry;
  double bytes = static_cast<double>(sweep.blocks_read(apply, static_cast<int>(its), true)) *
                     static_cast<double>(backend_->info().record_bytes + sizeof(Row)) +
                 passes * plan().rows * (vectors + 2.0 * sizeof(Offset));
  if (settings.form == PC_MCPI_FORM_FACTORED)
    bytes += passes * plan().rows * static_cast<double>(plan().bs) * plan().bs * sizeof(double);
  return bytes;
}

} // namespace mcpi
