// Which sending of a ghost a step of a sweep reads, for exchanges without a host between the ranks.
// Every ghost packet carries the epoch of its sending, and a reader waits until the packet has the
// epoch that it expects. All ranks run the same schedules, so they agree on epochs without a
// message. docs/notes/ghost-packets.md proves that no packet is overwritten before it is read.
#pragma once

#include <vector>

#include "sweep/schedule.h"

namespace mcpi {

// Epochs of one application, counted from the last one of the application before
class Epochs {
public:
  static constexpr unsigned kNone = 0, kGuess = 1;

  explicit Epochs(const Schedule &schedule);

  static unsigned of_pass(int pass) { return kGuess + 1 + static_cast<unsigned>(pass); }
  // of what step `k` of a pass reads from ghosts of a color; kNone: they have not been sent yet
  unsigned expected(int pass, int k, int color) const
  {
    const auto colors = static_cast<std::size_t>(colors_);
    return expected_[(static_cast<std::size_t>(pass) * colors + static_cast<std::size_t>(k)) *
                         colors +
                     static_cast<std::size_t>(color)];
  }
  // The same for a relaxation of all ghosts' readers; ghost_begin: of each color
  GhostEpochs of_step(const Step &step, int k, const std::vector<Row> &ghost_begin) const;
  // How many an application uses up
  unsigned count() const { return count_; }

private:
  int colors_;
  unsigned count_;
  std::vector<unsigned> expected_;
};

} // namespace mcpi
