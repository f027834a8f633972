#include "sweep/epochs.h"

#include <algorithm>

namespace mcpi {

Epochs::Epochs(const Schedule &schedule)
    : colors_(schedule.colors()), count_(of_pass(schedule.passes() - 1))
{
  std::vector<unsigned> latest(static_cast<std::size_t>(colors_),
                               schedule.from_zero() ? kNone : kGuess);
  for (int pass = 0; pass < schedule.passes(); ++pass)
    for (int k = 0; k < colors_; ++k) {
      expected_.insert(expected_.end(), latest.begin(), latest.end());
      const Step step = schedule.step(pass, k);
      if (step.sends) latest[static_cast<std::size_t>(step.color)] = of_pass(pass);
    }
}

GhostEpochs Epochs::of_step(const Step &step, int k, const std::vector<Row> &ghost_begin) const
{
  GhostEpochs epochs;
  epochs.color = step.color;
  epochs.sends = step.sends ? of_pass(step.pass) : 0;
  const auto of = [&](int color) { return expected(step.pass, k, color); };
  // All colors of a triangle have the same epoch, except for the color at which a symmetric sweep
  // has turned.
  const auto most_of = [&](int begin, int end) {
    unsigned most = kNone;
    for (int c = begin; c < end; ++c) most = std::max(most, of(c));
    return most;
  };
  epochs.lower = most_of(0, step.color);
  epochs.upper = most_of(step.color + 1, colors_);
  for (int c = 0; c < colors_; ++c)
    if (c != step.color && of(c) != (c < step.color ? epochs.lower : epochs.upper) &&
        (c < step.color ? step.boundary.lower : step.boundary.upper)) {
      epochs.turn = of(c);
      epochs.turn_begin = ghost_begin[static_cast<std::size_t>(c)];
      epochs.turn_end = ghost_begin[static_cast<std::size_t>(c) + 1];
    }
  return epochs;
}

} // namespace mcpi
