// The schedule of a run of sweeps: the steps that it takes, color by color. It is the same on every
// rank.
#pragma once

#include "sweep/backend.h"

namespace mcpi {

struct SweepConfig {
  PCMCPISweepType sweep = PC_MCPI_SWEEP_FORWARD;
  PCMCPIHaloFrequency frequency = PC_MCPI_HALO_FREQUENCY_COLOR;
  bool shortcuts = true; // false: every pass reads every block; this tests the shortcuts
  // A backend may record the relaxations of a run. Long runs are recorded in pieces of about
  // max_relaxations. With max_relaxations = 0 a run is one piece. A new piece reads both triangles
  // in its first pass. So a piece has at least least_sweeps, unless these are more than 16 times as
  // many relaxations.
  int max_relaxations = 4096, least_sweeps = 8;
  // Whether the backend takes several parts of the plan in one step (RelaxStep)
  bool several_parts = false;
};

// One color of one pass
struct Step {
  int pass = 0, color = 0;
  // Rows that would not change are skipped. This happens where a symmetric sweep turns.
  bool skips_boundary = false, skips_interior = false;
  RelaxStep boundary, interior;
  bool sends = false; // whether the boundary rows are sent to the ranks that read them
};

// The schedule of `its` sweeps, which start from x = 0 or from a guess
class Schedule {
public:
  Schedule(const ColorPlan &plan, const SweepConfig &config, const ApplyArgs &apply, int its,
           bool from_zero)
      : plan_(plan), config_(config), apply_(apply), from_zero_(from_zero),
        passes_(config.sweep == PC_MCPI_SWEEP_SYMMETRIC ? 2 * its : its)
  {
  }

  int passes() const { return passes_; }
  int colors() const { return plan_.colors; }
  bool from_zero() const { return from_zero_; }
  bool by_color() const { return config_.frequency == PC_MCPI_HALO_FREQUENCY_COLOR; }
  bool forward(int pass) const;
  // The k-th color of a pass
  Step step(int pass, int k) const;

private:
  bool starts_from_zero(int pass) const { return pass == 0 && from_zero_; }
  bool last(int pass) const { return pass == passes_ - 1; }
  bool keeps_sums(bool boundary) const;
  bool turns_at_once() const
  {
    return config_.sweep == PC_MCPI_SWEEP_SYMMETRIC && apply_.omega == 1.0 && !plan_.clustered;
  }
  bool skips(int pass, int k, bool boundary) const;
  RelaxStep relax_rows(int pass, int k, int color, bool boundary) const;

  const ColorPlan &plan_;
  const SweepConfig config_;
  const ApplyArgs apply_;
  const bool from_zero_;
  const int passes_;
};

} // namespace mcpi
