// This header declares the loops over the cells and faces of a rank. They run where the vectors
// live: on cores (loops.cxx) or on a CUDA device (loops_cuda.cu).
#pragma once

#include <memory>
#include <vector>

#include "geometry.h"
#include "kernels.h"

namespace flow {

// All pointers are addresses where the loops run. Local vectors have the values of all local cells,
// global ones those of a rank's own cells.
template <int dim> class Loops {
public:
  virtual ~Loops() = default;

  // Takes the flow from a local vector of conserved variables.
  virtual PetscErrorCode load(const double *u) = 0;
  // Computes the gradients of own cells. gradients, unlimited: local vectors. unlimited: gradients
  // without the limiter; null: not needed
  virtual PetscErrorCode gradients(const Scheme<dim> &scheme, double *gradients,
                                   double *unlimited) = 0;
  // Computes the net fluxes out of own cells, a global vector. gradients: null for first order.
  // unlimited: null for first order or without viscosity
  virtual PetscErrorCode residual(const Scheme<dim> &scheme, const double *gradients,
                                  const double *unlimited, double *r) = 0;
  // Computes the wave areas of own cells (Solver::stabilize()).
  virtual PetscErrorCode waves(const Scheme<dim> &scheme) = 0;
  // Computes the values of the Jacobian of first order, plus shift times the wave areas. values:
  // where to put them; null: into memory of the loops
  virtual PetscErrorCode jacobian(const Scheme<dim> &scheme, double shift, double *values) = 0;
  // Gives the values in memory of the loops: their address where the loops run, or on the host.
  virtual PetscErrorCode values(bool on_host, const double **values) = 0;
  // Adds shift times the wave areas times (u - before) to f. All are global vectors. The momentum
  // of a viscous flow on walls has no time term.
  virtual PetscErrorCode add_time_term(const Scheme<dim> &scheme, double shift, const double *u,
                                       const double *before, double *f) = 0;
  // Finds the longest step of own cells. See Solver::longest_step().
  virtual PetscErrorCode longest_step(const double *u, const double *step, double *share) = 0;
  // Adds the forces on walls along x and y.
  virtual PetscErrorCode forces(const Scheme<dim> &scheme, const double *gradients,
                                double sums[2]) = 0;
  // Gives the pressures on walls, in the order of Arrays::walls, to the host.
  virtual PetscErrorCode wall_pressures(const double *gradients,
                                        std::vector<double> *pressures) = 0;
  // Gives the friction on walls, in the same order, to the host. See wall_friction().
  virtual PetscErrorCode wall_frictions(const Scheme<dim> &scheme,
                                        std::vector<double> *frictions) = 0;
  // Waits until all that was started has been computed.
  virtual PetscErrorCode wait() = 0;
};

template <int dim>
PetscErrorCode MakeLoopsOnCores(const Arrays<dim, HostArray> &arrays, int threads,
                                std::unique_ptr<Loops<dim>> *loops);
// Where the example is compiled with CUDA (FLOW_CUDA).
template <int dim>
PetscErrorCode MakeLoopsOnDevice(const Arrays<dim, HostArray> &arrays,
                                 std::unique_ptr<Loops<dim>> *loops);

} // namespace flow
