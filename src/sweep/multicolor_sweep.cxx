#include "sweep/multicolor_sweep.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/plan_parts.h"
#include "core/tuning.h"
#include "sweep/epochs.h"

namespace mcpi {
namespace {

// Adds the rows of the next step to those of a step, if both are relaxed alike. Returns whether
// they are.
bool join(RelaxStep &rows, const RelaxStep &next)
{
  RelaxStep alike = next;
  alike.begin = rows.begin;
  alike.end = rows.end;
  if (rows.begin == rows.end || alike != rows) return false;
  (next.forward ? rows.end : rows.begin) = next.forward ? next.end : next.begin;
  return true;
}

} // namespace

// Whether successive colors are relaxed in one step.
bool MulticolorSweep::in_few_steps() const
{
  return config_.several_parts && halo_.idle();
}

// The number of sweeps that are run as one piece. A backend may record all launches of a piece, so
// its length is bounded. Ranks that exchange have the same pieces. A backend may relax the colors
// of one step one by one, so the bound holds for these, too.
int MulticolorSweep::sweeps_of_piece() const
{
  if (config_.max_relaxations == 0) return std::numeric_limits<int>::max();
  const int passes = config_.sweep == PC_MCPI_SWEEP_SYMMETRIC ? 2 : 1,
            colors = std::max(1, plan_.colors),
            parts = !plan_.clustered ? colors
                    : in_few_steps() ? std::max(1, static_cast<int>(plan_.stage_begin.size()))
                                     : colors * CommonTuning::kStagesOfCluster,
            wanted = in_few_steps() ? std::min(parts, CommonTuning::kFewSteps) : parts,
            sweeps = std::max(config_.least_sweeps, config_.max_relaxations / (passes * wanted)),
            most = static_cast<int>(std::int64_t{CommonTuning::kMostTimes} *
                                    config_.max_relaxations / (std::int64_t{passes} * parts));
  return std::max(1, std::min(sweeps, most));
}

int MulticolorSweep::run(const ApplyArgs &apply, int its, bool from_zero)
{
  const int piece = sweeps_of_piece();
  for (; its > 0; its -= piece, from_zero = false)
    if (const int error = run_piece(apply, std::min(its, piece), from_zero)) return error;
  return 0;
}

int MulticolorSweep::run_piece(const ApplyArgs &apply, int its, bool from_zero)
{
  const Schedule schedule(plan_, config_, apply, its, from_zero);
  const bool inside =
      schedule.by_color() && !plan_.clustered && device_ && device_->exchanges_inside(apply);
  const auto record = [&] {
    return inside ? passes_inside(apply, schedule) : passes_over_colors(apply, schedule);
  };
  if (!halo_.idle() && !halo_.on_device()) return record();
  return backend_.replay({apply.transposed, from_zero, config_.shortcuts, schedule.by_color(),
                          apply.nrhs, its, static_cast<int>(config_.sweep), apply.omega},
                         record);
}

int MulticolorSweep::passes_inside(const ApplyArgs &apply, const Schedule &schedule)
{
  const Epochs epochs(schedule);
  device_->start_inside(apply, schedule.from_zero());
  for (int pass = 0; pass < schedule.passes(); ++pass)
    for (int k = 0; k < schedule.colors(); ++k) {
      const Step step = schedule.step(pass, k);
      // One relaxation takes all rows of the color. It sends boundary rows from registers, so no
      // separate exchange is needed.
      RelaxStep all = step.interior;
      all.begin = step.boundary.begin;
      if (!step.skips_interior)
        device_->relax_inside(apply, all, epochs.of_step(step, k, plan_.ghost_begin));
    }
  device_->finish_inside(apply, epochs.count());
  return 0;
}

int MulticolorSweep::passes_over_colors(const ApplyArgs &apply, const Schedule &schedule)
{
  if (device_) device_->start_exchanges();
  if (const int error = halo_.start()) return error;
  for (int pass = 0; pass < schedule.passes(); ++pass) {
    if (pass == 0 && schedule.from_zero()) {
      if (!schedule.by_color())
        backend_.transfer(apply, plan_.rows, plan_.rows + plan_.ghosts, Transfer::zero, false);
    } else if (pass == 0 || !schedule.by_color()) {
      if (const int error = exchange_all(apply)) return error;
    }
    if (const int error = plan_.chunks > 1 ? pass_over_chunks(apply, schedule, pass)
                                           : pass_over_colors(apply, schedule, pass))
      return error;
  }
  if (const int error = halo_.finish()) return error;
  if (device_) device_->finish_exchanges();
  return 0;
}

// Boundary rows are relaxed first, because other ranks wait for them. Their exchange runs while
// relax_interior() relaxes other rows.
template <class RelaxInterior>
int MulticolorSweep::relax_color(const ApplyArgs &apply, const Step &step,
                                 const RelaxInterior &relax_interior)
{
  if (!step.skips_boundary) relax_rows(apply, step.boundary);
  if (step.sends)
    if (const int error = begin_exchange(apply, step)) return error;
  relax_interior();
  return step.sends ? end_exchange(apply, step) : 0;
}

// Takes successive colors in one step where they are relaxed alike. There are no boundary rows.
void MulticolorSweep::pass_in_few_steps(const ApplyArgs &apply, const Schedule &schedule, int pass)
{
  RelaxStep rows;
  for (int k = 0; k < schedule.colors(); ++k) {
    const Step step = schedule.step(pass, k);
    if (step.skips_interior || join(rows, step.interior)) continue;
    if (rows.begin < rows.end) relax_rows(apply, rows);
    rows = step.interior;
  }
  if (rows.begin < rows.end) relax_rows(apply, rows);
}

int MulticolorSweep::pass_over_colors(const ApplyArgs &apply, const Schedule &schedule, int pass)
{
  if (in_few_steps()) {
    pass_in_few_steps(apply, schedule, pass);
    return 0;
  }
  for (int k = 0; k < schedule.colors(); ++k) {
    const Step step = schedule.step(pass, k);
    const auto relax_interior = [&] {
      if (!step.skips_interior) relax_rows(apply, step.interior);
    };
    if (const int error = relax_color(apply, step, relax_interior)) return error;
  }
  return 0;
}

// Takes all colors of a chunk before the next chunk, and so finds x in the caches. Each row is
// relaxed between the same neighbors as by pass_over_colors(), so the result is the same. Chunk 0
// goes from color to color as usual. While its ghosts travel, chunks that are not coupled with it
// are relaxed.
int MulticolorSweep::pass_over_chunks(const ApplyArgs &apply, const Schedule &schedule, int pass)
{
  const bool forward = schedule.forward(pass);
  const int colors = schedule.colors(), far = plan_.near_begin - 1;
  std::vector<Step> steps;
  steps.reserve(static_cast<std::size_t>(colors));
  for (int k = 0; k < colors; ++k) steps.push_back(schedule.step(pass, k));
  const auto relax_chunk = [&](const Step &step, int chunk) {
    if (!step.skips_interior) relax_rows(apply, rows_of_chunk(step, chunk));
  };
  const auto relax_chunks = [&](int begin, int end) {
    for (int n = begin; n < end; ++n)
      for (const Step &step : steps) relax_chunk(step, forward ? n : begin + end - 1 - n);
  };
  if (!forward) relax_chunks(plan_.near_begin, plan_.chunks);
  for (int k = 0; k < colors; ++k) {
    const auto share = [&](int n) { return static_cast<int>(std::int64_t(far) * n / colors); };
    const auto relax_interior = [&] {
      relax_chunk(steps[k], 0);
      if (forward)
        relax_chunks(1 + share(k), 1 + share(k + 1));
      else
        relax_chunks(1 + far - share(k + 1), 1 + far - share(k));
    };
    if (const int error = relax_color(apply, steps[k], relax_interior)) return error;
  }
  if (forward) relax_chunks(plan_.near_begin, plan_.chunks);
  return 0;
}

RelaxStep MulticolorSweep::rows_of_chunk(const Step &step, int chunk) const
{
  const auto at = static_cast<std::size_t>(step.color) * plan_.chunks + chunk;
  RelaxStep rows = step.interior;
  rows.begin = plan_.chunk_begin[at];
  if (chunk + 1 < plan_.chunks) rows.end = plan_.chunk_begin[at + 1];
  return rows;
}

// Relaxes the rows of one color. Rows of clusters are relaxed stage by stage, in a backward pass
// from the last stage to the first, by the backend if it takes several parts at a time.
void MulticolorSweep::relax_rows(const ApplyArgs &apply, const RelaxStep &rows)
{
  // A backend with two streams counts the launches of boundary rows, so empty ranges count, too.
  if (!plan_.clustered || config_.several_parts || rows.begin == rows.end) {
    backend_.relax(apply, rows);
    return;
  }
  RelaxStep step = rows;
  for_parts(plan_.stage_begin, rows.begin, rows.end, rows.forward, [&](Row begin, Row end) {
    step.begin = begin;
    step.end = end;
    backend_.relax(apply, step);
  });
}

int MulticolorSweep::begin_exchange(const ApplyArgs &apply, const Step &step)
{
  if (halo_.idle()) return 0;
  backend_.transfer(apply, step.boundary.begin, step.boundary.end, Transfer::publish, true);
  return halo_.begin(step.color, backend_.vector());
}

int MulticolorSweep::end_exchange(const ApplyArgs &apply, const Step &step)
{
  if (halo_.idle()) return 0;
  if (const int error = halo_.end(step.color, backend_.vector())) return error;
  backend_.transfer(apply, plan_.rows + plan_.ghost_begin[step.color],
                    plan_.rows + plan_.ghost_begin[step.color + 1], Transfer::accept, true);
  return 0;
}

int MulticolorSweep::exchange_all(const ApplyArgs &apply)
{
  if (halo_.idle()) return 0;
  backend_.transfer(apply, 0, plan_.rows, Transfer::publish, false);
  if (const int error = halo_.exchange_all(backend_.vector())) return error;
  backend_.transfer(apply, plan_.rows, plan_.rows + plan_.ghosts, Transfer::accept, false);
  return 0;
}

Offset MulticolorSweep::blocks_read(const ApplyArgs &apply, int its, bool from_zero) const
{
  const int piece = sweeps_of_piece();
  Offset blocks = 0;
  for (; its > 0; its -= piece, from_zero = false)
    blocks += blocks_of_piece(apply, std::min(its, piece), from_zero);
  return blocks;
}

Offset MulticolorSweep::blocks_of_piece(const ApplyArgs &apply, int its, bool from_zero) const
{
  const Schedule schedule(plan_, config_, apply, its, from_zero);
  Offset blocks = 0;
  const auto read = [&](const RelaxStep &rows) {
    if (rows.lower) blocks += plan_.lower.ptr[rows.end] - plan_.lower.ptr[rows.begin];
    if (rows.upper) blocks += plan_.upper.ptr[rows.end] - plan_.upper.ptr[rows.begin];
  };
  for (int pass = 0; pass < schedule.passes(); ++pass)
    for (int k = 0; k < schedule.colors(); ++k) {
      const Step step = schedule.step(pass, k);
      if (!step.skips_boundary) read(step.boundary);
      if (!step.skips_interior) read(step.interior);
    }
  return blocks;
}

} // namespace mcpi
