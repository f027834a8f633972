// This header defines the loops over cells and faces for any place where they run. Space: Cores or
// Device.
#pragma once

#include "loops.h"
#include "viscous_kernels.h"

namespace flow {

template <int dim, class Space> class LoopsOn final : public Loops<dim> {
public:
  // Components of a cell's unknowns that a call computes together, and calls for a cell
  static constexpr int bs = dim + 2, columns = Space::template columns<bs>, parts = bs / columns;

  // arguments: of the constructor of Space
  template <class... Arguments> explicit LoopsOn(Arguments... arguments) : space_(arguments...) {}

  PetscErrorCode create(const Arrays<dim, HostArray> &from)
  {
    const std::size_t cells = from.centers.size();

    PetscFunctionBeginUser;
    PetscCall(space_.upload(from.ends, &arrays_.ends));
    PetscCall(space_.upload(from.surfaces, &arrays_.surfaces));
    PetscCall(space_.upload(from.middles, &arrays_.middles));
    PetscCall(space_.upload(from.mine, &arrays_.mine));
    PetscCall(space_.upload(from.walls, &arrays_.walls));
    PetscCall(space_.upload(from.held, &arrays_.held));
    PetscCall(space_.upload(from.sides, &arrays_.sides));
    PetscCall(space_.upload(from.couplings, &arrays_.couplings));
    PetscCall(space_.upload(from.begin, &arrays_.begin));
    PetscCall(space_.upload(from.mirror, &arrays_.mirror));
    PetscCall(space_.upload(from.row, &arrays_.row));
    PetscCall(space_.upload(from.diagonal, &arrays_.diagonal));
    PetscCall(space_.upload(from.row_begin, &arrays_.row_begin));
    PetscCall(space_.upload(from.symmetric, &arrays_.symmetric));
    PetscCall(space_.upload(from.centers, &arrays_.centers));
    PetscCall(space_.upload(from.factors, &arrays_.factors));
    PetscCall(space_.upload(from.lengths3, &arrays_.lengths3));
    PetscCall(space_.upload(from.outside, &arrays_.outside));
    PetscCall(space_.resize(cells, &w_));
    PetscCall(space_.resize(cells, &shares_));
    PetscCall(space_.resize(cells, &waves_));
    PetscCall(space_.resize(from.ends.size(), &fluxes_));
    PetscCall(space_.resize(from.walls.size(), &on_walls_));
    PetscCall(space_.resize(from.mine.size(), &shares_of_step_));
    cells_ = cells;
    blocks_ = static_cast<std::size_t>(from.row_begin.back());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode load(const double *u) override
  {
    const View<dim> v = view(nullptr);

    PetscFunctionBeginUser;
    PetscCall(space_.each(cells_, [=] FLOW_HD(std::size_t c) {
      State<dim> state;
      for (int k = 0; k < bs; ++k) state[k] = u[c * bs + k];
      v.w[c] = primitive<dim, double>(state);
    }));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode gradients(const Scheme<dim> &scheme, double *gradients, double *unlimited) override
  {
    const View<dim> v = view(gradients, unlimited);

    PetscFunctionBeginUser;
    PetscCall(unlimited ? set_gradients<true>(v, scheme) : set_gradients<false>(v, scheme));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  // Public, as nvcc demands of functions with loops. keep: see set_gradient()
  template <bool keep> PetscErrorCode set_gradients(const View<dim> &v, const Scheme<dim> &scheme)
  {
    PetscFunctionBeginUser;
    PetscCall(space_.each(arrays_.mine.size() * parts, [=] FLOW_HD(std::size_t k) {
      const int cell = v.mine[k / parts];
      if (v.mirror[cell] < 0)
        set_gradient<dim, columns, keep>(v, cell, static_cast<int>(k % parts) * columns, scheme);
    }));
    // A mirror mixes the components of the velocity.
    PetscCall(space_.each(arrays_.symmetric.size(), [=] FLOW_HD(std::size_t k) {
      set_gradient<dim, bs, keep>(v, v.symmetric[k].cell, 0, scheme);
    }));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  // Viscous terms are added by loops of their own: they would take registers of the others.
  PetscErrorCode residual(const Scheme<dim> &scheme, const double *gradients,
                          const double *unlimited, double *r) override
  {
    const View<dim> v = view(gradients, unlimited);
    const Viscosity viscosity = scheme.viscosity;

    PetscFunctionBeginUser;
    PetscCall(
        space_.each(arrays_.ends.size(), [=] FLOW_HD(std::size_t f) { set_flux<dim>(v, f); }));
    if (viscosity.on())
      PetscCall(space_.each(arrays_.ends.size(), [=] FLOW_HD(std::size_t f) {
        add_viscous_flux<dim>(v, f, viscosity);
      }));
    PetscCall(space_.each(arrays_.mine.size() * parts, [=] FLOW_HD(std::size_t k) {
      set_net_flux<dim, columns>(v, v.mine[k / parts], static_cast<int>(k % parts) * columns,
                                 r + k * columns);
    }));
    if (viscosity.on()) PetscCall(hold(v, scheme, r));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  // Sets the rows of the momentum on walls in a global vector. Public for nvcc
  PetscErrorCode hold(const View<dim> &v, const Scheme<dim> &scheme, double *r)
  {
    const Primitive<dim> free_stream = scheme.free_stream;

    PetscFunctionBeginUser;
    PetscCall(space_.each(arrays_.held.size(), [=] FLOW_HD(std::size_t k) {
      const int c = v.held[k];
      const double factor = hold_factor<dim>(v, c, free_stream);
      for (int d = 0; d < dim; ++d) r[v.row[c] * bs + 1 + d] = factor * v.w[c].rho * v.w[c].u[d];
    }));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode waves(const Scheme<dim> &scheme) override
  {
    const View<dim> v = view(nullptr);
    const Viscosity viscosity = scheme.viscosity;

    PetscFunctionBeginUser;
    PetscCall(space_.each(arrays_.mine.size(), [=] FLOW_HD(std::size_t k) {
      v.waves[v.mine[k]] = wave_area<dim>(v, v.mine[k]);
    }));
    if (viscosity.on())
      PetscCall(space_.each(arrays_.mine.size(), [=] FLOW_HD(std::size_t k) {
        v.waves[v.mine[k]] += viscous_area<dim>(v, v.mine[k], viscosity);
      }));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode jacobian(const Scheme<dim> &scheme, double shift, double *values) override
  {
    const View<dim> v = view(nullptr);
    const Viscosity viscosity = scheme.viscosity;
    const Primitive<dim> free_stream = scheme.free_stream;

    PetscFunctionBeginUser;
    if (!values) {
      if (values_.size() == 0) PetscCall(space_.resize(blocks_ * bs * bs, &values_));
      values = values_.data();
    }
    PetscCall(space_.each(cells_ * parts, [=] FLOW_HD(std::size_t k) {
      set_columns<dim, columns>(v, static_cast<int>(k / parts),
                                static_cast<int>(k % parts) * columns, shift, values);
    }));
    if (!viscosity.on()) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(space_.each(cells_ * parts, [=] FLOW_HD(std::size_t k) {
      add_viscous_columns<dim, columns>(v, static_cast<int>(k / parts),
                                        static_cast<int>(k % parts) * columns, viscosity, values);
    }));
    PetscCall(space_.each(arrays_.held.size() * dim, [=] FLOW_HD(std::size_t k) {
      const int c = v.held[k / dim];
      hold_row<dim>(v, c, static_cast<int>(k % dim), hold_factor<dim>(v, c, free_stream), values);
    }));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode values(bool on_host, const double **values) override
  {
    PetscFunctionBeginUser;
    *values = values_.data();
    if (on_host) PetscCall(space_.on_host(values_, &copy_, values));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode add_time_term(const Scheme<dim> &scheme, double shift, const double *u,
                               const double *before, double *f) override
  {
    const View<dim> v = view(nullptr);

    PetscFunctionBeginUser;
    PetscCall(space_.each(arrays_.mine.size() * bs, [=] FLOW_HD(std::size_t k) {
      f[k] += shift * v.waves[v.mine[k / bs]] * (u[k] - before[k]);
    }));
    // v has the flow u: the residual that f has been until now is that of u.
    if (scheme.viscosity.on()) PetscCall(hold(v, scheme, f));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode longest_step(const double *u, const double *step, double *share) override
  {
    double *shares = shares_of_step_.data();

    PetscFunctionBeginUser;
    PetscCall(space_.each(shares_of_step_.size(), [=] FLOW_HD(std::size_t k) {
      shares[k] = longest_share<dim>(u + k * bs, step + k * bs);
    }));
    PetscCall(space_.least(shares_of_step_, share));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode forces(const Scheme<dim> &scheme, const double *gradients, double sums[2]) override
  {
    const View<dim> v = view(gradients);
    const double pressure = scheme.free_stream.p;
    const Viscosity viscosity = scheme.viscosity;
    double *to = on_walls_.data();

    PetscFunctionBeginUser;
    for (int d = 0; d < 2; ++d) {
      PetscCall(space_.each(on_walls_.size(), [=] FLOW_HD(std::size_t k) {
        const int face = v.walls[k];
        const Surface<dim> &surface = v.surfaces[face];
        to[k] = (wall_pressure<dim>(v, face) - pressure) * surface.normal[d] * surface.area;
      }));
      PetscCall(space_.sum(on_walls_, &sums[d]));
      if (!viscosity.on()) continue;
      double friction;
      PetscCall(space_.each(on_walls_.size(), [=] FLOW_HD(std::size_t k) {
        to[k] = wall_stress<dim>(v, v.walls[k], viscosity)[d] * v.surfaces[v.walls[k]].area;
      }));
      PetscCall(space_.sum(on_walls_, &friction));
      sums[d] += friction;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode wall_pressures(const double *gradients, std::vector<double> *pressures) override
  {
    const View<dim> v = view(gradients);
    const double *on_host;
    double *to = on_walls_.data();

    PetscFunctionBeginUser;
    PetscCall(space_.each(on_walls_.size(), [=] FLOW_HD(std::size_t k) {
      to[k] = wall_pressure<dim>(v, v.walls[k]);
    }));
    PetscCall(space_.on_host(on_walls_, &copy_, &on_host));
    pressures->assign(on_host, on_host + on_walls_.size());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode wall_frictions(const Scheme<dim> &scheme, std::vector<double> *frictions) override
  {
    const View<dim> v = view(nullptr);
    const double *on_host;
    double *to = on_walls_.data();

    PetscFunctionBeginUser;
    PetscCall(space_.each(on_walls_.size(), [=] FLOW_HD(std::size_t k) {
      to[k] = wall_friction<dim>(v, v.walls[k], scheme);
    }));
    PetscCall(space_.on_host(on_walls_, &copy_, &on_host));
    frictions->assign(on_host, on_host + on_walls_.size());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode wait() override { return space_.wait(); }

private:
  template <class T> using Array = typename Space::template Array<T>;

  View<dim> view(const double *gradients, const double *unlimited = nullptr)
  {
    return {arrays_.ends.data(),
            arrays_.surfaces.data(),
            arrays_.middles.data(),
            arrays_.mine.data(),
            arrays_.walls.data(),
            arrays_.held.data(),
            arrays_.sides.data(),
            arrays_.couplings.data(),
            arrays_.begin.data(),
            arrays_.mirror.data(),
            arrays_.row.data(),
            arrays_.diagonal.data(),
            arrays_.row_begin.data(),
            arrays_.symmetric.data(),
            arrays_.centers.data(),
            arrays_.factors.data(),
            arrays_.lengths3.data(),
            arrays_.outside.data(),
            w_.data(),
            shares_.data(),
            waves_.data(),
            fluxes_.data(),
            reinterpret_cast<Gradient<dim> *>(const_cast<double *>(gradients)),
            reinterpret_cast<Gradient<dim> *>(const_cast<double *>(unlimited))};
  }

  Space space_;
  Arrays<dim, Array> arrays_;
  std::size_t cells_ = 0, blocks_ = 0; // local cells; blocks of the Jacobian
  // see View
  Array<Primitive<dim>> w_;
  Array<State<dim>> shares_, fluxes_;
  Array<double> waves_;
  Array<double> values_;         // of the Jacobian
  std::vector<double> copy_;     // on the host, of values_ or on_walls_
  Array<double> on_walls_;       // a number for each face of Arrays::walls
  Array<double> shares_of_step_; // of own cells
};

} // namespace flow
