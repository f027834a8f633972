// Threads for what a set-up does at the speed of memory, of which one core gets a fraction. Sweeps
// of the host use ranks instead.
#pragma once

#include <cstddef>
#include <functional>

namespace mcpi {

// Cores that this process may use: one where ranks are bound to cores. Other processes may use
// them, too.
int usable_cores();

// work(part) for every part, on up to that many threads, the caller's among them. It must not
// throw.
void share_among_threads(std::size_t parts, int threads,
                         const std::function<void(std::size_t)> &work);

} // namespace mcpi
