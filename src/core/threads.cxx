#include "core/threads.h"

#include <sched.h>

#include <utility>

namespace mcpi {

int usable_cores()
{
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

Team::~Team()
{
  end_ = true;
  ++task_;
  task_.notify_all();
  for (std::thread &thread : others_) thread.join();
}

void Team::share(std::size_t parts, const std::function<void(std::size_t)> &work)
{
  if (parts <= 1 || most_ == 1) {
    for (std::size_t part = 0; part < parts; ++part) work(part);
    return;
  }
  start(std::min(parts, most_));
  work_ = &work;
  parts_ = parts;
  next_ = 0;
  busy_ = others_.size();
  ++task_;
  task_.notify_all();
  take();
  for (std::size_t left = busy_; left > 0; left = busy_) busy_.wait(left);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

// Starts threads until there are so many, the caller's included.
void Team::start(std::size_t threads)
{
  try {
    while (others_.size() + 1 < threads)
      others_.emplace_back([this, task = task_.load()] { serve(task); });
  } catch (const std::exception &) { // no more threads or no memory: go on with fewer threads
  }
}

// Works on all tasks after this one.
void Team::serve(unsigned task)
{
  for (;;) {
    task_.wait(task);
    ++task;
    if (end_) return;
    take();
    if (--busy_ == 0) busy_.notify_one();
  }
}

void Team::take()
{
  for (std::size_t part = next_++; part < parts_; part = next_++) {
    try {
      (*work_)(part);
    } catch (...) {
      const std::scoped_lock lock(failing_);
      failure_ = std::current_exception();
    }
  }
}

void share_among_threads(std::size_t parts, int threads,
                         const std::function<void(std::size_t)> &work)
{
  Team(threads).share(parts, work);
}

} // namespace mcpi
