// This header declares the smoother: a plan with its backend and its halo. The smoother does
// everything between a Pmat and an application.
#pragma once

#include <petscpc.h>

#include <functional>
#include <memory>
#include <string>

#include "core/tuning.h"
#include "halo/ghost_rows.h"
#include "method/method.h"
#include "pc/backend_choice.h"
#include "pc/halo_choice.h"
#include "pc/precision_choice.h"
#include "pc/residual.h"
#include "pc/schedule_choice.h"
#include "pc/settings.h"
#include "pc/sweeps_choice.h"
#include "setup/block_values.h"
#include "setup/empty_unknowns.h"
#include "setup/entry_shares.h"
#include "setup/matrix_identity.h"
#include "setup/ordering.h"
#include "setup/plan_build.h"
#include "sweep/backend.h"
#include "sweep/device_exchange.h"
#include "sweep/multicolor_sweep.h"

namespace mcpi {

// The first bad block row of the whole matrix, or none.
struct Failure {
  Defect defect = Defect::none;
  PetscInt row = -1; // global number; -1: none
};

struct LogEvents {
  PetscLogEvent symbolic, numeric, sweep, halo;
};
const LogEvents &Events();
PetscErrorCode RegisterEvents();

// What an application does, beside the settings.
struct Request {
  bool transposed = false;
  int nrhs = 1;
  PetscInt sweeps = 1;
  PetscInt restart = 0;       // sweeps between two residuals; 0: never
  bool nonzero_guess = false; // x holds a guess
  // About the largest magnitude in b. 0: not known. Vectors in double precision do not need it.
  double size = 0.0;
};

class Smoother {
public:
  Smoother() = default;
  Smoother(const Smoother &) = delete;
  Smoother &operator=(const Smoother &) = delete;
  ~Smoother() { (void)destroy(); }

  // Collective. Makes the symbolic set-up if the nonzero pattern or the backend's memory is new,
  // and the numeric set-up always. caller: the method for which to prepare. options: the PC, whose
  // prefix and options database the coloring takes over
  PetscErrorCode setup(Mat pmat, const Settings &settings, const Caller &caller,
                       const Coordinates &coordinates, PetscObject options);
  PetscErrorCode destroy();
  // Collective. Gives the vectors the precision that a caller needs. fits: whether the stored
  // blocks are those that a set-up would make. If not, nothing changes, and a set-up is needed.
  PetscErrorCode fit(const Settings &settings, const Wanted &wanted, bool *fits);
  // Collective. Gives the vectors double precision, with the stored blocks as they are.
  PetscErrorCode widen_vectors();
  // Collective. Whether the stored blocks are those of the present values of this matrix
  PetscErrorCode stores(Mat pmat, bool *current) const;
  void invalidate_plan() { identity_ = MatrixIdentity(); }
  void invalidate_values() { drop_backend(); }
  // False if the last set-up did not finish, between a setter and the set-up that the setter makes
  // necessary, and after Kokkos has ended.
  bool usable() const { return ready_ && backend_; }

  // Collective.
  PetscErrorCode apply(Mat pmat, const Settings &settings, const Request &request,
                       const ConstColumns &b, const MutableColumns &x);

  bool ready() const { return ready_; }
  const Failure &failure() const { return failure_; }
  PetscInt64 empty_unknowns() const { return empty_.count; }
  const ColorPlan &plan() const { return built_.plan; }
  ISColoring iscoloring() const { return coloring_.iscoloring; }
  const ScheduleChoice &schedule_used() const { return schedule_; }
  const OrderingUsed &ordering_used() const { return ordering_used_; }
  PetscInt row_group() const { return row_group_; }
  PCMCPIBackendType backend_used() const { return choice_.type; }
  const std::string &backend_space() const { return choice_.space; }
  const std::string &backend_reason() const { return choice_.reason; }
  bool on_device() const { return choice_.on_device(); }
  Target target() const { return choice_.target(); }
  bool exchanges() const { return exchanges_; }
  const Precisions &precisions() const { return made_for_; }
  const Stiffness &stiffness() const { return found_; }
  bool double_vectors() const { return made_for_.double_vectors; }
  // The sweeps of an application by this caller
  SweepsChoice sweeps(const Settings &settings, const Caller &caller) const
  {
    return ChooseSweeps(settings, caller, target(), made_for_, size_, trials_);
  }
  PCMCPIMethod method(const Settings &settings) const { return MethodInForce(settings, trials_); }
  Trials &trials() { return trials_; }
  // What the last set-up, or the last change of the vectors, was asked for
  const Wanted &wanted() const { return wanted_; }
  // Whether the time of a sweep is that of its bytes. Instructions limit a CPU whose other cores do
  // not read memory, and small blocks.
  bool memory_limits() const
  {
    return target() != Target::cpu || (ranks_ > 1 && graph_.bs >= CommonTuning::kFewBitsFrom);
  }
  // What a set-up for this caller would be asked for
  Wanted wanted_by(const Settings &settings, const Caller &caller) const
  {
    return takes_entries(settings) ? WantedForEntries()
                                   : WantedPrecisions(settings, caller, target(), memory_limits());
  }
  const EntryShares &shares() const { return shares_; }
  // Whether sweeps work on the entries of the matrix
  bool takes_entries(const Settings &settings) const
  {
    return settings.form == PC_MCPI_FORM_ENTRIES ||
           (SuitsEntries(settings) && method(settings) == PC_MCPI_METHOD_POINT &&
            choice_.type == PC_MCPI_BACKEND_HOST && shares_.very_few(graph_.bs));
  }
  const HaloChoice &halo_choice() const { return halo_choice_; }
  const Scales &scales() const { return *backend_->info().scales; }
  // Local bytes: held in host memory, held in device memory, and moved by its sweeps from zero.
  double host_bytes() const;
  double device_bytes() const;
  double sweep_bytes(const Settings &settings, PetscInt its) const;

private:
  // The CUDA backend reads values in place and may use exchanges on the device.
  bool on_cuda() const { return target() == Target::cuda; }
  PetscErrorCode symbolic(Mat pmat, const MatrixPortions &portions, const Settings &settings,
                          const Caller &caller, const Coordinates &coordinates,
                          PetscObject options);
  PetscErrorCode renew_trials(Mat pmat, const Settings &settings);
  Row chunk_rows(const Settings &settings) const;
  Row rows_together(const Settings &settings) const;
  PetscErrorCode color_clusters(const MatrixPortions &portions, const Settings &settings,
                                PetscObject options, std::vector<Row> *order);
  PetscErrorCode with_host_values(const MatrixPortions &portions,
                                  const std::function<PetscErrorCode(MatrixValues &)> &work) const;
  PetscErrorCode count_blocks();
  PetscErrorCode count_entries(const MatrixPortions &portions, const Settings &settings);
  PetscErrorCode count_threads(MPI_Comm comm, PetscInt chosen);
  PetscErrorCode numeric(const Settings &settings, const MatrixPortions &portions);
  PetscErrorCode open_values(const MatrixPortions &portions, void *stream,
                             MatrixValues &values) const;
  PetscErrorCode find_empty(const MatrixPortions &portions);
  PetscErrorCode factor(PCMCPIMethod method, const MatrixPortions &portions, void *stream);
  PetscErrorCode plan_factorization(PCMCPIMethod method);
  PetscErrorCode plan_transposed();
  PetscErrorCode agree(const NumericStatus &status);
  PetscErrorCode inspect(const MatrixPortions &portions, BlockRows &blocks,
                         const NumericStatus &status);
  PetscErrorCode measure(const MatrixPortions &portions, BlockRows &blocks);
  PetscErrorCode numeric_in_range(const Settings &settings, const MatrixPortions &portions);
  PetscErrorCode set_values(const Settings &settings, const MatrixPortions &portions);
  PetscErrorCode change_vectors(const Precisions &wanted, bool as_they_are, bool *changed);
  int spread() const;
  DeviceExchange *device_exchange() { return backend_ ? backend_->device_exchange() : nullptr; }
  BackendConfig backend_config(const Settings &settings, const Precisions &precisions) const;
  PetscErrorCode create_backend(const Settings &settings);
  PetscErrorCode connect_halo();
  PetscErrorCode create_halo(const Settings &settings);
  void drop_backend();
  void drop_method();
  PetscErrorCode make_room(const ApplyArgs &apply);
  PetscErrorCode prepare_transposed();
  PetscErrorCode sweep(const Settings &settings, const ApplyArgs &apply, const ConstColumns &b,
                       const MutableColumns &x, PetscInt its, bool from_zero);
  double scale_for(double size, bool transposed) const;
  SweepConfig sweep_config(const Settings &settings) const;

  MatrixIdentity identity_; // of the matrix of the last set-up
  BlockGraph graph_;
  Coloring coloring_;
  BuiltPlan built_;
  ScheduleChoice schedule_;
  PetscObjectState clustered_state_ = -1; // of the matrix whose values made the clusters
  PetscObjectState stored_state_ = -1;    // of the matrix whose values are stored
  PetscObjectId stored_id_ = 0;           // of that matrix
  OrderingUsed ordering_used_;
  PetscInt row_group_ = 1; // consecutive block rows with the same columns
  BackendChoice choice_;
  std::unique_ptr<MatrixValues> values_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Halo> halo_;
  // The blocks of a Method that ranks exchange in host memory, their exchange, and the Method.
  // method_: null unless the last set-up has factored the matrix
  BuiltGhostRows ghost_rows_;
  std::unique_ptr<BlockExchange> exchange_;
  std::unique_ptr<Method> method_;
  int room_ = 1; // right-hand sides that the backend is known to have room for
  // threads_: threads of a set-up. ranks_on_node_: 0 if not known
  int threads_ = 1, ranks_on_node_ = 0;
  PetscMPIInt ranks_ = 1; // of the matrix
  SystemSize size_;
  Trials trials_;
  EntryShares shares_;
  bool exchanges_ = false; // some rank has a ghost
  HaloChoice halo_choice_;
  Wanted wanted_;       // see wanted()
  Precisions made_for_; // of the backend
  Stiffness found_;     // by the last numeric set-up
  // Of the scaled inverse diagonal blocks of all ranks. inverse_exponent_: exponent of two of the
  // largest entry. inverse_spread_: how far that exponent is above the exponent of the smallest
  // among the columns' largest entries.
  int inverse_exponent_ = 0, inverse_spread_ = 0;
  // Numbers with which sweeps multiply, in the mean: of an off-diagonal block, and of D^{-1} or the
  // factors of a diagonal block
  double block_numbers_ = 0.0, diagonal_numbers_ = 0.0;
  bool ready_ = false; // a set-up has finished, and the next one has not begun
  Failure failure_;
  EmptyUnknowns empty_;

  // planned_transposed_: the transposed plan exists. transposed_current_: the backend has its
  // operator, with the present values.
  bool planned_transposed_ = false, transposed_current_ = false;
  ColorPlan transposed_;
  std::vector<Offset> outgoing_;           // stored blocks whose records other ranks need
  std::vector<std::byte> sent_, received_; // records

  ResidualWork residual_;
};

} // namespace mcpi
