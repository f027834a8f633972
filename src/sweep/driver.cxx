#include "sweep/driver.h"

namespace mcpi {

int Driver::run(const Application &application, int its, bool from_zero)
{
  if (const int error = halo_.prepare(backend_.entry_bytes(application))) return error;
  const auto record = [&] { return passes_over_colors(application, its, from_zero); };
  if (!halo_.idle()) return record();
  const bool by_color = config_.frequency == PC_MCPI_HALO_FREQUENCY_COLOR;
  return backend_.replay({application.transposed, from_zero, config_.overlap, config_.shortcuts, by_color, application.nrhs, its,
                          static_cast<int>(config_.sweep), application.omega},
                         record);
}

int Driver::passes_over_colors(const Application &application, int its, bool from_zero)
{
  const int  count    = passes(its);
  const bool by_color = config_.frequency == PC_MCPI_HALO_FREQUENCY_COLOR;
  for (int index = 0; index < count; ++index) {
    const Pass now = pass(application, index, count, from_zero);
    if (now.from_zero) {
      if (!by_color) backend_.zero_ghosts(application);
    } else if (now.first || !by_color) {
      if (const int error = exchange_all(application)) return error;
    }
    for (int step = 0; step < plan_.colors; ++step)
      if (const int error = relax_color(application, now, step)) return error;
  }
  return 0;
}

// The rows that other ranks wait for first; their exchange flies while the interior rows are relaxed.
int Driver::relax_color(const Application &application, const Pass &pass, int step)
{
  const int  c     = color(pass, step);
  const auto relax = [&](bool boundary) {
    if (!skips(application, pass, step, boundary)) backend_.relax(application, relax_rows(application, pass, step, boundary));
  };
  const bool unread   = pass.last && step == plan_.colors - 1;
  const bool exchange = config_.frequency == PC_MCPI_HALO_FREQUENCY_COLOR && !unread && !skips(application, pass, step, true);
  relax(true);
  if (!config_.overlap) relax(false);
  if (exchange)
    if (const int error = begin_exchange(application, c)) return error;
  if (config_.overlap) relax(false);
  return exchange ? end_exchange(application, c) : 0;
}

int Driver::begin_exchange(const Application &application, int color)
{
  if (halo_.idle()) return 0;
  const Range rows = range(color, true);
  backend_.publish(application, rows.begin, rows.end);
  return halo_.begin(color, backend_.vector());
}

int Driver::end_exchange(const Application &application, int color)
{
  if (halo_.idle()) return 0;
  if (const int error = halo_.end(color, backend_.vector())) return error;
  backend_.accept(application, plan_.rows + plan_.ghost_begin[color], plan_.rows + plan_.ghost_begin[color + 1]);
  return 0;
}

int Driver::exchange_all(const Application &application)
{
  if (halo_.idle()) return 0;
  backend_.publish(application, 0, plan_.rows);
  if (const int error = halo_.exchange_all(backend_.vector())) return error;
  backend_.accept(application, plan_.rows, plan_.rows + plan_.ghosts);
  return 0;
}

// A transposed sweep visits the colors in the opposite order; the adjoint of forward-then-backward is again forward-then-backward.
Driver::Pass Driver::pass(const Application &application, int index, int count, bool from_zero) const
{
  const bool forward =
      config_.sweep == PC_MCPI_SWEEP_SYMMETRIC ? index % 2 == 0 : (config_.sweep == PC_MCPI_SWEEP_FORWARD) != application.transposed;
  const int final = config_.sweep == PC_MCPI_SWEEP_SYMMETRIC ? 2 : 1;
  return {forward, index == 0, index == count - 1, index == 0 && from_zero, index >= count - final};
}

Driver::Range Driver::range(int color, bool boundary) const
{
  return boundary ? Range{plan_.color_begin[color], plan_.boundary_end[color]}
                  : Range{plan_.boundary_end[color], plan_.color_begin[color + 1]};
}

// Kept sums are those of the half-sweep before only if no ghost changed in between.
bool Driver::keeps_sums(bool boundary) const
{
  return config_.shortcuts && config_.sweep == PC_MCPI_SWEEP_SYMMETRIC && (config_.frequency == PC_MCPI_HALO_FREQUENCY_COLOR || !boundary);
}

// Where a symmetric sweep turns, the same color comes twice in a row: at omega = 1 the second time changes nothing.
bool Driver::skips(const Application &application, const Pass &pass, int step, bool boundary) const
{
  return step == 0 && !pass.first && application.omega == 1.0 && keeps_sums(boundary);
}

Relax Driver::relax_rows(const Application &application, const Pass &pass, int step, bool boundary) const
{
  const Range rows         = range(color(pass, step), boundary);
  const bool  keeps        = keeps_sums(boundary);
  const bool  both         = !pass.from_zero && (pass.first || !keeps); // else only the triangle of the colors that this pass has visited
  const bool  skipped_next = step == plan_.colors - 1 && application.omega == 1.0;
  Relax       relax;
  relax.begin      = rows.begin;
  relax.end        = rows.end;
  relax.lower      = both || pass.forward;
  relax.upper      = both || !pass.forward;
  relax.from_zero  = pass.from_zero;
  relax.use_kept   = keeps && !pass.first;
  relax.keep       = !keeps || pass.last ? Keep::no : skipped_next ? Keep::zero : Keep::sum;
  relax.keep_lower = pass.forward;
  relax.read_later = application.omega != 1.0 || boundary || pass.final;
  return relax;
}

Offset Driver::blocks_read(const Application &application, int its, bool from_zero) const
{
  Offset    blocks = 0;
  const int count  = passes(its);
  for (int index = 0; index < count; ++index) {
    const Pass now = pass(application, index, count, from_zero);
    for (int step = 0; step < plan_.colors; ++step)
      for (const bool boundary : {true, false}) {
        if (skips(application, now, step, boundary)) continue;
        const Relax relax = relax_rows(application, now, step, boundary);
        if (relax.lower) blocks += plan_.lower.ptr[relax.end] - plan_.lower.ptr[relax.begin];
        if (relax.upper) blocks += plan_.upper.ptr[relax.end] - plan_.upper.ptr[relax.begin];
      }
  }
  return blocks;
}

} // namespace mcpi
