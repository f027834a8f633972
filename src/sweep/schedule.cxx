#include "sweep/schedule.h"

namespace mcpi {

// A transposed forward or backward sweep visits the colors in the opposite order. The adjoint of a
// symmetric sweep is again a symmetric sweep, forward and then backward.
bool Schedule::forward(int pass) const
{
  return config_.sweep == PC_MCPI_SWEEP_SYMMETRIC
             ? pass % 2 == 0
             : (config_.sweep == PC_MCPI_SWEEP_FORWARD) != apply_.transposed;
}

Step Schedule::step(int pass, int k) const
{
  Step step;
  step.pass = pass;
  step.color = forward(pass) ? k : plan_.colors - 1 - k;
  step.skips_boundary = skips(pass, k, true);
  step.skips_interior = skips(pass, k, false);
  step.boundary = relax_rows(pass, k, step.color, true);
  step.interior = relax_rows(pass, k, step.color, false);
  const bool unread = last(pass) && k == plan_.colors - 1;
  step.sends = by_color() && !unread && !step.skips_boundary;
  return step;
}

// A kept sum is valid in the next pass only if no ghost that it read has changed in between.
// Interior rows read no ghosts. Boundary rows need an exchange by color.
bool Schedule::keeps_sums(bool boundary) const
{
  return config_.shortcuts && config_.sweep == PC_MCPI_SWEEP_SYMMETRIC && (by_color() || !boundary);
}

// Where a symmetric sweep turns, the same color comes twice in succession. With omega = 1 the
// second relaxation changes nothing, unless rows of the color are coupled.
bool Schedule::skips(int pass, int k, bool boundary) const
{
  return k == 0 && pass > 0 && turns_at_once() && keeps_sums(boundary);
}

RelaxStep Schedule::relax_rows(int pass, int k, int color, bool boundary) const
{
  const bool keeps = keeps_sums(boundary);
  // Whether to read both triangles. If not, the step reads only the triangle of the colors that
  // this pass has visited.
  const bool both = !starts_from_zero(pass) && (pass == 0 || !keeps);
  const bool skipped_next = k == plan_.colors - 1 && turns_at_once();
  // The number of passes, from the last one, in which some rows are updated for the last time.
  // Where colors are skipped, the last pass does not update all rows. With one color only the first
  // pass updates any.
  const int finals = !turns_at_once() ? 1 : plan_.colors == 1 ? passes_ : 2;
  RelaxStep rows;
  rows.begin = boundary ? plan_.color_begin[color] : plan_.boundary_end[color];
  rows.end = boundary ? plan_.boundary_end[color] : plan_.color_begin[color + 1];
  rows.forward = forward(pass);
  rows.lower = both || forward(pass);
  rows.upper = both || !forward(pass);
  rows.from_zero = starts_from_zero(pass);
  rows.use_kept = keeps && pass > 0;
  rows.keep = !keeps || last(pass) ? Keep::no : skipped_next ? Keep::zero : Keep::sum;
  rows.keep_lower = forward(pass);
  rows.overlapped = boundary;
  rows.read_later = apply_.omega != 1.0 || boundary || pass >= passes_ - finals;
  return rows;
}

} // namespace mcpi
