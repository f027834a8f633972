#include "core/threads.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace mcpi {

int usable_cores()
{
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

void share_among_threads(std::size_t parts, int threads,
                         const std::function<void(std::size_t)> &work)
{
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    for (std::size_t part = next++; part < parts; part = next++) work(part);
  };
  const std::size_t count = std::min(parts, static_cast<std::size_t>(std::max(1, threads)));
  std::vector<std::thread> others;
  others.reserve(count);
  try {
    for (std::size_t t = 1; t < count; ++t) others.emplace_back(take);
  } catch (const std::exception &) { // no more threads or no memory: go on with fewer threads
  }
  take();
  for (std::thread &thread : others) thread.join();
}

} // namespace mcpi
