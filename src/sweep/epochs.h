// Epochs of ghost packets. An epoch tells which version of a ghost a step of a sweep reads. Epochs
// are used where devices exchange ghosts without help from the host. Every ghost packet carries the
// epoch at which it was sent. A reader waits until the packet has the expected epoch. All ranks run
// the same schedules, so they agree on epochs without a message. docs/notes/ghost-packets.md proves
// that no packet is overwritten before it is read.
#pragma once

#include <vector>

#include "sweep/device_exchange.h"
#include "sweep/schedule.h"

namespace mcpi {

// The epochs of one application, counted from the last epoch of the application before
class Epochs {
public:
  static constexpr unsigned kNone = 0, kGuess = 1; // not sent yet; sent with the guess

  explicit Epochs(const Schedule &schedule);

  static unsigned of_pass(int pass) { return kGuess + 1 + static_cast<unsigned>(pass); }
  // The epoch of the ghosts of a color that step k of a pass reads
  unsigned expected(int pass, int k, int color) const
  {
    const auto colors = static_cast<std::size_t>(colors_);
    return expected_[(static_cast<std::size_t>(pass) * colors + static_cast<std::size_t>(k)) *
                         colors +
                     static_cast<std::size_t>(color)];
  }
  // All epochs of step k of its pass. ghost_begin is that of the plan.
  GhostEpochs of_step(const Step &step, int k, const std::vector<Row> &ghost_begin) const;
  // The number of epochs that an application uses
  unsigned count() const { return count_; }

private:
  int colors_;
  unsigned count_;
  std::vector<unsigned> expected_; // by pass, step and color
};

} // namespace mcpi
