// Threads for a set-up. Sweeps on the host do not use threads; they use more ranks instead.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/tuning.h"

namespace mcpi {

// The number of cores that this process may use. It is 1 if each rank is bound to a core. Other
// processes may use the same cores.
int usable_cores();

// Threads that wait for work between the calls of share(). They are started by the first call that
// needs them. A step of a set-up that consists of hundreds of short rounds has a team of its own.
class Team {
public:
  explicit Team(int threads) : most_(static_cast<std::size_t>(std::max(1, threads))) {}
  Team(const Team &) = delete;
  Team &operator=(const Team &) = delete;
  ~Team();

  // The most threads that work, the caller's included
  int threads() const { return static_cast<int>(most_); }

  // Calls work(part) for every part from 0 to parts - 1. The calls run on the team's threads and on
  // the caller's. If calls throw, one of their exceptions is thrown when all calls have ended. work
  // must not call share() of the same team.
  void share(std::size_t parts, const std::function<void(std::size_t)> &work);

private:
  void start(std::size_t threads);
  void serve(unsigned task);
  void take();

  const std::size_t most_; // threads, the caller's included
  std::vector<std::thread> others_;
  const std::function<void(std::size_t)> *work_ = nullptr;
  std::size_t parts_ = 0;
  std::atomic<std::size_t> next_ = 0, busy_ = 0; // the next part; threads that are not done
  std::atomic<unsigned> task_ = 0;               // changes with each call
  bool end_ = false;
  std::mutex failing_;
  std::exception_ptr failure_;
};

// Calls work(part) as Team::share() does, on up to `threads` threads that end with the call
void share_among_threads(std::size_t parts, int threads,
                         const std::function<void(std::size_t)> &work);

// Parts of about equal size of `count` things: several for each thread, since some parts take
// longer than others, but none with fewer than `least` things.
struct Slices {
  std::size_t count, parts;

  Slices(std::size_t things, int threads, std::size_t least)
      : count(things),
        parts(std::clamp<std::size_t>(things / std::max<std::size_t>(least, 1), 1,
                                      threads > 1 ? 4 * static_cast<std::size_t>(threads) : 1))
  {
  }
  std::size_t begin(std::size_t part) const { return count * part / parts; }
};

// Calls work(begin, end) for ranges that cover [0, count). The result must not depend on how long
// they are.
template <class Index, class Work> void share_range(Index count, int threads, const Work &work)
{
  const Slices slices(static_cast<std::size_t>(count), threads, CommonTuning::kLeastRows);
  share_among_threads(slices.parts, threads, [&](std::size_t part) {
    work(static_cast<Index>(slices.begin(part)), static_cast<Index>(slices.begin(part + 1)));
  });
}

} // namespace mcpi
