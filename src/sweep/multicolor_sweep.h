// The multicolor sweep: passes over the colors. The exchange of each color overlaps with the
// relaxation of its interior rows.
#pragma once

#include "sweep/device_exchange.h"
#include "sweep/halo.h"
#include "sweep/schedule.h"

namespace mcpi {

class MulticolorSweep {
public:
  MulticolorSweep(const ColorPlan &plan, Backend &backend, Halo &halo, const SweepConfig &config)
      : plan_(plan), backend_(backend), device_(backend.device_exchange()), halo_(halo),
        config_(config)
  {
  }

  // Does `its` sweeps with the right-hand side that the backend has loaded. They start from x = 0
  // or from the loaded guess. Collective. The halo must have been prepared. Returns 0 or an error
  // code of the halo.
  int run(const ApplyArgs &apply, int its, bool from_zero);

  // The number of blocks that this rank reads in such a run. A block counts once for all right-hand
  // sides.
  Offset blocks_read(const ApplyArgs &apply, int its, bool from_zero) const;

private:
  bool in_few_steps() const;
  int sweeps_of_piece() const;
  Offset blocks_of_piece(const ApplyArgs &apply, int its, bool from_zero) const;
  int run_piece(const ApplyArgs &apply, int its, bool from_zero);
  int passes_inside(const ApplyArgs &apply, const Schedule &schedule);
  int passes_over_colors(const ApplyArgs &apply, const Schedule &schedule);
  void pass_in_few_steps(const ApplyArgs &apply, const Schedule &schedule, int pass);
  int pass_over_colors(const ApplyArgs &apply, const Schedule &schedule, int pass);
  int pass_over_chunks(const ApplyArgs &apply, const Schedule &schedule, int pass);
  RelaxStep rows_of_chunk(const Step &step, int chunk) const;
  template <class RelaxInterior>
  int relax_color(const ApplyArgs &apply, const Step &step, const RelaxInterior &relax_interior);
  void relax_rows(const ApplyArgs &apply, const RelaxStep &rows);
  int begin_exchange(const ApplyArgs &apply, const Step &step);
  int end_exchange(const ApplyArgs &apply, const Step &step);
  int exchange_all(const ApplyArgs &apply);

  const ColorPlan &plan_;
  Backend &backend_;
  DeviceExchange *device_; // of the backend, or null
  Halo &halo_;
  const SweepConfig config_;
};

} // namespace mcpi
