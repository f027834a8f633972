// The algorithm: passes over the colors, the halo of each color behind its interior rows.
#pragma once

#include "backend/backend.h"
#include "halo/halo.h"

namespace mcpi {

struct SweepConfig {
  PCMCPISweepType     sweep     = PC_MCPI_SWEEP_FORWARD;
  PCMCPIHaloFrequency frequency = PC_MCPI_HALO_FREQUENCY_COLOR;
  bool                overlap   = true;
  bool                shortcuts = true; // off: read every block in every pass, for tests of the shortcuts
};

class Driver {
public:
  Driver(const ColorPlan &plan, Backend &backend, Halo &halo, const SweepConfig &config)
      : plan_(plan), backend_(backend), halo_(halo), config_(config)
  {
  }

  // its sweeps on what the backend has loaded, from x = 0 or from the loaded guess; 0 or the halo's error code. Collective.
  int run(const Application &application, int its, bool from_zero);

  // Blocks that this rank reads in such a run, all right-hand sides together
  Offset blocks_read(const Application &application, int its, bool from_zero) const;

private:
  int passes_over_colors(const Application &application, int its, bool from_zero);
  struct Pass {
    bool forward, first, last, from_zero;
    bool final; // the last update of some rows: where a symmetric sweep turns, some are skipped in the last pass
  };
  struct Range {
    Row begin, end;
  };
  int   passes(int its) const { return config_.sweep == PC_MCPI_SWEEP_SYMMETRIC ? 2 * its : its; }
  Pass  pass(const Application &application, int index, int count, bool from_zero) const;
  int   color(const Pass &pass, int step) const { return pass.forward ? step : plan_.colors - 1 - step; }
  Range range(int color, bool boundary) const;
  bool  keeps_sums(bool boundary) const;
  bool  skips(const Application &application, const Pass &pass, int step, bool boundary) const;
  Relax relax_rows(const Application &application, const Pass &pass, int step, bool boundary) const;
  int   relax_color(const Application &application, const Pass &pass, int step);
  int   begin_exchange(const Application &application, int color);
  int   end_exchange(const Application &application, int color);
  int   exchange_all(const Application &application);

  const ColorPlan   &plan_;
  Backend           &backend_;
  Halo              &halo_;
  const SweepConfig &config_;
};

} // namespace mcpi
