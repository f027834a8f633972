#include "halo/epochs.h"

namespace mcpi {

Epochs::Epochs(const Schedule &schedule) : colors_(schedule.colors()), count_(of_pass(schedule.passes() - 1))
{
  std::vector<unsigned> latest(static_cast<std::size_t>(colors_), schedule.from_zero() ? kNone : kGuess);
  for (int pass = 0; pass < schedule.passes(); ++pass)
    for (int k = 0; k < colors_; ++k) {
      expected_.insert(expected_.end(), latest.begin(), latest.end());
      const Step step = schedule.step(pass, k);
      if (step.sends) latest[static_cast<std::size_t>(step.color)] = of_pass(pass);
    }
}

} // namespace mcpi
