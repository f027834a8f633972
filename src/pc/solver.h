// One plan with its backend and halo: everything between a Pmat and an application.
#pragma once

#include <petscpc.h>

#include <memory>
#include <string>

#include "backend/backend.h"
#include "pc/backend_choice.h"
#include "pc/halo_choice.h"
#include "pc/residual.h"
#include "pc/settings.h"
#include "setup/block_values.h"
#include "setup/matrix_identity.h"
#include "setup/ordering.h"
#include "setup/plan_build.h"
#include "sweep/driver.h"

namespace mcpi {

// The first bad block row of the whole matrix
struct Failure {
  Defect   defect = Defect::none;
  PetscInt row    = -1; // global block row
};

struct LogEvents {
  PetscLogEvent symbolic, numeric, sweep, halo;
};
const LogEvents &Events();
PetscErrorCode   RegisterEvents();

class Solver {
public:
  Solver()                          = default;
  Solver(const Solver &)            = delete;
  Solver &operator=(const Solver &) = delete;
  ~Solver() { (void)destroy(); }

  // Collective. Symbolic set-up if the pattern is new, numeric set-up always.
  PetscErrorCode setup(Mat pmat, const Settings &settings, const Coordinates &coordinates, PetscObject options);
  PetscErrorCode destroy();
  void           forget_plan() { identity_ = MatrixIdentity(); }
  void           forget_values() { drop_backend(); }
  bool           usable() const { return ready_ && backend_; } // not between a setter and the set-up that it asks for, or after Kokkos' end

  // total sweeps on nrhs columns, with the settings' restart. Collective.
  PetscErrorCode apply(Mat pmat, const Settings &settings, bool transposed, int nrhs, const ConstColumns &b, const MutableColumns &x,
                       PetscInt total, bool nonzero_guess);

  bool                ready() const { return ready_; }
  const Failure      &failure() const { return failure_; }
  const ColorPlan    &plan() const { return built_.plan; }
  ISColoring          iscoloring() const { return coloring_.iscoloring; }
  const OrderingUsed &ordering_used() const { return ordering_used_; }
  PCMCPIBackendType   backend_used() const { return choice_.type; }
  const std::string  &backend_space() const { return choice_.space; }
  const std::string  &backend_why() const { return choice_.why; }
  bool                on_device() const { return on_cuda() || choice_.kokkos_on_device; }
  bool                exchanges() const { return exchanges_; }
  const HaloChoice   &halo_choice() const { return halo_choice_; }
  const Scales       &scales() const { return backend_->scales(); }
  // Local bytes: held, and moved by its sweeps from zero
  double host_bytes() const;
  double device_bytes() const;
  double sweep_bytes(const Settings &settings, PetscInt its) const;

private:
  bool           on_cuda() const { return choice_.type == PC_MCPI_BACKEND_CUDA; } // values in place, exchanges on the device
  PetscErrorCode symbolic(Mat pmat, const MatrixParts &parts, const Settings &settings, const Coordinates &coordinates,
                          PetscObject options);
  PetscErrorCode numeric(const MatrixParts &parts);
  PetscErrorCode create_backend(const Settings &settings);
  PetscErrorCode create_halo(const Settings &settings);
  void           drop_backend();
  PetscErrorCode make_room(const Application &application);
  PetscErrorCode prepare_transposed();
  PetscErrorCode sweep(const Settings &settings, bool transposed, int nrhs, const ConstColumns &b, const MutableColumns &x, PetscInt its,
                       bool from_zero);

  MatrixIdentity                identity_;
  BlockGraph                    graph_;
  Coloring                      coloring_;
  BuiltPlan                     built_;
  OrderingUsed                  ordering_used_;
  BackendChoice                 choice_;
  std::unique_ptr<MatrixValues> values_;
  std::unique_ptr<Backend>      backend_;
  std::unique_ptr<Halo>         halo_;
  int                           room_      = 1;     // right-hand sides that the backend is known to have room for
  bool                          exchanges_ = false; // some rank has a ghost
  HaloChoice                    halo_choice_;
  bool                          ready_ = false; // between a finished set-up and the next one's start
  Failure                       failure_;

  bool                   have_transposed_ = false, transposed_current_ = false;
  ColorPlan              transposed_;
  std::vector<Offset>    outgoing_;
  std::vector<std::byte> sent_, received_;

  ResidualWork residual_;
};

} // namespace mcpi
