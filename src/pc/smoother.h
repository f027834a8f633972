// One plan with its backend and halo: everything between a Pmat and an application.
#pragma once

#include <petscpc.h>

#include <memory>
#include <string>

#include "pc/backend_choice.h"
#include "pc/halo_choice.h"
#include "pc/residual.h"
#include "pc/settings.h"
#include "setup/block_values.h"
#include "setup/matrix_identity.h"
#include "setup/ordering.h"
#include "setup/plan_build.h"
#include "sweep/backend.h"
#include "sweep/multicolor_sweep.h"

namespace mcpi {

// The first bad block row of the whole matrix
struct Failure {
  Defect defect = Defect::none;
  PetscInt row = -1; // global block row
};

struct LogEvents {
  PetscLogEvent symbolic, numeric, sweep, halo;
};
const LogEvents &Events();
PetscErrorCode RegisterEvents();

// What an application does, beside the settings
struct Request {
  bool transposed = false;
  int nrhs = 1;
  PetscInt sweeps = 1;
  PetscInt restart = 0; // sweeps between two residuals, 0: never
  bool nonzero_guess = false;
  double size = 0.0; // about the largest magnitude in b; 0: not known, and not needed by vectors in
                     // double precision
};

class Smoother {
public:
  Smoother() = default;
  Smoother(const Smoother &) = delete;
  Smoother &operator=(const Smoother &) = delete;
  ~Smoother() { (void)destroy(); }

  // Collective. Symbolic set-up if the pattern is new, numeric set-up always.
  PetscErrorCode setup(Mat pmat, const Settings &settings, bool double_vectors,
                       const Coordinates &coordinates, PetscObject options);
  PetscErrorCode destroy();
  void invalidate_plan() { identity_ = MatrixIdentity(); }
  void invalidate_values() { drop_backend(); }
  bool usable() const
  {
    return ready_ && backend_;
  } // not between a setter and the set-up that it asks for, or after Kokkos' end

  // Collective.
  PetscErrorCode apply(Mat pmat, const Settings &settings, const Request &request,
                       const ConstColumns &b, const MutableColumns &x);

  bool ready() const { return ready_; }
  const Failure &failure() const { return failure_; }
  const ColorPlan &plan() const { return built_.plan; }
  ISColoring iscoloring() const { return coloring_.iscoloring; }
  const OrderingUsed &ordering_used() const { return ordering_used_; }
  PCMCPIBackendType backend_used() const { return choice_.type; }
  const std::string &backend_space() const { return choice_.space; }
  const std::string &backend_reason() const { return choice_.reason; }
  bool on_device() const { return on_cuda() || choice_.kokkos_on_device; }
  bool exchanges() const { return exchanges_; }
  bool double_vectors() const { return double_vectors_; }
  bool prepared_for_double() const
  {
    return prepared_for_double_;
  } // what the last set-up was asked
  bool widened() const { return double_vectors_ && !prepared_for_double_; }
  int inverse_spread() const { return inverse_spread_; }
  const HaloChoice &halo_choice() const { return halo_choice_; }
  const Scales &scales() const { return backend_->scales(); }
  // Local bytes: held, and moved by its sweeps from zero
  double host_bytes() const;
  double device_bytes() const;
  double sweep_bytes(const Settings &settings, PetscInt its) const;

private:
  bool on_cuda() const
  {
    return choice_.type == PC_MCPI_BACKEND_CUDA;
  } // values in place, exchanges on the device
  PetscErrorCode symbolic(Mat pmat, const MatrixParts &parts, const Settings &settings,
                          const Coordinates &coordinates, PetscObject options);
  PetscErrorCode count_threads(MPI_Comm comm, PetscInt chosen);
  PetscErrorCode numeric(const MatrixParts &parts);
  PetscErrorCode numeric_in_range(const Settings &settings, const MatrixParts &parts, bool wide);
  int spread(PCMCPIForm form) const;
  PetscErrorCode create_backend(const Settings &settings);
  PetscErrorCode create_halo(const Settings &settings);
  void drop_backend();
  PetscErrorCode make_room(const ApplyArgs &apply);
  PetscErrorCode prepare_transposed();
  PetscErrorCode sweep(const Settings &settings, const ApplyArgs &apply, const ConstColumns &b,
                       const MutableColumns &x, PetscInt its, bool from_zero);
  double scale_for(double size, bool transposed, PCMCPIForm form) const;

  MatrixIdentity identity_;
  BlockGraph graph_;
  Coloring coloring_;
  BuiltPlan built_;
  OrderingUsed ordering_used_;
  BackendChoice choice_;
  std::unique_ptr<MatrixValues> values_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Halo> halo_;
  int room_ = 1; // right-hand sides that the backend is known to have room for
  int threads_ = 1, ranks_on_node_ = 0; // of a set-up; 0: not known
  bool exchanges_ = false;              // some rank has a ghost
  HaloChoice halo_choice_;
  bool double_vectors_ = true, prepared_for_double_ = true;
  // of all ranks' scaled inverse diagonal blocks: of the largest entry, and how far it is above the
  // smallest of the columns' largest entries
  int inverse_exponent_ = 0, inverse_spread_ = 0;
  bool ready_ = false; // between a finished set-up and the next one's start
  Failure failure_;

  bool have_transposed_ = false, transposed_current_ = false;
  ColorPlan transposed_;
  std::vector<Offset> outgoing_;
  std::vector<std::byte> sent_, received_;

  ResidualWork residual_;
};

} // namespace mcpi
